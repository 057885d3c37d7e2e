//! How links fail, and what switches do about it, by name.

use crate::link::config::ParameterError;
use crate::time::Time;
use linkmend_quantity::{Span, words};
use std::fmt;
use std::str::FromStr;

/// How the switches learn that a link has failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detection {
    /// By frames that do not come any more: 30 us (F10, NSDI 2013).
    #[default]
    F10,
    /// By the port's hardware: 2.755 us (the SQR paper, section VI).
    Squelch,
    After(Time),
}

impl Detection {
    const NAMED: [(&str, Detection); 2] = [("f10", Detection::F10), ("squelch", Detection::Squelch)];

    /// From the failure until the switches know.
    pub fn time(self) -> Time {
        match self {
            Detection::F10 => Time::from_nanos(30_000),
            Detection::Squelch => Time::from_nanos(2_755),
            Detection::After(time) => time,
        }
    }
}

/// What gives frames another way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reroute {
    /// Another switch takes the place of the failed end after 730 us, so that the link itself comes back (ShareBackup,
    /// SIGCOMM 2018, as the SQR paper emulates it).
    #[default]
    ShareBackup,
    /// A second link between the same switches, at once.
    Local,
    /// The link comes back after 65 ms (PortLand, SIGCOMM 2009).
    Portland,
    /// The link comes back after this.
    After(Time),
}

impl Reroute {
    const NAMED: [(&str, Reroute); 3] =
        [("sharebackup", Reroute::ShareBackup), ("local", Reroute::Local), ("portland", Reroute::Portland)];

    /// From detection until there is another way.
    pub fn time(self) -> Time {
        match self {
            Reroute::ShareBackup => Time::from_nanos(730_000),
            Reroute::Local => Time::ZERO,
            Reroute::Portland => Time::from_nanos(65_000_000),
            Reroute::After(time) => time,
        }
    }
}

words! {
    /// What switches do about frames that a failed link lost or cannot take.
    #[derive(Default)]
    pub enum HandOffKind {
        #[default]
        None = "none",
        /// SQR, as published.
        Sqr = "sqr",
        /// Frames that the other end has not acknowledged are retransmitted.
        Acknowledged = "acknowledged",
    }
}

/// What is asked for by one of these names, or by a time.
fn named_or_after<T: Copy>(
    parameter: &'static str,
    text: &str,
    named: &[(&str, T)],
    after: fn(Time) -> T,
) -> Result<T, ParameterError> {
    if let Some((_, known)) = named.iter().find(|(name, _)| *name == text) {
        return Ok(*known);
    }
    let span: Span = text.parse().map_err(|_| {
        let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
        let requirement = format!("must be {} or a time such as 100us", names.join(", "));
        ParameterError::new(parameter, format!("\"{text}\""), requirement)
    })?;
    Ok(after(span.into()))
}

/// The name of what is asked for, or its time.
fn show<T: PartialEq>(f: &mut fmt::Formatter<'_>, of: &T, named: &[(&str, T)], time: Time) -> fmt::Result {
    match named.iter().find(|(_, known)| known == of) {
        Some((name, _)) => f.write_str(name),
        None => fmt::Display::fmt(&Span::from(time), f),
    }
}

impl FromStr for Detection {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Detection, ParameterError> {
        named_or_after("detection", text, &Detection::NAMED, Detection::After)
    }
}

impl fmt::Display for Detection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, self, &Detection::NAMED, self.time())
    }
}

impl FromStr for Reroute {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Reroute, ParameterError> {
        named_or_after("reroute", text, &Reroute::NAMED, Reroute::After)
    }
}

impl fmt::Display for Reroute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, self, &Reroute::NAMED, self.time())
    }
}
