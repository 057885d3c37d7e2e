//! `linkmend demo --failover`: one of two links is cut, over Linkmend and over the kernel's usual answer.

use super::DemoArgs;
use super::progress::Steps;
use super::show::{Shown, show};
use super::tables::span;
use linkmend::failure::{Context, Result};
use linkmend_lab::StopFlag;
use linkmend_lab::failover::{
    CutCourse, CutKind, FailoverColumn, FailoverOptions, FailoverResult, ReportedChange, Survivor, Usual, run,
};
use linkmend_lab::unprivileged::Privileges;
use linkmend_report::quantity::{count, duration, rate};
use linkmend_report::{
    Alignment, Axis, Cell, Column, Hue, Panel, Report, Section, Series, Table, Timeline, Tone, Unit,
};

const ABOUT: &str = "The first link is cut several times, first during a kernel TCP transfer (CUBIC, above), and \
    then while numbered UDP datagrams are sent (below). A gap is the longest time without delivery from a cut to the next. Retransmitted segments \
    and retransmission timeouts are those of the sending host's kernel, for all cuts of a column; its rto_min is \
    the default of 200 ms. The last rows are Linkmend's own report of each switch: the reason, the number of \
    retransmitted frames, and how long the other end heard nothing.";

/// Runs it and shows what came of it.
pub(super) fn execute(
    arguments: &DemoArgs,
    privileges: Privileges,
    stop: &StopFlag,
    progress: &Steps,
) -> Result<()> {
    let mut options = FailoverOptions { seed: arguments.seed, ..FailoverOptions::default() };
    options.packet_ports = arguments.takes_packet_ports(privileges);
    arguments.adjust(&mut options.impairments)?;
    let (first, backup) = (&options.impairments, &mut options.backup);
    (backup.rate_bps, backup.delay) = (first.rate_bps, first.link_delay);
    let result = run(&options, stop, &|what| progress.print_line(what));
    progress.finish();
    let result = result.context("the demo did not finish")?;
    let shown = Shown {
        tables: vec![table(&result)],
        sentences: vec![ABOUT.to_owned(), beside(&result)],
        plots: vec![("failover", plot(&result).into())],
    };
    show(arguments, progress, &result, &shown, page)
}

/// What the kernel did, and why.
fn beside(result: &FailoverResult) -> String {
    format!("Compared with Linkmend: {}, because {}.", result.usual, result.usual_reason)
}

fn name(survivor: Survivor, usual: Usual) -> &'static str {
    match (survivor, usual) {
        (Survivor::Linkmend, _) => "Linkmend",
        (Survivor::Kernel, Usual::Bonding) => "bonding",
        (Survivor::Kernel, Usual::Routes) => "routes",
    }
}

