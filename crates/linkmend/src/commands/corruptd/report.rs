//! What audit files say of days and weeks.

use super::ReportArgs;
use crate::failure::{Context, Result, UsageError};
use crate::output::{print, terminal};
use linkmend_monitor::PortName;
use linkmend_monitor::audit_report::{AuditReport, PortReport, Times};
use linkmend_report::quantity::{count, duration};
use linkmend_report::{Alignment, Cell, Column, Table};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Width of the table where there is no terminal.
const WIDTH: usize = 120;
/// The longest line that is read. A decision has some hundred bytes.
const LINE_BYTES_MOST: u64 = 1 << 20;

pub(super) fn execute(arguments: &ReportArgs) -> Result<()> {
    let mut report = AuditReport::default();
    for path in &arguments.files {
        for_each_line(path, |line| {
            let text = String::from_utf8_lossy(line);
            if !text.trim().is_empty() {
                report.handle_line(&text);
            }
        })?;
    }
    report.finish();
    if report.decisions == 0 {
        return Err(
            UsageError::new("there are no decisions in these files; give those that --audit wrote").into()
        );
    }
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&report)?,
        false => table(&report),
    };
    Ok(print(&text)?)
}

/// Hands over each line of a file, with its line break. A line that is too long comes in several parts.
pub(super) fn for_each_line(path: &Path, mut handle: impl FnMut(&[u8])) -> Result<()> {
    let unreadable = || format!("cannot read {}", path.display());
    let mut file = BufReader::new(File::open(path).context(unreadable())?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = std::io::Read::take(&mut file, LINE_BYTES_MOST).read_until(b'\n', &mut line);
        if read.context(unreadable())? == 0 {
            return Ok(());
        }
        handle(&line);
    }
}

fn table(report: &AuditReport) -> String {
    let mut table = Table::new(format!("{} of corruptd", period(report)));
    table = table.column(Column::name("port"));
    for name in ["corrupting", "protected", "disabled", "flaps"] {
        table = table.column(Column::text(name).align(Alignment::Right));
    }
    table = table.column(Column::text(""));
    let mut shown: Vec<(&PortName, &PortReport)> =
        report.ports.iter().filter(|(_, port)| port.has_news()).collect();
    // Those that would cost most come first.
    shown.sort_by(|(_, one), (_, other)| {
        let key = |port: &PortReport| (port.disabled.seconds, port.protection.seconds, port.flaps as f64);
        key(other).partial_cmp(&key(one)).unwrap_or(std::cmp::Ordering::Equal)
    });
    for (name, port) in &shown {
        table.push_row(cells(name, port));
    }
    let (width, colour) = terminal(WIDTH);
    match shown.is_empty() {
        true => format!("{}: {}\n", table.title(), note(report, 0)),
        false => table.note(note(report, shown.len())).to_text(width, colour),
    }
}

fn period(report: &AuditReport) -> String {
    let seconds = report.last_s.unwrap_or_default() - report.first_s.unwrap_or_default();
    duration(seconds.max(0.0))
}

fn cells(name: &PortName, port: &PortReport) -> [Cell; 6] {
    let told = |times: Times| match times.times {
        0 => "-".to_owned(),
        many => {
            let goes_on = if times.is_on { ", still" } else { "" };
            format!("{many} x, {}{goes_on}", duration(times.seconds))
        }
    };
    let mut remarks = Vec::new();
    if let Some(peer) = port.peer.as_ref().filter(|_| port.disabled.times > 0) {
        remarks.push(format!("link to {peer}"));
    }
    for (number, what) in [(port.failed_trials, "failed trials"), (port.failures, "failed actions")] {
        if number > 0 {
            remarks.push(format!("{number} {what}"));
        }
    }
    remarks.extend(port.suggestion.clone());
    let flaps = if port.flaps > 0 { format!("{} a day", port.flaps) } else { "-".to_owned() };
    [
        Cell::text(name.to_string()),
        Cell::text(told(port.corrupting)),
        Cell::text(told(port.protection)),
        Cell::text(told(port.disabled)),
        Cell::text(flaps),
        Cell::text(remarks.join("; ")),
    ]
}

fn note(report: &AuditReport, shown: usize) -> String {
    let sum = |of: fn(&PortReport) -> u64| report.ports.values().map(of).sum::<u64>();
    let would = match report.dry_run_decisions {
        0 => "",
        all if all == report.decisions => "; in a dry run: nothing of this was done",
        _ => "; partly in a dry run",
    };
    let mut note = format!(
        "{} decisions about {} ports, {shown} with news; {} times protected, {} times disabled for {} in total{would}",
        count(report.decisions as f64),
        count(report.ports.len() as f64),
        sum(|port| port.protection.times),
        sum(|port| port.disabled.times),
        duration(report.disabled_seconds()),
    );
    for (number, what) in [
        (report.flaps_at_once, "times ports flapped at once"),
        (report.starts.saturating_sub(1), "restarts"),
        (report.unreadable_lines, "lines could not be read"),
        (report.ports_left_out, "decisions about further ports were left out"),
    ] {
        if number > 0 {
            note.push_str(&format!("; {number} {what}"));
        }
    }
    note
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_tells_what_it_would_have_done_with_the_most_costly_first() {
        let lines = [
            r#"{"time_s":100,"uptime_s":1,"port":"leaf/a","dry_run":true,"kind":"request","protection":{"copies":1}}"#,
            r#"{"time_s":200,"uptime_s":101,"port":"leaf/b","dry_run":true,"kind":"plan","verdict":"disabled","peer":"spine/b"}"#,
            r#"{"time_s":7400,"uptime_s":7301,"port":"leaf/c","dry_run":true,"kind":"state","to":"healthy"}"#,
        ];
        let mut report = AuditReport::default();
        lines.iter().for_each(|line| report.handle_line(line));
        report.finish();
        let text = table(&report);
        let place = |name: &str| text.find(name).expect("a port");
        assert!(place("leaf/b") < place("leaf/a") && !text.contains("leaf/c"), "{text}");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in
            ["1 x, 2.00 h, still", "link to spine/b", "nothing of this was done", "3 ports, 2 with news"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
