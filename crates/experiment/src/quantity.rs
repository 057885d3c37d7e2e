//! What parameters and metrics measure, and values as text and as numbers.

use linkmend_report::Unit;
use std::fmt::Display;

/// What a parameter or a metric measures; numbers are in the unit named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Bit/s.
    Rate,
    /// Bytes.
    Size,
    /// Seconds.
    Time,
    /// Metres.
    Distance,
    /// Decibels.
    Attenuation,
    /// A number of things.
    Count,
    /// A loss rate, 0 to 1.
    LossRate,
    /// A share of one.
    Share,
    /// A bare number.
    Plain,
    /// No number: a choice.
    Word,
}

impl Quantity {
    /// The unit in which reports show it.
    pub fn unit(self) -> Unit {
        match self {
            Quantity::Rate => Unit::BitPerSecond,
            Quantity::Size => Unit::Byte,
            Quantity::Time => Unit::Second,
            Quantity::Distance => Unit::Other("m"),
            Quantity::Attenuation => Unit::Other("dB"),
            Quantity::Count => Unit::Count,
            Quantity::LossRate => Unit::LossRate,
            Quantity::Share => Unit::Share,
            Quantity::Plain | Quantity::Word => Unit::Plain,
        }
    }
}

/// A parameter's value.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// As it is written.
    pub text: String,
    /// In the unit of its [`Quantity`]; `None` for words.
    pub number: Option<f64>,
}

impl Value {
    /// A number, as it is written and in the unit of its quantity.
    pub fn number(written: impl Display, number: f64) -> Value {
        Value { text: written.to_string(), number: Some(number) }
    }

    /// A word.
    pub fn word(written: impl Display) -> Value {
        Value { text: written.to_string(), number: None }
    }
}
