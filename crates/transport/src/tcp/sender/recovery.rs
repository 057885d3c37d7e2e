//! The actions after an acknowledgement: the phases of recovery, all transitions between them, and the window.
//!
//! - Open: nothing unusual. Disorder: segments have arrived out of order, or were resent.
//! - Reduced: the window shrinks because of ECN, or because a probe has repaired a loss.
//! - Recovery: fast recovery (RFC 6675, section 5; RFC 6582 without SACK), until what was outstanding when it began is
//!   acknowledged (the recovery point).
//! - Loss: after a retransmission timeout, until the same.

use super::Sender;
use super::ack::Ack;
use super::rack::Conditions;
use super::undo::Undo;
use crate::tcp::congestion::{AckSample, Congestion, CongestionControl, Phase, SSTHRESH_MIN, Window};
use crate::time::Instant;

/// The state of recovery.
#[derive(Debug, Clone, Default)]
pub(super) struct Recovery {
    pub phase: Phase,
    /// The recovery point: the first byte not sent when the phase began.
    pub end: u64,
    pub prr: Reduction,
    pub undo: Undo,
    /// RFC 5682: whether it is still open if the timeout was spurious; then new data goes first.
    pub is_f_rto: bool,
    pub sends_new_first: bool,
}

/// Proportional rate reduction (RFC 6937 and its revision): segments delivered and sent since the reduction began.
#[derive(Debug, Clone, Default)]
pub(super) struct Reduction {
    delivered: u64,
    pub sent: u64,
    /// RecoverFS: the window when it began.
    before: u32,
}

impl Reduction {
    /// Segments that may be in the network after `delivered` more were acknowledged. RFC 6937, section 3, with the
    /// slow-start reduction bound of draft-ietf-tcpm-prr-rfc6937bis-06, section 6: above ssthresh, segments leave in
    /// proportion to those delivered; below, as many as are delivered, and one more for each acknowledgement that
    /// advances without a new loss (`is_safe`).
    fn window(&mut self, threshold: u32, pipe: u32, delivered: u32, is_safe: bool) -> u32 {
        self.delivered += u64::from(delivered);
        let before = u64::from(self.before.max(1));
        let count = if pipe > threshold {
            (self.delivered * u64::from(threshold)).div_ceil(before).saturating_sub(self.sent)
        } else {
            let bound = self.delivered.saturating_sub(self.sent).max(u64::from(delivered));
            (bound + u64::from(is_safe)).min(u64::from(threshold - pipe))
        };
        // The first segment that was lost is resent immediately.
        let count = count.max(u64::from(self.sent == 0));
        pipe.saturating_add(count.min(u64::from(u32::MAX)) as u32)
    }
}

impl Sender {
    /// Acts on an acknowledgement that was counted. Returns when to look for losses again.
    pub(super) fn respond(&mut self, ack: &mut Ack) -> Option<Instant> {
        if ack.is_marked {
            // A reduction that ECN demands too is not undone.
            self.recovery.undo.forget_window();
        }
        if ack.has_advanced && self.check_reneging(ack.now) {
            ack.restarts_timer = false;
            return None;
        }
        if self.holds_at_recovery_point(ack) {
            return None;
        }
        match self.recovery.phase {
            Phase::Recovery => self.respond_in_recovery(ack),
            Phase::Loss => self.respond_in_loss(ack),
            Phase::Open | Phase::Disorder | Phase::Reduced => self.respond_outside(ack),
        }
    }

    /// Ends the phase if the recovery point is acknowledged. Returns whether it goes on all the same.
    fn holds_at_recovery_point(&mut self, ack: &Ack) -> bool {
        if self.recovery.phase == Phase::Open {
            self.recovery.undo.forget_time();
        }
        if self.unacknowledged < self.recovery.end {
            return false;
        }
        match self.recovery.phase {
            // One more, so that the first segment with CWR was acknowledged (RFC 3168, section 6.1.2).
            Phase::Reduced if self.unacknowledged > self.recovery.end => {
                self.end_reduction();
                self.set_phase(ack.now, Phase::Open);
            }
            Phase::Recovery => {
                self.board.forget_duplicates();
                if self.try_undo_recovery(ack) {
                    return true;
                }
                self.end_reduction();
            }
            _ => (),
        }
        false
    }

