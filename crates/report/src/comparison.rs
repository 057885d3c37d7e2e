//! A published value beside a measured one, and whether it is reproduced.

use crate::quantity::Unit;
use crate::table::{Cell, Column, Table};
use crate::tolerance::Tolerance;
use crate::tone::Tone;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Whether a published value is reproduced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all(serialize = "snake_case", deserialize = "kebab-case"))]
pub enum Verdict {
    /// The measured value is inside the tolerance; if it has an interval, its whole interval.
    #[default]
    Reproduced,
    /// It is outside the tolerance, and its whole interval is where a known cause predicts it.
    DiffersAsPredicted,
    /// It is neither inside the tolerance nor where a cause predicts it.
    NotReproduced,
    /// Its interval lies partly inside and partly outside, or nothing was counted where something is expected.
    TooFewToTell,
    /// One of the two values is missing or not a number.
    NotMeasured,
}

/// A published value, the value measured for it, and what is known about their difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    metric: String,
    source: String,
    unit: Unit,
    published: f64,
    measured: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<(f64, f64)>,
    tolerance: Tolerance,
    tolerance_reason: Option<String>,
    explanation: Option<String>,
    predicted: Option<(f64, f64)>,
    recorded: Verdict,
    #[serde(skip)]
    too_few: bool,
}

/// A comparison with its verdict, to be written as JSON.
#[derive(Debug, Serialize)]
pub struct Judged<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    verdict: Verdict,
}

impl Judged<'_> {
    /// Judges all rows.
    pub fn all(rows: &[Comparison]) -> Vec<Judged<'_>> {
        rows.iter().map(|comparison| Judged { comparison, verdict: comparison.verdict() }).collect()
    }
}

impl Comparison {
    /// A published value of `metric`; `source` names the figure or table where it is published.
    pub fn new(
        metric: impl Into<String>,
        source: impl Into<String>,
        unit: Unit,
        published: f64,
        tolerance: Tolerance,
    ) -> Self {
        Comparison {
            metric: metric.into(),
            source: source.into(),
            unit,
            published,
            measured: None,
            interval: None,
            tolerance,
            tolerance_reason: None,
            explanation: None,
            predicted: None,
            recorded: Verdict::default(),
            too_few: false,
        }
    }

    /// Sets what was measured.
    #[must_use]
    pub fn measured(mut self, value: f64) -> Self {
        self.measured = Some(value);
        self
    }

    /// Sets the interval of the measured value. The value is inside the tolerance if the whole interval is, and outside if
    /// none of it is; otherwise too few were counted to tell.
    #[must_use]
    pub fn between(mut self, low: f64, high: f64) -> Self {
        self.interval = Some((low, high));
        self
    }

    /// Says that so few were counted that not even their interval is known.
    #[must_use]
    pub fn too_few(mut self) -> Self {
        self.too_few = true;
        self
    }

    /// Sets why the tolerance is what it is.
    #[must_use]
    pub fn tolerance_reason(mut self, reason: impl Into<String>) -> Self {
        self.tolerance_reason = Some(reason.into());
        self
    }

    /// Sets what is known about the difference of the two. It changes no verdict.
    #[must_use]
    pub fn explain(mut self, explanation: impl Into<String>) -> Self {
        self.explanation = Some(explanation.into());
        self
    }

    /// Sets where the cause in the explanation predicts the measured value.
    #[must_use]
    pub fn predict(mut self, low: f64, high: f64) -> Self {
        self.predicted = Some((low, high));
        self
    }

    /// Sets the verdict that is on record. Without one, the value is expected to be reproduced.
    #[must_use]
    pub fn recorded(mut self, verdict: Verdict) -> Self {
        self.recorded = verdict;
        self
    }

