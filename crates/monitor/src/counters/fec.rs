//! What the forward error correction of a port has counted.

use serde::{Deserialize, Serialize};

/// Sizes of the histogram: codewords with 0 to 15 symbols that were wrong, as many as RS(544,514) corrects.
pub const ERRORS_COUNTED: usize = 16;

/// Data bits of a codeword of RS(544,514), and of RS(528,514).
const CODEWORD_DATA_BITS: f64 = 5_140.0;
/// 256 bits of a frame are sent as 257.
const TRANSCODING: f64 = 257.0 / 256.0;
/// Bits of a long frame: 1,518 bytes, preamble and gap.
pub(crate) const FRAME_BITS: f64 = (1_518.0 + 20.0) * 8.0;

/// The codewords that a port of this speed in bit/s receives in so many seconds, busy or not.
pub fn codewords_in(speed: u64, seconds: f64) -> f64 {
    speed as f64 * TRANSCODING / CODEWORD_DATA_BITS * seconds
}

/// The share of frames of this size that are lost with this share of codewords: a frame has a part in 1 + 1/n codewords if n
/// of them fit into one, as in the frame loss ratios of IEEE 802.3. Codewords of several lanes are interleaved, in which case
/// a frame has a part in more of them: a factor of up to 2 that is left out.
pub(crate) fn frames_lost(codewords: f64, frame_bits: f64) -> f64 {
    (codewords * (1.0 + frame_bits * TRANSCODING / CODEWORD_DATA_BITS)).min(1.0)
}

/// What a port's forward error correction had counted when it was polled, as far as the port says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FecReading {
    /// Codewords that had errors, all of which were corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_codewords: Option<u64>,
    /// Codewords with more errors than can be corrected. The frames in them are lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncorrectable_codewords: Option<u64>,
    /// Bits that were corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_bits: Option<u64>,
    /// Codewords by how many of their symbols were wrong: `codewords[k]` had `k` of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codewords: Option<[u64; ERRORS_COUNTED]>,
}
