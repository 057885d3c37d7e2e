//! Forward error correction of Ethernet's PCS: Reed-Solomon codes over symbols of ten bits.
//!
//! A codeword fails if it has more wrong symbols than the code corrects; bit errors are assumed to be independent. A failed
//! codeword corrupts every frame of which it carries a part. Fast links interleave several codewords symbol by symbol, so a
//! frame has a part in each of them.

use std::fmt;

/// Octets before a frame that must arrive with it: preamble and start delimiter.
pub(super) const PREAMBLE_BYTES: u64 = 8;
/// Bits in a symbol.
const SYMBOL_BITS: u32 = 10;
/// Bits of a transcoded block (clause 91.5.2.5 of IEEE 802.3), which stands for four blocks of eight octets.
const TRANSCODED_BITS: u32 = 257;
const TRANSCODED_OCTETS: u64 = 4 * 8;

/// A Reed-Solomon code of Ethernet's physical layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fec {
    /// RS(528,514) of 25G and 100G (clauses 91 and 108).
    Rs528,
    /// RS(544,514) of 50G and above (clauses 91, 119, 134, 172).
    Rs544,
    /// RS(272,257): half as long as RS(544,514), as low-latency FEC.
    Rs272,
}

impl Fec {
    /// All codes.
    pub const ALL: [Fec; 3] = [Fec::Rs528, Fec::Rs544, Fec::Rs272];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Fec::Rs528 => "rs-528",
            Fec::Rs544 => "rs-544",
            Fec::Rs272 => "rs-272",
        }
    }

    /// Symbols of a codeword, those of them that carry data, and the most wrong ones that can be corrected.
    const fn symbols(self) -> (u32, u32, u32) {
        match self {
            Fec::Rs528 => (528, 514, 7),
            Fec::Rs544 => (544, 514, 15),
            Fec::Rs272 => (272, 257, 7),
        }
    }

    /// Bits of a codeword on the line.
    pub const fn codeword_bits(self) -> u64 {
        (self.symbols().0 * SYMBOL_BITS) as u64
    }

    /// Octets of frames and of the gaps between them in one codeword.
    pub const fn codeword_bytes(self) -> u64 {
        let data_bits = self.symbols().1 * SYMBOL_BITS;
        assert!(data_bits.is_multiple_of(TRANSCODED_BITS));
        (data_bits / TRANSCODED_BITS) as u64 * TRANSCODED_OCTETS
    }

    /// Share of codewords that cannot be corrected, 0 to 1, if this share of bits is wrong.
    pub fn codeword_failure(self, bit_error_rate: f64) -> f64 {
        let (symbols, _, correctable) = self.symbols();
        let symbol_error_rate = -libm::expm1(f64::from(SYMBOL_BITS) * libm::log1p(-bit_error_rate));
        binomial_tail(symbols, correctable, symbol_error_rate)
    }
}

impl fmt::Display for Fec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Codewords that are interleaved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interleaved {
    pub fec: Fec,
    /// 1 to 4.
    pub codewords: u8,
}

impl Interleaved {
    /// As on a line of this rate: one codeword up to 100G, two at 200G and 400G (clause 119), and four above (clause 172).
    pub fn at(fec: Fec, bits_per_second: u64) -> Interleaved {
        let codewords = match bits_per_second {
            0..=100_000_000_000 => 1,
            100_000_000_001..=400_000_000_000 => 2,
            _ => 4,
        };
        Interleaved { fec, codewords }
    }

    /// How long these codewords last on a line that carries so many bits of frames a second, ns: the line is faster by the
    /// parity of RS(544,514) and the transcoding, whatever the code.
    pub fn nanoseconds(self, bits_per_second: u64) -> f64 {
        let octets = Fec::Rs544.codeword_bytes();
        let line_rate = bits_per_second as f64 * Fec::Rs544.codeword_bits() as f64 / (8 * octets) as f64;
        (u64::from(self.codewords) * self.fec.codeword_bits()) as f64 / line_rate * 1e9
    }

    /// Octets of frames and of the gaps between them in the interleaved codewords.
    pub(super) fn bytes(self) -> u64 {
        u64::from(self.codewords) * self.fec.codeword_bytes()
    }

