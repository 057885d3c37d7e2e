//! The demo's results as one self-contained HTML page.

use linkmend_lab::demo::{Condition, DemoResult, Timeline as Course, TimelineSample};
use linkmend_report::{
    Axis, Distribution, GroupedBars, Hue, Panel, Plot, Report, Section, Series, TailPlot, Timeline, Tone,
    Unit, quantity,
};

use super::tables;

/// The page.
pub fn page(result: &DemoResult) -> anyhow::Result<String> {
    let mut report = Report::new("linkmend demo")
        .subtitle("Kernel TCP over a corrupting link, unprotected and protected by link-local retransmission")
        .fact("Version", result.version.clone())
        .fact("Kernel", result.kernel.clone())
        .fact("Link ports", result.ports.clone())
        .fact("Seed of the corruption", result.options.seed.to_string())
        .fact("Duration", quantity::duration(result.seconds));
    report = headlines(report, result);
    let stress = Section::new("Stress test")
        .prose(
            "Numbered frames are sent as fast as the path takes them. Actual loss is what the receiving link end found \
             missing; effective loss is what never reached the other host.",
        )
        .table(tables::stress(result));
    let fct = Section::new("Flow completion times")
        .prose("Short flows feel a lost frame most: a lost tail costs a retransmission timeout.")
        .plot(fct_plot(result))
        .table(tables::fct(result));
    let goodput = Section::new("Bulk goodput").plot(goodput_plot(result)).table(tables::goodput(result));
    let timeline = Section::new("Timeline")
        .prose("One transfer over a link that is healthy, then corrupts frames, then is protected, as in Figure 9 of the paper.")
        .plot(timeline_plot(&result.timeline));
    let raw = Section::new("Raw results").json("All of it as JSON", result)?;
    Ok([timeline, fct, goodput, stress, raw].into_iter().fold(report, Report::section).to_html())
}

/// The plots by themselves, with names for files.
pub fn plots(result: &DemoResult) -> [(&'static str, Plot); 3] {
    [
        ("timeline", timeline_plot(&result.timeline).into()),
        ("fct", fct_plot(result).into()),
        ("goodput", goodput_plot(result).into()),
    ]
}

fn headlines(report: Report, result: &DemoResult) -> Report {
    let p999 = |condition| {
        let column = result.fct.iter().find(|column| column.condition == condition)?;
        Some(column.completion_ns.as_ref()?.p99_9 as f64 / 1e9)
    };
    let mut report = report;
    if let (Some(without), Some(with), Some(healthy)) =
        (p999(Condition::Unprotected), p999(Condition::Ordered), p999(Condition::Healthy))
    {
        let detail =
            format!("{} unprotected, {} healthy", quantity::duration(without), quantity::duration(healthy));
        report =
            report.headline("99.9 % of flows complete within", quantity::duration(with), detail, Tone::Good);
    }
    if let Some(ordered) = result.stress.iter().find(|column| column.condition == Condition::Ordered) {
        let detail = format!(
            "of {} sent, {} lost on the link at first",
            quantity::count(ordered.frames_sent as f64),
            quantity::loss_rate(ordered.actual_loss)
        );
        let tone = if ordered.frames_lost == 0 { Tone::Good } else { Tone::Neutral };
        report = report.headline("Frames lost for good", ordered.frames_lost.to_string(), detail, tone);
    }
    report
}

fn hue(condition: Condition) -> Hue {
    match condition {
        Condition::Healthy => Hue::Grey,
        Condition::Unprotected => Hue::Vermillion,
        Condition::Ordered => Hue::Blue,
        Condition::NonBlocking => Hue::Green,
    }
}

fn fct_plot(result: &DemoResult) -> TailPlot {
    let axis = Axis::new("flow completion time", Unit::Second).log();
    let mut plot = TailPlot::new("The slowest flows", axis).above_percentile(90.0);
    for column in &result.fct {
        let seconds = column.samples_ns.iter().map(|&ns| ns as f64 / 1e9);
        plot = plot
            .series(Distribution::from_samples(column.condition.label(), seconds).hue(hue(column.condition)));
    }
    plot
}

fn goodput_plot(result: &DemoResult) -> GroupedBars {
    let category = |control: &str, loss: f64| {
        format!("{control}, {}", if loss > 0.0 { quantity::loss_rate(loss) } else { "no loss".to_owned() })
    };
    let rows = |condition| result.goodput.iter().filter(move |row| row.condition == condition);
    let categories: Vec<_> =
        rows(Condition::Unprotected).map(|row| category(&row.congestion_control, row.loss)).collect();
    let axis = Axis::new("goodput", Unit::BitPerSecond).with_zero();
    let mut plot =
        GroupedBars::new("Goodput by congestion control and loss", "", axis).categories(categories);
    for condition in [Condition::Unprotected, Condition::Ordered, Condition::NonBlocking] {
        let values = rows(condition).map(|row| row.goodput_bps.unwrap_or(f64::NAN));
        plot = plot.series(condition.label(), values).hue(hue(condition));
    }
    plot
}

fn timeline_plot(course: &Course) -> Timeline {
    let series = |value: fn(&TimelineSample) -> f64| {
        course.samples.iter().map(move |sample| (sample.at_s, value(sample)))
    };
    let panel = |name: &str, unit, value| {
        Panel::new(Axis::new(name, unit).with_zero()).series(Series::step(name, series(value)))
    };
    Timeline::new("Healthy, corrupting, protected")
        .time(Axis::new("time", Unit::Second))
        .panel(panel("goodput", Unit::BitPerSecond, |sample| sample.goodput_bps))
        .panel(panel("Rx buffer, most", Unit::Byte, |sample| sample.rx_buffer_bytes as f64))
        .panel(panel("retransmissions by the host", Unit::Count, |sample| {
            sample.retransmitted_segments as f64
        }))
        .phase(course.corruption_at_s, "corruption starts", Tone::Bad)
        .phase(course.protection_at_s, "protection starts", Tone::Good)
}
