//! Values of parameters: as text, which files and command lines write, and as numbers, which plots need.

use super::lists::{Hops, Phases};
use crate::corruption::{Fec, Transceiver};
use crate::host::{FlowSizes, RdmaVerb};
use crate::link::config::{Buffering, LlrProfile, ParameterError, ParityCode, ProfileName};
use crate::network::{Balance, Cut, Noticed};
use crate::run::flows::{
    CollectiveKind, Detection, HandOffKind, HostKernel, HostRecovery, PlacementKind, RankOrder,
    RdmaMechanisms, Reroute, SchemeKind, TrafficKind, TransportKind,
};
use linkmend_experiment::Value;
use linkmend_protocol::Format;
use linkmend_quantity::{BitRate, ByteSize, Count, Decibels, Distance, LossRate, Share, Span};
use std::path::PathBuf;

/// The value of a parameter.
pub(super) trait ParameterValue: Sized {
    /// Whether it is on or off, so that the command line needs no value.
    const IS_FLAG: bool = false;

    /// The values there are, if they are words.
    fn words() -> Vec<&'static str> {
        Vec::new()
    }

    /// Reads it as files and command lines write it; the error says what it must be.
    fn read(text: &str) -> Result<Self, String>;

    /// As tables show it: a text that reads back as the same value, and a number.
    fn value(&self) -> Value;
}

/// Reads a value by its [`FromStr`](std::str::FromStr).
fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

macro_rules! numbers {
    ($($type:ty, |$value:ident| $number:expr;)*) => {
        $(impl ParameterValue for $type {
            fn read(text: &str) -> Result<Self, String> {
                parsed(text)
            }

            fn value(&self) -> Value {
                let $value = self;
                Value::number($value, $number)
            }
        })*
    };
}

numbers! {
    BitRate, |v| v.0 as f64;
    ByteSize, |v| v.0 as f64;
    Count, |v| v.0 as f64;
    Decibels, |v| v.0;
    Distance, |v| v.0 as f64;
    LossRate, |v| v.0;
    Span, |v| v.0.as_secs_f64();
    u8, |v| f64::from(*v);
    u16, |v| f64::from(*v);
    u32, |v| f64::from(*v);
    u64, |v| *v as f64;
    f64, |v| *v;
}

macro_rules! words {
    ($($type:ty;)*) => {
        $(impl ParameterValue for $type {
            fn words() -> Vec<&'static str> {
                <$type>::ALL.map(<$type>::name).to_vec()
            }

            fn read(text: &str) -> Result<Self, String> {
                let found = <$type>::ALL.into_iter().find(|word| word.name() == text);
                found.ok_or_else(|| format!("must be one of {}", Self::words().join(", ")))
            }

            fn value(&self) -> Value {
                Value::word(self.name())
            }
        })*
    };
}

words! {
    Balance;
    Buffering;
    CollectiveKind;
    Cut;
    Fec;
    HandOffKind;
    HostKernel;
    HostRecovery;
    Noticed;
    PlacementKind;
    ProfileName;
    RankOrder;
    RdmaVerb;
    SchemeKind;
    TrafficKind;
    Transceiver;
    TransportKind;
}

impl ParameterValue for bool {
    const IS_FLAG: bool = true;

    fn read(text: &str) -> Result<bool, String> {
        match text {
            "true" | "yes" => Ok(true),
            "false" | "no" => Ok(false),
            _ => Err("must be true or false".to_owned()),
        }
    }

    fn value(&self) -> Value {
        Value::word(if *self { "yes" } else { "no" })
    }
}

impl ParameterValue for Format {
    fn words() -> Vec<&'static str> {
        vec!["compact", "transparent"]
    }

    fn read(text: &str) -> Result<Format, String> {
        let all = [Format::Compact, Format::Transparent];
        let found = all.into_iter().find(|format| format.to_string() == text);
        found.ok_or_else(|| format!("must be one of {}", Self::words().join(", ")))
    }

    fn value(&self) -> Value {
        Value::word(self)
    }
}

impl ParameterValue for Hops {
    fn read(text: &str) -> Result<Hops, String> {
        parsed(text)
    }

    fn value(&self) -> Value {
        match self {
            Hops::Alike(count) => Value::number(count, f64::from(*count)),
            Hops::Listed(_) => Value::word(self),
        }
    }
}

impl ParameterValue for Phases {
    fn read(text: &str) -> Result<Phases, String> {
        parsed(text)
    }

    fn value(&self) -> Value {
        Value::word(self)
    }
}

impl ParameterValue for Share {
    fn read(text: &str) -> Result<Share, String> {
        parsed(text)
    }

    fn value(&self) -> Value {
        Value::number(format!("{} %", self.percent()), self.0)
    }
}

impl ParameterValue for String {
    fn read(text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }

    fn value(&self) -> Value {
        Value::word(self)
    }
}

impl ParameterValue for PathBuf {
    fn read(text: &str) -> Result<PathBuf, String> {
        Ok(text.into())
    }

    fn value(&self) -> Value {
        Value::word(self.display())
    }
}

macro_rules! named {
    ($($type:ty, |$value:ident| $shown:expr;)*) => {
        $(impl ParameterValue for $type {
            fn read(text: &str) -> Result<Self, String> {
                text.parse().map_err(|error: ParameterError| error.requirement)
            }

            fn value(&self) -> Value {
                let $value = self;
                $shown
            }
        })*
    };
}

named! {
    Detection, |v| Value::number(v, v.time().as_secs());
    Reroute, |v| Value::number(v, v.time().as_secs());
    LlrProfile, |v| Value::word(v);
    ParityCode, |v| Value::word(v);
    RdmaMechanisms, |v| Value::word(v);
    FlowSizes, |v| match v.only() {
        Some(bytes) => Value::number(v.name(), bytes as f64),
        None => Value::word(v.name()),
    };
}
