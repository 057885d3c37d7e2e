//! Replays protocol logs of real link ends (`linkmend run --protocol-log`) to see whether the simulator does what the
//! link did.
//!
//! - [`repeat`]: one end's log. Every call is made again, at the same time, on a fresh link end, and must return the
//!   same answer, to the last bit. This is exact.
//! - [`agree`]: both ends' logs. Only what came from outside is taken from them: configuration, seeds, frames offered,
//!   losses, requests, and the link's delay. Two link ends then run against each other in simulated time.
//!
//! # What two runs must agree on
//!
//! The times differ: a real loop is woken late, a simulated one never. So times are not compared, nor anything that
//! depends on time alone: dummies, explicit ACKs, repeats of a notification, when a buffer is released. For each end by
//! itself, the comparison covers the whole order of: frames sent, copies sent, frames and copies received and lost,
//! notifications sent and received (where they first name a frame), frames delivered, discarded and given up, pause and
//! resume. Frames are named by lane and place since the session began. The order *between* the two ends follows,
//! because what is received was sent.
//!
//! This order is the protocol's own as long as things that happen apart in the real run do not happen nearly at once.
//! Frames that are offered while a loss is being recovered may come before or after its notification, on the real link
//! as in the simulator; logs to be compared come from traffic with pauses longer than a recovery.

mod agreement;
mod log;
mod numbering;
mod pair;
mod repeat;
mod script;
mod transcript;

pub use agreement::{Agreement, agree, longest_transit_ns};
pub use log::ProtocolLog;
pub use repeat::{Repetition, repeat};

use linkmend_diagnose::{Diagnose, Fault};
use linkmend_protocol::ConfigError;
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// Why logs could not be replayed, or how they differ. Lines count from 1.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A file that cannot be read.
    #[error("cannot read {log}")]
    Unreadable {
        log: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A line that is not one of a protocol log.
    #[error("{log}, line {line}: not a line of a protocol log")]
    Line {
        log: String,
        line: usize,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A log of another time.
    #[error("{log}: version {version} of the protocol log is not supported, only version 1")]
    Version { log: String, version: u32 },
    /// Parameters that no link end can have had.
    #[error("{log}, line 1: parameter {source}")]
    Parameter {
        log: String,
        /// Which, and why.
        source: ConfigError,
    },
    /// The state machines answer otherwise than they did then.
    #[error("{log}, line {line}: the answer differs\n  logged: {logged}\n  now:    {now}")]
    Answer {
        log: String,
        /// The first line that differs.
        line: usize,
        /// The step as logged.
        logged: String,
        /// The step as repeated.
        now: String,
    },
    /// A log of nothing.
    #[error("{log}: the log contains no steps")]
    Empty { log: String },
    /// No protected frame of one log arrived in the other.
    #[error("the two logs have no protected frame in common")]
    NothingInCommon,
    /// Clocks that differ by more than a link can delay a frame.
    #[error(
        "the two logs were recorded with different clocks: frames arrived {delay_ns} ns after they were sent"
    )]
    TwoClocks { delay_ns: i64 },
    /// A loss that cannot be repeated at another time.
    #[error(
        "{log}, line {line}: {what} was lost, and it cannot be identified in a run with different timing"
    )]
    Loss {
        log: String,
        line: usize,
        /// What was lost.
        what: &'static str,
    },
    /// The simulated ends do something else, or in another order.
    #[error(
        "{log}: link end {link} differs in its step {index}\n  real:      {real}\n  simulated: {simulated}"
    )]
    Order {
        log: String,
        /// Name of the end.
        link: String,
        /// Which one of those that are compared, from 1.
        index: usize,
        /// What it did, and the line.
        real: String,
        /// What it does in the simulator, and when.
        simulated: String,
    },
}

impl Diagnose for ReplayError {
    /// A difference is a result, and a file that cannot be read a failure. Every other error means that the log is wrong.
    fn fault(&self) -> Fault {
        match self {
            ReplayError::Unreadable { .. } | ReplayError::Answer { .. } | ReplayError::Order { .. } => {
                Fault::Failure
            }
            _ => Fault::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            ReplayError::NothingInCommon => Some("give the logs of the two ends of one run".to_owned()),
            ReplayError::Loss { .. } => Some("replay this log alone, or script the losses".to_owned()),
            _ => None,
        }
    }
}

/// What was replayed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplayReport {
    /// Each log, repeated with the same answers.
    pub repeated: Vec<Repetition>,
    /// With two logs: what the real and the simulated run agree on.
    pub agreement: Option<Agreement>,
}

/// Replays one log, or two of one run in either order; the entry of `linkmend sim replay`.
///
/// # Errors
/// [`ReplayError`]: what cannot be read, or the first difference.
pub fn replay(first: &Path, second: Option<&Path>) -> Result<ReplayReport, ReplayError> {
    let first = ProtocolLog::read(first)?;
    let mut repeated = vec![repeat(&first)?];
    let Some(second) = second else { return Ok(ReplayReport { repeated, agreement: None }) };
    let second = ProtocolLog::read(second)?;
    repeated.push(repeat(&second)?);
    Ok(ReplayReport { repeated, agreement: Some(agree(&first, &second)?) })
}

impl fmt::Display for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Repetition { link, steps, longest_lateness_ns } in &self.repeated {
            let late_us = longest_lateness_ns / 1_000;
            writeln!(
                f,
                "{link}: {steps} steps repeated, every answer is the same; woken at most {late_us} us late"
            )?;
        }
        self.agreement.iter().try_for_each(|agreement| writeln!(f, "{agreement}"))
    }
}
