//! Writes a report with every kind of plot to look at: `cargo run -p linkmend-report --example gallery -- out.html`.
//! All data is invented.

#![expect(clippy::disallowed_methods, reason = "the curves of an example need no exact digits")]

use linkmend_report::{
    Axis, BoxPlot, Cell, Column, Comparison, Distribution, GroupedBars, HeatMap, Hue, Panel, Report, Scatter,
    Section, Series, Summary, Table, TailPlot, Timeline, Tolerance, Tone, Unit, Verdict,
};
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("gallery.html"), PathBuf::from);
    std::fs::write(&path, report().to_html())
}

fn report() -> Report {
    Report::new("Gallery of tables and plots")
        .subtitle("Sample data, invented to show the drawing: nothing here was measured")
        .fact("Seed", "42")
        .fact("Version", "0.1.0")
        .fact("Machine", "sample")
        .fact("Date", "2026-01-01")
        .headline("Goodput (sample)", "9.41 Gbit/s", "1.20 Gbit/s without protection", Tone::Good)
        .headline("Loss before", "1.0e-3", "injected at the receiving port", Tone::Bad)
        .headline("Loss after", "0", "of 31,000,000 frames", Tone::Good)
        .headline("Added delay, median", "3.20 µs", "one frame time is 1.23 µs", Tone::Plain)
        .section(Section::new("Timeline").prose(PROSE).plot(timeline()).plot(single_panel()))
        .section(Section::new("Distribution").plot(tail(0.0)).plot(tail(90.0)))
        .section(Section::new("Bars").plot(bars()).table(goodput_table()))
        .section(Section::new("Boxes").plot(boxes()))
        .section(
            Section::new("Scatter").plot(scatter()).comparisons("Published and measured", &comparisons()),
        )
        .section(Section::new("Heat map").plot(heat_map()))
        .section(edge_cases())
}

const PROSE: &str = "The link corrupts frames from 10 s on; protection starts at 20 s with `linkmend run`.\n\n\
    - panels share the time axis\n- phases are marked through all panels";

/// A repeatable stand-in for noise between -1 and 1.
fn noise(index: u32) -> f64 {
    let mixed = index.wrapping_mul(2_654_435_761) ^ (index.wrapping_mul(40_503) >> 3);
    f64::from(mixed.wrapping_mul(2_246_822_519) >> 8) / f64::from(1 << 23) - 1.0
}

fn timeline() -> Timeline {
    let times = || (0..300u32).map(|i| (i, f64::from(i) / 10.0));
    let goodput = times().map(|(i, t)| {
        let level = if (10.0..20.0).contains(&t) { 1.6e9 } else { 9.35e9 };
        (t, level + noise(i) * if (10.0..20.0).contains(&t) { 6e8 } else { 5e7 })
    });
    let buffer = times().map(|(i, t)| (t, if t >= 20.0 { 35e3 + noise(i + 7) * 9e3 } else { 0.0 }));
    let retransmissions = times()
        .map(|(i, t)| (t, if (10.0..20.0).contains(&t) { (40.0 + noise(i) * 25.0).round() } else { 0.0 }));
    Timeline::new("Sample: a corrupting link before and after protection")
        .panel(
            Panel::new(Axis::new("Goodput", Unit::BitPerSecond).with_zero())
                .series(Series::line("TCP", goodput)),
        )
        .panel(
            Panel::new(Axis::new("Rx buffer", Unit::Byte).with_zero()).series(Series::step("bytes", buffer)),
        )
        .panel(
            Panel::new(Axis::new("End-to-end retransmissions per 100 ms", Unit::Count).with_zero())
                .series(Series::step("TCP", retransmissions)),
        )
        .phase(10.0, "corruption starts", Tone::Bad)
        .phase(20.0, "protection starts", Tone::Good)
        .describe(
            "Goodput collapses when corruption starts and recovers when protection starts. Invented data.",
        )
}

