//! The demo's results as tables: conditions as columns, as in the authors' artifact.

use linkmend_control::report::BufferReport;
use linkmend_lab::Summary;
use linkmend_lab::demo::{Condition, DemoResult, FctColumn, GoodputRow, Part, StressColumn};
use linkmend_lab::statistics::MedianInterval;
use linkmend_lab::tcp::Connections;
use linkmend_report::{Cell, Column, Table, Unit, quantity};

/// Conditions with corruption.
const CORRUPTING: [Condition; 3] = [Condition::Unprotected, Condition::Ordered, Condition::NonBlocking];

/// The tables in the order of the demo, without those of experiments that the machine disturbed too much.
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

/// Formats two values with one unit if both have the same one: `71.6-73.4 Mbit/s`. If the units differ, the lower one
/// is shortened to its prefix: `720M-1.00 Gbit/s`.
pub(super) fn span(unit: Unit, low: f64, high: f64) -> String {
    const RATE: &str = "bit/s";
    let (low, high) = (unit.format(low), unit.format(high));
    match (low.split_once(' '), high.split_once(' ')) {
        _ if low == high => low,
        (Some((number, of_low)), Some((_, of_high))) if of_low == of_high => format!("{number}-{high}"),
        (Some((number, of_low)), _) if of_low.ends_with(RATE) => {
            format!("{number}{}-{high}", of_low.trim_end_matches(RATE))
        }
        _ => format!("{low} - {high}"),
    }
}

/// Formats a median and its interval, with one unit if all three have the same one: `72.3 Mbit/s (71.6-73.4)`.
fn median(interval: MedianInterval) -> String {
    let middle = quantity::rate(interval.median);
    let span = span(Unit::BitPerSecond, interval.low, interval.high);
    let unit = middle.split_once(' ').map_or("", |(_, unit)| unit);
    let bare = span.strip_suffix(unit).map(str::trim_end).filter(|bare| !bare.contains(' '));
    format!("{middle} ({})", bare.unwrap_or(&span))
}

/// The stress test, a column for each condition.
pub fn stress(result: &DemoResult) -> Table {
    let columns = &result.stress;
    let protected =
        |column: &StressColumn| matches!(column.condition, Condition::Ordered | Condition::NonBlocking);
    let pace = match result.options.impairments.rate_bps {
        Some(rate) => format!("at the link's rate of {}", quantity::rate(rate as f64)),
        None => "at full speed".to_owned(),
    };
    let title =
        format!("Stress test: 1514 B frames {pace}, loss {}", quantity::loss_rate(result.options.loss));
    let mut table = by_condition(title, "");
    let mut row = |name: &str, cell: &dyn Fn(&StressColumn) -> Cell| {
        table.push_row([Cell::text(name)].into_iter().chain(columns.iter().map(cell)));
    };
    row("frames sent", &|c| Cell::text(quantity::count(c.frames_sent as f64)));
    row("actual loss", &|c| Cell::quantity(c.actual_loss, Unit::LossRate));
    row("effective loss", &|c| {
        let cell = Cell::quantity(c.effective_loss, Unit::LossRate);
        if c.frames_lost > 0 { cell.bad() } else { cell.good() }
    });
    row("Equation 1 predicts", &|c| Cell::quantity(c.predicted_loss, Unit::LossRate));
    row("frames lost", &|c| Cell::text(c.frames_lost.to_string()));
    row("duplicated / reordered", &|c| {
        Cell::text(format!("{} / {}", c.frames_duplicated, c.frames_reordered))
    });
    row("speed, median", &|c| Cell::quantity(c.speed_bps, Unit::BitPerSecond));
    row("speed, interval", &|c| {
        c.speed
            .map_or_else(Cell::missing, |speed| Cell::text(span(Unit::BitPerSecond, speed.low, speed.high)))
    });
    row("effective link speed", &|c| {
        c.effective_speed.map_or(Cell::text("dormant"), |share| Cell::quantity(share, Unit::Share))
    });
    row("copies per loss", &|c| {
        if c.copies > 0 { Cell::text(c.copies.to_string()) } else { Cell::missing() }
    });
    row("recovery, 50% / 99%", &|c| {
        c.recovery_ns.map_or_else(Cell::missing, |(p50, p99)| {
            let [p50, p99] = [p50, p99].map(|ns| quantity::duration(ns as f64 / 1e9));
            Cell::text(format!("{p50} / {p99}"))
        })
    });
    let buffer = |c: &StressColumn, levels: &BufferReport| match protected(c) {
        true => Cell::text(span(Unit::Byte, levels.min as f64, levels.max as f64)),
        false => Cell::missing(),
    };
    row("Tx buffer, min - max", &|c| buffer(c, &c.tx_buffer));
    row("Rx buffer, min - max", &|c| buffer(c, &c.rx_buffer));
    let disturbed: u64 = columns.iter().filter(|c| protected(c)).map(|c| c.frames_lost_disturbed).sum();
    let mut note =
        "Effective link speed: relative to the same daemons forwarding unprotected frames. The healthy link is \
         dormant: with AF_XDP ports the kernel forwards, and no daemon is involved."
            .to_owned();
    if disturbed > 0 {
        note.push_str(&format!(
            "  Slots that the machine disturbed are excluded here; {disturbed} protected frames were lost in them."
        ));
    }
    table.note(note)
}

