//! A published value beside a measured one, and whether they agree.

use crate::quantity::Unit;
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;
use serde::{Deserialize, Serialize};

/// How far a measured value may be from the published one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all(serialize = "snake_case", deserialize = "kebab-case"))]
pub enum Tolerance {
    /// At most this fraction of the published value away: 0.05 means ±5 %.
    Relative(f64),
    /// At most this far away, in the unit of the value.
    Absolute(f64),
    /// Within this factor either way, for values that matter by their order of magnitude, such as loss rates.
    Factor(f64),
    /// The published value is a bound: the measured one must not be above it.
    AtMost,
    /// The published value is a bound: the measured one must not be below it.
    AtLeast,
    /// The published value is an expectation: the interval of a counted value must contain it.
    Interval,
}

/// Whether a measured value is where it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Inside the tolerance; of a counted value, its whole interval.
    Inside,
    /// Outside the tolerance; of a counted value, its whole interval.
    Outside,
    /// The interval of a counted value lies partly inside and partly outside the tolerance, or nothing was counted
    /// where something is expected.
    TooFewToTell,
    /// One of the two values is missing or not a number.
    NotMeasured,
}

/// A published value, the value measured for it, and why they differ if they do.
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
    explanation: Option<String>,
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

impl Tolerance {
    /// Whether its number is valid: a tolerance is at least 0, a factor at least 1.
    pub fn is_sensible(self) -> bool {
        match self {
            Tolerance::Relative(limit) | Tolerance::Absolute(limit) => limit >= 0.0,
            Tolerance::Factor(factor) => factor >= 1.0,
            Tolerance::AtMost | Tolerance::AtLeast | Tolerance::Interval => true,
        }
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
        let (metric, source) = (metric.into(), source.into());
        let (measured, interval, explanation, too_few) = (None, None, None, false);
        Comparison { metric, source, unit, published, measured, interval, tolerance, explanation, too_few }
    }

    /// Sets what was measured.
    #[must_use]
    pub fn measured(mut self, value: f64) -> Self {
        self.measured = Some(value);
        self
    }

    /// Sets the interval of a measured value that was counted. The value is inside the tolerance if the whole interval
    /// is, and outside if none of it is; otherwise too few were counted to tell.
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

    /// Sets the explanation of why the two differ, or why they need not agree.
    #[must_use]
    pub fn explain(mut self, explanation: impl Into<String>) -> Self {
        self.explanation = Some(explanation.into());
        self
    }

