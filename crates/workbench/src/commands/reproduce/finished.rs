//! A finished experiment: its results and comparisons.

use linkmend_report::{Comparison, Plot, Table, Verdict};
use serde::Serialize;
use serde_json::Value;

/// A finished experiment of any kind, ready to be shown and written.
pub struct Finished {
    /// Its name on the command line.
    pub id: String,
    /// Its subject, in a few words.
    pub title: String,
    /// What it reproduces.
    pub source: String,
    /// Its subject, in full sentences.
    pub about: String,
    /// The experiment file.
    pub text: String,
    /// Published values beside measured ones.
    pub comparisons: Vec<Comparison>,
    /// The plots of its report.
    pub plots: Vec<Plot>,
    /// A table of all points, for files.
    pub points: Table,
    /// A table of all points with the most important columns, if a page has room for it.
    pub shown: Option<Table>,
    /// The same table for a terminal.
    pub briefly: Option<Table>,
    /// How many points there are.
    pub point_count: usize,
    /// The result of each point, for files.
    pub results: Value,
}

/// The number of comparisons with each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Within the tolerance.
    pub inside: usize,
    /// Outside the tolerance, with a known reason.
    pub explained: usize,
    /// Counted, but too rarely to tell whether it is inside or outside.
    pub too_few_to_tell: usize,
    /// Outside the tolerance, without a known reason.
    pub unexplained: usize,
    /// There was nothing to measure.
    pub not_measured: usize,
}

impl Finished {
    /// Counts the verdicts of its comparisons.
    pub fn tally(&self) -> Tally {
        Tally::new(&self.comparisons)
    }

    /// The table of published and measured values.
    pub fn comparison_table(&self) -> Table {
        Comparison::table(format!("{}: published and measured", self.title), &self.comparisons)
    }
}

impl Tally {
    fn new(comparisons: &[Comparison]) -> Tally {
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

    /// The sum over several experiments.
    pub fn sum(tallies: impl IntoIterator<Item = Tally>) -> Tally {
        tallies.into_iter().fold(Tally::default(), |sum, tally| Tally {
            inside: sum.inside + tally.inside,
            explained: sum.explained + tally.explained,
            too_few_to_tell: sum.too_few_to_tell + tally.too_few_to_tell,
            unexplained: sum.unexplained + tally.unexplained,
            not_measured: sum.not_measured + tally.not_measured,
        })
    }

    /// Number of comparisons.
    pub fn total(self) -> usize {
        self.inside + self.explained + self.too_few_to_tell + self.unexplained + self.not_measured
    }
}
