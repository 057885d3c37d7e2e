//! The report: one HTML page with all finished experiments.

use super::Options;
use super::finished::{Finished, Tally};
use linkmend_report::{Report, Section, Tone};

/// Renders the page.
pub fn render(finished: &[&Finished], options: &Options, of: usize) -> String {
    let tally = Tally::sum(finished.iter().map(|finished| finished.tally()));
    let mut report = Report::new("linkmend reproduce")
        .subtitle("Published evaluations of link-local retransmission, reproduced in simulation")
        .fact("Version", env!("CARGO_PKG_VERSION"))
        .fact("Seed", options.seed.to_string())
        .fact("Experiments", format!("{} of {of}", finished.len()));
    if options.quick {
        report = report.fact("Length", "quick: few frames, so verdicts mean little");
    }
    if let Some(trials) = options.trials {
        report =
            report.fact("Trials of each run", format!("{trials}, instead of the number in the experiments"));
    }
    let tone = |bad: usize| if bad == 0 { Tone::Good } else { Tone::Bad };
    report = report
        .headline(
            "Values within their tolerance",
            format!("{} of {}", tally.inside, tally.total()),
            "published or expected values",
            tone(tally.unexplained),
        )
        .headline("Outside, explained", tally.explained.to_string(), "see the tables below", Tone::Plain)
        .headline(
            "Too few to tell",
            tally.too_few_to_tell.to_string(),
            "counted too rarely to decide",
            Tone::Plain,
        )
        .headline(
            "Outside, unexplained",
            tally.unexplained.to_string(),
            if tally.unexplained == 0 { "as expected" } else { "needs investigation" },
            tone(tally.unexplained),
        );
    finished.iter().map(|finished| section(finished)).fold(report, Report::section).to_html()
}

fn section(finished: &Finished) -> Section {
    let mut section = Section::new(format!("{}: {}", finished.id, finished.title))
        .prose(format!("Reproduces: {}.", finished.source))
        .prose(&finished.about);
    for plot in &finished.plots {
        section = section.plot(plot.clone());
    }
    if !finished.comparisons.is_empty() {
        section = section.table(finished.comparison_table());
    }
    if let Some(points) = &finished.shown {
        section = section.table(points.clone());
    }
    section.raw("The experiment's file", finished.text.as_str())
}