    /// Whether the measured value is inside the tolerance. The bounds themselves are inside.
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
        if self.tolerance == Tolerance::Interval {
            let holds = (low..=high).contains(&self.published);
            // The interval of a count of zero begins at 0 and contains everything below its end.
            let none = measured == 0.0 && low == 0.0 && self.published > 0.0;
            return match (holds, none) {
                (true, false) => Verdict::Inside,
                (true, true) => Verdict::TooFewToTell,
                (false, _) => Verdict::Outside,
            };
        }
        // The tolerance allows one interval around the published value, or everything on one side of it.
        let nearest = self.published.clamp(low, high);
        match (self.allows(low) && self.allows(high), self.allows(nearest)) {
            (true, _) => Verdict::Inside,
            (false, true) => Verdict::TooFewToTell,
            (false, false) => Verdict::Outside,
        }
    }

    /// Whether it is outside the tolerance without an explanation.
    pub fn is_unexplained(&self) -> bool {
        self.verdict() == Verdict::Outside && self.explanation.is_none()
    }

    /// Whether too few were counted to tell, although the tolerance needs an answer, and nothing explains why more would not
    /// give one. If only an expectation was published, a count of zero confirms nothing, but does not refute anything either.
    pub fn is_undecided(&self) -> bool {
        self.verdict() == Verdict::TooFewToTell
            && self.tolerance != Tolerance::Interval
            && self.explanation.is_none()
    }

    fn allows(&self, measured: f64) -> bool {
        let (published, distance) = (self.published, (measured - self.published).abs());
        measured == published
            || match self.tolerance {
                Tolerance::Relative(fraction) => distance <= fraction.abs() * published.abs(),
                Tolerance::Absolute(limit) => distance <= limit.abs(),
                Tolerance::Factor(factor) => {
                    let factor = factor.abs().max(1.0);
                    measured * published > 0.0
                        && measured.abs() <= published.abs() * factor
                        && measured.abs() >= published.abs() / factor
                }
                Tolerance::AtMost => measured <= published,
                Tolerance::AtLeast => measured >= published,
                // Only the interval matters.
                Tolerance::Interval => false,
            }
    }

    /// Measured minus published as a fraction of published; `None` where that has no meaning.
    pub fn deviation(&self) -> Option<f64> {
        let deviation = (self.measured? - self.published) / self.published.abs();
        deviation.is_finite().then_some(deviation)
    }

    /// The comparisons as a table that notes how many are inside.
    pub fn table(title: impl Into<String>, comparisons: &[Comparison]) -> Table {
        let mut table = Table::new(title)
            .column(Column::text("Metric"))
            .column(Column::text("Source"))
            .column(Column::number("Published", Unit::Plain))
            .column(Column::number("Measured", Unit::Plain))
            .column(Column::number("Deviation", Unit::Plain))
            .column(Column::number("Tolerance", Unit::Plain))
            .column(Column::text("Verdict"))
            .column(Column::text("Explanation"));
        for comparison in comparisons {
            table.push_row(comparison.cells());
        }
        let inside = comparisons.iter().filter(|c| c.verdict() == Verdict::Inside).count();
        let counted = comparisons.iter().any(|c| c.interval.is_some());
        let how = if counted { " Counted values are inside only if their whole interval is." } else { "" };
        table.note(format!("{inside} of {} inside the tolerance.{how}", comparisons.len()))
    }

    fn cells(&self) -> [Cell; 8] {
        let (verdict, tone) = match self.verdict() {
            Verdict::Inside => ("✓ inside", Tone::Good),
            Verdict::Outside if self.explanation.is_some() => ("✗ outside, explained", Tone::Neutral),
            Verdict::Outside => ("✗ outside", Tone::Bad),
            Verdict::TooFewToTell if self.explanation.is_some() => {
                ("? too few to tell, explained", Tone::Neutral)
            }
            Verdict::TooFewToTell => ("? too few to tell", Tone::Neutral),
            Verdict::NotMeasured => ("not measured", Tone::Neutral),
        };
        [
            Cell::text(&self.metric),
            Cell::text(&self.source).neutral(),
            Cell::quantity(self.published, self.unit),
            self.measured.map_or_else(Cell::missing, |value| self.measured_cell(value)),
            self.deviation().map_or_else(|| Cell::text(""), |share| Cell::text(signed_percent(share))),
            Cell::text(self.tolerance_text()).neutral(),
            Cell::text(verdict).tone(tone),
            Cell::text(self.explanation.as_deref().unwrap_or_default()),
        ]
    }

    fn measured_cell(&self, value: f64) -> Cell {
        match self.interval {
            None => Cell::quantity(value, self.unit),
            Some((low, high)) => {
                let [value, low, high] = [value, low, high].map(|bound| self.unit.format(bound));
                Cell::text(format!("{value} ({low} to {high})"))
            }
        }
    }

    fn tolerance_text(&self) -> String {
        match self.tolerance {
            Tolerance::Relative(fraction) => format!("±{}", trimmed_percent(fraction)),
            Tolerance::Absolute(limit) => format!("±{}", self.unit.format(limit)),
            Tolerance::Factor(factor) => format!("×/÷ {}", Unit::Plain.format(factor)),
            Tolerance::AtMost => "at most".to_owned(),
            Tolerance::AtLeast => "at least".to_owned(),
            Tolerance::Interval => "in its interval".to_owned(),
        }
    }
}

