//! Attenuations.

use crate::QuantityError;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

const KIND: &str = "attenuation";
const EXAMPLE: &str = "3.5dB";

/// A ratio of powers in decibels, 0 or more: `3.5dB`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Decibels(pub f64);

impl FromStr for Decibels {
    type Err = QuantityError;

    fn from_str(written: &str) -> Result<Self, QuantityError> {
        let text = written.trim();
        let unit_at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, unit) = (&text[..unit_at], text[unit_at..].trim());
        let value = number.parse::<f64>().map_err(|_| QuantityError::NotANumber {
            text: text.to_owned(),
            kind: KIND,
            example: EXAMPLE,
        })?;
        match unit {
            "dB" => Ok(Decibels(value)),
            "" => Err(no_unit(text)),
            unit => Err(QuantityError::UnknownUnit {
                text: text.to_owned(),
                unit: unit.to_owned(),
                kind: KIND,
                units: "dB".to_owned(),
            }),
        }
    }
}

fn no_unit(text: &str) -> QuantityError {
    QuantityError::NoUnit { text: text.to_owned(), kind: KIND, example: "dB", units: "dB".to_owned() }
}

impl fmt::Display for Decibels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}dB", self.0))
    }
}

impl Serialize for Decibels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Decibels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Decibels;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an {KIND} in quotes, like \"{EXAMPLE}\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Decibels, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Decibels, E> {
                Err(E::custom(no_unit(&value.to_string())))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Decibels, E> {
                Err(E::custom(no_unit(&value.to_string())))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Decibels, E> {
                Err(E::custom(no_unit(&value.to_string())))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
