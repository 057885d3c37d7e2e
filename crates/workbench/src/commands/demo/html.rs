//! The demo's results as one self-contained HTML page.

use linkmend::failure::Result;
use linkmend_lab::demo::{Condition, DemoResult, NoiseSummary, Part, Timeline as Course, TimelineSample};
use linkmend_report::{
    Axis, Distribution, GroupedBars, Hue, Panel, Plot, Report, Section, Series, TailPlot, Timeline, Tone,
    Unit, quantity,
};

use super::{noise, tables};

const TIMELINE: &str = "One transfer over a link that is healthy, then corrupts frames, then is protected, as in Figure 9 of the paper.";
const FLOWS: &str = "Short flows suffer most from a lost frame: if the first or last segment is lost, the flow waits for a \
     retransmission timeout.";
const GOODPUT: &str = "One transfer at a time; the conditions alternate.";
const STRESS: &str = "Numbered frames at the rate of the link, or as fast as the path accepts them. Actual loss: \
    frames that the receiving link end found missing. Effective loss: frames that never reached the other host.";

/// Renders the page.
pub fn page(result: &DemoResult) -> Result<String> {
    let mut report = Report::new("linkmend demo")
        .subtitle("Kernel TCP over a corrupting link, unprotected and protected by link-local retransmission")
        .fact("Version", result.version.clone())
        .fact("Path", tables::path(result))
        .fact("Kernel", result.kernel.clone())
        .fact("Link ports", result.ports.clone())
        .fact("Seed of the corruption", result.options.seed.to_string())
        .fact("Machine", noise::summary(result))
        .fact("Duration", quantity::duration(result.seconds));
    report = headlines(report, result);
    let noise = &result.noise;
    let timeline = section("Timeline", TIMELINE, noise.timeline, |section| {
        section.plot(timeline_plot(&result.timeline))
    });
    let fct = section("Flow completion times", FLOWS, noise.fct, |section| {
        section.plot(fct_plot(result)).table(tables::fct(result))
    });
    let goodput = section("Bulk goodput", GOODPUT, noise.goodput, |section| {
        section.plot(goodput_plot(result)).table(tables::goodput(result))
    });
    let stress =
        section("Stress test", STRESS, noise.stress, |section| section.table(tables::stress(result)));
    let raw = Section::new("Raw results").json("All of it as JSON", result)?;
    Ok([timeline, fct, goodput, stress, raw].into_iter().fold(report, Report::section).to_html())
}

/// A section, or a remark in its place if the machine disturbed its experiment too much.
fn section(title: &str, prose: &str, calm: NoiseSummary, fill: impl FnOnce(Section) -> Section) -> Section {
    let section = Section::new(title);
    if calm.too_disturbed {
        return section.prose(
            "The machine was too disturbed for meaningful results. The raw results below contain the \
             measurements anyway.",
        );
    }
    let section = section.prose(prose);
    let section = match calm.disturbed {
        0 => section,
        count => section.prose(format!("{count} of {} slots were disturbed and are excluded.", calm.slots)),
    };
    fill(section)
}

/// The plots by themselves, with file names.
pub fn plots(result: &DemoResult) -> [(&'static str, Plot); 3] {
    [
        ("timeline", timeline_plot(&result.timeline).into()),
        ("fct", fct_plot(result).into()),
        ("goodput", goodput_plot(result).into()),
    ]
}

fn headlines(mut report: Report, result: &DemoResult) -> Report {
    let noise = &result.noise;
    let options = &result.options;
    let goodput = |condition, loss| result.goodput_of("cubic", loss, condition)?.goodput_bps;
    let loss = options.goodput_losses.iter().copied().fold(0.0, f64::max);
    if options.part == Part::Link
        && !noise.goodput.too_disturbed
        && let (Some(without), Some(with), Some(healthy)) = (
            goodput(Condition::Unprotected, loss),
            goodput(Condition::Ordered, loss),
            goodput(Condition::Healthy, 0.0),
        )
    {
        let detail = format!("{} unprotected, {} healthy", quantity::rate(without), quantity::rate(healthy));
        let title = format!("Goodput at a loss of {}", quantity::loss_rate(loss));
        report = report.headline(title, quantity::rate(with), detail, Tone::Good);
    }
    let p999 = |condition| Some(result.fct_of(condition)?.completion_ns.as_ref()?.p99_9 as f64 / 1e9);
    if !noise.fct.too_disturbed
        && let (Some(without), Some(with), Some(healthy)) =
            (p999(Condition::Unprotected), p999(Condition::Ordered), p999(Condition::Healthy))
    {
        let detail =
            format!("{} unprotected, {} healthy", quantity::duration(without), quantity::duration(healthy));
        report =
            report.headline("99.9 % of flows complete within", quantity::duration(with), detail, Tone::Good);
    }
    if !noise.stress.too_disturbed
        && let Some(ordered) = result.stress_of(Condition::Ordered)
    {
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

/// A group of bars for each loss rate. Each group repeats the healthy link's bar for comparison.
fn goodput_plot(result: &DemoResult) -> GroupedBars {
    let options = &result.options;
    let cells = || {
        let each = |control| options.goodput_losses.iter().map(move |loss| (control, *loss));
        options.congestion_controls.iter().flat_map(each)
    };
    let category = |(control, loss): (&String, f64)| format!("{control}, {}", quantity::loss_rate(loss));
    let axis = Axis::new("goodput", Unit::BitPerSecond).with_zero();
    let mut plot = GroupedBars::new("Goodput by congestion control and loss", "", axis)
        .categories(cells().map(category).collect::<Vec<_>>());
    for condition in Condition::ALL {
        let values = cells().map(|(control, loss)| {
            let loss = if condition == Condition::Healthy { 0.0 } else { loss };
            result.goodput_of(control, loss, condition).and_then(|row| row.goodput_bps).unwrap_or(f64::NAN)
        });
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
        .panel(panel("maximum Rx buffer", Unit::Byte, |sample| sample.rx_buffer_bytes as f64))
        .panel(panel("retransmissions by the host", Unit::Count, |sample| {
            sample.retransmitted_segments as f64
        }))
        .phase(course.corruption_at_s, "corruption starts", Tone::Bad)
        .phase(course.protection_at_s, "protection starts", Tone::Good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_of_the_goodput_plot_has_a_value() {
        let svg = Plot::from(goodput_plot(&tables::tests::result())).to_svg();
        assert!(svg.contains("cubic, 1.0e-2") && !svg.contains("n/a"), "{svg}");
    }
}