    fn respond_in_recovery(&mut self, ack: &mut Ack) -> Option<Instant> {
        if ack.has_advanced && self.try_undo_partial(ack) {
            return None;
        }
        let is_undone = self.try_undo_by_dsack(ack.now);
        if is_undone {
            self.try_open(ack);
        }
        let look_again = self.find_losses(ack);
        if is_undone {
            self.recover_or_open(ack);
        }
        look_again
    }

    fn respond_in_loss(&mut self, ack: &mut Ack) -> Option<Instant> {
        self.proceed_in_loss(ack);
        if self.recovery.sends_new_first {
            return None;
        }
        let resent = self.board.resent();
        let look_again = self.find_losses(ack);
        // Retransmissions were lost: the window is reduced once more.
        let has_lost_again = self.board.resent() < resent;
        if self.recovery.phase != Phase::Loss || (has_lost_again && self.uses_rack()) {
            self.recover_or_open(ack);
        }
        look_again
    }

    fn respond_outside(&mut self, ack: &mut Ack) -> Option<Instant> {
        if self.recovery.phase != Phase::Reduced {
            self.try_undo_by_dsack(ack.now);
        }
        let look_again = self.find_losses(ack);
        self.recover_or_open(ack);
        look_again
    }

    /// Begins recovery if something is lost, else is on its way to the open phase.
    fn recover_or_open(&mut self, ack: &Ack) {
        if self.board.lost() == 0 {
            self.try_open(ack);
        } else if !self.lose_path_probe(ack.now) {
            self.enter_recovery(ack.now, ack.is_marked);
        }
    }

    /// RFC 5682, section 3.1 (SACK-enhanced: section 3.2), and the end of the phase.
    fn proceed_in_loss(&mut self, ack: &Ack) {
        let is_over = self.unacknowledged >= self.recovery.end;
        self.recovery.sends_new_first = false;
        if ack.has_advanced && self.try_undo_loss(ack, false) {
            return;
        }
        if self.recovery.is_f_rto {
            // Step 3b: a segment has arrived that was not retransmitted after the timeout.
            if ack.is_original_delivered && self.try_undo_loss(ack, true) {
                return;
            }
            if self.next > self.recovery.end {
                // Step 3a.
                let is_duplicate = ack.is_duplicate || ack.has_new_sacks;
                self.recovery.is_f_rto = !(ack.has_advanced || is_duplicate);
            } else if ack.has_advanced && !is_over {
                // Step 2b.
                self.recovery.end = self.next;
                self.recovery.sends_new_first = self.unsent() > 0 && self.window_end() > self.next;
                self.recovery.is_f_rto = self.recovery.sends_new_first;
                if self.recovery.is_f_rto {
                    return;
                }
            }
        }
        if is_over {
            self.try_undo_recovery(ack);
        }
    }

    /// Finds losses by the detector in use. Returns when to look again, if by time.
    fn find_losses(&mut self, ack: &mut Ack) -> Option<Instant> {
        if !self.settings.sack {
            self.find_loss_without_sack(ack);
            return None;
        }
        if self.uses_rack() {
            let window = self.rack.reordering_window(&self.rack_conditions());
            return self.rack.detect(ack.now, &mut self.board, window);
        }
        if self.recovery.phase != Phase::Loss {
            self.board.mark_lost_below(self.threshold());
        }
        None
    }

