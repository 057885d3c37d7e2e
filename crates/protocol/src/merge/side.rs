//! What an end knows about one path as one of two that carry frames of the same session.

use super::MergeConfig;
use crate::link_end::Control;
use crate::mode::PerMode;
use crate::time::{Instant, Ticks};

/// How the path has carried frames of the session.
#[derive(Debug, Default)]
pub(super) struct Side {
    /// Whether everything that arrives from now on belongs to the session in use.
    pub(super) has_joined: bool,
    /// Whether it is to be waited for: any of its frames may come here, or one has.
    pub(super) carries: bool,
    /// One past the highest number that has arrived, by lane; everything sent here earlier has arrived or is lost.
    pub(super) seen: PerMode<u64>,
    /// The next number that a frame claimed that was not believed, by lane.
    pub(super) unconfirmed: PerMode<u64>,
    /// The latest dummy, and the one that the other path has not passed yet.
    pub(super) stamp: u16,
    pub(super) dummy: Option<(Instant, Control)>,
    /// Whether it has taken longer than it may, so that nothing waits for it.
    pub(super) is_behind: bool,
    lag: Lag,
}

impl Side {
    /// Begins a session; what is known about delays stays.
    pub(super) fn leave(&mut self) {
        *self = Side { lag: self.lag, is_behind: self.is_behind, ..Side::default() };
    }

    /// Whether a hole is not one before this path has passed it.
    pub(super) fn is_awaited(&self) -> bool {
        self.has_joined && self.carries && !self.is_behind
    }

    /// Records how much later than on the other path a frame arrived.
    pub(super) fn note_lag(&mut self, now: Instant, lag: Ticks, config: &MergeConfig) {
        self.is_behind = lag > config.wait_max;
        if !self.is_behind {
            self.lag.note(now, lag, config.detection);
        }
    }

    /// How long a hole waits for it. If frames come on either path, a path that works passes the hole.
    pub(super) fn patience(&self, config: &MergeConfig) -> Ticks {
        if config.is_shared { config.wait_max } else { self.patience_of_dummies(config) }
    }

    /// How long a dummy waits for it: what it has recently taken, and some more; the detection time as long as nothing is
    /// known.
    pub(super) fn patience_of_dummies(&self, config: &MergeConfig) -> Ticks {
        let MergeConfig { detection, wait_max, .. } = *config;
        if !self.lag.is_known {
            return detection;
        }
        let longest = self.lag.longest();
        Ticks(longest.0 + longest.0 / SPREAD_SHARE + detection.0 / SLACK_SHARE).min(wait_max)
    }

    /// How much longer frames have recently taken here than on the other path, at most.
    pub(super) const fn longest_lag(&self) -> Ticks {
        self.lag.longest()
    }
}

/// A wait is longer than the longest recent lag by this share of it ...
const SPREAD_SHARE: u64 = 4;
/// ... and by this share of the detection time.
const SLACK_SHARE: u64 = 16;
/// A lag is remembered for one to two times this many detection times: 10 to 20 s if that is 10 ms.
const MEMORY_WAITS: u64 = 1_000;

/// The longest lag of the current period and the one before.
#[derive(Debug, Clone, Copy, Default)]
struct Lag {
    is_known: bool,
    now: Ticks,
    before: Ticks,
    until: Instant,
}

impl Lag {
    fn note(&mut self, now: Instant, lag: Ticks, detection: Ticks) {
        if now >= self.until {
            (self.before, self.now) = (self.now, Ticks::ZERO);
            self.until = now + detection * MEMORY_WAITS;
        }
        (self.is_known, self.now) = (true, self.now.max(lag));
    }

    const fn longest(&self) -> Ticks {
        if self.now.0 > self.before.0 { self.now } else { self.before }
    }
}
