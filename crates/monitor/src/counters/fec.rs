//! What the forward error correction of a port has counted.

use serde::{Deserialize, Serialize};

/// Sizes of the histogram: codewords with 0 to 15 symbols that were wrong, as many as RS(544,514) corrects.
pub const ERRORS_COUNTED: usize = 16;

/// Lanes of a port, at most, as in the kernel (`ETHTOOL_MAX_LANES`).
pub const LANES_MOST: usize = 8;

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

/// The share of frames of this size that are lost with this share of codewords, which are not interleaved.
pub(crate) fn frames_lost(codewords: f64, frame_bits: f64) -> f64 {
    (codewords * codewords_of_a_frame(frame_bits, 1)).min(1.0)
}

/// In how many codewords a frame of this size has a part, of a port whose codewords are interleaved in groups. A frame that
/// is longer than one symbol of each codeword has a part in the whole group, and in another group as often as it crosses the
/// border of one: (1 + X·MFC)/MFC of IEEE 802.3, with X interleaved codewords, in each of which MFC frames fit.
pub(crate) fn codewords_of_a_frame(frame_bits: f64, interleaved: u32) -> f64 {
    f64::from(interleaved) + frame_bits * TRANSCODING / CODEWORD_DATA_BITS
}

/// The most frames of minimum size that have a part in one group of interleaved codewords.
pub(crate) fn frames_of_a_codeword_most(interleaved: u32) -> u64 {
    8 * u64::from(interleaved) + 1
}

/// The code by which a port corrects errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FecCode {
    /// RS(528,514), of lanes of 25 Gbit/s.
    Rs528,
    /// RS(544,514), of faster lanes.
    Rs544,
    /// One that corrects no symbols of a codeword, or none at all.
    Other,
}

impl FecCode {
    /// The fastest lanes with RS(528,514).
    const SHORT_SPEED_MOST: u64 = 25_000_000_000;

    /// The Reed-Solomon code of a port of this speed in bit/s.
    pub fn of_lanes(speed: u64, lanes: u64) -> FecCode {
        if speed <= lanes.saturating_mul(Self::SHORT_SPEED_MOST) { FecCode::Rs528 } else { FecCode::Rs544 }
    }

    /// How many codewords a port of this speed in bit/s interleaves symbol by symbol: two at 200 and 400 Gbit/s (IEEE 802.3,
    /// clause 119) and four above (clause 172), with however many lanes. At 100 Gbit/s, a single lane may have negotiated two
    /// (clause 161), which counters do not tell.
    pub fn interleaved(self, speed: u64) -> u32 {
        const HUNDRED: u64 = 100_000_000_000;
        match (self, speed / HUNDRED) {
            (FecCode::Rs544, 2..=4) => 2,
            (FecCode::Rs544, 5..) => 4,
            _ => 1,
        }
    }

    /// Wrong symbols of a codeword that it corrects; `None` if it does not work on symbols.
    pub fn correctable(self) -> Option<u32> {
        match self {
            FecCode::Rs528 => Some(7),
            FecCode::Rs544 => Some(15),
            FecCode::Other => None,
        }
    }

    /// The code that a histogram gives away; `None` if it fits both.
    ///
    /// A port with RS(528,514) counts no codeword with eight errors or more, since it cannot correct them. Where a codeword with
    /// each further error is less likely, but not by more than if errors were independent, codewords with seven and with six say how
    /// many with eight there are at least. If so many are expected that none would be a chance of one in a million, and there
    /// are none, it is that code.
    pub fn of_histogram(codewords: &[u64; ERRORS_COUNTED]) -> Option<FecCode> {
        const EXPECTED_LEAST: f64 = 14.0;
        const SEVENS_LEAST: u64 = 100;
        if codewords[8..].iter().any(|&count| count > 0) {
            return Some(FecCode::Rs544);
        }
        let [six, seven] = [codewords[6], codewords[7]];
        let eights = seven as f64 * (seven as f64 / six.max(1) as f64) * 7.0 / 8.0;
        let is_cut_off = seven >= SEVENS_LEAST && seven <= six && eights >= EXPECTED_LEAST;
        is_cut_off.then_some(FecCode::Rs528)
    }
}

