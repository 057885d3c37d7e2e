//! RACK: loss detection by time (RFC 8985, section 6).

use super::scoreboard::{Marks, Record, Scoreboard};
use crate::time::{Instant, Nanos};

/// Recoveries for which a reordering window that DSACKs have widened persists (section 6.2, step 4).
const PERSIST: u8 = 16;

/// The segment that was sent last of all that are known to have arrived, and the reordering window.
#[derive(Debug, Clone)]
pub struct Rack {
    /// Section 5.2: RACK.xmit_ts and RACK.end_seq.
    sent_at: Instant,
    end: u64,
    /// RACK.rtt: the round-trip time of the latest segment that arrived.
    rtt: Nanos,
    /// Whether anything has arrived since the last detection.
    has_advanced: bool,
    /// RACK.reo_wnd_mult and RACK.reo_wnd_persist.
    multiplier: u32,
    persist: u8,
    /// RACK.dsack_round: while this byte is not acknowledged, a DSACK does not widen the window again.
    dsack_round: Option<u64>,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            sent_at: Instant(0),
            end: 0,
            rtt: Nanos::ZERO,
            has_advanced: false,
            multiplier: 1,
            persist: 0,
            dsack_round: None,
        }
    }
}

/// What else the reordering window depends on (section 6.2, step 4).
#[derive(Debug, Clone, Copy)]
pub struct Conditions {
    pub min_rtt: Nanos,
    pub smoothed_rtt: Nanos,
    pub has_seen_reordering: bool,
    /// Whether recovery is in progress.
    pub is_recovering: bool,
    /// Whether at least DupThresh segments are SACKed.
    pub is_threshold_reached: bool,
}

impl Rack {
    /// Section 6.2, step 2, for a segment that is newly acknowledged or SACKed. As in Linux, an echoed timestamp says nothing:
    /// that of a SACK is older than the segment if an earlier one is missing (RFC 7323, section 4.3).
    pub fn delivered(&mut self, now: Instant, record: &Record, min_rtt: Nanos) {
        let rtt = now.since(record.sent_at);
        if record.marks.contains(Marks::EVER_RESENT) && rtt < min_rtt {
            // It is the original that has arrived.
            return;
        }
        self.has_advanced = true;
        self.rtt = rtt;
        if record.is_sent_after(self.sent_at, self.end) {
            self.sent_at = record.sent_at;
            self.end = record.end();
        }
    }

    /// The next detection takes place even if nothing arrives, because marks were withdrawn.
    pub fn detect_again(&mut self) {
        self.has_advanced = true;
    }

    /// Step 4: a DSACK widens the window, once in a round trip.
    pub fn handle_dsack(&mut self, unacknowledged: u64, next: u64) {
        if self.dsack_round.is_some_and(|end| unacknowledged >= end) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() {
            self.dsack_round = Some(next);
            self.multiplier = (self.multiplier + 1).min(255);
            self.persist = PERSIST;
        }
    }

    /// Step 4: a recovery has ended that was not spurious. Returns the window to its least width after enough of them.
    pub fn recovery_ended(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }

    /// Step 4: RACK.reo_wnd.
    pub fn reordering_window(&self, conditions: &Conditions) -> Nanos {
        let Conditions { is_recovering, is_threshold_reached, .. } = *conditions;
        if !conditions.has_seen_reordering && (is_recovering || is_threshold_reached) {
            return Nanos::ZERO;
        }
        let window = conditions.min_rtt * u64::from(self.multiplier) / 4;
        window.min(conditions.smoothed_rtt)
    }

    /// Step 5: RACK_detect_loss(). Returns when to look again, if nothing arrives before.
    pub fn detect(&mut self, now: Instant, board: &mut Scoreboard, window: Nanos) -> Option<Instant> {
        if !std::mem::take(&mut self.has_advanced) {
            return None;
        }
        self.detect_by_time(now, board, window)
    }

    /// The same when the timer has expired.
    pub fn detect_by_time(&mut self, now: Instant, board: &mut Scoreboard, window: Nanos) -> Option<Instant> {
        let (sent_at, end) = (self.sent_at, self.end);
        let is_before = |record: &Record| !record.is_sent_after(sent_at, end);
        let wait = self.rtt + window;
        while let Some(oldest) = board.sent_first() {
            let record = board.at(oldest);
            if !is_before(record) || record.sent_at + wait > now {
                break;
            }
            board.mark_lost(oldest);
        }
        board.last_before(is_before).map(|last| board.at(last).sent_at + wait)
    }

    /// After a retransmission timeout: segments sent so recently that they may still arrive are not lost (section 6.3).
    pub fn may_arrive(&self, now: Instant, record: &Record) -> bool {
        self.rtt > Nanos::ZERO && record.sent_at + self.rtt > now
    }
}
