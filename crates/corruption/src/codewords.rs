//! Losses behind Reed-Solomon forward error correction, where a whole codeword survives or fails.
//!
//! The link is taken to be busy: frames follow each other at the shortest distance that Ethernet allows, and codewords
//! lie over them without regard to their boundaries, beginning at a random offset. A codeword fails independently of
//! the others, and with it every frame of which it carries an octet: short frames are therefore lost in bursts. On a
//! link with idle time fewer frames share a codeword, which shortens the bursts but does not change the loss rate.

use super::fec::PREAMBLE_BYTES;
use linkmend_random::Random;

/// Octets between the end of a frame and the preamble of the next (`interPacketGap` of IEEE 802.3).
const INTERPACKET_GAP_BYTES: u64 = 12;
/// What a frame takes on the wire beyond its own octets.
pub const WIRE_OVERHEAD_BYTES: u64 = PREAMBLE_BYTES + INTERPACKET_GAP_BYTES;

/// Draws how many codewords are good between two failed ones.
///
/// Distances are counted in octets from the beginning of the next frame's preamble. The process's counter holds the
/// distance to the next failed codeword plus an interpacket gap. A frame with its overhead then fits into the counter
/// exactly if its preamble and its own octets, without the gap behind it, end before the failed codeword.
#[derive(Debug, Clone)]
pub(super) struct Codewords {
    /// Octets of frames and of gaps in a codeword, or in a group of interleaved ones.
    bytes: u64,
    /// Probability that it fails, above 0, at most 1.
    failure: f64,
    /// How much further back the failed codeword began than the counter can express; 0 unless the counter is 0.
    behind: u64,
}

impl Codewords {
    pub(super) fn new(bytes: u64, failure: f64) -> Codewords {
        Codewords { bytes, failure, behind: 0 }
    }

    /// The counter before the first frame.
    pub(super) fn first_gap(&mut self, random: &mut Random) -> u64 {
        let phase = i128::from(random.next_u64() % self.bytes);
        let good = i128::from(random.geometric(self.failure));
        self.counter(good * i128::from(self.bytes) - phase)
    }

    /// Takes one corrupted frame of `bytes`, which found the counter at `counter`, and returns the next counter.
    pub(super) fn gap(&mut self, counter: u64, bytes: u32, random: &mut Random) -> u64 {
        let begin = i128::from(counter) - i128::from(self.behind) - i128::from(INTERPACKET_GAP_BYTES);
        let mut begin = begin - i128::from(WIRE_OVERHEAD_BYTES + u64::from(bytes));
        // Codewords that end before the next frame affect no more frames. This takes at most as many turns as the
        // corrupted frame touched codewords.
        while begin + i128::from(self.bytes) <= 0 {
            begin += (i128::from(random.geometric(self.failure)) + 1) * i128::from(self.bytes);
        }
        self.counter(begin)
    }

    fn counter(&mut self, begin: i128) -> u64 {
        let counter = begin + i128::from(INTERPACKET_GAP_BYTES);
        self.behind = u64::try_from(-counter).unwrap_or(0);
        if counter <= 0 { 0 } else { u64::try_from(counter).unwrap_or(u64::MAX) }
    }
}
