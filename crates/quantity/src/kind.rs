//! Numbers with a unit: what units there are, and how a number is read and written with them.

use crate::QuantityError;
use std::fmt;

/// A kind of quantity: its name, an example, and its units with their values in the base unit.
pub(crate) struct Kind {
    pub name: &'static str,
    pub example: &'static str,
    example_unit: &'static str,
    /// The first spelling of a value is the one used for writing.
    units: &'static [(&'static str, u64)],
    /// Units that help texts name.
    shown: &'static [&'static str],
}

pub(crate) const SIZE: Kind = Kind {
    name: "size",
    example: "200KiB",
    example_unit: "B",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("KB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
    ],
    shown: &["B", "kB", "KiB", "MB", "MiB", "GB", "GiB"],
};

pub(crate) const RATE: Kind = Kind {
    name: "rate",
    example: "25G",
    example_unit: "G",
    units: &[
        ("bit/s", 1),
        ("k", 1_000),
        ("kbit/s", 1_000),
        ("M", 1_000_000),
        ("Mbit/s", 1_000_000),
        ("G", 1_000_000_000),
        ("Gbit/s", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
    ],
    shown: &["k", "M", "G", "T", "bit/s", "Gbit/s"],
};

pub(crate) const TIME: Kind = Kind {
    name: "time",
    example: "7us",
    example_unit: "us",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    shown: &["ns", "us", "ms", "s", "min", "h"],
};

pub(crate) const DISTANCE: Kind = Kind {
    name: "distance",
    example: "2km",
    example_unit: "m",
    units: &[("m", 1), ("km", 1_000)],
    shown: &["m", "km"],
};

impl Kind {
    fn list_of_units(&self) -> String {
        self.shown.join(", ")
    }

    /// The value in base units.
    pub fn parse(&self, written: &str) -> Result<u64, QuantityError> {
        let text = written.trim();
        let unit_at =
            text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
        let (number, unit) = (text[..unit_at].replace('_', ""), text[unit_at..].trim());
        let not_a_number =
            || QuantityError::NotANumber { text: text.to_owned(), kind: self.name, example: self.example };
        let value: f64 = number.parse().map_err(|_| not_a_number())?;
        if unit.is_empty() {
            return Err(self.no_unit(text));
        }
        let factor = self.units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
        let factor = factor.ok_or_else(|| QuantityError::UnknownUnit {
            text: text.to_owned(),
            unit: unit.to_owned(),
            kind: self.name,
            units: self.list_of_units(),
        })?;
        let out_of_range = || QuantityError::OutOfRange { text: text.to_owned(), kind: self.name };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(factor).ok_or_else(out_of_range);
        }
        let value = (value * factor as f64).round();
        // Above 2^53 a fraction cannot be exact; nobody means such a number.
        let fits = (1.0..(1u64 << 53) as f64).contains(&value) || value == 0.0 && number.parse() == Ok(0.0);
        if fits { Ok(value as u64) } else { Err(out_of_range()) }
    }

    /// Says that a bare number needs a unit.
    pub fn no_unit(&self, text: &str) -> QuantityError {
        QuantityError::NoUnit {
            text: text.to_owned(),
            kind: self.name,
            example: self.example_unit,
            units: self.list_of_units(),
        }
    }

    /// The shortest exact spelling.
    pub fn write(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = self.units.iter().rev().filter(|(_, factor)| value != 0 && value.is_multiple_of(*factor));
        let largest = exact.max_by_key(|(_, factor)| *factor);
        let (unit, factor) = largest.copied().unwrap_or(self.units[0]);
        f.pad(&format!("{}{unit}", value / factor))
    }
}