    /// Whether the published value is reproduced.
    pub fn verdict(&self) -> Verdict {
        let Some(measured) = self.measured.filter(|value| !value.is_nan()) else {
            return Verdict::NotMeasured;
        };
        if self.published.is_nan() {
            return Verdict::NotMeasured;
        }
        if self.too_few {
            return Verdict::TooFewToTell;
        }
        let (low, high) = self.interval.unwrap_or((measured, measured));
        let (low, high) = (low.min(measured), high.max(measured));
        match (self.agreement(measured, low, high), self.predicted) {
            (Verdict::Reproduced, _) => Verdict::Reproduced,
            (otherwise, None) => otherwise,
            (_, Some((from, to))) if from <= low && high <= to => Verdict::DiffersAsPredicted,
            (Verdict::NotReproduced, Some((from, to))) if high < from || to < low => Verdict::NotReproduced,
            (_, Some(_)) => Verdict::TooFewToTell,
        }
    }

    fn allows(&self, value: f64) -> bool {
        self.tolerance.allows(self.published, value)
    }

    /// The verdict by the tolerance alone.
    fn agreement(&self, measured: f64, low: f64, high: f64) -> Verdict {
        if matches!(self.tolerance, Tolerance::Interval | Tolerance::Equality(_)) {
            let holds = (low..=high).contains(&self.published);
            // One interval in twenty misses the true value by chance. Twice as wide, hardly any does.
            let may_hold = (2.0 * low - measured..=2.0 * high - measured).contains(&self.published);
            // The interval of a count of zero begins at 0 and contains everything below its end.
            let none = measured == 0.0 && low == 0.0 && self.published > 0.0;
            let narrow = self.tolerance == Tolerance::Interval || self.allows(low) && self.allows(high);
            return match (holds && !none && high.is_finite() && narrow, may_hold) {
                (true, _) => Verdict::Reproduced,
                (false, true) => Verdict::TooFewToTell,
                (false, false) => Verdict::NotReproduced,
            };
        }
        let allows = |value: f64| self.allows(value);
        // The tolerance allows one interval around the published value, or everything on one side of it.
        let nearest = self.published.clamp(low, high);
        match (allows(low) && allows(high), allows(nearest)) {
            (true, _) => Verdict::Reproduced,
            (false, true) => Verdict::TooFewToTell,
            (false, false) => Verdict::NotReproduced,
        }
    }

    /// Whether the verdict is another one than is on record. If only an expectation was published, a count of zero confirms
    /// nothing, but does not refute anything either.
    pub fn is_changed(&self) -> bool {
        let expectation = self.tolerance == Tolerance::Interval && self.verdict() == Verdict::TooFewToTell;
        self.verdict() != self.recorded && !expectation
    }

    /// Measured minus published as a fraction of published; `None` where that has no meaning.
    pub fn deviation(&self) -> Option<f64> {
        let deviation = (self.measured? - self.published) / self.published.abs();
        deviation.is_finite().then_some(deviation)
    }

    /// The comparisons as a table that notes how many are reproduced, and why the tolerances are what they are.
    pub fn table(title: impl Into<String>, comparisons: &[Comparison]) -> Table {
        let mut table = Table::new(title)
            .column(Column::text("Metric"))
            .column(Column::text("Source"))
            .column(Column::number("Published", Unit::Plain))
            .column(Column::number("Measured", Unit::Plain))
            .column(Column::number("Deviation", Unit::Plain))
            .column(Column::number("Tolerance", Unit::Plain));
        let predicted = comparisons.iter().any(|comparison| comparison.predicted.is_some());
        if predicted {
            table = table.column(Column::number("Predicted", Unit::Plain));
        }
        table = table.column(Column::text("Verdict")).column(Column::text("Explanation"));
        for comparison in comparisons {
            table.push_row(comparison.cells(predicted));
        }
        let reproduced = comparisons.iter().filter(|c| c.verdict() == Verdict::Reproduced).count();
        let counted = comparisons.iter().any(|c| c.interval.is_some());
        let how = if counted {
            " Intervals are 95 % intervals; if a value has one, the verdict applies to all of it."
        } else {
            ""
        };
        let reasons: BTreeSet<&str> =
            comparisons.iter().filter_map(|comparison| comparison.tolerance_reason.as_deref()).collect();
        let reasons = reasons.into_iter().map(|reason| format!("Tolerance: {reason}"));
        let table = table.note(format!("{reproduced} of {} reproduced.{how}", comparisons.len()));
        reasons.fold(table, Table::note)
    }