/// A counter of each lane of a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct Lanes {
    counts: [u64; LANES_MOST],
    lanes: u8,
}

impl Lanes {
    /// These counts; `None` if there are none, or too many.
    pub fn new(counts: impl IntoIterator<Item = u64>) -> Option<Lanes> {
        let mut lanes = Lanes::default();
        for count in counts {
            *lanes.counts.get_mut(usize::from(lanes.lanes))? = count;
            lanes.lanes += 1;
        }
        (lanes.lanes > 0).then_some(lanes)
    }

    /// The count of each lane.
    pub fn counts(&self) -> &[u64] {
        &self.counts[..usize::from(self.lanes)]
    }

    /// By how much each has grown since; `None` if one has not, or lanes are others.
    pub fn since(&self, before: &Lanes) -> Option<Lanes> {
        if self.lanes != before.lanes {
            return None;
        }
        let mut grown = *self;
        for (count, before) in grown.counts.iter_mut().zip(before.counts) {
            *count = count.checked_sub(before)?;
        }
        Some(grown)
    }
}

impl From<Lanes> for Vec<u64> {
    fn from(lanes: Lanes) -> Vec<u64> {
        lanes.counts().to_vec()
    }
}

impl TryFrom<Vec<u64>> for Lanes {
    type Error = String;

    fn try_from(counts: Vec<u64>) -> Result<Lanes, String> {
        Lanes::new(counts).ok_or_else(|| format!("a port has 1 to {LANES_MOST} lanes"))
    }
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
    /// The same of each lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane_corrected_bits: Option<Lanes>,
    /// Codewords by how many of their symbols were wrong: `codewords[k]` had `k` of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codewords: Option<[u64; ERRORS_COUNTED]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A histogram in which each further error is this much less likely, up to `corrected` errors.
    fn histogram(sixes: f64, ratio: f64, corrected: usize) -> [u64; ERRORS_COUNTED] {
        std::array::from_fn(|errors| {
            let count = sixes * libm::pow(ratio, errors as f64 - 6.0);
            if errors <= corrected { count as u64 } else { 0 }
        })
    }

    #[test]
    fn a_frame_has_a_part_in_as_many_codewords_as_the_standard_says() {
        // Eight frames of minimum size, with a gap of eight bytes on average, fit into a codeword of 640 bytes.
        for (speed, code, of_the_shortest) in [
            (100_000_000_000, FecCode::Rs528, 9.0 / 8.0),
            (100_000_000_000, FecCode::Rs544, 9.0 / 8.0),
            (400_000_000_000, FecCode::Rs544, 17.0 / 8.0),
            (800_000_000_000, FecCode::Rs544, 33.0 / 8.0),
        ] {
            let codewords = codewords_of_a_frame(80.0 * 8.0, code.interleaved(speed));
            assert!((codewords - of_the_shortest).abs() < 1e-3, "{speed}: {codewords}");
        }
        assert!((codewords_of_a_frame(FRAME_BITS, 1) - frames_lost(1e-9, FRAME_BITS) * 1e9).abs() < 1e-6);
    }

    #[test]
    fn a_histogram_that_is_cut_off_gives_the_short_code_away() {
        assert_eq!(FecCode::of_histogram(&histogram(1e4, 0.1, 7)), Some(FecCode::Rs528));
        assert_eq!(FecCode::of_histogram(&histogram(1e4, 0.1, 15)), Some(FecCode::Rs544));
        assert_eq!(FecCode::of_histogram(&histogram(1e3, 0.1, 7)), None, "ten or fewer are expected");
        assert_eq!(FecCode::of_histogram(&histogram(90.0, 1.0, 7)), None, "too few to say");
        assert_eq!(FecCode::of_histogram(&histogram(1e4, 1e-3, 15)), None, "it ends by itself");
        assert_eq!(FecCode::of_histogram(&[0; ERRORS_COUNTED]), None);
        assert_eq!(FecCode::of_histogram(&[u64::MAX; ERRORS_COUNTED]), Some(FecCode::Rs544));
    }
}
