//! How an end finds out what the path carries: at the start, and alone later.

use super::company::TARGET_NS;
use super::{Congestion, WINDOW_INITIAL};

/// Slow start ends after so many rounds in which the bandwidth has not grown by a quarter.
const FLAT_ROUNDS: u32 = 3;
/// It ends as soon as a queue of an eighth of the round trip builds, but at least and at most of these (RFC 9406,
/// section 4.3).
const START_QUEUE_MIN_NS: u64 = 4_000_000;
const START_QUEUE_MAX_NS: u64 = 16_000_000;
/// It also ends with a loss. One of at most this part of a round is the path's: a queue that overflows while the rate doubles
/// loses more.
pub(super) const FEW: u64 = 20;

impl Congestion {
    /// Whether the window was needed in this round. Otherwise, the round says nothing about what the path carries.
    pub(super) fn was_full(&self) -> bool {
        self.round.in_flight_bytes_max >= self.window_bytes() / 2
    }

    /// Whether so much was sent that the start can end. Of a few dummies and hellos, chance loses all, or none.
    fn was_start_full(&self) -> bool {
        self.was_full()
            && self.round.in_flight_bytes_max >= u64::from(WINDOW_INITIAL) * self.datagram_bytes / 2
    }

    /// Alone, the window grows by the queue that it may cause. If the path carries more without one, twice as much is
    /// tried.
    pub(super) fn check_headroom(&mut self, shortest_queue_ns: u64, lost: u64) {
        let base_ns = self.delay.base_ns().unwrap_or(0);
        let rounds = (self.bandwidth.before(), self.bandwidth.largest());
        let has_grown = rounds.1 > rounds.0 + rounds.0 / 2 * self.headroom_ns / (base_ns + self.gap_ns + 1);
        let is_loss = self.loss.is_exceeded(lost, self.round.size, self.has_queue());
        let is_carried = has_grown && self.was_full() && shortest_queue_ns < TARGET_NS && !is_loss;
        self.headroom_ns = match is_carried && !self.is_starting {
            true => (2 * self.headroom_ns).min(base_ns.max(TARGET_NS)),
            false => TARGET_NS,
        };
    }

    /// The start is over when a queue builds, or the bandwidth no longer grows although the whole window was needed.
    pub(super) fn check_start(&mut self, shortest_queue_ns: u64) {
        if !self.is_starting || !self.was_start_full() {
            return;
        }
        let bandwidth = self.bandwidth.largest();
        if bandwidth > self.flat_bandwidth + self.flat_bandwidth / 4 {
            (self.flat_bandwidth, self.flat_rounds) = (bandwidth, 0);
        } else if self.round.in_flight_bytes_max + self.datagram_bytes > self.window_bytes() {
            self.flat_rounds += 1;
        }
        let base_ns = self.delay.base_ns().unwrap_or(0);
        let queue_ns = (base_ns / 8).clamp(START_QUEUE_MIN_NS, START_QUEUE_MAX_NS);
        if shortest_queue_ns > queue_ns || self.flat_rounds >= FLAT_ROUNDS {
            self.end_start();
        }
    }

    /// A start that overflows the queue itself is no sign of others, and a loss while the window is not needed is none at all.
    pub(super) fn handle_loss_at_start(&mut self, lost: u64, sent: u64) {
        if lost <= sent / FEW || !self.was_start_full() {
            self.loss.learn(lost, sent);
        }
        if self.was_start_full() {
            self.end_start();
            self.reduced_until = self.history.next();
        }
        self.begin_round();
    }

    pub(super) fn end_start(&mut self) {
        self.is_starting = false;
        let short = self.short_queue_bytes().unwrap_or(u64::MAX);
        self.window.cwnd = (self.cwnd_bytes().min(short) / self.datagram_bytes) as u32;
        self.window.ssthresh = self.window.cwnd;
    }
}
