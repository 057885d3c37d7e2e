//! Tables that several scenarios use.

use linkmend_report::{Cell, Column, Table, Unit, quantity};
use linkmend_sim::scenario::{Completion, Delivery, LinkReport};

const NANO: f64 = 1e-9;

/// A count that should be 0.
pub fn should_be_zero(count: u64) -> Cell {
    let cell = Cell::number(count as f64);
    if count == 0 { cell } else { cell.bad() }
}

/// What happened to the frames; one row for each stream.
pub fn deliveries<'a>(title: String, rows: impl IntoIterator<Item = (String, &'a Delivery)>) -> Table {
    let mut table = Table::new(title)
        .column(Column::text("frames"))
        .column(Column::number("sent", Unit::Count))
        .column(Column::number("undelivered", Unit::Count))
        .column(Column::number("loss rate", Unit::LossRate))
        .column(Column::number("reordered", Unit::Count))
        .column(Column::number("marked", Unit::Count))
        .column(Column::number("speed", Unit::BitPerSecond))
        .column(Column::number("median delay", Unit::Second))
        .column(Column::number("99.9 %", Unit::Second))
        .column(Column::number("longest", Unit::Second));
    for (name, delivery) in rows {
        table.push_row([
            Cell::text(name),
            Cell::number(delivery.frames_sent as f64),
            should_be_zero(delivery.frames_undelivered),
            Cell::number(delivery.loss_rate),
            Cell::number(delivery.frames_reordered as f64),
            Cell::number(delivery.frames_marked as f64),
            Cell::number(delivery.speed_gbps * 1e9),
            Cell::number(delivery.delay_ns.p50 * NANO),
            Cell::number(delivery.delay_ns.p999 * NANO),
            Cell::number(delivery.delay_ns.max * NANO),
        ]);
    }
    table
}

/// What the links did; one row for each.
pub fn links<'a>(rows: impl IntoIterator<Item = (String, &'a LinkReport)>) -> Table {
    let mut table = Table::new("")
        .column(Column::text("link"))
        .column(Column::number("lost", Unit::Count))
        .column(Column::number("copies sent", Unit::Count))
        .column(Column::number("given up", Unit::Count))
        .column(Column::number("overflows", Unit::Count))
        .column(Column::number("pauses", Unit::Count))
        .column(Column::number("paused", Unit::Second))
        .column(Column::number("Tx buffer", Unit::Byte))
        .column(Column::number("Rx buffer", Unit::Byte))
        .column(Column::number("queue", Unit::Byte))
        .column(Column::number("dropped", Unit::Count));
    for (name, link) in rows {
        table.push_row([
            Cell::text(name),
            Cell::number(link.frames_lost as f64),
            Cell::number(link.retransmitted_copies as f64),
            should_be_zero(link.recovery_timeouts),
            should_be_zero(link.rx_buffer_overflows),
            Cell::number(link.pauses as f64),
            Cell::number(link.paused_ns * NANO),
            Cell::number(link.tx_buffer_bytes.max as f64),
            Cell::number(link.rx_buffer_bytes.max as f64),
            Cell::number(link.queue_bytes_max as f64),
            should_be_zero(link.queue_drops),
        ]);
    }
    table.note("Buffers and queues: maximum fill levels.")
}

/// Describes how a run ended.
pub fn ending(ending: &Completion, seed: u64) -> String {
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