    /// RFC 6582, section 3.2: the first segment is lost at the third duplicate (step 2), and at each acknowledgement of a
    /// part of what was outstanding (step 3).
    fn find_loss_without_sack(&mut self, ack: &Ack) {
        let is_recovering = self.recovery.phase == Phase::Recovery;
        let is_lost = if is_recovering {
            ack.has_advanced
        } else {
            self.recovery.phase != Phase::Loss && self.board.sacked() >= self.threshold()
        };
        if is_lost && let Some(oldest) = self.board.oldest() {
            let is_known = self.board.at(oldest).marks.contains(super::scoreboard::Marks::LOST);
            if !is_known {
                self.board.mark_lost(oldest);
            }
        }
    }

    pub(super) fn rack_conditions(&self) -> Conditions {
        Conditions {
            min_rtt: self.min_rtt.least().unwrap_or_default(),
            smoothed_rtt: self.round_trip.smoothed().unwrap_or_default(),
            has_seen_reordering: self.counts.reordering_seen > 0,
            is_recovering: super::is_recovering(self.recovery.phase),
            is_threshold_reached: self.board.sacked() >= self.threshold(),
        }
    }

    /// Nothing is lost, but something may be out of order.
    pub(super) fn try_open(&mut self, ack: &Ack) {
        if !self.has_resent() {
            self.recovery.undo.forget_time();
        }
        if ack.is_marked {
            self.enter_reduced(ack.now);
        }
        if self.recovery.phase != Phase::Reduced {
            self.open_or_disorder(ack.now);
        }
    }

    pub(super) fn open_or_disorder(&mut self, now: Instant) {
        let is_in_order = self.board.sacked() == 0 && self.board.lost() == 0 && !self.has_resent();
        let phase = if is_in_order { Phase::Open } else { Phase::Disorder };
        if phase != self.recovery.phase {
            self.set_phase(now, phase);
            self.recovery.end = self.next;
        }
    }

    pub(super) fn set_phase(&mut self, now: Instant, phase: Phase) {
        if phase != self.recovery.phase {
            self.recovery.phase = phase;
            let context = self.context(now);
            self.controller.phase_changed(&context);
        }
    }

    /// RFC 6675, section 5, step 4; RFC 5681, section 3.2.
    pub(super) fn enter_recovery(&mut self, now: Instant, is_marked: bool) {
        if self.recovery.phase == Phase::Recovery {
            return;
        }
        let before = self.current_threshold();
        self.recovery.undo.begin(self.unacknowledged, self.board.resent());
        if self.recovery.phase == Phase::Reduced {
            // The window is being reduced already, once for each round trip.
            self.recovery.undo.forget_window();
        } else {
            self.begin_reduction(now, Congestion::Loss);
            if is_marked {
                self.recovery.undo.forget_window();
            } else {
                self.recovery
                    .undo
                    .remember_window(Window { cwnd: self.recovery.prr.before, ssthresh: before });
            }
        }
        self.recovery.sends_new_first = false;
        self.recovery.is_f_rto = false;
        self.set_phase(now, Phase::Recovery);
    }

    /// RFC 3168, section 6.1.2: a mark counts like a loss, once for each window of data.
    fn enter_reduced(&mut self, now: Instant) {
        self.recovery.undo.forget_window();
        if matches!(self.recovery.phase, Phase::Open | Phase::Disorder) {
            self.recovery.undo.forget();
            self.begin_reduction(now, Congestion::Mark);
            self.set_phase(now, Phase::Reduced);
        }
    }

    /// RFC 8985, section 7.4.2: a loss that a probe has repaired counts too.
    pub(super) fn reduce_for_probe(&mut self, now: Instant) {
        if matches!(self.recovery.phase, Phase::Open | Phase::Disorder) {
            self.recovery.undo.forget();
            self.begin_reduction(now, Congestion::Loss);
            self.set_phase(now, Phase::Reduced);
            self.end_reduction();
            self.open_or_disorder(now);
        }
    }

    fn begin_reduction(&mut self, now: Instant, congestion: Congestion) {
        let context = self.context(now);
        self.recovery.end = self.next;
        self.recovery.prr = Reduction { delivered: 0, sent: 0, before: self.window.cwnd };
        self.window.ssthresh = self.controller.ssthresh(&context, congestion).max(SSTHRESH_MIN);
        self.probe.forget();
        self.output.owes_cwr = true;
    }