fn trimmed_percent(fraction: f64) -> String {
    format!("{} %", Unit::Plain.format(fraction * 100.0))
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
        use Verdict::{Inside, NotMeasured, Outside};
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
    fn a_count_of_none_where_some_are_expected_is_not_inside() {
        let counted = |expected: f64, counted: f64, low, high| {
            let comparison = Comparison::new("m", "s", Unit::LossRate, expected, Tolerance::Interval);
            comparison.measured(counted).between(low, high)
        };
        let none = counted(1e-9, 0.0, 0.0, 2e-9);
        assert!(none.verdict() == Verdict::TooFewToTell && !none.is_undecided(), "it refutes nothing");
        assert_eq!(
            counted(3e-9, 0.0, 0.0, 2e-9).verdict(),
            Verdict::Outside,
            "so many should have been seen"
        );
        assert_eq!(counted(0.0, 0.0, 0.0, 2e-9).verdict(), Verdict::Inside, "none is what was expected");
    }

    #[test]
    fn of_counted_values_the_interval_decides() {
        let of = |published: f64, measured: f64, low, high, tolerance| {
            let comparison = Comparison::new("m", "s", Unit::LossRate, published, tolerance);
            comparison.measured(measured).between(low, high).verdict()
        };
        assert_eq!(of(1e-9, 5e-10, 1e-10, 2e-9, Tolerance::Interval), Verdict::Inside);
        assert_eq!(of(3e-9, 5e-10, 1e-10, 2e-9, Tolerance::Interval), Verdict::Outside);
        for (measured, low, high, verdict) in [
            (1e-9, 6e-10, 1.9e-9, Verdict::Inside),
            (1e-9, 5e-10, 2e-9, Verdict::Inside),
            (1e-9, 4e-10, 1.9e-9, Verdict::TooFewToTell),
            (1e-9, 1e-10, 9e-9, Verdict::TooFewToTell),
            (0.0, 0.0, 6e-10, Verdict::TooFewToTell),
            (0.0, 0.0, 4e-10, Verdict::Outside),
            (4e-9, 2.1e-9, 8e-9, Verdict::Outside),
        ] {
            assert_eq!(of(1e-9, measured, low, high, Tolerance::Factor(2.0)), verdict, "{low} to {high}");
        }
        for (low, high, most, least) in [
            (5e-10, 9e-10, Verdict::Inside, Verdict::Outside),
            (5e-10, 4e-9, Verdict::TooFewToTell, Verdict::TooFewToTell),
            (1.5e-9, 4e-9, Verdict::Outside, Verdict::Inside),
        ] {
            let middle = 0.5 * (low + high);
            assert_eq!(of(1e-9, middle, low, high, Tolerance::AtMost), most, "{low} to {high}");
            assert_eq!(of(1e-9, middle, low, high, Tolerance::AtLeast), least, "{low} to {high}");
        }
        let few = Comparison::new("m", "s", Unit::Plain, 0.0, Tolerance::Absolute(0.0));
        let few = few.measured(0.0).between(0.0, 3.0);
        assert!(few.verdict() == Verdict::TooFewToTell && !few.is_unexplained() && few.is_undecided());
        assert!(!few.explain("it is a matter of chance").is_undecided());
        let missed = Comparison::new("m", "s", Unit::Plain, 1.0, Tolerance::AtMost).measured(2.0);
        assert!(missed.is_unexplained() && !missed.explain("known").is_unexplained());
    }

    #[test]
    fn deviation_needs_a_base() {
        let zero = Comparison::new("m", "s", Unit::Plain, 0.0, Tolerance::AtMost).measured(1.0);
        assert_eq!(zero.deviation(), None);
        let half = Comparison::new("m", "s", Unit::Plain, 2.0, Tolerance::AtMost).measured(1.0);
        assert_eq!(half.deviation(), Some(-0.5));
    }
}
