//! Quantities of parameters and metrics, and values as text and as numbers.

use linkmend_report::Unit;
use std::fmt::Display;

/// What a parameter or a metric measures. Numbers are in the unit that each variant names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A rate, in bit/s.
    Rate,
    /// A size, in bytes.
    Size,
    /// A time, in seconds.
    Time,
    /// A distance, in metres.
    Distance,
    /// An attenuation, in decibels.
    Attenuation,
    /// A number of things.
    Count,
    /// A loss rate, 0 to 1.
    LossRate,
    /// A share of one.
    Share,
    /// A number without a unit.
    Plain,
    /// A choice from a list of words.
    Word,
}

impl Quantity {
    /// The unit in which reports show the quantity.
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
    /// The value as it is written.
    pub text: String,
    /// The value in the unit of its [`Quantity`]; `None` for words.
    pub number: Option<f64>,
}

impl Value {
    /// A number: as it is written, and in the unit of its quantity.
    pub fn number(written: impl Display, number: f64) -> Value {
        Value { text: written.to_string(), number: Some(number) }
    }

    /// A value that is a word.
    pub fn word(written: impl Display) -> Value {
        Value { text: written.to_string(), number: None }
    }
}
