//! How the ends of a link get to know each other.
//!
//! An end is accepted as the peer once it has proved that it can hear this one: its hello repeats this end's nonce, or
//! it takes part in a session whose number and nonce are known only to those who can hear this end. Anybody can send a
//! frame that merely claims to come from Linkmend.

use super::Control;
use crate::time::{Instant, Ticks};

/// Maximum number of answers to hellos per hello interval, so that a flood of hellos does not cause a flood of answers.
const ANSWERS_MAX: u8 = 4;
/// Keeps the nonce of a start apart from what else follows from its seed.
const NONCE: u64 = 0x6c69_6e6b_6d65_6e64;

/// What an end knows about its peer, and what it has told it.
#[derive(Debug)]
pub(super) struct Acquaintance {
    pub(super) nonce: u64,
    /// The nonce that was heard last.
    pub(super) heard_nonce: u64,
    /// The latest proof, and how many there were.
    pub(super) proved_at: Option<Instant>,
    pub(super) proofs: u64,
    pub(super) is_older_told: bool,
    /// When a hello is due if nothing else is sent, and whether one is due in any case.
    pub(super) hello_at: Instant,
    pub(super) answer_due: bool,
    pub(super) sent_at: Instant,
    answers_left: u8,
    answers_since: Instant,
}

impl Acquaintance {
    pub(super) fn new(seed: u64) -> Acquaintance {
        Acquaintance {
            nonce: mix(seed ^ NONCE).max(1),
            heard_nonce: 0,
            proved_at: None,
            proofs: 0,
            is_older_told: false,
            hello_at: Instant(0),
            answer_due: false,
            sent_at: Instant(0),
            answers_left: ANSWERS_MAX,
            answers_since: Instant(0),
        }
    }

    pub(super) fn hello(&self) -> Control {
        Control::Hello { nonce: self.nonce, echo: self.heard_nonce }
    }

    pub(super) fn answer(&mut self, now: Instant, interval: Ticks) {
        if now >= self.answers_since + interval {
            (self.answers_since, self.answers_left) = (now, ANSWERS_MAX);
        }
        if self.answers_left > 0 && !self.answer_due {
            self.answers_left -= 1;
            self.answer_due = true;
        }
    }
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
pub(super) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