/// A value of a summary.
type Value = (&'static str, fn(&Summary) -> f64);

/// The values of a summary that the demo shows, in nanoseconds.
const COMPLETION_TIMES: [Value; 10] = [
    ("min", |s| s.min as f64),
    ("mean", |s| s.mean),
    ("50%", |s| s.p50 as f64),
    ("90%", |s| s.p90 as f64),
    ("95%", |s| s.p95 as f64),
    ("99%", |s| s.p99 as f64),
    ("99.9%", |s| s.p99_9 as f64),
    ("99.99%", |s| s.p99_99 as f64),
    ("max", |s| s.max as f64),
    ("std", |s| s.std),
];

/// Flow completion times, a row for each size.
pub fn fct(result: &DemoResult) -> Table {
    let title = format!(
        "Flow completion times of {} B over kernel TCP, loss {}",
        result.options.flow_bytes,
        quantity::loss_rate(result.options.loss)
    );
    let mut table = by_condition(title, "");
    let mut row = |name: &str, cell: &dyn Fn(&FctColumn) -> Cell| {
        table.push_row([Cell::text(name)].into_iter().chain(result.fct.iter().map(cell)));
    };
    let time = |ns: Option<f64>| ns.map_or_else(Cell::missing, |ns| Cell::quantity(ns / 1e9, Unit::Second));
    let interval = |of: Option<(u64, u64)>| {
        of.map_or_else(Cell::missing, |(low, high)| {
            Cell::text(span(Unit::Second, low as f64 / 1e9, high as f64 / 1e9))
        })
    };
    for (name, value) in COMPLETION_TIMES {
        row(name, &|c| time(c.completion_ns.as_ref().map(value)));
    }
    row("flows", &|c| Cell::text(c.completion_ns.as_ref().map_or(0, |s| s.count).to_string()));
    row("segments retransmitted", &|c| Cell::text(c.retransmitted_segments.to_string()));
    row("99.9%, interval", &|c| interval(c.p99_9_interval_ns));
    if result.options.connections == Connections::FreshWithHandshake {
        row("99.9%, no handshake", &|c| time(c.established_ns.as_ref().map(|s| s.p99_9 as f64)));
        row("its interval", &|c| interval(c.established_p99_9_interval_ns));
    }
    let handshake = match result.options.connections {
        Connections::FreshWithHandshake => {
            "Each flow is a new connection, and its time includes the handshake, because users wait for both; a \
             lost SYN costs a second. Without handshake: from the first byte, as in the paper."
        }
        Connections::FreshAfterHandshake => {
            "Each flow is a new connection; the clock starts after its handshake."
        }
        Connections::Persistent => "All flows of a client share one connection.",
    };
    table.note(format!(
        "{handshake} Retransmissions are those of the hosts, counted by the kernel: losses that the link \
         ends did not mask."
    ))
}

/// Goodput, a column for each condition.
pub fn goodput(result: &DemoResult) -> Table {
    let title = match result.options.part {
        Part::Link => format!("Bulk goodput over kernel TCP, {}", path(result)),
        Part::Fast => "Bulk goodput over kernel TCP, as fast as this machine allows".to_owned(),
    };
    let mut table = Table::new(title).column(Column::text("TCP")).column(Column::text("loss"));
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
    table.note("Medians of the slots, with confidence intervals of the median. Loss 0: the healthy link.")
}

/// Describes the path in a few words.
pub fn path(result: &DemoResult) -> String {
    let impairments = &result.options.impairments;
    let rate = impairments.rate_bps.map_or("full speed".to_owned(), |rate| quantity::rate(rate as f64));
    format!("{rate}, round trip {}", quantity::duration(impairments.round_trip().as_secs_f64()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::commands::demo::noise;
    use linkmend_lab::demo::Noise;

    fn interval(median: f64) -> Option<MedianInterval> {
        Some(MedianInterval { median, low: median * 0.98, high: median * 1.02, coverage: 0.95, count: 6 })
    }

    /// A result whose figures are as wide as those of real runs.
    pub(in crate::commands::demo) fn result() -> DemoResult {
        let mut result = noise::tests::result(Noise::default());
        let row = |loss, condition, bps| GoodputRow {
            congestion_control: "cubic".to_owned(),
            loss,
            condition,
            goodput_bps: Some(bps),
            interval: interval(bps),
            retransmitted_segments: 0,
        };
        result.goodput.push(row(0.0, Condition::Healthy, 282e6));
        for condition in CORRUPTING {
            result.goodput.extend([1e-3, 1e-2].map(|loss| row(loss, condition, 72.34e6)));
        }
        let milliseconds = |count: u64| (1..=count).map(|n| n * 123_456 + 13_000_000).collect::<Vec<u64>>();
        for condition in Condition::ALL {
            result.fct.push(FctColumn {
                condition,
                completion_ns: Summary::from_samples(&milliseconds(2_000)),
                p99_9_interval_ns: Some((16_300_000, 1_045_000_000)),
                established_ns: Summary::from_samples(&milliseconds(1_000)),
                established_p99_9_interval_ns: Some((16_300_000, 17_800_000)),
                samples_ns: Vec::new(),
                handshakes_ns: Vec::new(),
                retransmitted_segments: 376,
                flows_with_retransmission: 300,
                timed_out: 0,
            });
            result.stress.push(StressColumn {
                condition,
                frames_sent: 1_073_131,
                frames_lost: 791,
                frames_duplicated: 0,
                frames_reordered: 1_788,
                frames_changed: 0,
                frames_lost_disturbed: 0,
                actual_loss: 1.1e-2,
                effective_loss: 1.1e-2,
                predicted_loss: 1.7e-10,
                speed_bps: 279e6,
                speed: interval(279e6),
                effective_speed: Some(0.9597),
                copies: 4,
                retransmitted_copies: 3_000,
                recovery_timeouts: 0,
                recovery_ns: Some((524_000, 1_050_000)),
                tx_buffer: BufferReport { now: 0, min: 0, max: 71_200 },
                rx_buffer: BufferReport { now: 0, min: 0, max: 25_700 },
            });
        }
        result
    }

    #[test]
    fn tables_fit_a_hundred_columns_without_a_wrapped_cell() {
        let result = result();
        for table in all(&result) {
            let (narrow, wide) = (table.to_text(100, false), table.to_text(400, false));
            let longest = narrow.lines().map(|line| line.chars().count()).max();
            assert!(longest.is_some_and(|columns| columns <= 100), "{narrow}");
            // Only the notes below a table are broken at its width.
            let is_row = |line: &&str| line.contains("   ") && !line.contains(". ");
            assert_eq!(
                narrow.lines().filter(is_row).count(),
                wide.lines().filter(is_row).count(),
                "{narrow}"
            );
        }
    }

    #[test]
    fn speeds_with_different_prefixes_fit_as_well() {
        let mut result = result();
        result.stress.iter_mut().for_each(|column| {
            column.speed = Some(MedianInterval { low: 720e6, ..interval(1.02e9).expect("one") });
        });
        let text = stress(&result).to_text(100, false);
        for row in ["speed, interval", "copies per loss", "Tx buffer, min - max"] {
            assert!(text.contains(row), "{text}");
        }
    }

    #[test]
    fn the_unit_of_an_interval_is_written_once() {
        assert_eq!(span(Unit::Second, 0.0163, 0.0178), "16.3-17.8 ms");
        assert_eq!(span(Unit::Second, 0.0163, 1.045), "16.3 ms - 1.04 s");
        assert_eq!(span(Unit::Byte, 0.0, 71_200.0), "0 B - 71.2 kB");
        assert_eq!(interval(72.3e6).map(median).as_deref(), Some("72.3 Mbit/s (70.9-73.7)"));
        let wide = MedianInterval { low: 999e3, ..interval(1.2e6).expect("one") };
        assert_eq!(median(wide), "1.20 Mbit/s (999k-1.22)");
        assert_eq!(span(Unit::BitPerSecond, 720e6, 1e9), "720M-1.00 Gbit/s");
        assert_eq!(span(Unit::Byte, 0.0, 0.0), "0 B");
    }

    #[test]
    fn short_flows_are_shown_with_and_without_their_handshake() {
        let result = result();
        let text = fct(&result).to_text(100, false);
        let row =
            |name: &str| text.lines().find(|line| line.trim_start().starts_with(name)).map(str::to_owned);
        assert!(row("99.9% ").is_some_and(|row| row.contains("260 ms")), "{text}");
        assert!(row("99.9%, no handshake").is_some_and(|row| row.contains("136 ms")), "{text}");
        assert!(text.contains("includes the handshake"), "{text}");
    }
}
