//! An experiment that is finished: what came out, and how it compares.

use linkmend_report::{Comparison, Plot, Table, Verdict};
use serde::Serialize;
use serde_json::Value;

/// An experiment that is finished, of whatever kind, ready to be shown and written.
pub struct Finished {
    /// Its name.
    pub id: String,
    /// What it is about, in a few words.
    pub title: String,
    /// What it reproduces.
    pub source: String,
    /// What it is about, in sentences.
    pub about: String,
    /// The file that describes it.
    pub text: String,
    /// Published and measured values.
    pub comparisons: Vec<Comparison>,
    /// Its plots.
    pub plots: Vec<Plot>,
    /// All points, for files.
    pub points: Table,
    /// The points with what matters most, if a page has room for them.
    pub shown: Option<Table>,
    /// The same for a terminal.
    pub briefly: Option<Table>,
    /// How many points there are.
    pub point_count: usize,
    /// What came out at each point, for files.
    pub results: Value,
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

impl Finished {
    /// How its comparisons came out.
    pub fn tally(&self) -> Tally {
        Tally::of(&self.comparisons)
    }

    /// Published and measured values.
    pub fn comparison_table(&self) -> Table {
        Comparison::table(format!("{}: published and measured", self.title), &self.comparisons)
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
