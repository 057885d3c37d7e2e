//! Independent bit errors without error correction: longer frames are lost more often.

use super::BITS_PER_BYTE;
use linkmend_random::Random;

/// Draws how many bits pass between two wrong ones.
///
/// Of the errors inside one frame only the first matters, since one is enough to fail the frame check sequence. The gap
/// to the next is therefore drawn from the end of the corrupted frame. Because a geometric gap has no memory, the
/// errors of later frames are distributed exactly as if every bit had been drawn. Only the frame's own bits count,
/// neither preamble nor gap.
#[derive(Debug, Clone)]
pub(super) struct PerBit {
    /// Above 0, at most 1.
    pub(super) bit_error_rate: f64,
}

impl PerBit {
    /// Correct bits before the next wrong one.
    pub(super) fn gap(&self, random: &mut Random) -> u64 {
        random.geometric(self.bit_error_rate)
    }
}

/// Share of frames with at least one wrong bit.
pub(super) fn frame_loss(bit_error_rate: f64, bytes: u32) -> f64 {
    let bits = f64::from(bytes) * BITS_PER_BYTE as f64;
    if bits == 0.0 { 0.0 } else { -libm::expm1(bits * libm::log1p(-bit_error_rate)) }
}
