//! A finished experiment: its results and comparisons.

use linkmend_report::{Comparison, Plot, Table, Verdict};
use serde::{Deserialize, Serialize};
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
    /// How many points there are.
    pub point_count: usize,
    /// What its kind of experiments makes of the outcomes.
    pub presented: Presentation,
}

/// What only a kind of experiments knows how to make of its outcomes.
pub struct Presentation {
    /// The plots of its report.
    pub plots: Vec<Plot>,
    /// A table of all points, for files.
    pub points: Table,
    /// A table of all points with the most important columns, if a page has room for it.
    pub shown: Option<Table>,
    /// The same table for a terminal, or all tables of the only run.
    pub briefly: Vec<Table>,
    /// The result of each point, for files.
    pub results: Value,
}

/// The number of comparisons with each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Inside the tolerance.
    pub reproduced: usize,
    /// Outside the tolerance, where a known cause predicts it.
    pub differ_as_predicted: usize,
    /// Outside the tolerance, and no known cause predicts it.
    pub not_reproduced: usize,
    /// Counted too rarely to tell.
    pub too_few_to_tell: usize,
    /// There was nothing to measure.
    pub not_measured: usize,
    /// Verdicts that differ from the recorded ones.
    pub changed: usize,
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
                Verdict::Reproduced => &mut tally.reproduced,
                Verdict::DiffersAsPredicted => &mut tally.differ_as_predicted,
                Verdict::NotReproduced => &mut tally.not_reproduced,
                Verdict::TooFewToTell => &mut tally.too_few_to_tell,
                Verdict::NotMeasured => &mut tally.not_measured,
            };
            *counter += 1;
            tally.changed += usize::from(comparison.is_changed());
        }
        tally
    }

    /// The sum over several experiments.
    pub fn sum(tallies: impl IntoIterator<Item = Tally>) -> Tally {
        tallies.into_iter().fold(Tally::default(), |sum, tally| Tally {
            reproduced: sum.reproduced + tally.reproduced,
            differ_as_predicted: sum.differ_as_predicted + tally.differ_as_predicted,
            not_reproduced: sum.not_reproduced + tally.not_reproduced,
            too_few_to_tell: sum.too_few_to_tell + tally.too_few_to_tell,
            not_measured: sum.not_measured + tally.not_measured,
            changed: sum.changed + tally.changed,
        })
    }

    /// Number of comparisons.
    pub fn total(self) -> usize {
        self.reproduced
            + self.differ_as_predicted
            + self.not_reproduced
            + self.too_few_to_tell
            + self.not_measured
    }
}
