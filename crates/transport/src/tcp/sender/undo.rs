//! Undoes reductions that turn out to be spurious, according to timestamps (Eifel: RFC 3522 and RFC 4015), by DSACK
//! (RFC 3708), or F-RTO (RFC 5682).

use super::ack::Ack;
use super::scoreboard::Marks;
use super::{Sender, is_older};
use crate::tcp::congestion::{CongestionControl, Phase, Window};
use crate::tcp::receiver::clock;
use crate::time::Instant;

/// What is needed to undo a reduction.
#[derive(Debug, Clone, Default)]
pub(super) struct Undo {
    /// SND.UNA when the reduction began; `None` if there is nothing to undo.
    marker: Option<u64>,
    /// Retransmissions that no DSACK has reported yet; `None` before the first retransmission.
    unreported: Option<u64>,
    /// The window before.
    window: Option<Window>,
    /// The timestamp of the first retransmission (RFC 3522, section 3.2, step 1: RetransmitTS).
    first_resent: Option<u32>,
}

impl Undo {
    pub fn begin(&mut self, unacknowledged: u64, resent: u32) {
        self.marker = Some(unacknowledged);
        self.unreported = (resent > 0).then_some(u64::from(resent));
    }

    pub fn remember_window(&mut self, window: Window) {
        self.window = Some(window);
    }

    pub fn forget_window(&mut self) {
        self.window = None;
    }

    pub fn forget_time(&mut self) {
        self.first_resent = None;
    }

    pub fn forget(&mut self) {
        self.marker = None;
        self.window = None;
    }

    pub fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    pub fn handle_resent(&mut self, now: Instant) {
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
        self.first_resent.get_or_insert(clock(now));
    }

    /// `segments` up to `end` have arrived twice.
    pub fn handle_dsack(&mut self, end: u64, segments: u64) {
        if self.marker.is_some_and(|marker| end > marker)
            && let Some(unreported) = &mut self.unreported
        {
            *unreported = unreported.saturating_sub(segments);
        }
    }

    /// RFC 3708, section 2: each retransmission was a duplicate.
    fn are_all_reported(&self) -> bool {
        self.marker.is_some() && self.unreported == Some(0)
    }

    /// RFC 3522, section 3.2, step 4: the acknowledgement is for a segment that was sent before the first retransmission.
    fn is_echo_older(&self, ack: &Ack) -> bool {
        matches!((ack.echo, self.first_resent), (Some(echo), Some(first)) if is_older(echo, first))
    }

    /// Whether segments considered lost have arrived without being retransmitted, so they were only delayed (as in
    /// Linux since 6.13).
    fn is_nothing_resent(&self) -> bool {
        self.marker.is_some() && self.unreported.is_none()
    }

    /// Whether an acknowledgement of new data shows that the originals were delayed, not lost.
    fn is_delayed(&self, ack: &Ack) -> bool {
        self.is_echo_older(ack) || self.is_nothing_resent()
    }

    fn may_undo(&self, ack: &Ack) -> bool {
        self.marker.is_some() && (self.are_all_reported() || self.is_delayed(ack))
    }
}

impl Sender {
    pub(super) fn note_retransmission(&mut self, now: Instant) {
        self.recovery.undo.handle_resent(now);
    }

    /// Whether anything outstanding was ever retransmitted.
    pub(super) fn has_resent(&self) -> bool {
        self.board.resent() > 0
            || self.board.head().is_some_and(|head| head.marks.contains(Marks::EVER_RESENT))
    }

    /// The recovery point is acknowledged. Returns whether the phase continues anyway.
    pub(super) fn try_undo_recovery(&mut self, ack: &Ack) -> bool {
        if self.recovery.undo.may_undo(ack) {
            self.undo_reduction(ack.now, false);
        } else {
            self.rack.recovery_ended();
        }
        if self.unacknowledged == self.recovery.end && !self.settings.sack && !self.board.is_empty() {
            // RFC 6582, section 4.1: until something above the recovery point is acknowledged, duplicates may be those of
            // retransmissions.
            if !self.has_resent() {
                self.recovery.undo.forget_time();
            }
            return true;
        }
        // DSACKs that arrive later may still undo the reduction.
        self.set_phase(ack.now, Phase::Open);
        false
    }

