//! The demo's results as tables: conditions as columns, as in the authors' artifact.

use linkmend_lab::Summary;
use linkmend_lab::demo::{Condition, DemoResult, FctColumn, GoodputRow, Part, StressColumn};
use linkmend_lab::statistics::MedianInterval;
use linkmend_lab::tcp::Connections;
use linkmend_report::{Cell, Column, Table, Unit, quantity};

/// Conditions under corruption.
const CORRUPTING: [Condition; 3] = [Condition::Unprotected, Condition::Ordered, Condition::NonBlocking];

/// The tables that say something, in the order of the demo: those of experiments that the machine did not disturb too
/// much.
pub fn all(result: &DemoResult) -> Vec<Table> {
    let noise = &result.noise;
    let tables = [
        (noise.goodput.too_disturbed, goodput as fn(&DemoResult) -> Table),
        (noise.fct.too_disturbed, fct),
        (noise.stress.too_disturbed, stress),
    ];
    tables.into_iter().filter(|(too_disturbed, _)| !too_disturbed).map(|(_, table)| table(result)).collect()
}

fn by_condition(title: String, heading: &str) -> Table {
    let columns = Condition::ALL
        .map(|condition| Column::text(condition.label()).align(linkmend_report::Alignment::Right));
    columns.into_iter().fold(Table::new(title).column(Column::text(heading)), Table::column)
}

/// A median and its interval, the latter without repeating the unit.
fn median(interval: MedianInterval) -> String {
    let text = |value| quantity::rate(value);
    let (low, high) = (text(interval.low), text(interval.high));
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    let low = match unit(&low) == unit(&high) {
        true => low.split(' ').next().unwrap_or_default().to_owned(),
        false => low,
    };
    format!("{} ({low} - {high})", text(interval.median))
}

pub fn stress(result: &DemoResult) -> Table {
    let columns = &result.stress;
    let cells = |name: &str, cell: fn(&StressColumn) -> Cell| {
        std::iter::once(Cell::text(name)).chain(columns.iter().map(cell)).collect::<Vec<_>>()
    };
    let span = |min: u64, max: u64| {
        Cell::text(format!("{} - {}", quantity::bytes(min as f64), quantity::bytes(max as f64)))
    };
    let protected =
        |column: &StressColumn| matches!(column.condition, Condition::Ordered | Condition::NonBlocking);
    let pace = match result.options.impairments.rate_bps {
        Some(rate) => format!("at the link's rate of {}", quantity::rate(rate as f64)),
        None => "at full speed".to_owned(),
    };
    let title =
        format!("Stress test: 1514 B frames {pace}, loss {}", quantity::loss_rate(result.options.loss));
    let mut table = by_condition(title, "");
    table.push_row(cells("frames sent", |c| Cell::text(quantity::count(c.frames_sent as f64))));
    table.push_row(cells("actual loss", |c| Cell::quantity(c.actual_loss, Unit::LossRate)));
    table.push_row(cells("effective loss", |c| {
        let cell = Cell::quantity(c.effective_loss, Unit::LossRate);
        if c.frames_lost > 0 { cell.bad() } else { cell.good() }
    }));
    table.push_row(cells("predicted by Equation 1", |c| Cell::quantity(c.predicted_loss, Unit::LossRate)));
    table.push_row(cells("frames lost", |c| Cell::text(c.frames_lost.to_string())));
    table.push_row(cells("duplicated / reordered", |c| {
        Cell::text(format!("{} / {}", c.frames_duplicated, c.frames_reordered))
    }));
    table.push_row(cells("speed, median", |c| Cell::quantity(c.speed_bps, Unit::BitPerSecond)));
    table.push_row(cells("speed, slowest - fastest likely", |c| match c.speed {
        Some(speed) => Cell::text(format!("{} - {}", quantity::rate(speed.low), quantity::rate(speed.high))),
        None => Cell::missing(),
    }));
    table.push_row(cells("effective link speed", |c| {
        c.effective_speed.map_or(Cell::text("dormant"), |share| Cell::quantity(share, Unit::Share))
    }));
    table.push_row(cells("copies of a lost frame", |c| {
        if c.copies > 0 { Cell::text(c.copies.to_string()) } else { Cell::missing() }
    }));
    let recovery = |c: &StressColumn| match c.recovery_ns {
        Some((p50, p99)) => Cell::text(format!(
            "{} / {}",
            quantity::duration(p50 as f64 / 1e9),
            quantity::duration(p99 as f64 / 1e9)
        )),
        None => Cell::missing(),
    };
    table.push_row(
        std::iter::once(Cell::text("recovery, median / p99 below")).chain(columns.iter().map(recovery)),
    );
    let tx = columns
        .iter()
        .map(|c| if protected(c) { span(c.tx_buffer.min, c.tx_buffer.max) } else { Cell::missing() });
    table.push_row(std::iter::once(Cell::text("Tx buffer, min - max")).chain(tx));
    let rx = columns
        .iter()
        .map(|c| if protected(c) { span(c.rx_buffer.min, c.rx_buffer.max) } else { Cell::missing() });
    table.push_row(std::iter::once(Cell::text("Rx buffer, min - max")).chain(rx));
    let disturbed: u64 = columns.iter().filter(|c| protected(c)).map(|c| c.frames_lost_disturbed).sum();
    let mut note =
        "Effective link speed: share of the same daemons forwarding unprotected frames. The healthy link is \
         dormant: with AF_XDP ports the kernel forwards, and no daemon is involved."
            .to_owned();
    if disturbed > 0 {
        note.push_str(&format!(
            " Slots that the machine disturbed, left out here, lost {disturbed} protected frames."
        ));
    }
    table.note(note)
}

