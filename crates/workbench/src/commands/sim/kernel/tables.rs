//! The comparison as a table: a row for each congestion control and pattern of loss.

use super::comparison::{Comparison, Row, Side, TOLERANCE, Verdict};
use linkmend_report::{Alignment, Cell, Column, Table, Unit, quantity};

/// The whole comparison; the kernel's value comes first in each cell.
pub fn comparison(comparison: &Comparison) -> Table {
    let title = format!("Kernel / simulated TCP: {}", path(comparison));
    let columns = ["goodput", "ratio", "retransmitted", "timeouts", "mean window", "max window", ""];
    let mut table = Table::new(title).column(Column::text("")).column(Column::text("losses"));
    for name in columns {
        table = table.column(Column::text(name).align(Alignment::Right));
    }
    for row in &comparison.rows {
        table.push_row(cells(row));
    }
    table.note(note(comparison))
}

/// The path in words.
pub fn path(comparison: &Comparison) -> String {
    format!(
        "{}, queue of {}, {} each",
        comparison.path,
        Unit::Byte.format(comparison.queue_bytes as f64),
        quantity::duration(comparison.duration_s)
    )
}

fn cells(row: &Row) -> [Cell; 9] {
    let pair = |value: &dyn Fn(&Side) -> String| {
        let kernel = row.kernel.as_ref().map_or_else(|| "-".to_owned(), value);
        Cell::text(format!("{kernel} / {}", value(&row.simulated)))
    };
    let megabits = |side: &Side| format!("{:.1}", side.goodput_bps / 1e6);
    let ratio = row.goodput_ratio.map_or_else(Cell::missing, |ratio| Cell::text(format!("{ratio:.2}")));
    let verdict = match row.verdict {
        Verdict::Inside => Cell::text("✓ inside").good(),
        Verdict::Outside => Cell::text("✗ outside").bad(),
        Verdict::Disturbed => Cell::text("disturbed").neutral(),
        Verdict::NotMeasured => Cell::text("not measured").neutral(),
    };
    [
        Cell::text(row.congestion_control),
        Cell::text(row.losses.name()),
        pair(&megabits),
        ratio,
        pair(&|side| side.retransmitted_segments.to_string()),
        pair(&|side| side.timeouts.to_string()),
        pair(&|side| format!("{:.0}", side.congestion_window_mean_segments)),
        pair(&|side| side.congestion_window_max_segments.to_string()),
        verdict,
    ]
}

fn note(comparison: &Comparison) -> String {
    let mut note = format!(
        "Goodput in Mbit/s, windows in segments. {} of {} rows have a goodput within {} of the kernel's.",
        comparison.count(Verdict::Inside),
        comparison.rows.len(),
        format_args!("{:.0} %", TOLERANCE * 100.0)
    );
    let disturbed = comparison.count(Verdict::Disturbed);
    if disturbed > 0 {
        note.push_str(&format!(" The machine disturbed {disturbed}, which are not judged."));
    }
    note
}
