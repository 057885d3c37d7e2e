//! The time of a link end: its driver's clock, without the jumps.

use super::LinkEnd;
use crate::mode::Mode;
use crate::time::{Instant, Ticks};

impl LinkEnd {
    /// Records the time.
    #[inline]
    pub(super) fn advance(&mut self, now: Instant) -> Instant {
        let now = now + self.shared.clock_lead;
        if now.0.wrapping_sub(self.shared.now.0) > self.clock_tolerance().0 {
            return self.advance_by_jump(now);
        }
        self.shared.now = now;
        now
    }

    /// How far the clock may advance in one step without being checked: an active end has something to do in every
    /// keepalive.
    #[inline]
    fn clock_tolerance(&self) -> Ticks {
        self.shared.config.keepalive
    }

    /// Time never goes back here: a small step back is ignored, and a clock that was set back continues from where it
    /// was. An end that did not run when it was due blames its peer neither for the silence nor for what is missing.
    #[cold]
    fn advance_by_jump(&mut self, now: Instant) -> Instant {
        let tolerance = self.clock_tolerance();
        let back = self.shared.now.since(now);
        if back > Ticks::ZERO {
            if back > tolerance {
                self.shared.clock_lead = self.shared.clock_lead + back;
            }
            return self.shared.now;
        }
        let due = self.next_timeout().map_or(now, |at| (at + self.shared.clock_lead).max(self.shared.now));
        let late = now.since(due);
        if late > tolerance {
            self.sending.transmit.excuse(now, late);
            self.receiving.receive.heard_at = (self.receiving.receive.heard_at + late).min(now);
            Mode::ALL.into_iter().for_each(|mode| self.receiving.receivers[mode].restart_waits(now));
        }
        self.shared.now = now;
        now
    }
}
