//! Quantities that must be written with their unit.

use crate::QuantityError;
use crate::kind::{DISTANCE, Kind, RATE, SIZE, TIME};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

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

quantity!(
    /// Metres: `2m`, `10km`.
    Distance(u64), DISTANCE, |value| value, |value| value
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
