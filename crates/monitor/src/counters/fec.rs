//! What the forward error correction of a port has counted.

use serde::{Deserialize, Serialize};

/// Sizes of the histogram: codewords with 0 to 15 symbols that were wrong, as many as RS(544,514) corrects.
pub const ERRORS_COUNTED: usize = 16;

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
