//! `linkmend demo --wan`: a path of the Internet, without and with Linkmend over UDP.

use super::DemoArgs;
use super::progress::Steps;
use super::show::{Shown, show};
use linkmend::failure::{Context, Result};
use linkmend_lab::StopFlag;
use linkmend_lab::unprivileged::Privileges;
use linkmend_lab::wan::{Repair, RepairCost, WanColumn, WanOptions, WanResult, WanTransfer, run};
use linkmend_report::quantity::{count, duration, loss_rate, percent, rate};
use linkmend_report::{
    Alignment, Axis, Cell, Column, Distribution, Hue, Panel, Plot, Report, Section, Series, Table, TailPlot,
    Timeline, Tone, Unit,
};

const ABOUT: &str = "Numbered UDP datagrams of 200 B from one site to the other, then one kernel TCP transfer (CUBIC). Without \
    Linkmend, the path carries the hosts' own frames. With Linkmend, it carries encrypted datagrams. Ordered mode holds frames \
    behind a missing one for a round trip, non-blocking mode delivers them out of order. In time, each datagram has a deadline \
    of one round trip and 10 ms beyond the delay of the path, and parity restores what cannot be sent again before. Delays are from one host to the \
    other.";

/// Runs it and shows what came of it.
pub(super) fn execute(
    arguments: &DemoArgs,
    privileges: Privileges,
    stop: &StopFlag,
    progress: &Steps,
) -> Result<()> {
    let mut options = WanOptions { seed: arguments.seed, ..WanOptions::default() };
    if arguments.quick {
        options = options.quick();
    }
    options.loss = arguments.loss.unwrap_or(options.loss);
    options.packet_ports = arguments.takes_packet_ports(privileges);
    arguments.adjust(&mut options.impairments)?;
    let result = run(&options, stop, &|what| progress.print_line(what));
    progress.finish();
    let result = result.context("the demo did not finish")?;
    let shown = Shown {
        tables: vec![table(&result)],
        sentences: vec![ABOUT.to_owned()],
        plots: vec![("wan-goodput", goodput_plot(&result).into()), ("wan-delay", delay_plot(&result).into())],
    };
    show(arguments, progress, &result, &shown, page)
}

/// The path in words.
fn path(options: &WanOptions) -> String {
    let link = &options.impairments;
    let rate = link.rate_bps.map_or_else(|| "no limit".to_owned(), |bps| rate(bps as f64));
    format!(
        "{rate}, round trip {}, loss {} each way, {} reordered, {} duplicated",
        duration(link.round_trip().as_secs_f64()),
        loss_rate(options.loss),
        loss_rate(options.reordered),
        loss_rate(options.duplicated)
    )
}

fn heading(repair: Repair) -> String {
    match repair {
        Repair::None => "without".to_owned(),
        Repair::Ordered | Repair::NonBlocking | Repair::InTime => format!("Linkmend, {}", repair.label()),
    }
}

fn table(result: &WanResult) -> Table {
    let mut table =
        Table::new(format!("A path of the Internet: {}", path(&result.options))).column(Column::text(""));
    for column in &result.columns {
        table = table.column(Column::text(heading(column.repair)).align(Alignment::Right));
    }
    let mut row = |label: &str, cell: &dyn Fn(&WanColumn) -> Cell| {
        let cells = result.columns.iter().map(cell);
        table.push_row([Cell::text(label)].into_iter().chain(cells));
    };
    row("datagrams sent", &|column| Cell::text(count(column.datagrams.sent as f64)));
    row("lost", &|column| none_is_good(column.datagrams.lost));
    row("duplicated", &|column| none_is_good(column.datagrams.duplicated));
    row("reordered", &|column| Cell::text(count(column.datagrams.reordered as f64)));
    row("delay, 50%", &|column| delay(column, |delay| delay.p50));
    row("delay, 99%", &|column| delay(column, |delay| delay.p99));
    row("delay, max", &|column| delay(column, |delay| delay.max));
    row("TCP goodput", &|column| transfer(column, |transfer| rate(transfer.goodput_bps)));
    row("segments retransmitted", &|column| {
        transfer(column, |transfer| count(transfer.retransmitted_segments as f64))
    });
    row("frames on the path", &|column| Cell::text(count(column.path.frames as f64)));
    row("copies and parity, of all frames", &|column| column.cost.map_or_else(Cell::missing, copies));
    row("lost by the path", &|column| Cell::text(count(column.path.lost as f64)));
    row("dropped by its queue", &|column| Cell::text(count(column.path.queue_drops as f64)));
    table
}