fn table(result: &FailoverResult) -> Table {
    let options = &result.options;
    let cuts = format!("{} cuts of {} each", options.cuts, duration(options.cut.as_secs_f64()));
    let mut table = Table::new(format!("The first of two links is cut, {cuts}")).column(Column::text(""));
    for column in &result.columns {
        let kind = match column.kind {
            CutKind::Carrier => "carrier",
            CutKind::Silent => "silent",
        };
        let heading = format!("{}, {kind}", name(column.survivor, result.usual));
        table = table.column(Column::text(heading).align(Alignment::Right));
    }
    let mut row = |label: &str, cell: &dyn Fn(&FailoverColumn) -> Cell| {
        let cells = result.columns.iter().map(cell);
        table.push_row([Cell::text(label)].into_iter().chain(cells));
    };
    row("goodput, without cuts", &|column| Cell::text(rate(column.transfer.whole_bps)));
    row("goodput, with cuts", &|column| Cell::text(rate(column.transfer.goodput_bps)));
    row("gap, median", &|column| median(&gaps(&column.transfer.cuts), Unit::Second));
    row("gap, min - max", &|column| extremes(&gaps(&column.transfer.cuts), Unit::Second));
    row("retransmitted", &|column| none_is_good(column.transfer.retransmitted_segments));
    row("timeouts", &|column| none_is_good(column.transfer.timeouts));
    row("datagrams sent", &|column| Cell::text(count(column.datagrams.sent as f64)));
    row("lost", &|column| none_is_good(column.datagrams.lost));
    row("duplicated", &|column| none_is_good(column.datagrams.duplicated));
    row("reordered", &|column| none_is_good(column.datagrams.reordered));
    row("gap, median", &|column| median(&gaps(&column.datagrams.cuts), Unit::Second));
    row("gap, min - max", &|column| extremes(&gaps(&column.datagrams.cuts), Unit::Second));
    row("reason for switching", &|column| {
        let mut reasons: Vec<&str> = reported(column).map(|change| change.reason.as_str()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        if reasons.is_empty() { Cell::missing() } else { Cell::text(reasons.join(", ")) }
    });
    row("frames retransmitted", &|column| extremes(&resent(column), Unit::Count));
    row("gap on the wire", &|column| extremes(&gaps_on_the_wire(column), Unit::Second));
    row("daemon stalled", &|column| match column.survivor {
        Survivor::Linkmend => Cell::text(count(column.stalls as f64)),
        Survivor::Kernel => Cell::missing(),
    });
    table
}

/// What Linkmend reported, under both kinds of traffic.
fn reported(column: &FailoverColumn) -> impl Iterator<Item = &ReportedChange> {
    column.transfer.cuts.iter().chain(&column.datagrams.cuts).filter_map(|cut| cut.reported.as_ref())
}

/// The longest times without delivery, in seconds.
fn gaps(cuts: &[CutCourse]) -> Vec<f64> {
    cuts.iter().map(|cut| seconds(cut.gap_ns)).collect()
}

fn resent(column: &FailoverColumn) -> Vec<f64> {
    reported(column).map(|change| change.resent_frames as f64).collect()
}

fn gaps_on_the_wire(column: &FailoverColumn) -> Vec<f64> {
    reported(column).filter_map(|change| change.gap_ns).map(seconds).collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn median(values: &[f64], unit: Unit) -> Cell {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).map_or_else(Cell::missing, |median| Cell::text(unit.format(*median)))
}

fn extremes(values: &[f64], unit: Unit) -> Cell {
    let least = values.iter().copied().reduce(f64::min);
    let most = values.iter().copied().reduce(f64::max);
    let extremes = least.zip(most);
    extremes.map_or_else(Cell::missing, |(least, most)| Cell::text(span(unit, least, most)))
}

fn none_is_good(number: u64) -> Cell {
    let cell = Cell::text(count(number as f64));
    if number == 0 { cell.good() } else { cell.bad() }
}

/// Goodput through the cuts, one panel for each kind of cut.
fn plot(result: &FailoverResult) -> Timeline {
    let mut timeline = Timeline::new("Goodput of one transfer through cuts of one of two links")
        .time(Axis::new("time", Unit::Second));
    for kind in CutKind::ALL {
        let axis = Axis::new(format!("goodput, {}", kind.label()), Unit::BitPerSecond).with_zero();
        let mut panel = Panel::new(axis);
        for column in result.columns.iter().filter(|column| column.kind == kind) {
            let samples = column.transfer.samples.iter().map(|sample| (sample.at_s, sample.goodput_bps));
            let hue = if column.survivor == Survivor::Linkmend { Hue::Blue } else { Hue::Vermillion };
            panel = panel.series(Series::step(name(column.survivor, result.usual), samples).hue(hue));
        }
        timeline = timeline.panel(panel);
    }
    // Each transfer has cuts of its own, at the same moments but for a few milliseconds.
    let cuts = result.columns.first().map(|column| column.transfer.cuts.as_slice()).unwrap_or_default();
    for cut in cuts {
        timeline = timeline.phase(cut.at_s, "cut", Tone::Bad);
        timeline = timeline.phase(cut.at_s + result.options.cut.as_secs_f64(), "whole", Tone::Neutral);
    }
    timeline
}

fn page(result: &FailoverResult) -> Result<String> {
    let of = |survivor| result.columns.iter().filter(move |column| column.survivor == survivor);
    let sum = |survivor, value: fn(&FailoverColumn) -> u64| of(survivor).map(value).sum::<u64>();
    let spoiled = |column: &FailoverColumn| {
        let datagrams = &column.datagrams;
        datagrams.lost + datagrams.duplicated + datagrams.reordered
    };
    let mut report = Report::new("linkmend demo --failover")
        .subtitle("One of two links is cut during traffic, and comes back")
        .fact("Version", result.version.clone())
        .fact("Kernel", result.kernel.clone())
        .fact("Path", result.options.impairments.to_string())
        .fact("Second link", result.options.backup.impairments().to_string())
        .fact("Compared with", format!("{}, because {}", result.usual, result.usual_reason))
        .fact("Seed", result.options.seed.to_string());
    for (title, value) in [
        ("Datagrams lost, duplicated or reordered", spoiled as fn(&FailoverColumn) -> u64),
        ("Segments retransmitted by the host", |column| column.transfer.retransmitted_segments),
        ("Retransmission timeouts", |column| column.transfer.timeouts),
    ] {
        let (ours, theirs) = (sum(Survivor::Linkmend, value), sum(Survivor::Kernel, value));
        let tone = if ours == 0 { Tone::Good } else { Tone::Bad };
        let detail = format!("{} with {}", count(theirs as f64), name(Survivor::Kernel, result.usual));
        report = report.headline(title, count(ours as f64), detail, tone);
    }
    Ok(report
        .section(Section::new("Timeline").prose(ABOUT).plot(plot(result)))
        .section(Section::new("In numbers").table(table(result)))
        .section(Section::new("Raw results").json("All of it as JSON", result)?)
        .to_html())
}
