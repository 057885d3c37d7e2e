//! When dummies are due (section 3.2). On the Tofino they replenish themselves. Here, a burst is sent each time a lane
//! has nothing more to send, followed by repeats at growing intervals until everything in that lane is acknowledged.
//!
//! Every lane has its own clock, because only later frames of the same lane reveal a lost tail: traffic on the other
//! lane must not delay its dummies. A dummy that finds no idle port is overdue after another
//! [`Config::dummy_interval_min`], and then goes ahead of normal frames.

use crate::config::Config;
use crate::mode::{Mode, PerMode};
use crate::time::{Instant, Ticks};

/// The dummies of both lanes.
#[derive(Debug, Default)]
pub(in crate::link_end) struct Dummies {
    pub(in crate::link_end) stamp: u16,
    /// The dummy whose echo measures a round trip, and when it left. It is not always the latest: if the answer takes
    /// longer than the wait between two dummies, the latest would never be answered in time.
    probe: Option<(u16, Instant)>,
    /// Latest dummy, or the opening of the session.
    latest_at: Instant,
    clocks: PerMode<Clock>,
}

/// The dummies of one lane.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    /// Whether frames were sent since the last dummy, the latest at `sent_at`. The next burst is then due `dummy_delay`
    /// later, and the fields below must be reset; this is postponed until then, because it would have to be done for
    /// every frame.
    restart: bool,
    sent_at: Instant,
    due_at: Instant,
    interval: Ticks,
    burst_left: u8,
    /// Whether the first burst is out and was not acknowledged.
    repeating: bool,
    /// Whether a copy was sent, and no frame since: only a dummy with a stamp can reveal its loss.
    after_copy: bool,
}

impl Clock {
    #[inline]
    fn due_at(&self, config: &Config) -> Instant {
        if self.restart { self.sent_at + config.dummy_delay } else { self.due_at }
    }

    /// Resets what sending a frame has postponed.
    fn apply_restart(&mut self, config: &Config) {
        if core::mem::take(&mut self.restart) {
            self.due_at = self.sent_at + config.dummy_delay;
            self.interval = config.dummy_interval_min;
            self.burst_left = config.dummy_copies;
            (self.repeating, self.after_copy) = (false, false);
        }
    }

    fn dummy_left(&mut self, now: Instant, config: &Config) {
        self.apply_restart(config);
        self.after_copy = false;
        self.burst_left = self.burst_left.saturating_sub(1);
        if self.burst_left == 0 {
            self.due_at = now + self.interval;
            self.interval = (self.interval * 2).min(config.dummy_interval_max);
            self.burst_left = 1;
            self.repeating = true;
        }
    }
}

impl Dummies {
    /// A session opens: stamps are counted from its beginning.
    pub(super) fn start(&mut self) {
        (self.stamp, self.probe) = (0, None);
    }

    /// The stamp of a dummy that leaves now.
    pub(super) fn next_stamp(&mut self, now: Instant) -> u16 {
        self.stamp = self.stamp.wrapping_add(1);
        self.probe.get_or_insert((self.stamp, now));
        self.stamp
    }

    /// Handles the echo of `stamp`: returns the round trip, if that is the dummy that is waited for. With a later
    /// stamp, that dummy or its answer is lost, and the next dummy measures.
    pub(super) fn handle_echo(&mut self, now: Instant, stamp: u16) -> Option<Ticks> {
        let (sent, sent_at) = self.probe?;
        let ahead = stamp.wrapping_sub(sent) as i16;
        if ahead >= 0 {
            self.probe = None;
        }
        (ahead == 0).then(|| now.since(sent_at))
    }

    /// Records that the session is open from `now` on.
    pub(super) fn opened(&mut self, now: Instant) {
        self.latest_at = now;
    }

    /// Records that a frame leaves in `mode`.
    #[inline]
    pub(super) fn sent(&mut self, now: Instant, mode: Mode) {
        let clock = &mut self.clocks[mode];
        clock.restart = true;
        clock.sent_at = now;
    }

    /// Records that a copy leaves in `mode`. It may be the last frame for a while, so a dummy follows to reveal its
    /// loss.
    pub(super) fn copied(&mut self, now: Instant, mode: Mode, config: &Config) {
        let clock = &mut self.clocks[mode];
        clock.apply_restart(config);
        clock.due_at = now + config.dummy_delay;
        clock.interval = config.dummy_interval_min;
        clock.burst_left = clock.burst_left.max(1);
        (clock.repeating, clock.after_copy) = (false, true);
    }

    /// When the next dummy may take an idle port: for a lane with frames `outstanding`, soon.
    #[inline]
    pub(super) fn due_at(&self, outstanding: PerMode<bool>, config: &Config) -> Option<Instant> {
        let due_at = |mode: Mode| outstanding[mode].then(|| self.clocks[mode].due_at(config));
        match (due_at(Mode::Ordered), due_at(Mode::NonBlocking)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// When the next keepalive may take an idle port, with nothing outstanding.
    pub(super) fn keepalive_at(&self, config: &Config) -> Instant {
        let sent_at = self.clocks.0.map(|clock| clock.sent_at);
        self.latest_at.max(sent_at[0]).max(sent_at[1]) + config.keepalive
    }

    /// The lane whose first burst is due and needs no stamp, if there is one.
    pub(super) fn first_burst(
        &self,
        now: Instant,
        outstanding: PerMode<bool>,
        config: &Config,
    ) -> Option<Mode> {
        let waits = |mode: &Mode| {
            let clock = &self.clocks[*mode];
            let first = clock.restart || !(clock.repeating || clock.after_copy);
            outstanding[*mode] && first && now >= clock.due_at(config)
        };
        Mode::ALL.into_iter().find(waits)
    }

    /// Records that a dummy leaves that announces `lanes`. It serves every lane whose dummy is due, and a lane that
    /// only repeats, as its next repeat. It does not serve a lane whose latest frames may soon be followed by others.
    pub(super) fn left(&mut self, now: Instant, lanes: PerMode<bool>, config: &Config) {
        self.latest_at = now;
        for mode in Mode::ALL {
            let clock = &mut self.clocks[mode];
            let repeats = clock.repeating && !clock.restart;
            if lanes[mode] && (repeats || now >= clock.due_at(config)) {
                clock.dummy_left(now, config);
            }
        }
    }

    /// See [`crate::SteadyState::dummies`].
    pub(in crate::link_end) fn steady_state(&self) -> PerMode<(bool, u8, bool)> {
        PerMode(self.clocks.0.map(|clock| (clock.restart, clock.burst_left, clock.repeating)))
    }

    /// Advances as if frames had been `sent`; dummies were not, so nothing else changes.
    pub(in crate::link_end) fn fast_forward(&mut self, elapsed: Ticks, sent: PerMode<u64>) {
        for mode in Mode::ALL {
            if sent[mode] > 0 {
                self.clocks[mode].sent_at = self.clocks[mode].sent_at + elapsed;
            }
        }
    }
}