fn delay(column: &WanColumn, of: fn(&linkmend_lab::Summary) -> u64) -> Cell {
    let delay = column.datagrams.delay_ns.as_ref();
    delay.map_or_else(Cell::missing, |delay| Cell::text(duration(of(delay) as f64 / 1e9)))
}

fn transfer(column: &WanColumn, of: fn(&WanTransfer) -> String) -> Cell {
    column.transfer.as_ref().map_or_else(Cell::missing, |transfer| Cell::text(of(transfer)))
}

fn copies(cost: RepairCost) -> Cell {
    Cell::text(percent(cost.retransmitted_copies as f64 / cost.protected_frames.max(1) as f64))
}

fn none_is_good(number: u64) -> Cell {
    let cell = Cell::text(count(number as f64));
    if number == 0 { cell.good() } else { cell.bad() }
}

fn hue(repair: Repair) -> Hue {
    match repair {
        Repair::None => Hue::Vermillion,
        Repair::Ordered => Hue::Blue,
        Repair::NonBlocking => Hue::Green,
        Repair::InTime => Hue::Purple,
    }
}

fn goodput_plot(result: &WanResult) -> Timeline {
    let mut panel = Panel::new(Axis::new("goodput", Unit::BitPerSecond).with_zero());
    for column in &result.columns {
        let Some(transfer) = &column.transfer else { continue };
        let samples = transfer.samples.iter().map(|sample| (sample.at_s, sample.goodput_bps));
        panel = panel.series(Series::step(heading(column.repair), samples).hue(hue(column.repair)));
    }
    Timeline::new("Goodput of one transfer over the path").time(Axis::new("time", Unit::Second)).panel(panel)
}

fn delay_plot(result: &WanResult) -> TailPlot {
    let axis = Axis::new("delay, one way", Unit::Second);
    result.columns.iter().fold(TailPlot::new("Delays of datagrams", axis), |plot, column| {
        let seconds = column.datagrams.delays_ns.iter().map(|&ns| ns as f64 / 1e9);
        plot.series(Distribution::from_samples(heading(column.repair), seconds).hue(hue(column.repair)))
    })
}

fn page(result: &WanResult) -> Result<String> {
    let mut report = Report::new("linkmend demo --wan")
        .subtitle("Two sites and a path of the Internet between them, without and with Linkmend over UDP")
        .fact("Version", result.version.clone())
        .fact("Kernel", result.kernel.clone())
        .fact("Path", path(&result.options))
        .fact("Seed", result.options.seed.to_string());
    let of = |repair| result.columns.iter().find(|column| column.repair == repair);
    if let (Some(without), Some(with)) = (of(Repair::None), of(Repair::Ordered)) {
        let goodput =
            |column: &WanColumn| column.transfer.as_ref().map(|transfer| rate(transfer.goodput_bps));
        if let (Some(without), Some(with)) = (goodput(without), goodput(with)) {
            report = report.headline("TCP goodput", with, format!("{without} without"), Tone::Good);
        }
        let detail = format!("{} without", count(without.datagrams.lost as f64));
        let tone = if with.datagrams.lost == 0 { Tone::Good } else { Tone::Bad };
        report = report.headline("Datagrams lost", count(with.datagrams.lost as f64), detail, tone);
    }
    let plots: [Plot; 2] = [goodput_plot(result).into(), delay_plot(result).into()];
    let shown = plots.into_iter().fold(Section::new("Goodput and delay").prose(ABOUT), Section::plot);
    Ok(report
        .section(shown)
        .section(Section::new("In numbers").table(table(result)))
        .section(Section::new("Raw results").json("All of it as JSON", result)?)
        .to_html())
}