pub fn fct(result: &DemoResult) -> Table {
    let columns = &result.fct;
    let title = format!(
        "Flow completion times of {} B over kernel TCP, loss {}",
        result.options.flow_bytes,
        quantity::loss_rate(result.options.loss)
    );
    let mut table = by_condition(title, "");
    let mut row = |name: &str, value: fn(&Summary) -> f64| {
        let cell = |c: &FctColumn| {
            c.completion_ns
                .as_ref()
                .map_or(Cell::missing(), |summary| Cell::quantity(value(summary) / 1e9, Unit::Second))
        };
        table.push_row(std::iter::once(Cell::text(name)).chain(columns.iter().map(cell)));
    };
    row("min", |s| s.min as f64);
    row("mean", |s| s.mean);
    row("50%", |s| s.p50 as f64);
    row("90%", |s| s.p90 as f64);
    row("95%", |s| s.p95 as f64);
    row("99%", |s| s.p99 as f64);
    row("99.9%", |s| s.p99_9 as f64);
    row("99.99%", |s| s.p99_99 as f64);
    row("max", |s| s.max as f64);
    row("std", |s| s.std);
    let counts = |value: fn(&FctColumn) -> u64| columns.iter().map(move |c| Cell::text(value(c).to_string()));
    table.push_row(
        std::iter::once(Cell::text("flows"))
            .chain(counts(|c| c.completion_ns.as_ref().map_or(0, |s| s.count))),
    );
    table.push_row(
        std::iter::once(Cell::text("segments retransmitted")).chain(counts(|c| c.retransmitted_segments)),
    );
    let interval = |c: &FctColumn| match c.p99_9_interval_ns {
        Some((low, high)) => {
            let text = |ns: u64| quantity::duration(ns as f64 / 1e9);
            Cell::text(format!("{} - {}", text(low), text(high)))
        }
        None => Cell::missing(),
    };
    table.push_row(std::iter::once(Cell::text("99.9%, 95 % interval")).chain(columns.iter().map(interval)));
    let handshake = match result.options.connections {
        Connections::FreshWithHandshake => "Each flow is a new connection, its handshake included.",
        Connections::FreshAfterHandshake => {
            "Each flow is a new connection; the clock starts after its handshake."
        }
        Connections::Persistent => "All flows of a client share one connection.",
    };
    table.note(format!(
        "{handshake} Retransmissions are the hosts' own, as the kernel counts them: what the link ends did not mask."
    ))
}

pub fn goodput(result: &DemoResult) -> Table {
    let title = match result.options.part {
        Part::Link => format!("Bulk goodput over kernel TCP, {}", path(result)),
        Part::Fast => "Bulk goodput over kernel TCP, as fast as this machine can".to_owned(),
    };
    let mut table = Table::new(title).column(Column::text("congestion control")).column(Column::text("loss"));
    for condition in CORRUPTING {
        table = table.column(Column::text(condition.label()).align(linkmend_report::Alignment::Right));
    }
    let cell = |row: Option<&GoodputRow>| match row.and_then(|row| row.interval) {
        Some(interval) => Cell::text(median(interval)),
        None => Cell::missing(),
    };
    for control in &result.options.congestion_controls {
        let head = |loss| [Cell::text(&**control), Cell::quantity(loss, Unit::LossRate)];
        let healthy = cell(result.goodput_of(control, 0.0, Condition::Healthy));
        table.push_row(head(0.0).into_iter().chain([healthy, Cell::text(""), Cell::text("")]));
        for &loss in &result.options.goodput_losses {
            let cells = CORRUPTING.map(|condition| cell(result.goodput_of(control, loss, condition)));
            table.push_row(head(loss).into_iter().chain(cells));
        }
    }
    table.note(
        "Medians of the slots, and the interval in which the true median lies. Loss 0: the healthy link.",
    )
}

/// The path in a few words.
pub fn path(result: &DemoResult) -> String {
    let impairments = &result.options.impairments;
    let rate = impairments.rate_bps.map_or("full speed".to_owned(), |rate| quantity::rate(rate as f64));
    format!("{rate}, round trip {}", quantity::duration(impairments.round_trip().as_secs_f64()))
}
