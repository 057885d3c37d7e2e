//! The comparison as one self-contained HTML page.

use super::comparison::{Comparison, Point, Row, Side, Verdict};
use super::tables;
use linkmend::failure::Result;
use linkmend_report::{Axis, Hue, Panel, Report, Section, Series, Timeline, Tone, Unit, quantity};

const ABOUT: &str = "Each row is one connection that sends as fast as it can, once with the kernel's TCP and once with \
    the simulated one. Both lose the same data frames, which are identified by their number in the order in which the bottleneck sends them.";

/// What makes the two sides differ within the tolerance.
const DIFFERENCES: &str = "Delay lines of the laboratory send what is due in rounds of 100 us, so a round trip there takes \
    some tenths of a millisecond longer, and acknowledgements come in groups. BBR therefore overestimates the bottleneck by \
    a few percent, and its queue drops more. If the windows differ by even a segment, random losses hit the two transfers at different moments.";

/// Renders the page.
pub fn render(comparison: &Comparison) -> Result<String> {
    let mut report = Report::new("linkmend sim kernel")
        .subtitle("The simulated TCP compared with the kernel's, over the same path")
        .fact("Version", comparison.version)
        .fact("Path", tables::path(comparison))
        .fact("Seed", comparison.seed.to_string())
        .fact("Kernel", comparison.kernel.clone().unwrap_or_else(|| "not run".to_owned()));
    if let Some(noise) = &comparison.noise {
        let text = format!(
            "{} of {} transfers disturbed, {} repeated",
            noise.disturbed, noise.slots, noise.repeated
        );
        report = report.fact("Machine", text);
    }
    let outside = comparison.count(Verdict::Outside);
    let judged = comparison.count(Verdict::Inside) + outside;
    let tone = if outside == 0 { Tone::Good } else { Tone::Bad };
    report = report.headline(
        "Goodput within 20 % of the kernel's",
        format!("{} of {judged}", judged - outside),
        "transfers that the machine did not disturb",
        tone,
    );
    let table = tables::comparison(comparison);
    report = report.section(Section::new("Side by side").prose(ABOUT).table(table).prose(DIFFERENCES));
    for row in &comparison.rows {
        report = report.section(section(row));
    }
    // The samples would make a page of 16 MB.
    let raw = Section::new("Raw results")
        .json("Without the samples, which --json prints", &comparison.without_samples())?;
    Ok(report.section(raw).to_html())
}

fn section(row: &Row) -> Section {
    let title = format!("{}, {}", row.congestion_control, row.losses.name());
    let said = |name: &str, side: &Side| {
        format!(
            "{name}: {}, {} segments retransmitted ({} of them had arrived), {} frames lost on the wire, {} dropped by the \
             queue, {} timeouts.",
            quantity::rate(side.goodput_bps),
            side.retransmitted_segments,
            side.needlessly_retransmitted_segments,
            side.frames_lost,
            side.queue_drops,
            side.timeouts
        )
    };
    let mut section = Section::new(&title);
    if let Some(kernel) = &row.kernel {
        section = section.prose(said("Kernel", kernel));
    }
    section = section.prose(said("Simulated", &row.simulated));
    if row.disturbed {
        section = section.prose("The machine disturbed the kernel's transfer, so it is not judged.");
    }
    section.plot(plot(row))
}

/// Congestion window and round-trip time of both sides over time.
fn plot(row: &Row) -> Timeline {
    let panel = |axis: Axis, value: fn(&Point) -> f64| {
        let sides =
            [("kernel", Hue::Grey, row.kernel.as_ref()), ("simulated", Hue::Blue, Some(&row.simulated))];
        let mut panel = Panel::new(axis.with_zero());
        for (name, hue, side) in sides {
            let Some(side) = side else { continue };
            let points: Vec<(f64, f64)> = side.trace.iter().map(|point| (point.at_s, value(point))).collect();
            panel = panel.series(Series::line(name, points).hue(hue));
        }
        panel
    };
    let window = panel(Axis::new("congestion window", Unit::Plain), |point| {
        f64::from(point.congestion_window_segments)
    });
    let rtt = panel(Axis::new("round-trip time", Unit::Second), |point| point.rtt_s);
    let retransmitted =
        panel(Axis::new("retransmitted so far", Unit::Count), |point| point.retransmitted_segments as f64);
    Timeline::new(format!("{}, {}", row.congestion_control, row.losses.name()))
        .time(Axis::new("time", Unit::Second))
        .panel(window)
        .panel(rtt)
        .panel(retransmitted)
}
