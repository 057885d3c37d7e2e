//! Numbers of things.

use crate::QuantityError;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// A number of things, such as frames: `100`, `100M`, `1e6`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Count(pub u64);

const UNITS: [(&str, u64); 4] =
    [("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000), ("T", 1_000_000_000_000)];
/// Above this a float cannot hold every whole number.
const EXACT: f64 = (1u64 << 53) as f64;

impl FromStr for Count {
    type Err = QuantityError;

    fn from_str(written: &str) -> Result<Self, QuantityError> {
        let text = written.trim();
        let number_end = text.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |at| at + 1);
        let (number, unit) = (text[..number_end].replace('_', ""), text[number_end..].trim());
        let not_a_number =
            || QuantityError::NotANumber { text: text.to_owned(), kind: "count", example: "100M" };
        if !number.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(not_a_number());
        }
        let factor =
            match unit {
                "" => 1,
                unit => UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor).ok_or_else(
                    || QuantityError::UnknownUnit {
                        text: text.to_owned(),
                        unit: unit.to_owned(),
                        kind: "count",
                        units: UNITS.map(|(name, _)| name).join(", "),
                    },
                )?,
            };
        let out_of_range = || QuantityError::OutOfRange { text: text.to_owned(), kind: "count" };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(factor).map(Count).ok_or_else(out_of_range);
        }
        let value = number.parse::<f64>().map_err(|_| not_a_number())? * factor as f64;
        let whole = value.fract() == 0.0 && (0.0..EXACT).contains(&value);
        if whole { Ok(Count(value as u64)) } else { Err(out_of_range()) }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = UNITS.iter().rev().find(|(_, factor)| self.0 != 0 && self.0.is_multiple_of(*factor));
        f.pad(&match exact {
            Some((unit, factor)) => format!("{}{unit}", self.0 / factor),
            None => self.0.to_string(),
        })
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Count;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count, like 1000 or \"100M\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Count, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Count, E> {
                Ok(Count(value))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Count, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Count, E> {
                self.visit_str(&value.to_string())
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
