//! Published and measured values beside each other.

use crate::{Measurement, Quantity};
use linkmend_report::{Comparison, Tolerance};
use serde::Deserialize;

/// A published or expected value, in the unit of its quantity.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Of what, and where in the experiment.
    pub metric: String,
    /// The figure, table or equation.
    pub source: String,
    /// What is measured.
    pub quantity: Quantity,
    /// The value.
    pub value: f64,
    /// How far the measured one may be from it.
    pub tolerance: Tolerance,
    /// Why they are known to differ.
    pub explanation: Option<String>,
}

/// What is compared of several points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Across {
    /// All of them as if they had been one run.
    #[default]
    Pooled,
    /// The greatest of their values.
    Greatest,
}

impl Across {
    /// The place of a comparison in words: the points as they are described, or what is taken of them.
    pub fn describe(self, points: String) -> String {
        match self {
            Across::Pooled => points,
            Across::Greatest if points.is_empty() => "most of all points".to_owned(),
            Across::Greatest => format!("most of {points}"),
        }
    }

    /// The greatest of several values; none if one of them is missing.
    pub fn greatest(measured: impl IntoIterator<Item = Option<Measurement>>) -> Option<Measurement> {
        let measured: Option<Vec<Measurement>> = measured.into_iter().collect();
        measured?.into_iter().max_by(|a, b| a.value.total_cmp(&b.value))
    }
}

/// A published or expected value, and what was measured for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What should be.
    pub published: Published,
    /// What is; none if a point is missing or nothing was there to be measured.
    pub measured: Option<Measurement>,
}

impl Row {
    /// As a report shows it.
    pub fn comparison(self) -> Comparison {
        let Row { published, measured } = self;
        let unit = published.quantity.unit();
        let Published { metric, source, value, tolerance, explanation, .. } = published;
        let mut comparison = Comparison::new(metric, source, unit, value, tolerance);
        if let Some(Measurement { value, interval }) = measured {
            comparison = comparison.measured(value);
            if let Some((low, high)) = interval {
                comparison = comparison.between(low, high);
            }
        }
        match explanation {
            Some(explanation) => comparison.explain(explanation),
            None => comparison,
        }
    }
}
