//! Which acknowledgements the receiver owes its sender, and since when.

use crate::config::Config;
use crate::mode::{Mode, PerMode};
use crate::sequence::LongSequenceNumber;
use crate::time::{Instant, Ticks};

/// What the receiver owes its sender.
#[derive(Debug, Default)]
pub(in crate::link_end) struct Acks {
    /// Number of the next feedback.
    pub(in crate::link_end) number: u16,
    /// Latest dummy stamp seen, and what that dummy announced.
    pub(in crate::link_end) dummy_stamp: u16,
    pub(in crate::link_end) announced: PerMode<LongSequenceNumber>,
    /// Losses and overflows before this session, to count from its beginning.
    pub(in crate::link_end) lost_before: u64,
    pub(in crate::link_end) overflows_before: u64,
    /// Lanes with arrivals that have not been acknowledged.
    pub(in crate::link_end) pending: PerMode<bool>,
    /// The lane whose ACK goes first if both owe one: the lane whose ACK did not travel last.
    pub(in crate::link_end) turn: usize,
    /// Whether the sender must be told something immediately: a loss, a change of the pause state, a new session.
    pub(in crate::link_end) urgent: bool,
    /// How many feedback frames still repeat a change of the pause state, in case the first is lost.
    pub(in crate::link_end) repeats: u8,
    /// Whether anything arrived since the last feedback.
    pub(in crate::link_end) has_arrivals: bool,
    /// Time of the latest acknowledgement of any kind; of each lane; and of the latest feedback.
    pub(in crate::link_end) ack_at: Instant,
    pub(in crate::link_end) lane_ack_at: PerMode<Instant>,
    pub(in crate::link_end) feedback_at: Instant,
    /// When everything missing was last reported, or its repetition began; and how many more feedback frames may
    /// continue the repetition now.
    pub(in crate::link_end) repeat_at: Instant,
    pub(in crate::link_end) parts_left: u8,
    /// Compact format: the lane in which a loss was found, until its notification is out.
    pub(in crate::link_end) notify: Option<Mode>,
    /// Compact format: the lane in use, that is, the lane whose highest number advanced last.
    pub(in crate::link_end) lane: Option<Mode>,
}

impl Acks {
    #[inline]
    pub(super) fn arrived(&mut self, mode: Mode) {
        self.pending[mode] = true;
        self.has_arrivals = true;
    }

    /// Records whether the feedback that confirmed a session seems to be lost.
    pub(in crate::link_end) fn repeat_confirmation(&mut self, lost: bool) {
        self.urgent |= lost;
    }

    /// Whether anything but a plain ACK is owed immediately, or, within `interval`, an ACK that repeats something.
    pub(in crate::link_end) fn owes_more_than_ack(&self, interval: Ticks, out_of_reach: Ticks) -> bool {
        self.urgent || self.notify.is_some() || (self.repeats > 0 && interval < out_of_reach)
    }

    pub(in crate::link_end) fn pending(&self) -> PerMode<bool> {
        self.pending
    }

    /// See [`crate::SteadyState::ack_wait`].
    pub(in crate::link_end) fn waits(
        &self,
        now: Instant,
        config: &Config,
        out_of_reach: Ticks,
    ) -> (Ticks, PerMode<Ticks>) {
        let wait = |at: Instant, span: Ticks| if span < out_of_reach { (at + span).since(now) } else { span };
        let lanes = self.lane_ack_at.0.map(|at| wait(at, config.ack_interval));
        (wait(self.ack_at, config.ack_gap), PerMode(lanes))
    }

    /// Records that both lanes are acknowledged.
    pub(super) fn acknowledged(&mut self, now: Instant) {
        self.pending = PerMode::default();
        self.ack_at = now;
        self.lane_ack_at = PerMode([now; 2]);
    }

    /// When an ACK has waited long enough for an idle port or a frame to ride on. Each lane waits by itself; otherwise
    /// a lane whose ACKs travel all the time would hold back the other's.
    pub(super) fn overdue_at(&self, config: &Config) -> Option<Instant> {
        let overdue_at =
            |mode: Mode| self.pending[mode].then(|| self.lane_ack_at[mode] + config.ack_interval);
        Mode::ALL.into_iter().filter_map(overdue_at).min()
    }

    /// Advances as if ACKs had been sent; complete feedback frames were not, and keep their age.
    pub(in crate::link_end) fn fast_forward(&mut self, elapsed: Ticks) {
        self.ack_at = self.ack_at + elapsed;
        self.lane_ack_at = PerMode(self.lane_ack_at.0.map(|at| at + elapsed));
    }
}