    /// RFC 3708: all retransmissions were duplicates.
    pub(super) fn try_undo_by_dsack(&mut self, now: Instant) -> bool {
        if !self.recovery.undo.are_all_reported() {
            return false;
        }
        self.undo_reduction(now, false);
        true
    }

    /// RFC 3522: the original of the first segment considered lost has arrived late.
    pub(super) fn try_undo_partial(&mut self, ack: &Ack) -> bool {
        if !self.recovery.undo.is_possible() || !self.recovery.undo.is_delayed(ack) {
            return false;
        }
        if self.settings.sack {
            self.raise_reordering(ack.previous, self.board.highest_sacked(self.unacknowledged));
        }
        if self.board.resent() > 0 {
            // More retransmissions are on their way; their acknowledgements will tell.
            return true;
        }
        if !self.has_resent() {
            self.recovery.undo.forget_time();
        }
        self.undo_reduction(ack.now, true);
        self.open_or_disorder(ack.now);
        true
    }

    /// The timeout was spurious.
    pub(super) fn try_undo_loss(&mut self, ack: &Ack, is_f_rto: bool) -> bool {
        if !is_f_rto && !self.recovery.undo.may_undo(ack) {
            return false;
        }
        self.undo_reduction(ack.now, true);
        self.counts.timeouts_in_a_row = 0;
        self.recovery.is_f_rto = false;
        self.recovery.sends_new_first = false;
        if is_f_rto || self.settings.sack {
            self.set_phase(ack.now, Phase::Open);
        }
        true
    }

    /// RFC 4015, section 3.3: the window returns to what it was.
    fn undo_reduction(&mut self, now: Instant, forgets_losses: bool) {
        if forgets_losses {
            self.board.forget_losses();
        }
        if let Some(before) = self.recovery.undo.window {
            let context = self.context(now);
            self.window.cwnd = self.controller.undo(&context, before);
            if before.ssthresh > self.window.ssthresh {
                self.window.ssthresh = before.ssthresh;
                self.output.owes_cwr = false;
            }
        }
        self.recovery.undo.forget();
        self.rack.detect_again();
    }
}

#[cfg(test)]
mod tests {
    use crate::tcp::congestion::Phase;
    use crate::tcp::{Config, Connection, Flags, Segment};
    use crate::time::Instant;

    /// A link that recovers out of order: the stack takes the report of a hole and, before anything was sent, what fills it.
    #[test]
    fn a_hole_that_is_filled_before_anything_is_resent_leaves_the_window_as_it_was() {
        let config = Config { mss: 1_000, timestamps: false, ..Config::default() };
        let mut connection = Connection::established(Instant(0), config).expect("valid");
        connection.write(100_000);
        while connection.poll_transmit(Instant(0)).is_some() {}
        let before = connection.info(Instant(0));
        let now = Instant(1_000_000);
        let ack = |acknowledgement| Segment {
            sequence: 1,
            acknowledgement,
            flags: Flags::ACK,
            window: 60_000,
            ..Segment::default()
        };
        let mut hole = ack(1);
        hole.sack.push(1_001..6_001);
        connection.handle_segment(now, &hole);
        assert_eq!(connection.info(now).phase, Phase::Recovery);
        connection.handle_segment(now, &ack(6_001));
        let after = connection.info(now);
        assert_eq!(after.phase, Phase::Open);
        assert!(after.snd_cwnd >= before.snd_cwnd, "{after:?}");
        assert_eq!((after.snd_ssthresh, after.total_retrans), (before.snd_ssthresh, 0));
    }
}
