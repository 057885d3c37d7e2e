//! An experiment that is finished: what came out, and how it compares.

use super::tables::unit;
use linkmend_report::{Comparison, Tolerance, Verdict};
use linkmend_sim::experiment::{self, Experiment, Outcome, Row};
use serde::Serialize;

/// An experiment, the outcome of each of its points, and published beside measured values.
pub struct Finished<'a> {
    /// What was run.
    pub experiment: &'a Experiment,
    /// One for each point.
    pub outcomes: Vec<Outcome>,
    /// Published and measured values.
    pub comparisons: Vec<Comparison>,
}

/// How many comparisons came out which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Within the tolerance.
    pub inside: usize,
    /// Outside of it, for a reason that is known.
    pub explained: usize,
    /// Counted, but so seldom that it may be inside or outside.
    pub too_few_to_tell: usize,
    /// Outside of it.
    pub unexplained: usize,
    /// Nothing was there to be measured.
    pub not_measured: usize,
}

impl<'a> Finished<'a> {
    /// Compares.
    pub fn new(experiment: &'a Experiment, outcomes: Vec<Outcome>) -> Finished<'a> {
        let of_points: Vec<Option<Outcome>> = outcomes.iter().cloned().map(Some).collect();
        let rows = experiment::compare(experiment, &of_points);
        Finished { experiment, outcomes, comparisons: rows.into_iter().map(comparison).collect() }
    }

    /// How its comparisons came out.
    pub fn tally(&self) -> Tally {
        Tally::of(&self.comparisons)
    }
}

impl Tally {
    fn of(comparisons: &[Comparison]) -> Tally {
        let mut tally = Tally::default();
        for comparison in comparisons {
            let counter = match comparison.verdict() {
                Verdict::Inside => &mut tally.inside,
                Verdict::TooFewToTell => &mut tally.too_few_to_tell,
                Verdict::Outside if comparison.is_unexplained() => &mut tally.unexplained,
                Verdict::Outside => &mut tally.explained,
                Verdict::NotMeasured => &mut tally.not_measured,
            };
            *counter += 1;
        }
        tally
    }

    /// Of several experiments.
    pub fn sum(tallies: impl IntoIterator<Item = Tally>) -> Tally {
        tallies.into_iter().fold(Tally::default(), |sum, tally| Tally {
            inside: sum.inside + tally.inside,
            explained: sum.explained + tally.explained,
            too_few_to_tell: sum.too_few_to_tell + tally.too_few_to_tell,
            unexplained: sum.unexplained + tally.unexplained,
            not_measured: sum.not_measured + tally.not_measured,
        })
    }

    /// All comparisons.
    pub fn total(self) -> usize {
        self.inside + self.explained + self.too_few_to_tell + self.unexplained + self.not_measured
    }
}

fn comparison(row: Row) -> Comparison {
    let tolerance = match row.tolerance {
        experiment::Tolerance::Relative(fraction) => Tolerance::Relative(fraction),
        experiment::Tolerance::Absolute(limit) => Tolerance::Absolute(limit),
        experiment::Tolerance::Factor(factor) => Tolerance::Factor(factor),
        experiment::Tolerance::AtMost => Tolerance::AtMost,
        experiment::Tolerance::AtLeast => Tolerance::AtLeast,
        experiment::Tolerance::Interval => Tolerance::Interval,
    };
    let mut comparison =
        Comparison::new(row.metric, row.source, unit(row.quantity), row.published, tolerance);
    if let Some(measured) = row.measured {
        comparison = comparison.measured(measured.value);
        if let Some((low, high)) = measured.interval {
            comparison = comparison.between(low, high);
        }
    }
    match row.explanation {
        Some(explanation) => comparison.explain(explanation),
        None => comparison,
    }
}
