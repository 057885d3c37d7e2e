//! Published values beside measured ones.

use crate::metric::Metric;
use crate::sweep::{Replacement, Selection};
use crate::{Measurement, Quantity};
use linkmend_report::{Comparison, Tolerance, Verdict};
use serde::Deserialize;

/// A published value and where it applies.
#[derive(Debug, Clone)]
pub struct PublishedAt<O: 'static> {
    /// The metric that was published.
    pub metric: &'static Metric<O>,
    /// The points at which it applies.
    pub at: Selection,
    /// What was published is a ratio: the metric at these points over the metric where these parameters are replaced.
    pub over: Option<Replacement>,
    /// How several points are combined.
    pub across: Across,
    /// What was published is a shape: the steps from one point to the next.
    pub shape: Option<Shape>,
    /// The value, in the unit of the metric's quantity; a ratio has none.
    pub value: f64,
    /// How far the measured value may be off, in the same unit.
    pub tolerance: Tolerance,
    /// The figure or table, if it differs from the experiment's.
    pub source: String,
    /// Why the tolerance is what it is.
    pub tolerance_reason: Option<String>,
    /// What is known about the difference of the two values.
    pub explanation: Option<String>,
    /// Where the cause in the explanation predicts the measured value, in the same unit.
    pub predicted: Option<(f64, f64)>,
    /// The verdict that is on record.
    pub recorded: Verdict,
}

/// A published or expected value, in the unit of its quantity.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// What was published, and for which points of the experiment.
    pub metric: String,
    /// The figure, table or equation that it comes from.
    pub source: String,
    /// The quantity of the value.
    pub quantity: Quantity,
    pub value: f64,
    /// How far the measured value may be from it.
    pub tolerance: Tolerance,
    /// Why the tolerance is what it is.
    pub tolerance_reason: Option<String>,
    /// What is known about the difference of the two.
    pub explanation: Option<String>,
    /// Where the cause in the explanation predicts the measured value.
    pub predicted: Option<(f64, f64)>,
    /// The verdict that is on record.
    pub recorded: Verdict,
}

/// What a published value is, where that changes how it is compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowKind {
    /// A number, or a bound.
    #[default]
    Number,
    /// Two things are said to be equal. The interval of the measured value contains the published one, and is so narrow that
    /// a difference beyond the tolerance would show.
    Equality,
    /// A curve rises or falls with a parameter, from each point to the next.
    Shape,
}

/// A curve over the points of a sweep, in the order of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The parameter by whose values the points are ordered.
    pub along: &'static str,
    /// Whether the metric rises from each point to the next. Otherwise it falls.
    pub rises: bool,
}

impl Shape {
    /// Of the steps from each point to the next, as ratios of two neighbours, the one that decides.
    pub fn deciding(self) -> Across {
        if self.rises { Across::Least } else { Across::Greatest }
    }

    /// The bound of that step.
    pub fn bound(self) -> Tolerance {
        if self.rises { Tolerance::AtLeast } else { Tolerance::AtMost }
    }
}

/// How a comparison combines several points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Across {
    /// All points are pooled as if they had been one run.
    #[default]
    Pooled,
    /// The greatest value of the points counts.
    Greatest,
    /// The least one.
    Least,
    /// The median of the runs: for what grows with the length of a run, such as a maximum, if one run is as long as what was
    /// published.
    #[serde(rename = "each-run")]
    EachRun,
}

impl Across {
    /// Describes where a comparison was made: the points, or which of their values was taken.
    pub fn describe(self, points: String) -> String {
        let extreme = match self {
            Across::Pooled => return points,
            Across::Greatest => "most",
            Across::Least => "least",
            Across::EachRun => "median of the runs",
        };
        let points = if points.is_empty() { "all points" } else { &points };
        format!("{extreme} of {points}")
    }

    /// The greatest or the least of several values, as this says; `None` if one of them is missing, or they are to be pooled.
    pub(crate) fn extreme(
        self,
        measured: impl IntoIterator<Item = Option<Measurement>>,
    ) -> Option<Measurement> {
        let measured: Option<Vec<Measurement>> = measured.into_iter().collect();
        let ascending = |a: &Measurement, b: &Measurement| a.value.total_cmp(&b.value);
        let measured = measured?.into_iter();
        match self {
            Across::Pooled | Across::EachRun => None,
            Across::Greatest => measured.max_by(ascending),
            Across::Least => measured.min_by(ascending),
        }
    }
}

/// A published or expected value, and the measured one.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The published or expected value.
    pub published: Published,
    /// The measured value; `None` if a point is missing or there was nothing to measure.
    pub measured: Option<Measurement>,
}

impl Row {
    /// Converts the row to the form that reports show.
    pub fn comparison(self) -> Comparison {
        let Row { published, measured } = self;
        let unit = published.quantity.unit();
        let Published { metric, source, value, tolerance, .. } = published;
        let mut comparison =
            Comparison::new(metric, source, unit, value, tolerance).recorded(published.recorded);
        if let Some(Measurement { value, interval }) = measured {
            comparison = comparison.measured(value);
            if let Some((low, high)) = interval {
                comparison = comparison.between(low, high);
            }
        }
        if let Some(reason) = published.tolerance_reason {
            comparison = comparison.tolerance_reason(reason);
        }
        if let Some(explanation) = published.explanation {
            comparison = comparison.explain(explanation);
        }
        match published.predicted {
            Some((low, high)) => comparison.predict(low, high),
            None => comparison,
        }
    }
}
