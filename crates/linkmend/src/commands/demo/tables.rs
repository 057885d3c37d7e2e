//! The demo's results as tables: conditions as columns, as in the authors' artifact.

use linkmend_lab::demo::{Condition, DemoResult, FctColumn, GoodputRow, StressColumn};
use linkmend_report::{Cell, Column, Table, Unit, quantity};

/// The three tables, in the order of the demo.
pub fn all(result: &DemoResult) -> [Table; 3] {
    [stress(result), fct(result), goodput(result)]
}

fn by_condition(title: String, heading: &str) -> Table {
    let columns = Condition::ALL
        .map(|condition| Column::text(condition.label()).align(linkmend_report::Alignment::Right));
    columns.into_iter().fold(Table::new(title).column(Column::text(heading)), Table::column)
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
    let title = format!(
        "Stress test: 1514 B frames at full speed, loss {}",
        quantity::loss_rate(result.options.loss)
    );
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
    table.push_row(cells("speed", |c| Cell::quantity(c.speed_bps, Unit::BitPerSecond)));
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
    table.note(
        "Effective link speed: share of the same daemons forwarding unprotected frames. The healthy link is dormant: \
         with AF_XDP ports the kernel forwards, and no daemon is involved.",
    )
}

pub fn fct(result: &DemoResult) -> Table {
    let columns = &result.fct;
    let title = format!(
        "Flow completion times of {} B over kernel TCP, loss {}",
        result.options.flow_bytes,
        quantity::loss_rate(result.options.loss)
    );
    let mut table = by_condition(title, "");
    let mut row = |name: &str, value: fn(&linkmend_lab::Summary) -> f64| {
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
    table.note(
        "Retransmissions are the hosts' own, as the kernel counts them: what the link ends did not mask.",
    )
}

pub fn goodput(result: &DemoResult) -> Table {
    let conditions = [Condition::Unprotected, Condition::Ordered, Condition::NonBlocking];
    let mut table = Table::new("Bulk goodput over kernel TCP (segments retransmitted by the host)")
        .column(Column::text("congestion control"))
        .column(Column::text("loss"));
    for condition in conditions {
        table = table.column(Column::text(condition.label()).align(linkmend_report::Alignment::Right));
    }
    let rows = &result.goodput;
    for first in rows.iter().filter(|row| row.condition == Condition::Unprotected) {
        let cell = |condition| {
            let same = |row: &&GoodputRow| {
                row.condition == condition
                    && row.loss == first.loss
                    && row.congestion_control == first.congestion_control
            };
            match rows.iter().find(same) {
                Some(GoodputRow { goodput_bps: Some(goodput), retransmitted_segments, .. }) => {
                    Cell::text(format!("{} ({retransmitted_segments})", quantity::rate(*goodput)))
                }
                _ => Cell::missing(),
            }
        };
        let head = [Cell::text(&*first.congestion_control), Cell::quantity(first.loss, Unit::LossRate)];
        table.push_row(head.into_iter().chain(conditions.map(cell)));
    }
    table
}