    fn cells(&self, predicted: bool) -> Vec<Cell> {
        let (sign, tone) = match self.verdict() {
            Verdict::Reproduced => ("✓ ", Tone::Good),
            Verdict::DiffersAsPredicted => ("≠ ", Tone::Neutral),
            Verdict::NotReproduced => ("✗ ", Tone::Bad),
            Verdict::TooFewToTell => ("? ", Tone::Neutral),
            Verdict::NotMeasured => ("", Tone::Neutral),
        };
        let changed = self.is_changed();
        let mut verdict = format!("{sign}{}", self.verdict().in_words());
        if changed {
            verdict.push_str(&format!(" (recorded: {})", self.recorded.in_words()));
        }
        let interval = |(low, high)| format!("{} to {}", self.unit.format(low), self.unit.format(high));
        let mut cells = vec![
            Cell::text(&self.metric),
            Cell::text(&self.source).neutral(),
            Cell::quantity(self.published, self.unit),
            self.measured.map_or_else(Cell::missing, |value| self.measured_cell(value)),
            self.deviation().map_or_else(|| Cell::text(""), |share| Cell::text(signed_percent(share))),
            Cell::text(self.tolerance.text(self.unit)).neutral(),
        ];
        if predicted {
            cells.push(Cell::text(self.predicted.map_or_else(String::new, interval)).neutral());
        }
        cells.extend([
            Cell::text(verdict).tone(if changed { Tone::Bad } else { tone }),
            Cell::text(self.explanation.as_deref().unwrap_or_default()),
        ]);
        cells
    }

    fn measured_cell(&self, value: f64) -> Cell {
        match self.interval {
            None => Cell::quantity(value, self.unit),
            Some((low, high)) => {
                let [value, low, end] = [value, low, high].map(|bound| self.unit.format(bound));
                let interval =
                    if high.is_finite() { format!("{low} to {end}") } else { format!("at least {low}") };
                Cell::text(format!("{value} ({interval})"))
            }
        }
    }
}

impl Verdict {
    /// The verdict as text.
    pub fn in_words(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::DiffersAsPredicted => "differs as predicted",
            Verdict::NotReproduced => "not reproduced",
            Verdict::TooFewToTell => "too few to tell",
            Verdict::NotMeasured => "not measured",
        }
    }
}

