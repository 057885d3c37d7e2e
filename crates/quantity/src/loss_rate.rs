//! Loss rates.

use crate::QuantityError;
use crate::share::number_or_percentage;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// The share of frames that are lost, 0 to 1: `1e-3`, `0.1%`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct LossRate(pub f64);

impl FromStr for LossRate {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let text = text.trim();
        number_or_percentage(text)
            .filter(|rate| (0.0..=1.0).contains(rate))
            .map(LossRate)
            .ok_or_else(|| QuantityError::NotALossRate { text: text.to_owned() })
    }
}

impl fmt::Display for LossRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.0 == 0.0 || self.0 >= 0.01;
        f.pad(&if plain { format!("{}", self.0) } else { format!("{:e}", self.0) })
    }
}

impl Serialize for LossRate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for LossRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = LossRate;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a loss rate, like 1e-3 or \"0.1%\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<LossRate, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<LossRate, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<LossRate, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<LossRate, E> {
                self.visit_str(&value.to_string())
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
