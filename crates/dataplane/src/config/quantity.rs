//! Sizes, rates, times and loss rates as people write them. A number without its unit is refused.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Why a quantity is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// A bare number.
    #[error("`{text}` has no unit; a {kind} is written like `{text}{example}`, with one of {units}")]
    NoUnit {
        /// What was written.
        text: String,
        /// What it should be.
        kind: &'static str,
        /// A unit that would do.
        example: &'static str,
        /// All units.
        units: String,
    },
    /// A unit that does not exist or does not belong here.
    #[error("`{text}`: there is no unit `{unit}` for a {kind}; use one of {units}")]
    UnknownUnit {
        /// What was written.
        text: String,
        /// Its unit.
        unit: String,
        /// What it should be.
        kind: &'static str,
        /// All units.
        units: String,
    },
    /// Not a number at all.
    #[error("`{text}` is not a {kind}; write a number and its unit, like `{example}`")]
    NotANumber {
        /// What was written.
        text: String,
        /// What it should be.
        kind: &'static str,
        /// A good one.
        example: &'static str,
    },
    /// Less than one base unit, or more than can be.
    #[error("`{text}` is out of range for a {kind}")]
    OutOfRange {
        /// What was written.
        text: String,
        /// What it should be.
        kind: &'static str,
    },
    /// Not a share of one.
    #[error("`{text}` is not a loss rate; write a number from 0 to 1 or a percentage, like `1e-3` or `0.1%`")]
    NotALossRate {
        /// What was written.
        text: String,
    },
}

/// A kind of quantity: its name, an example, and its units with their values in the base unit.
struct Kind {
    name: &'static str,
    example: &'static str,
    example_unit: &'static str,
    /// The first spelling of a value is the one it is written with.
    units: &'static [(&'static str, u64)],
    /// Units that help texts name.
    shown: &'static [&'static str],
}