/// A deviation to a tenth of a percent; beyond tenfold, only the factor matters.
fn signed_percent(fraction: f64) -> String {
    if fraction.abs() >= 9.0 {
        format!("×{}", Unit::Plain.format((fraction + 1.0).round()))
    } else {
        format!("{:+.1} %", fraction * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(published: f64, measured: f64, tolerance: Tolerance) -> Verdict {
        Comparison::new("m", "s", Unit::Plain, published, tolerance).measured(measured).verdict()
    }

    #[test]
    fn tolerances_are_inclusive() {
        use Verdict::{NotMeasured, NotReproduced as Outside, Reproduced as Inside};
        assert_eq!(verdict(100.0, 105.0, Tolerance::Relative(0.05)), Inside);
        assert_eq!(verdict(100.0, 105.1, Tolerance::Relative(0.05)), Outside);
        assert_eq!(verdict(-100.0, -96.0, Tolerance::Relative(0.05)), Inside);
        assert_eq!(verdict(1.0, 1.5, Tolerance::Absolute(0.5)), Inside);
        assert_eq!(verdict(1e-9, 3e-9, Tolerance::Factor(3.0)), Inside);
        assert_eq!(verdict(1e-9, 0.0, Tolerance::Factor(3.0)), Outside);
        assert_eq!(verdict(0.0, 0.0, Tolerance::Factor(3.0)), Inside);
        assert_eq!(verdict(1e-8, 0.0, Tolerance::AtMost), Inside);
        assert_eq!(verdict(51.0, 50.0, Tolerance::AtLeast), Outside);
        assert_eq!(verdict(1.0, f64::NAN, Tolerance::AtMost), NotMeasured);
        assert_eq!(verdict(f64::NAN, 1.0, Tolerance::AtMost), NotMeasured);
    }

    #[test]
    fn a_count_of_none_where_some_are_expected_reproduces_nothing() {
        let counted = |expected: f64, counted: f64, low, high| {
            let comparison = Comparison::new("m", "s", Unit::LossRate, expected, Tolerance::Interval);
            comparison.measured(counted).between(low, high)
        };
        let none = counted(1e-9, 0.0, 0.0, 2e-9);
        assert!(none.verdict() == Verdict::TooFewToTell && !none.is_changed(), "it refutes nothing");
        assert_eq!(
            counted(5e-9, 0.0, 0.0, 2e-9).verdict(),
            Verdict::NotReproduced,
            "so many should have been seen"
        );
        assert_eq!(counted(3e-9, 0.0, 0.0, 2e-9).verdict(), Verdict::TooFewToTell);
        assert_eq!(counted(0.0, 0.0, 0.0, 2e-9).verdict(), Verdict::Reproduced, "none is what was expected");
    }

    #[test]
    fn of_counted_values_the_interval_decides() {
        let of = |published: f64, measured: f64, low, high, tolerance| {
            let comparison = Comparison::new("m", "s", Unit::LossRate, published, tolerance);
            comparison.measured(measured).between(low, high).verdict()
        };
        assert_eq!(of(1e-9, 5e-10, 1e-10, 2e-9, Tolerance::Interval), Verdict::Reproduced);
        assert_eq!(of(3e-9, 5e-10, 1e-10, 2e-9, Tolerance::Interval), Verdict::TooFewToTell);
        assert_eq!(of(4e-9, 5e-10, 1e-10, 2e-9, Tolerance::Interval), Verdict::NotReproduced);
        assert_eq!(of(1e-9, 5e-10, 1e-10, f64::INFINITY, Tolerance::Interval), Verdict::TooFewToTell);
        assert_eq!(of(1e-9, 5e-10, 1e-10, f64::INFINITY, Tolerance::Factor(3.0)), Verdict::TooFewToTell);
        for (measured, low, high, verdict) in [
            (1e-9, 6e-10, 1.9e-9, Verdict::Reproduced),
            (1e-9, 5e-10, 2e-9, Verdict::Reproduced),
            (1e-9, 4e-10, 1.9e-9, Verdict::TooFewToTell),
            (1e-9, 1e-10, 9e-9, Verdict::TooFewToTell),
            (0.0, 0.0, 6e-10, Verdict::TooFewToTell),
            (0.0, 0.0, 4e-10, Verdict::NotReproduced),
            (4e-9, 2.1e-9, 8e-9, Verdict::NotReproduced),
        ] {
            assert_eq!(of(1e-9, measured, low, high, Tolerance::Factor(2.0)), verdict, "{low} to {high}");
        }
        for (low, high, most, least) in [
            (5e-10, 9e-10, Verdict::Reproduced, Verdict::NotReproduced),
            (5e-10, 4e-9, Verdict::TooFewToTell, Verdict::TooFewToTell),
            (1.5e-9, 4e-9, Verdict::NotReproduced, Verdict::Reproduced),
        ] {
            let middle = 0.5 * (low + high);
            assert_eq!(of(1e-9, middle, low, high, Tolerance::AtMost), most, "{low} to {high}");
            assert_eq!(of(1e-9, middle, low, high, Tolerance::AtLeast), least, "{low} to {high}");
        }
    }

    #[test]
    fn what_is_equal_has_an_interval_that_contains_it_and_is_narrow() {
        for (measured, low, high, verdict) in [
            (1.01, 0.99, 1.03, Verdict::Reproduced),
            (1.0, 1.0, 1.0, Verdict::Reproduced),
            // Within the bound, but another value.
            (1.03, 1.02, 1.04, Verdict::NotReproduced),
            // One interval in twenty misses the true value by as little as this.
            (1.011, 1.001, 1.021, Verdict::TooFewToTell),
            // So wide that a difference beyond the bound would not show.
            (1.0, 0.9, 1.1, Verdict::TooFewToTell),
            (1.25, 1.15, 1.35, Verdict::NotReproduced),
        ] {
            let row = Comparison::new("m", "s", Unit::Plain, 1.0, Tolerance::Equality(0.05));
            assert_eq!(row.measured(measured).between(low, high).verdict(), verdict, "{low} to {high}");
        }
    }

    #[test]
    fn an_explanation_excuses_nothing_and_a_prediction_can_fail() {
        let of = |measured: f64| {
            let row =
                Comparison::new("m", "s", Unit::Plain, 100.0, Tolerance::Relative(0.1)).measured(measured);
            row.explain("a cause")
        };
        assert_eq!(of(50.0).verdict(), Verdict::NotReproduced);
        let predicted = |measured: f64| of(measured).predict(40.0, 60.0);
        for (measured, verdict) in [
            (100.0, Verdict::Reproduced),
            (60.0, Verdict::DiffersAsPredicted),
            (61.0, Verdict::NotReproduced),
            (39.0, Verdict::NotReproduced),
            (111.0, Verdict::NotReproduced),
        ] {
            assert_eq!(predicted(measured).verdict(), verdict, "{measured}");
        }
        for (low, high, verdict) in [
            (45.0, 55.0, Verdict::DiffersAsPredicted),
            (45.0, 65.0, Verdict::TooFewToTell),
            (45.0, 95.0, Verdict::TooFewToTell),
            (65.0, 85.0, Verdict::NotReproduced),
            (65.0, 95.0, Verdict::TooFewToTell),
        ] {
            assert_eq!(
                predicted(0.5 * (low + high)).between(low, high).verdict(),
                verdict,
                "{low} to {high}"
            );
        }
    }

    #[test]
    fn a_verdict_is_compared_with_the_one_on_record() {
        use Verdict::{DiffersAsPredicted, NotReproduced, Reproduced, TooFewToTell};
        let of = |measured: f64, recorded: Verdict| {
            let row = Comparison::new("m", "s", Unit::Plain, 100.0, Tolerance::Relative(0.1));
            row.measured(measured).explain("a cause").predict(40.0, 60.0).recorded(recorded)
        };
        for (measured, verdict) in [(100.0, Reproduced), (50.0, DiffersAsPredicted), (70.0, NotReproduced)] {
            for recorded in [Reproduced, DiffersAsPredicted, NotReproduced, TooFewToTell] {
                let changed = of(measured, recorded).is_changed();
                assert_eq!(changed, recorded != verdict, "{measured}, recorded as {recorded:?}");
            }
        }
        let few = Comparison::new("m", "s", Unit::Plain, 0.0, Tolerance::Absolute(0.0));
        let few = few.measured(0.0).between(0.0, 3.0);
        assert!(few.verdict() == TooFewToTell && few.is_changed());
        assert!(!few.recorded(TooFewToTell).is_changed());
    }

    #[test]
    fn deviation_needs_a_base() {
        let zero = Comparison::new("m", "s", Unit::Plain, 0.0, Tolerance::AtMost).measured(1.0);
        assert_eq!(zero.deviation(), None);
        let half = Comparison::new("m", "s", Unit::Plain, 2.0, Tolerance::AtMost).measured(1.0);
        assert_eq!(half.deviation(), Some(-0.5));
    }
}