fn single_panel() -> Timeline {
    let wave = |shift: f64| {
        (0..200u32).map(move |i| (f64::from(i) / 1e6, 4e9 + (f64::from(i) / 12.0 + shift).sin() * 3e9))
    };
    Timeline::new("Sample: three flows on one axis, a gap in the second")
        .panel(
            Panel::new(Axis::new("Goodput", Unit::BitPerSecond).with_zero())
                .series(Series::line("flow 1", wave(0.0)))
                .series(Series::line(
                    "flow 2",
                    wave(2.0).map(|(t, y)| (t, if (8e-5..1e-4).contains(&t) { f64::NAN } else { y })),
                ))
                .series(Series::step("flow 3 with a somewhat longer name", wave(4.0).step_by(8))),
        )
        .phase(0.5e-4, "first phase", Tone::Neutral)
        .phase(0.55e-4, "second phase, close to the first", Tone::Plain)
        .phase(1.9e-4, "a phase at the right edge", Tone::Bad)
}

fn tail(from: f64) -> TailPlot {
    let samples = |slow_share: f64, slow: f64| {
        (0..100_000u32).map(move |i| {
            let base = 32e-6 * (1.0 + 0.2 * noise(i).abs());
            if f64::from(i % 10_000) / 1e4 < slow_share {
                slow * (1.0 + 0.5 * noise(i + 3).abs())
            } else {
                base
            }
        })
    };
    let title =
        if from > 0.0 { "Sample: flow completion time, top tenth" } else { "Sample: flow completion time" };
    TailPlot::new(title, Axis::new("Flow completion time", Unit::Second).log())
        .above_percentile(from)
        .series(Distribution::from_samples("no loss", samples(0.0, 0.0)).hue(Hue::Grey))
        .series(
            Distribution::from_samples("loss 10⁻³, unprotected", samples(0.02, 1.1e-3)).hue(Hue::Vermillion),
        )
        .series(Distribution::from_samples("ordered", samples(0.02, 44e-6)).hue(Hue::Blue))
        .series(Distribution::from_samples("non-blocking", samples(0.004, 90e-6)).hue(Hue::Green))
}

fn bars() -> GroupedBars {
    GroupedBars::new(
        "Sample: goodput by loss rate and protection",
        "Loss rate",
        Axis::new("Goodput", Unit::BitPerSecond),
    )
    .categories(["none", "10⁻⁵", "10⁻⁴", "10⁻³"])
    .series("unprotected", [9.41e9, 8.1e9, 4.4e9, 1.2e9])
    .hue(Hue::Vermillion)
    .series("ordered", [9.41e9, 9.40e9, 9.39e9, 9.21e9])
    .hue(Hue::Blue)
    .series("non-blocking", [9.41e9, 9.41e9, f64::NAN, 9.37e9])
    .hue(Hue::Green)
    .reference(10e9, "line rate")
}

fn boxes() -> BoxPlot {
    let sample = |centre: f64, spread: f64| {
        Summary::from_samples((0..500).map(move |i| centre * (1.0 + spread * noise(i))))
    };
    BoxPlot::new("Sample: retransmission delay", Axis::new("Delay", Unit::Second).with_zero())
        .item("25G, ordered", sample(4e-6, 0.4))
        .published(6e-6)
        .item("25G, non-blocking", sample(3.5e-6, 0.3))
        .hue(Hue::Green)
        .item("100G, ordered", sample(3.1e-6, 0.5))
        .published(5.5e-6)
        .item("100G, non-blocking", None)
}

fn scatter() -> Scatter {
    let rates = [1e-5, 1e-4, 1e-3, 1e-2];
    Scatter::new(
        "Sample: effective loss against actual loss",
        Axis::new("Actual loss rate", Unit::LossRate).log(),
        Axis::new("Effective loss rate", Unit::LossRate).log(),
    )
    .series(Series::joined("1 copy", rates.map(|p| (p, p * p * 1.1))))
    .series(Series::joined("2 copies", rates.map(|p| (p, p * p * p * 0.9))))
    .series(Series::points(
        "single runs",
        (0..40).map(|i| (1e-5 * 10f64.powf(f64::from(i) / 13.0), 3e-9 * 10f64.powf(noise(i)))),
    ))
    .series(Series::published("published", [(1.4e-5, 6e-10), (9.2e-5, 7.6e-9), (1.2e-3, 1.3e-9)]))
}

