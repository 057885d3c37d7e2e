//! Shares of one.

use crate::QuantityError;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// Percentages have nine decimal places.
const PARTS_OF_A_PERCENT: f64 = 1e9;

/// A share of a whole, 0 to 1: `75%`, `0.75`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(pub f64);

impl Share {
    /// The same in percent, without the last digits that come from the conversion.
    pub fn percent(self) -> f64 {
        (self.0 * 100.0 * PARTS_OF_A_PERCENT).round() / PARTS_OF_A_PERCENT
    }
}

impl FromStr for Share {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Share, QuantityError> {
        let share = number_or_percentage(text).filter(|share| (0.0..=1.0).contains(share));
        share.map(Share).ok_or(QuantityError::NotAShare)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percentage = format!("{}%", self.percent());
        let exact = number_or_percentage(&percentage) == Some(self.0);
        f.pad(&if exact { percentage } else { self.0.to_string() })
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Share;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a share, like \"75%\" or 0.75")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Share, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Share, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Share, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Share, E> {
                self.visit_str(&value.to_string())
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A number as it is, a percentage as a share of one.
pub(crate) fn number_or_percentage(text: &str) -> Option<f64> {
    let text = text.trim();
    let (number, divisor) = match text.strip_suffix('%') {
        Some(number) => (number.trim(), 100.0),
        None => (text, 1.0),
    };
    number.parse::<f64>().ok().map(|value| value / divisor)
}
