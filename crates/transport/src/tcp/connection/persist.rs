//! The persist timer: probes for a closed window (RFC 9293, section 3.8.6.1).

use crate::time::{Instant, Nanos};

/// Number of doublings after which the interval between probes no longer grows, whatever the maximum timeout is.
const BACKOFF_MAX: u32 = 30;

/// How soon a probe is retried if the host's own queue was full (Linux: `TCP_RESOURCE_PROBE_INTERVAL`).
const RETRY_INTERVAL: Nanos = Nanos::from_millis(500);

/// The timer. It runs while there is data to send, none in flight, and no room in the peer's window.
#[derive(Debug, Clone, Default)]
pub struct Persist {
    timer: Option<Instant>,
    /// Probes sent since the window closed, or since the peer last answered one.
    backoff: u32,
    /// Probes that the peer has not answered.
    unanswered: u32,
    is_due: bool,
    /// When the first of them was due.
    first_at: Option<Instant>,
}

impl Persist {
    /// Starts the timer, unless it runs, after a retransmission timeout.
    pub fn start(&mut self, now: Instant, timeout: Nanos, longest: Nanos) {
        if self.timer.is_none() && !self.is_due {
            let interval = Nanos(timeout.0.saturating_mul(1 << self.backoff.min(BACKOFF_MAX))).min(longest);
            self.timer = Some(now + interval.max(Nanos(1)));
        }
    }

    /// The window is open, or there is nothing to send.
    pub fn stop(&mut self) {
        *self = Persist::default();
    }

    /// There is no connection any more; what was counted stays.
    pub fn end(&mut self) {
        (self.timer, self.is_due) = (None, false);
    }

    /// The peer has answered, though its window may still be closed; it may stay so for as long as it likes.
    pub fn handle_answer(&mut self) {
        self.unanswered = 0;
        self.first_at = None;
    }

    /// Probes that the peer has not answered, doublings of the time between them, and when the first was due.
    pub fn state(&self) -> (u32, u32, Option<Instant>) {
        (self.unanswered, self.backoff, self.first_at)
    }

    /// The probe that was due could not leave.
    pub fn handle_not_sent(&mut self, now: Instant) {
        self.backoff = self.backoff.saturating_sub(1);
        self.timer = Some(now + RETRY_INTERVAL);
    }

    /// When the next probe is due.
    pub fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// Makes a probe due, if it is time. Returns how many were not answered.
    pub fn handle_timeout(&mut self, now: Instant) -> u32 {
        if self.timer.is_some_and(|timer| timer <= now) {
            self.timer = None;
            self.is_due = true;
            self.backoff = self.backoff.saturating_add(1);
            self.unanswered = self.unanswered.saturating_add(1);
            self.first_at = self.first_at.or(Some(now));
        }
        self.unanswered
    }

    /// Whether a probe must be sent now; asking resets it.
    pub fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Nanos = Nanos(200);
    const LONGEST: Nanos = Nanos(1_000);

    /// RFC 9293, section 3.8.6.1: the interval increases exponentially.
    #[test]
    fn the_time_between_probes_doubles_up_to_the_longest() {
        let mut persist = Persist::default();
        let mut now = Instant(0);
        for interval in [200, 400, 800, 1_000, 1_000] {
            persist.start(now, TIMEOUT, LONGEST);
            assert_eq!(persist.timer(), Some(now + Nanos(interval)));
            persist.handle_timeout(now + Nanos(interval - 1));
            assert!(!persist.take_due());
            now += Nanos(interval);
            persist.handle_timeout(now);
            assert!(persist.take_due() && !persist.take_due());
        }
    }

    /// RFC 9293, section 3.8.6.1: probing goes on as long as the peer answers.
    #[test]
    fn only_probes_without_answer_count() {
        let mut persist = Persist::default();
        persist.start(Instant(0), TIMEOUT, LONGEST);
        assert_eq!(persist.handle_timeout(Instant(200)), 1);
        persist.take_due();
        persist.handle_answer();
        persist.start(Instant(200), TIMEOUT, LONGEST);
        assert_eq!(persist.handle_timeout(Instant(600)), 1);
    }
}
