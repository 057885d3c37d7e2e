//! How far a measured value may be from the published one.

use crate::quantity::Unit;
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
    /// The two are said to be equal: the interval of the measured value must contain the published one, and must not reach
    /// further from it than this fraction of it.
    Equality(f64),
}

impl Tolerance {
    /// Whether some measured value would be outside it: a fraction of 1 or more allows 0, and a factor is at least 1.
    pub fn can_fail(self) -> bool {
        match self {
            Tolerance::Relative(fraction) | Tolerance::Equality(fraction) => (0.0..1.0).contains(&fraction),
            Tolerance::Absolute(limit) => limit >= 0.0 && limit.is_finite(),
            Tolerance::Factor(factor) => factor >= 1.0 && factor.is_finite(),
            Tolerance::AtMost | Tolerance::AtLeast | Tolerance::Interval => true,
        }
    }

    /// Whether this value is near enough to the published one. The bounds themselves are.
    pub(crate) fn allows(self, published: f64, measured: f64) -> bool {
        let distance = (measured - published).abs();
        measured == published
            || match self {
                Tolerance::Relative(fraction) | Tolerance::Equality(fraction) => {
                    distance <= fraction.abs() * published.abs()
                }
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

    /// The tolerance of a value with this unit, in a few characters.
    pub(crate) fn text(self, unit: Unit) -> String {
        match self {
            Tolerance::Relative(fraction) => format!("±{} %", Unit::Plain.format(fraction * 100.0)),
            Tolerance::Absolute(limit) => format!("±{}", unit.format(limit)),
            Tolerance::Factor(factor) => format!("×/÷ {}", Unit::Plain.format(factor)),
            Tolerance::AtMost => "at most".to_owned(),
            Tolerance::AtLeast => "at least".to_owned(),
            Tolerance::Interval => "in its interval".to_owned(),
            Tolerance::Equality(fraction) => {
                format!("in its interval, which is within ±{} %", Unit::Plain.format(fraction * 100.0))
            }
        }
    }
}
