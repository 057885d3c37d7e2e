//! The page that people read.

use super::{Report, Severity};
use crate::output::terminal;
use linkmend_report::{Cell, Column, Table};
use std::fmt::Write;
use std::time::Duration;

const WIDTH: usize = 100;

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

fn known(is: Option<bool>) -> &'static str {
    is.map_or("unknown", yes)
}

/// The report as one page.
pub(super) fn page(report: &Report) -> String {
    let machine = &report.machine;
    let mut page = format!(
        "Linkmend {} on Linux {} ({}), {} processors\n",
        report.linkmend, machine.kernel, machine.architecture, machine.processors
    );
    let missing = match machine.missing_capabilities.as_slice() {
        [] => "complete".to_owned(),
        missing => format!("without {}", missing.join(", ")),
    };
    let steal = machine.steal.map_or("unknown".to_owned(), |part| format!("{:.1} %", part * 100.0));
    let wake_ups = machine.wake_ups.as_ref().map_or("unknown".to_owned(), |wake_ups| {
        let [usual, worst] = [wake_ups.late_p99_ns, wake_ups.late_max_ns].map(Duration::from_nanos);
        let class = if wake_ups.real_time { "real-time" } else { "ordinary" };
        format!("99 % within {usual:.1?}, all within {worst:.1?} ({class} thread)")
    });
    for (what, state) in [
        ("AF_XDP", yes(machine.af_xdp)),
        ("traffic control (tcx)", yes(machine.traffic_control)),
        ("kernel types (BTF)", yes(machine.kernel_types)),
        ("TAP devices", yes(machine.tap)),
        ("capabilities", &missing),
        ("wake-ups", &wake_ups),
        ("time taken by the host", &steal),
    ] {
        let _ = writeln!(page, "  {what:<24}{state}");
    }
    page.push('\n');
    let (width, colour) = terminal(WIDTH);
    page.push_str(&interfaces(report).to_text(width, colour));
    if !report.ports_named {
        page.push_str(
            "\nTo see what to change, name the ports of a planned link: linkmend doctor eth1 eth2\n",
        );
    } else if report.findings.is_empty() {
        page.push_str("\nNothing to change.\n");
    }
    for finding in &report.findings {
        let severity = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let about = finding.interface.as_ref().map(|name| format!("{name} ")).unwrap_or_default();
        let _ = write!(page, "\n{severity}: {about}{}\n    {}\n", finding.problem, finding.remedy);
    }
    page
}

fn interfaces(report: &Report) -> Table {
    let mut table = Table::new("Interfaces");
    for header in
        ["", "driver", "state", "MTU", "MTU max", "speed", "queues", "native XDP", "zero-copy", "used"]
    {
        table = table.column(Column::text(header));
    }
    for interface in &report.interfaces {
        let state = match (interface.bypass, interface.up, interface.carrier) {
            (true, ..) => "Linkmend",
            (_, false, _) => "down",
            (_, true, false) => "no carrier",
            (_, true, true) => "up",
        };
        table.push_row([
            Cell::text(interface.name.as_str()),
            Cell::text(interface.driver.as_str()),
            Cell::text(state),
            Cell::text(interface.mtu.to_string()),
            Cell::text(interface.mtu_max.map_or("any".to_owned(), |mtu| mtu.to_string())),
            Cell::text(interface.speed.map_or("unknown".to_owned(), |speed| format!("{speed} Mb/s"))),
            Cell::text(interface.receive_queues.to_string()),
            Cell::text(known(interface.native_xdp)),
            Cell::text(known(interface.zero_copy)),
            Cell::text(yes(!interface.uses.is_empty())),
        ]);
    }
    table
}