fn heat_map() -> HeatMap {
    let sizes = ["64 B", "256 B", "512 B", "1024 B", "1518 B", "4 kB", "9 kB"];
    let mut map = HeatMap::new(
        "Sample: throughput by frame size and loss rate",
        "Loss rate",
        "Frame size",
        Axis::new("Throughput", Unit::BitPerSecond).with_zero(),
    )
    .columns(sizes);
    for (row, name) in ["10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²"].into_iter().enumerate() {
        let value = |column: usize| {
            if (row, column) == (3, 2) {
                f64::NAN
            } else {
                (column + 1) as f64 * 1.4e9 / (1.0 + row as f64 * 0.4)
            }
        };
        map = map.row(name, (0..sizes.len()).map(value));
    }
    map
}

fn goodput_table() -> Table {
    Table::new("Sample: goodput and loss")
        .column(Column::text("Protection"))
        .column(Column::number("Loss before", Unit::LossRate))
        .column(Column::number("Loss after", Unit::LossRate))
        .column(Column::number("Goodput", Unit::BitPerSecond))
        .column(Column::number("Of line rate", Unit::Share))
        .column(Column::number("Frames", Unit::Count))
        .row([
            Cell::text("none"),
            1e-3.into(),
            Cell::number(1e-3).bad(),
            Cell::number(1.2e9).bad(),
            0.12.into(),
            31e6.into(),
        ])
        .row([
            Cell::text("ordered"),
            1e-3.into(),
            Cell::number(0.0).good(),
            Cell::number(9.21e9).good(),
            0.921.into(),
            31e6.into(),
        ])
        .row([
            Cell::text("non-blocking"),
            1e-3.into(),
            Cell::number(2e-9).good(),
            Cell::number(9.37e9).good(),
            0.937.into(),
            Cell::missing(),
        ])
        .note("Invented numbers.")
}

fn comparisons() -> Vec<Comparison> {
    vec![
        Comparison::new("Effective link speed", "Figure 8", Unit::Share, 0.9088, Tolerance::Relative(0.01))
            .measured(0.912),
        Comparison::new("Effective loss", "Figure 8", Unit::LossRate, 1.29e-9, Tolerance::Factor(3.0))
            .measured(9.5e-9)
            .explain("Sample of an explanation: losses follow each other.")
            .predict(5e-9, 15e-9)
            .recorded(Verdict::DiffersAsPredicted),
        Comparison::new("p99.9 improvement", "Figure 10", Unit::Other("x"), 51.0, Tolerance::AtLeast)
            .measured(54.0),
        Comparison::new("Rx buffer, 100G", "Figure 14", Unit::Byte, 90e3, Tolerance::AtMost),
    ]
}

/// Plots of nothing, of one point, and of nonsense.
fn edge_cases() -> Section {
    let axis = || Axis::new("Value", Unit::Plain);
    Section::new("Edge cases")
        .plot(Timeline::new("No series").panel(Panel::new(axis())))
        .plot(Timeline::new("One point").panel(Panel::new(axis()).series(Series::line("p", [(1.0, 5.0)]))))
        .plot(Scatter::new("Huge range", axis().log(), axis()).series(Series::points(
            "extremes",
            [(1e-300, -1e300), (1e300, 1e300), (f64::NAN, 0.0), (1.0, f64::INFINITY)],
        )))
        .plot(
            GroupedBars::new("Many groups with long names", "Group", axis())
                .categories((0..30).map(|i| format!("category number {i}")))
                .series("s", (0..30).map(|i| f64::from(i - 10))),
        )
        .raw("Raw results", "{\n  \"sample\": true\n}")
}