    /// Share of these groups in which a codeword cannot be corrected.
    pub(super) fn failure(self, bit_error_rate: f64) -> f64 {
        let failure = self.fec.codeword_failure(bit_error_rate);
        if self.codewords == 1 || failure >= 1.0 {
            return failure;
        }
        -libm::expm1(f64::from(self.codewords) * libm::log1p(-failure))
    }

    /// Share of frames of `bytes` octets that are lost, 0 to 1: the mean over where in a group the preamble may begin.
    pub(super) fn frame_loss(self, bit_error_rate: f64, bytes: u32) -> f64 {
        let failure = self.failure(bit_error_rate);
        if failure >= 1.0 {
            return 1.0;
        }
        let group = self.bytes();
        let beyond_first = u64::from(bytes) + PREAMBLE_BYTES - 1;
        let always = 1 + beyond_first / group;
        let share_with_one_more = (beyond_first % group) as f64 / group as f64;
        let log_survival =
            always as f64 * libm::log1p(-failure) + libm::log1p(-share_with_one_more * failure);
        -libm::expm1(log_survival)
    }
}

/// Probability of more than `most` successes among `trials`, each with probability `p`. Terms are computed from
/// logarithms, since the coefficients exceed, and the powers fall short of, what a float can hold.
fn binomial_tail(trials: u32, most: u32, p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    let (log_success, log_failure) = (libm::log(p), libm::log1p(-p));
    let mut log_coefficient = 0.0;
    let mut sum = 0.0;
    for successes in 0..trials {
        log_coefficient += libm::log(f64::from(trials - successes) / f64::from(successes + 1));
        let successes = successes + 1;
        if successes > most {
            let failures = f64::from(trials - successes);
            sum += libm::exp(log_coefficient + f64::from(successes) * log_success + failures * log_failure);
        }
    }
    // Rounding may exceed 1 where nearly everything fails.
    f64::min(sum, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(value: f64, expected: f64, relative: f64) {
        assert!((value / expected - 1.0).abs() < relative, "{value:e} instead of {expected:e}");
    }

    /// Exact values from rational arithmetic.
    #[test]
    fn the_binomial_tail_is_exact_where_it_can_be_computed_otherwise() {
        assert_close(binomial_tail(3, 1, 0.5), 0.5, 1e-14);
        assert_close(binomial_tail(10, 2, 0.1), 0.070_190_826_4, 1e-10);
        assert_close(binomial_tail(528, 7, 1e-5), 1.413_848_604_089_38e-23, 1e-11);
        assert_close(binomial_tail(528, 7, 5e-4), 4.404_781_029_809_22e-10, 1e-11);
        assert_close(binomial_tail(544, 15, 2.4e-3), 8.282_996_177_691_51e-13, 1e-11);
        assert_close(binomial_tail(544, 15, 0.05), 0.993_113_281_728_440, 1e-11);
        assert_eq!(binomial_tail(528, 7, 0.0), 0.0);
        assert_eq!(binomial_tail(528, 7, 1.0), 1.0);
    }

    #[test]
    fn codewords_carry_whole_blocks() {
        assert_eq!(Fec::ALL.map(Fec::codeword_bytes), [640, 640, 320]);
        assert_eq!(Fec::ALL.map(Fec::codeword_bits), [5_280, 5_440, 2_720]);
    }

    /// Clauses 112 and 138 allow frames of 64 octets these losses at the BER of the receiver's sensitivity.
    #[test]
    fn frame_loss_at_the_sensitivity_is_what_the_standard_allows() {
        for (fec, bit_errors, allowed) in [(Fec::Rs528, 5e-5, 6.2e-10), (Fec::Rs544, 2.4e-4, 9.2e-13)] {
            let loss = Interleaved { fec, codewords: 1 }.frame_loss(bit_errors, 64);
            assert!((0.7..1.0).contains(&(loss / allowed)), "{fec}: {loss:e}");
        }
    }

    /// At the same bit error rate, the shorter code loses more by many orders of magnitude.
    #[test]
    fn the_shorter_code_loses_more() {
        for bit_errors in [1e-5, 1e-4, 5e-4] {
            let [long, short] = [Fec::Rs544, Fec::Rs272]
                .map(|fec| Interleaved::at(fec, 400_000_000_000).frame_loss(bit_errors, 1_518));
            assert!(short > 10.0 * long, "{bit_errors:e}: {short:e} and {long:e}");
        }
    }
}
