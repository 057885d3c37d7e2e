//! How links fail, and what switches do about it, by name.

use crate::link::config::ParameterError;
use crate::time::Time;
use linkmend_quantity::Span;
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

/// What switches do about frames that a failed link lost or cannot take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HandOffKind {
    #[default]
    None,
    /// SQR, as published.
    Sqr,
    /// Frames that the other end has not acknowledged are retransmitted.
    Acknowledged,
}

impl HandOffKind {
    /// All of them.
    pub const ALL: [HandOffKind; 3] = [HandOffKind::None, HandOffKind::Sqr, HandOffKind::Acknowledged];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            HandOffKind::None => "none",
            HandOffKind::Sqr => "sqr",
            HandOffKind::Acknowledged => "acknowledged",
        }
    }
}

/// A time that is asked for.
fn after(parameter: &'static str, text: &str, names: &[&str]) -> Result<Time, ParameterError> {
    let span: Span = text.parse().map_err(|_| {
        let requirement = format!("must be {} or a time such as 100us", names.join(", "));
        ParameterError::new(parameter, format!("\"{text}\""), requirement)
    })?;
    Ok(Time::from_nanos(u64::try_from(span.0.as_nanos()).unwrap_or(u64::MAX)))
}

fn span(time: Time) -> Span {
    Span(std::time::Duration::from_nanos(time.0 / 1_000))
}

impl FromStr for Detection {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Detection, ParameterError> {
        match text {
            "f10" => Ok(Detection::F10),
            "squelch" => Ok(Detection::Squelch),
            _ => after("detection", text, &["f10", "squelch"]).map(Detection::After),
        }
    }
}

impl fmt::Display for Detection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Detection::F10 => f.write_str("f10"),
            Detection::Squelch => f.write_str("squelch"),
            Detection::After(time) => span(*time).fmt(f),
        }
    }
}

impl FromStr for Reroute {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Reroute, ParameterError> {
        match text {
            "sharebackup" => Ok(Reroute::ShareBackup),
            "local" => Ok(Reroute::Local),
            "portland" => Ok(Reroute::Portland),
            _ => after("reroute", text, &["sharebackup", "local", "portland"]).map(Reroute::After),
        }
    }
}

impl fmt::Display for Reroute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reroute::ShareBackup => f.write_str("sharebackup"),
            Reroute::Local => f.write_str("local"),
            Reroute::Portland => f.write_str("portland"),
            Reroute::After(time) => span(*time).fmt(f),
        }
    }
}