const SIZE: Kind = Kind {
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

const RATE: Kind = Kind {
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

const TIME: Kind = Kind {
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
    ],
    shown: &["ns", "us", "ms", "s", "min"],
};

impl Kind {
    fn list_of_units(&self) -> String {
        self.shown.join(", ")
    }

    /// The value in base units.
    fn parse(&self, written: &str) -> Result<u64, QuantityError> {
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
        // Above 2^53 a fraction can no longer be exact; nobody means such a number.
        let fits = (1.0..(1u64 << 53) as f64).contains(&value) || value == 0.0 && number.parse() == Ok(0.0);
        if fits { Ok(value as u64) } else { Err(out_of_range()) }
    }

    fn no_unit(&self, text: &str) -> QuantityError {
        QuantityError::NoUnit {
            text: text.to_owned(),
            kind: self.name,
            example: self.example_unit,
            units: self.list_of_units(),
        }
    }

    /// The shortest exact spelling.
    fn write(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = self.units.iter().rev().filter(|(_, factor)| value != 0 && value.is_multiple_of(*factor));
        let largest = exact.max_by_key(|(_, factor)| *factor);
        let (unit, factor) = largest.copied().unwrap_or(self.units[0]);
        f.pad(&format!("{}{unit}", value / factor))
    }
}

macro_rules! quantity {
    ($(#[$documentation:meta])* $name:ident($inner:ty), $kind:expr, $from:expr, $into:expr) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub $inner);

        impl FromStr for $name {
            type Err = QuantityError;
            fn from_str(text: &str) -> Result<Self, QuantityError> {
                $kind.parse(text).map($from).map($name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let value: fn($inner) -> u64 = $into;
                $kind.write(value(self.0), f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let visitor = QuantityVisitor { kind: &$kind };
                deserializer.deserialize_any(visitor).map($from).map($name)
            }
        }
    };
}

quantity!(
    /// Bytes: `1500B`, `100kB`, `200KiB`.
    ByteSize(u64), SIZE, |value| value, |value| value
);
quantity!(
    /// Bits per second: `25G`, `100Mbit/s`.
    BitRate(u64), RATE, |value| value, |value| value
);
quantity!(
    /// A length of time to the nanosecond: `7us`, `20ms`.
    Span(Duration), TIME, Duration::from_nanos, |value: Duration| u64::try_from(value.as_nanos())
        .unwrap_or(u64::MAX)
);

struct QuantityVisitor {
    kind: &'static Kind,
}

impl de::Visitor<'_> for QuantityVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} in quotes, like \"{}\"", self.kind.name, self.kind.example)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
        self.kind.parse(text).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<u64, E> {
        Err(E::custom(self.kind.no_unit(&value.to_string())))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<u64, E> {
        Err(E::custom(self.kind.no_unit(&value.to_string())))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<u64, E> {
        Err(E::custom(self.kind.no_unit(&value.to_string())))
    }
}

/// A share of frames that are lost, 0 to 1: `1e-3`, `0.1%`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct LossRate(pub f64);

impl FromStr for LossRate {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let text = text.trim();
        let (number, divisor) = match text.strip_suffix('%') {
            Some(number) => (number.trim(), 100.0),
            None => (text, 1.0),
        };
        let rate = number.parse::<f64>().ok().map(|value| value / divisor);
        rate.filter(|rate| (0.0..=1.0).contains(rate))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_and_their_values() {
        for (text, bytes) in
            [("0B", 0), ("1500B", 1500), ("100kB", 100_000), ("200 KiB", 204_800), ("1.5MiB", 1_572_864)]
        {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
        for (text, rate) in [("25G", 25_000_000_000), ("2.5Gbit/s", 2_500_000_000), ("100_000k", 100_000_000)]
        {
            assert_eq!(text.parse(), Ok(BitRate(rate)), "{text}");
        }
        for (text, ns) in [("7us", 7_000), ("7µs", 7_000), ("0.5ms", 500_000), ("2min", 120_000_000_000)] {
            assert_eq!(text.parse(), Ok(Span(Duration::from_nanos(ns))), "{text}");
        }
        for (text, rate) in [("1e-3", 0.001), ("0.1%", 0.001), ("1", 1.0), ("0", 0.0)] {
            assert_eq!(text.parse(), Ok(LossRate(rate)), "{text}");
        }
    }

    #[test]
    fn every_mistake_has_its_message() {
        let size = |text: &str| text.parse::<ByteSize>().expect_err(text).to_string();
        let cases = [
            (
                size("1000"),
                "`1000` has no unit; a size is written like `1000B`, with one of B, kB, KiB, MB, MiB, GB, GiB",
            ),
            (
                size("3Kib"),
                "`3Kib`: there is no unit `Kib` for a size; use one of B, kB, KiB, MB, MiB, GB, GiB",
            ),
            (size("much"), "`much` is not a size; write a number and its unit, like `200KiB`"),
            (size("-1B"), "`-1B` is not a size; write a number and its unit, like `200KiB`"),
            (size(""), "`` is not a size; write a number and its unit, like `200KiB`"),
            (size("0.1B"), "`0.1B` is out of range for a size"),
            (size("99999999999999GiB"), "`99999999999999GiB` is out of range for a size"),
            (
                "25".parse::<BitRate>().expect_err("bare").to_string(),
                "`25` has no unit; a rate is written like `25G`, with one of k, M, G, T, bit/s, Gbit/s",
            ),
            (
                "20".parse::<Span>().expect_err("bare").to_string(),
                "`20` has no unit; a time is written like `20us`, with one of ns, us, ms, s, min",
            ),
            (
                "120%".parse::<LossRate>().expect_err("too much").to_string(),
                "`120%` is not a loss rate; write a number from 0 to 1 or a percentage, like `1e-3` or `0.1%`",
            ),
        ];
        for (message, expected) in cases {
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for bytes in [0, 1, 1000, 1024, 1536, 100_000, 1 << 20, 3 << 29, u64::MAX] {
            assert_eq!(ByteSize(bytes).to_string().parse(), Ok(ByteSize(bytes)));
        }
        assert_eq!(ByteSize(1 << 20).to_string(), "1MiB");
        assert_eq!(ByteSize(100_000).to_string(), "100kB");
        assert_eq!(BitRate(25_000_000_000).to_string(), "25G");
        assert_eq!(BitRate(1_500).to_string(), "1500bit/s");
        assert_eq!(Span(Duration::from_micros(1500)).to_string(), "1500us");
        for rate in [0.0, 1e-8, 1e-3, 0.05, 1.0] {
            assert_eq!(LossRate(rate).to_string().parse(), Ok(LossRate(rate)));
        }
    }
}
