//! The timer: retransmission (RFC 6298, section 5), loss probe (RFC 8985, section 7), reordering (RFC 8985, section 6.3).
//! One of them runs at a time.

use super::ack::Ack;
use super::output::Forced;
use super::scoreboard::Marks;
use super::{Outgoing, Sender};
use crate::tcp::congestion::Phase;
use crate::time::{Instant, Nanos};

/// A receiver that has reneged is given this long, or half a round trip, to acknowledge what it has SACKed.
const RENEGING_DELAY: Nanos = Nanos::from_millis(10);

/// What happens when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timer {
    kind: Kind,
    at: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Retransmission,
    LossProbe,
    Reordering,
}

/// A tail loss probe that was sent (RFC 8985, section 7.2: TLP.end_seq and TLP.is_retrans).
#[derive(Debug, Clone, Default)]
pub(super) struct LossProbe {
    end: Option<u64>,
    is_retransmission: bool,
}

impl LossProbe {
    pub fn forget(&mut self) {
        self.end = None;
    }

    /// Whether a retransmitted probe ended here.
    pub fn is_end(&self, end: u64) -> bool {
        self.is_retransmission && self.end == Some(end)
    }
}

impl Sender {
    /// When to call [`Sender::handle_timeout`]; pacing has a time of its own.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.timer.map(|timer| timer.at)
    }

    /// When pacing lets the next segment go, if it waits for that.
    pub fn paced_until(&self) -> Option<Instant> {
        self.pacer.timer()
    }

    /// The time has come. Does nothing if it has not.
    pub fn handle_timeout(&mut self, now: Instant) {
        let Some(timer) = self.timer else { return };
        if timer.at > now {
            return;
        }
        self.timer = None;
        if self.board.is_empty() {
            return;
        }
        match timer.kind {
            Kind::Retransmission => self.handle_retransmission_timeout(now),
            Kind::LossProbe => self.handle_probe_timeout(now),
            Kind::Reordering => self.handle_reordering_timeout(now),
        }
    }

    /// RFC 6298, sections 5.4 to 5.6.
    fn handle_retransmission_timeout(&mut self, now: Instant) {
        self.suspect_black_hole(now);
        self.enter_loss(now);
        self.unanswered_since = self.unanswered_since.or(Some(now));
        self.counts.timeouts += 1;
        self.counts.timeouts_in_a_row = self.counts.timeouts_in_a_row.saturating_add(1);
        self.output.forced = Some(Forced::Oldest);
        self.round_trip.back_off();
        self.set_timer(Kind::Retransmission, now + self.round_trip.timeout());
        self.update_pacing_rate(now);
    }

    /// RFC 8985, section 7.3: one probe at a time.
    fn handle_probe_timeout(&mut self, now: Instant) {
        if self.probe.end.is_none() {
            self.output.forced = Some(Forced::Probe);
        }
        self.set_retransmission_timer_since_sending(now);
    }

    pub(super) fn probe_sent(&mut self, now: Instant, outgoing: Option<&Outgoing>) {
        if let Some(outgoing) = outgoing {
            self.probe.end = Some(self.next);
            self.probe.is_retransmission = outgoing.is_retransmission;
            self.counts.probes += 1;
        }
        self.set_timer(Kind::Retransmission, now + self.round_trip.timeout());
    }

    /// RFC 8985, section 6.3: the reordering window has passed.
    fn handle_reordering_timeout(&mut self, now: Instant) {
        let before = self.board.pipe();
        let window = self.rack.reordering_window(&self.rack_conditions());
        self.rack.detect_by_time(now, &mut self.board, window);
        if self.board.pipe() != before {
            if self.recovery.phase != Phase::Recovery {
                self.enter_recovery(now, false);
                if !self.is_controlled {
                    self.reduce(1, false);
                }
            }
            self.update_pacing_rate(now);
        }
        // The timer was set for the last segment in question. If it was cut short to a timeout, that is due now.
        self.set_retransmission_timer_since_sending(now);
    }

    fn set_timer(&mut self, kind: Kind, at: Instant) {
        self.timer = Some(Timer { kind, at });
    }

    /// Runs for a timeout from now on (RFC 6298, sections 5.1 and 5.3). In the place of another timer, it expires a timeout
    /// after the oldest segment was sent.
    fn set_retransmission_timer(&mut self, now: Instant) {
        match self.timer {
            Some(Timer { kind: Kind::LossProbe | Kind::Reordering, .. }) => {
                self.set_retransmission_timer_since_sending(now);
            }
            _ => self.set_timer(Kind::Retransmission, now + self.round_trip.timeout()),
        }
    }

    fn set_retransmission_timer_since_sending(&mut self, now: Instant) {
        let expiry = self.expiry(now);
        self.set_timer(Kind::Retransmission, expiry);
    }

    /// A timeout after the oldest segment was sent, and not before now.
    fn expiry(&self, now: Instant) -> Instant {
        let sent_at = self.board.head().map_or(now, |head| head.sent_at);
        (sent_at + self.round_trip.timeout()).max(now + Nanos(1))
    }

    /// New data has left.
    pub(super) fn restart_timer_for_new(&mut self, now: Instant, is_first: bool) {
        if is_first || self.timer.is_none_or(|timer| timer.kind == Kind::LossProbe) {
            self.set_retransmission_timer(now);
        }
        if self.timer.is_some_and(|timer| timer.kind == Kind::Retransmission) {
            self.schedule_probe(now, false);
        }
    }

    /// The oldest segment was resent (RFC 6298, section 5.1; in Linux for the oldest segment only).
    pub(super) fn restart_timer_for_oldest(&mut self, now: Instant) {
        if self.timer.is_none_or(|timer| timer.kind != Kind::Reordering) {
            self.set_timer(Kind::Retransmission, now + self.round_trip.timeout());
        }
    }

    /// `look_again` is when RACK wants to look for losses again.
    pub(super) fn restart_timer_after_ack(&mut self, ack: &Ack, look_again: Option<Instant>) {
        if self.board.is_empty() {
            self.timer = None;
        } else if let Some(at) = look_again {
            // Linux: tcp_rack_mark_lost() adds TCP_TIMEOUT_MIN, and no timer waits longer than a timeout.
            let at = (at + self.settings.timer_slack).min(ack.now + self.round_trip.timeout());
            self.set_timer(Kind::Reordering, at.max(ack.now + Nanos(1)));
        } else if ack.restarts_timer && !self.schedule_probe(ack.now, true) {
            self.set_retransmission_timer(ack.now);
        }
    }

    /// RFC 8985, section 7.2: TLP_calc_PTO(), and when a probe is scheduled. Returns whether it is.
    fn schedule_probe(&mut self, now: Instant, has_advanced: bool) -> bool {
        let is_allowed = self.uses_rack()
            && self.settings.tail_loss_probe
            && !self.board.is_empty()
            && matches!(self.recovery.phase, Phase::Open | Phase::Reduced)
            && self.output.forced.is_none();
        if !is_allowed {
            return false;
        }
        let timeout = match self.round_trip.smoothed() {
            None => self.round_trip.timeout(),
            Some(smoothed) => {
                // A single segment may wait for a delayed acknowledgement.
                let is_single = self.board.len() == 1;
                let allowance = if is_single { self.round_trip.minimum() } else { self.settings.timer_slack };
                (smoothed * 2 + allowance).max(self.settings.probe_min)
            }
        };
        let limit = if has_advanced { now + self.round_trip.timeout() } else { self.expiry(now) };
        self.set_timer(Kind::LossProbe, (now + timeout).min(limit));
        true
    }

    /// RFC 8985, section 7.4: what the acknowledgement says about an earlier probe.
    pub(super) fn settle_probe(&mut self, ack: &Ack, acknowledgement: u64) {
        let Some(end) = self.probe.end else { return };
        if acknowledgement < end {
            return;
        }
        let is_repaired = acknowledgement > end;
        if !self.probe.is_retransmission || ack.has_probe_dsack {
            // New data has arrived, or both the original and the probe have.
            self.probe.forget();
        } else if is_repaired {
            // The probe has repaired the loss of the last segment.
            self.probe.forget();
            self.reduce_for_probe(ack.now);
        } else if !ack.has_advanced && ack.is_pure && !ack.has_new_sacks {
            // A duplicate, so both have arrived.
            self.probe.forget();
        }
    }

    /// RFC 2018, section 8: the oldest segment is SACKed and not acknowledged. The receiver is given a little time, then
    /// the retransmission timer expires. Returns whether that is so.
    pub(super) fn check_reneging(&mut self, now: Instant) -> bool {
        let has_reneged = self.board.head().is_some_and(|head| head.marks.contains(Marks::SACKED));
        if has_reneged {
            let delay =
                self.round_trip.smoothed().map_or(RENEGING_DELAY, |rtt| (rtt / 2).max(RENEGING_DELAY));
            self.set_timer(Kind::Retransmission, now + delay);
        }
        has_reneged
    }
}
