//! The tables of a run of generators over several links.

use super::rows::Rows;
use linkmend_report::{Cell, Column, Table, Unit, quantity};
use linkmend_sim::flows::Summary;
use linkmend_sim::link::config::Hardware;
use linkmend_sim::links::{
    Completion, LevelChange, LinkReport, LinksReport, PairReport, PortReport, Sample, StreamReport,
};
use std::collections::BTreeSet;

const NANO: f64 = 1e-9;
const MICRO: f64 = 1e-6;

/// A column: its heading, its unit, and what stands in it.
type Numbers<T> = (&'static str, Unit, fn(&T) -> Cell);

/// What a run measured: its streams, its links, and what else there was.
pub fn tables(title: &str, report: &LinksReport) -> Vec<Table> {
    let LinksReport { streams, links, recirculation, changes, samples, second_link, .. } = report;
    let mut tables = vec![rows(title, "frames", streams, |stream| &stream.name, &DELIVERIES)];
    if streams.iter().any(|stream| stream.delivery.recovery.frames_lost > 0) {
        let lost = rows("", "corrupted frames", streams, |stream| &stream.name, &RECOVERIES);
        tables.push(lost.note("In time: within the recovery timeout of when they would have arrived. Delay: in addition to that of the fastest frame."));
    }
    if links.len() > 1 {
        tables.push(rows("", "link", links, |link| &link.name, &HOPS).note(why_lost(links)));
    }
    if !links.is_empty() {
        let fill = "Buffers and queues: maximum fill levels.";
        tables.push(rows("", "link", links, |link| &link.name, &LINKS).note(fill));
    }
    if links.iter().any(|link| link.piggybacked_acks > 0) {
        tables.push(rows("", "feedback for", links, |link| &link.name, &FEEDBACK));
    }
    if !recirculation.is_empty() {
        tables.push(rows("", "recirculation port", recirculation, |port| &port.name, &PORTS));
    }
    if !samples.is_empty() {
        let title = format!("The level changed {} times", changes.len());
        tables.push(rows(&title, "level from then on", changes, |change| change.level, &CHANGES));
        tables.push(rows("", "level", samples, |sample| sample.level, &SAMPLES));
    }
    tables.extend(second_link.as_ref().map(pair));
    tables
}

/// Describes how the run ended, how switches buffer, and what of them is too slow.
pub fn closing(report: &LinksReport) -> String {
    let buffering: BTreeSet<String> = report.hardware.iter().map(describe).collect();
    let mut texts = vec![ending(&report.ending, report.seed)];
    texts.push(format!("Buffering: {}.", Vec::from_iter(buffering).join("; ")));
    texts.extend(report.warnings.iter().map(|warning| format!("Warning: {warning}.")));
    texts.join("\n")
}

fn rows<'a, T>(
    title: &str,
    first: &str,
    of: &'a [T],
    name: fn(&'a T) -> &'a str,
    columns: &[Numbers<T>],
) -> Table {
    let mut table = Table::new(title.to_owned()).column(Column::text(first.to_owned()));
    for (heading, unit, _) in columns {
        table = table.column(Column::number(*heading, *unit));
    }
    for row in of {
        let cells = columns.iter().map(|(.., cell)| cell(row));
        table.push_row([Cell::text(name(row))].into_iter().chain(cells));
    }
    table
}

fn count(value: u64) -> Cell {
    Cell::number(value as f64)
}

/// A count that should be 0.
fn bad(count: u64) -> Cell {
    let cell = Cell::number(count as f64);
    if count == 0 { cell } else { cell.bad() }
}

const DELIVERIES: [Numbers<StreamReport>; 9] = [
    ("sent", Unit::Count, |s| count(s.delivery.frames_sent)),
    ("undelivered", Unit::Count, |s| bad(s.delivery.frames_undelivered)),
    ("loss rate", Unit::LossRate, |s| Cell::number(s.delivery.loss_rate)),
    ("reordered", Unit::Count, |s| count(s.delivery.frames_reordered)),
    ("marked", Unit::Count, |s| count(s.delivery.frames_marked)),
    ("speed", Unit::BitPerSecond, |s| Cell::number(s.delivery.speed_gbps * 1e9)),
    ("median delay", Unit::Second, |s| Cell::number(s.delivery.delay_ns.p50 * NANO)),
    ("99.9 %", Unit::Second, |s| Cell::number(s.delivery.delay_ns.p999 * NANO)),
    ("longest", Unit::Second, |s| Cell::number(s.delivery.delay_ns.max * NANO)),
];

const RECOVERIES: [Numbers<StreamReport>; 6] = [
    ("lost", Unit::Count, |s| count(s.delivery.recovery.frames_lost)),
    ("recovered in time", Unit::Count, |s| count(s.delivery.recovery.in_time)),
    ("late", Unit::Count, |s| count(s.delivery.recovery.late)),
    ("never", Unit::Count, |s| bad(s.delivery.recovery.never)),
    ("median delay", Unit::Second, |s| Cell::number(s.delivery.recovery.extra_delay_ns.p50 * NANO)),
    ("99 %", Unit::Second, |s| Cell::number(s.delivery.recovery.extra_delay_ns.p99 * NANO)),
];

const HOPS: [Numbers<LinkReport>; 7] = [
    ("offered", Unit::Count, |link| count(link.frames_offered)),
    ("congestion", Unit::Count, |link| bad(link.queue_drops)),
    ("sent", Unit::Count, |link| count(link.frames_sent)),
    ("corruption", Unit::Count, |link| bad(link.frames_undelivered)),
    ("passed on", Unit::Count, |link| count(link.frames_delivered)),
    ("actual loss rate", Unit::LossRate, |link| Cell::number(link.actual_loss_rate)),
    ("effective", Unit::LossRate, |link| Cell::number(link.effective_loss_rate)),
];

const LINKS: [Numbers<LinkReport>; 11] = [
    ("lost", Unit::Count, |link| count(link.frames_lost)),
    ("copies sent", Unit::Count, |link| count(link.retransmitted_copies)),
    ("dummies", Unit::Count, |link| count(link.dummies_sent)),
    ("given up", Unit::Count, |link| bad(link.recovery_timeouts)),
    ("overflows", Unit::Count, |link| bad(link.rx_buffer_overflows)),
    ("pauses", Unit::Count, |link| count(link.pauses)),
    ("paused", Unit::Second, |link| Cell::number(link.paused_ns * NANO)),
    ("Tx buffer", Unit::Byte, |link| count(link.tx_buffer_bytes.max)),
    ("Rx buffer", Unit::Byte, |link| count(link.rx_buffer_bytes.max)),
    ("queue", Unit::Byte, |link| count(link.queue_bytes_max)),
    ("dropped", Unit::Count, |link| bad(link.queue_drops)),
];

const FEEDBACK: [Numbers<LinkReport>; 3] = [
    ("ACKs on data", Unit::Count, |link| count(link.piggybacked_acks)),
    ("standalone ACKs", Unit::Count, |link| count(link.explicit_acks)),
    ("losses, pauses and resumes", Unit::Count, |link| count(link.notifications)),
];

const PORTS: [Numbers<PortReport>; 4] = [
    ("passes", Unit::Count, |port| count(port.passes)),
    ("for each frame", Unit::Plain, |port| Cell::number(port.passes_per_frame)),
    ("busy", Unit::Share, |port| Cell::number(port.busy_pct / 100.0)),
    ("of the pipe", Unit::Share, |port| Cell::number(port.pipe_pct / 100.0)),
];

const CHANGES: [Numbers<LevelChange>; 2] = [
    ("at", Unit::Second, |change| Cell::number(change.at_us * MICRO)),
    ("loss rate in force", Unit::LossRate, |change| Cell::number(change.loss)),
];

const SAMPLES: [Numbers<Sample>; 7] = [
    ("until", Unit::Second, |sample| Cell::number(sample.at_us as f64 * MICRO)),
    ("loss rate in force", Unit::LossRate, |sample| Cell::number(sample.loss)),
    ("measured", Unit::LossRate, |sample| Cell::from(sample.measured_loss)),
    ("copies", Unit::Count, |sample| Cell::number(f64::from(sample.copies))),
    ("actual loss", Unit::LossRate, |sample| Cell::number(sample.actual_loss)),
    ("effective loss", Unit::LossRate, |sample| Cell::number(sample.effective_loss)),
    ("speed", Unit::BitPerSecond, |sample| Cell::number(sample.speed_gbps * 1e9)),
];

/// What failures of two links cost, a row for each number.
fn pair(report: &PairReport) -> Table {
    let mut rows = Rows::new("", "two links, of which one fails");
    rows.count("failures", report.cuts.len() as u64);
    rows.count("frames lost on failed links", report.frames_cut);
    rows.count("frames corrupted", report.frames_corrupted);
    rows.count("frames retransmitted because of a change of links", report.frames_resent);
    rows.count("duplicates dropped", report.duplicates_dropped);
    if let Some(Summary { min, p50, p99, max, .. }) = report.recovery_us {
        for (name, us) in [("recovery, minimum", min), ("median", p50), ("99 %", p99), ("maximum", max)] {
            rows.micros(name, us);
        }
    }
    rows.quantity("kept", report.steady_buffer_bytes as f64, Unit::Byte);
    rows.quantity("kept during a failure", report.failed_buffer_bytes as f64, Unit::Byte);
    rows.quantity("Rx buffer", report.rx_buffer_bytes as f64, Unit::Byte);
    rows.quantity("queue", report.queue_bytes as f64, Unit::Byte);
    rows.into_table().note("Recovery: from the last delivery before a failure to the first one after it. Buffers: maximum fill levels.")
}

/// Says how many frames were lost to corruption and how many to congestion.
fn why_lost(links: &[LinkReport]) -> String {
    let mut text = "Congestion: frames dropped because the queue before the link was full. Corruption: frames that were sent but not passed on, as in the effective loss rate; the actual loss rate counts all frames that the link corrupted."
        .to_owned();
    if links.iter().any(|link| link.queue_drops > 0) {
        text += " At this load, copies and pauses leave a link too little capacity for the traffic, so its queue fills: a lower --load leaves room for them.";
    }
    text
}

/// Describes how a run ended.
fn ending(ending: &Completion, seed: u64) -> String {
    let seconds = |ns: f64| quantity::duration(ns * NANO);
    let drained = if ending.drained {
        format!(
            "everything was delivered or given up {} after the last frame",
            seconds(ending.drained_after_ns)
        )
    } else {
        "some frames were neither delivered nor given up".to_owned()
    };
    let events = quantity::count(ending.events as f64);
    format!("Seed {seed}. Simulated {} with {events} events; {drained}.", seconds(ending.simulated_ns))
}

/// Describes how switches buffer.
fn describe(hardware: &Hardware) -> String {
    let Hardware { buffering, recirculation_gbps, reason } = hardware;
    match recirculation_gbps {
        None => format!("{buffering} ({reason})"),
        Some(gbps) => format!("{buffering} at {} ({reason})", quantity::rate(gbps * 1e9)),
    }
}
