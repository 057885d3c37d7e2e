//! The report: one HTML page with all finished experiments.

use super::Options;
use super::finished::{Finished, Tally};
use super::kept::Kept;
use linkmend_report::{Report, Section, Tone};

/// Renders the page.
pub fn render(finished: &[&Kept], options: &Options, of: usize) -> String {
    let tally = Tally::sum(finished.iter().map(|finished| finished.tally));
    let mut report = Report::new("linkmend reproduce")
        .subtitle("Published evaluations of link-local retransmission, reproduced in simulation")
        .fact("Version", env!("CARGO_PKG_VERSION"))
        .fact("Seed", options.seed.to_string())
        .fact("Experiments", format!("{} of {of}", finished.len()));
    if options.quick {
        report = report.fact("Length", "quick: few frames, so verdicts are not meaningful");
    }
    if let Some(trials) = options.trials {
        report =
            report.fact("Trials of each run", format!("{trials}, instead of the number in the experiments"));
    }
    if tally.total() > 0 {
        report = with_verdicts(report, tally);
    }
    finished.iter().map(|finished| finished.section.clone()).fold(report, Report::rendered).to_html()
}

/// Adds how many published values were reproduced.
fn with_verdicts(report: Report, tally: Tally) -> Report {
    let count = |count: usize| format!("{count} of {}", tally.total());
    let changed = match tally.changed {
        0 => "all verdicts match the recorded ones".to_owned(),
        changed => format!("{changed} verdicts do not match the recorded ones"),
    };
    report
        .headline(
            "Reproduced",
            count(tally.reproduced),
            changed,
            if tally.changed == 0 { Tone::Good } else { Tone::Bad },
        )
        .headline(
            "Differ as predicted",
            count(tally.differ_as_predicted),
            "where a known cause predicts them",
            Tone::Plain,
        )
        .headline("Not reproduced", count(tally.not_reproduced), "see the tables below", Tone::Plain)
        .headline(
            "Too few to tell",
            count(tally.too_few_to_tell),
            "counted too rarely to decide",
            Tone::Plain,
        )
}

/// The section of an experiment.
pub fn section(finished: &Finished) -> Section {
    let source = if finished.comparisons.is_empty() { "Source" } else { "Reproduces" };
    let mut section = Section::new(format!("{}: {}", finished.id, finished.title))
        .prose(format!("{source}: {}.", finished.source))
        .prose(&finished.about);
    for plot in &finished.presented.plots {
        section = section.plot(plot.clone());
    }
    if !finished.comparisons.is_empty() {
        section = section.table(finished.comparison_table());
    }
    if let Some(points) = &finished.presented.shown {
        section = section.table(points.clone());
    }
    section.raw("The experiment's file", finished.text.as_str())
}
