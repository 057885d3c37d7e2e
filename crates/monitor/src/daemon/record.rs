//! A decision as the audit file and the webhook have it.

use crate::agent::Decision;
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// See the module's documentation.
#[derive(Debug, Serialize)]
pub(super) struct Record<'a> {
    /// Seconds since 1970, by the machine's clock, which may be set while the monitor runs.
    time_s: f64,
    #[serde(flatten)]
    decision: &'a Decision,
    /// The same as a sentence.
    text: String,
}

impl Record<'_> {
    /// A decision that was made just now.
    pub fn now(decision: &Decision) -> Record<'_> {
        let time_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        Record { time_s, decision, text: decision.to_string() }
    }
}