    /// RFC 6937, section 3: at the end the window is ssthresh.
    fn end_reduction(&mut self) {
        let is_reduced = self.recovery.phase == Phase::Reduced || self.recovery.undo.is_possible();
        if !self.is_controlled && is_reduced && self.window.ssthresh < u32::MAX {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// RFC 5681, section 3.1, equation 4; RFC 6298, section 5; RFC 2018, section 8 (reneging).
    pub(super) fn enter_loss(&mut self, now: Instant) {
        let phase = self.recovery.phase;
        let is_new = !super::is_recovering(phase);
        let has_reneged =
            self.board.head().is_some_and(|head| head.marks.contains(super::scoreboard::Marks::SACKED));
        let sacked = self.board.sacked();
        self.board.forget_duplicates();
        if has_reneged {
            self.board.forget_sacks();
        }
        let (rack, is_rack, oldest) = (&self.rack, self.uses_rack(), self.unacknowledged);
        self.board.mark_all_lost(|record| {
            has_reneged || record.start == oldest || !is_rack || !rack.may_arrive(now, record)
        });
        let is_repeated = phase == Phase::Loss && self.counts.timeouts_in_a_row > 0;
        if is_new && phase != Phase::Reduced
            || self.recovery.end <= self.unacknowledged
            || (phase == Phase::Loss && !is_repeated)
        {
            let before = Window { cwnd: self.window.cwnd, ssthresh: self.current_threshold() };
            let context = self.context(now);
            self.window.ssthresh = self.controller.ssthresh(&context, Congestion::Timeout).max(SSTHRESH_MIN);
            self.recovery.undo.begin(self.unacknowledged, self.board.resent());
            self.recovery.undo.remember_window(before);
        }
        self.window.cwnd = self.board.pipe().saturating_add(1);
        if matches!(phase, Phase::Open | Phase::Disorder) && sacked >= super::DUPLICATES_THRESHOLD {
            // This many duplicates without a recovery: the degree of reordering was overestimated.
            self.reordering = self.reordering.min(super::DUPLICATES_THRESHOLD);
        }
        self.recovery.end = self.next;
        self.probe.forget();
        self.output.owes_cwr = true;
        self.recovery.sends_new_first = false;
        // What a receiver has reneged on is not evidence when it is acknowledged: it may have arrived before the
        // timeout.
        self.recovery.is_f_rto = self.settings.f_rto && !has_reneged && (is_new || is_repeated);
        self.set_phase(now, Phase::Loss);
    }

    /// The window after an acknowledgement: the algorithm's, that of the reduction, or larger.
    pub(super) fn set_window(&mut self, ack: &Ack, sample: &AckSample) {
        let context = self.context(ack.now);
        let mut window = self.window;
        self.is_controlled = self.controller.control(&context, sample, &mut window);
        if self.is_controlled {
            self.window = window;
        } else if self.is_reducing() {
            self.reduce(ack.delivered, ack.has_advanced && sample.lost == 0);
        } else if self.may_grow(ack) && context.is_window_limited {
            self.controller.grow(&context, &mut window, ack.delivered);
            self.window = window;
        }
        self.window.cwnd = self.window.cwnd.max(1);
    }

    /// Out-of-order arrivals let the window grow only if reordering is known to happen.
    fn may_grow(&self, ack: &Ack) -> bool {
        if self.reordering > super::DUPLICATES_THRESHOLD { ack.delivered > 0 } else { ack.acknowledged > 0 }
    }

    /// Proportional rate reduction after `delivered` segments.
    pub(super) fn reduce(&mut self, delivered: u32, is_safe: bool) {
        if delivered > 0 && self.recovery.prr.before > 0 {
            let pipe = self.board.pipe();
            self.window.cwnd = self.recovery.prr.window(self.window.ssthresh, pipe, delivered, is_safe);
        }
    }
}
