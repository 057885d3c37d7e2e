//! Compares two ends' logs with two simulated ends.

use super::transcript::{self, Action, TimedAction};
use super::{ProtocolLog, ReplayError, pair, script};
use linkmend_protocol::Instant;
use serde::Serialize;
use std::fmt;

/// What a real and a simulated run did alike, both ends together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Agreement {
    /// Steps compared, those below included.
    pub steps: u64,
    /// Frames sent for the first time.
    pub frames_sent: u64,
    /// Frames and copies lost.
    pub losses: u64,
    /// Frames named for the first time by a notification, where it was sent.
    pub notified: u64,
    pub copies_sent: u64,
    /// Protected frames delivered.
    pub delivered: u64,
    /// Frames given up.
    pub given_up: u64,
    /// The link's delay that was simulated: the median of the real one, ns.
    pub link_delay_ns: u64,
    /// The longest real delay, ns. If it is close to the pauses of the traffic, the order was a matter of chance.
    pub longest_transit_ns: u64,
}

/// Runs two simulated link ends with what the logs say came from outside, and compares the order of what they do.
///
/// # Errors
/// [`ReplayError::Order`] tells the first difference; the others what prevents the comparison.
pub fn agree(first: &ProtocolLog, second: &ProtocolLog) -> Result<Agreement, ReplayError> {
    let logs = [first, second];
    let script = script::of_logs(logs)?;
    let simulated = pair::run(&script, [first.fresh_end()?, second.fresh_end()?]);
    let mut agreement = Agreement {
        link_delay_ns: script.delay.0 / 1_000,
        longest_transit_ns: script.longest_transit_ns,
        ..Agreement::default()
    };
    for (log, simulated) in logs.into_iter().zip(&simulated) {
        let (real, simulated) = (transcript::transcribe(&log.records), transcript::transcribe(simulated));
        compare(log, &real, &simulated, script.begin)?;
        real.iter().for_each(|timed| agreement.count(timed.action));
    }
    Ok(agreement)
}

/// The longest time from the sending of a frame to its arrival, ns; `None` if the logs cannot be compared at all. If it
/// is close to the pauses of the traffic, a real run says nothing about the order.
pub fn longest_transit_ns(first: &ProtocolLog, second: &ProtocolLog) -> Option<u64> {
    script::of_logs([first, second]).ok().map(|script| script.longest_transit_ns)
}

fn compare(
    log: &ProtocolLog,
    real: &[TimedAction],
    simulated: &[TimedAction],
    begin: Instant,
) -> Result<(), ReplayError> {
    let longest = real.len().max(simulated.len());
    let differs = |&index: &usize| {
        let action = |transcript: &[TimedAction]| transcript.get(index).map(|timed| timed.action);
        action(real) != action(simulated)
    };
    let Some(index) = (0..longest).find(differs) else { return Ok(()) };
    let describe = |transcript: &[TimedAction], line: bool| match transcript.get(index) {
        None => "nothing more".to_owned(),
        Some(timed) => {
            let ms = timed.at.since(begin).0 as f64 / 1e6;
            let line = if line { format!(", line {}", log.line(timed.record)) } else { String::new() };
            format!("{} (at {ms:.3} ms{line})", timed.action)
        }
    };
    Err(ReplayError::Order {
        log: log.name.clone(),
        link: log.header.link.clone(),
        index: index + 1,
        real: describe(real, true),
        simulated: describe(simulated, false),
    })
}

impl Agreement {
    fn count(&mut self, action: Action) {
        use linkmend_protocol::trace::Direction;
        self.steps += 1;
        match action {
            Action::Sent(_) => self.frames_sent += 1,
            Action::Lost(_) | Action::CopyLost(_) => self.losses += 1,
            Action::Notified(Direction::Sent, _) => self.notified += 1,
            Action::CopySent(_) => self.copies_sent += 1,
            Action::Delivered(_) => self.delivered += 1,
            Action::GivenUp(frames) => self.given_up += frames,
            Action::Received(_)
            | Action::CopyReceived(_)
            | Action::Notified(Direction::Received, _)
            | Action::Discarded(_)
            | Action::Pause(..) => {}
        }
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "real and simulated run agree on the order of {} steps: {} frames sent, {} losses, {} frames notified, \
             {} copies sent, {} frames delivered, {} given up; link delay {} us, longest {} us",
            self.steps,
            self.frames_sent,
            self.losses,
            self.notified,
            self.copies_sent,
            self.delivered,
            self.given_up,
            self.link_delay_ns / 1_000,
            self.longest_transit_ns / 1_000
        )
    }
}
