//! One end's log, replayed exactly.

use super::{ProtocolLog, ReplayError};
use linkmend_protocol::Instant;
use serde::Serialize;

/// A log whose every answer is the same today.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repetition {
    /// Name of the link end.
    pub link: String,
    pub steps: u64,
    /// The longest that something was due before the end's loop ran, ns: how much its scheduler disturbed it.
    pub longest_lateness_ns: u64,
}

/// Makes every call of the log on a fresh link end and compares the answers.
///
/// # Errors [`ReplayError::Answer`] at the first answer that differs: the log is not of this version of the state
/// machines, or it was changed, or something in them does not depend on their inputs alone.
pub fn repeat(log: &ProtocolLog) -> Result<Repetition, ReplayError> {
    let mut end = log.fresh_end()?;
    let mut longest_lateness_ns = 0;
    let mut before: Option<Instant> = None;
    for (index, record) in log.records.iter().enumerate() {
        if let (Some(before), Some(due)) = (before, end.next_timeout()) {
            longest_lateness_ns = longest_lateness_ns.max(record.at.since(due.max(before)).0);
        }
        before = Some(record.at);
        let answer = record.step.repeat(&mut end, record.at);
        if answer.as_ref() != Some(&record.step) {
            return Err(ReplayError::Answer {
                log: log.name.clone(),
                line: log.line(index),
                logged: format!("{:?}", record.step),
                now: answer.map_or_else(|| "nothing".to_owned(), |step| format!("{step:?}")),
            });
        }
    }
    let steps = log.records.len() as u64;
    Ok(Repetition { link: log.header.link.clone(), steps, longest_lateness_ns })
}
