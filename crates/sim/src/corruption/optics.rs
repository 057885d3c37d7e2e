//! Optical attenuation and what it does to frames (Figure 1).

use super::{BITS_PER_BYTE, ParameterError, per_bit};
use std::fmt;

/// Octets before a frame that must arrive with it: preamble and start delimiter (IEEE 802.3 clause 3.2).
pub(super) const PREAMBLE_BYTES: u64 = 8;
/// Octets that one codeword carries.
pub(super) const CODEWORD_BYTES: u64 = 640;

const SYMBOL_BITS: f64 = 10.0;

/// A short-reach transceiver of the paper's Figure 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transceiver {
    /// 10.3 GBd, two levels, no error correction (IEEE 802.3 clause 52).
    TenGig,
    /// 25.8 GBd, two levels, error correction off (clause 112).
    TwentyFiveGig,
    /// 25.8 GBd, two levels, RS(528,514) (clauses 112 and 108).
    TwentyFiveGigFec,
    /// 26.6 GBd, four levels, RS(544,514) (clauses 138 and 134).
    FiftyGig,
}

impl Transceiver {
    /// All, in the order of rate.
    pub const ALL: [Transceiver; 4] = [
        Transceiver::TenGig,
        Transceiver::TwentyFiveGig,
        Transceiver::TwentyFiveGigFec,
        Transceiver::FiftyGig,
    ];
}

impl fmt::Display for Transceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Transceiver::TenGig => "10GBASE-SR",
            Transceiver::TwentyFiveGig => "25GBASE-SR",
            Transceiver::TwentyFiveGigFec => "25GBASE-SR (FEC)",
            Transceiver::FiftyGig => "50GBASE-SR (FEC)",
        })
    }
}

/// Launch power less penalties, OMA.
const LAUNCH_DBM: f64 = -5.9;

struct Receiver {
    sensitivity_dbm: f64,
    reference_quality: f64,
    levels: u32,
    code: Option<Code>,
}

#[derive(Clone, Copy)]
struct Code {
    symbols: u32,
    correctable: u32,
}

const RS_528_514: Code = Code { symbols: 528, correctable: 7 };
const RS_544_514: Code = Code { symbols: 544, correctable: 15 };

const fn receiver(transceiver: Transceiver) -> Receiver {
    match transceiver {
        Transceiver::TenGig => {
            Receiver { sensitivity_dbm: -11.1, reference_quality: 7.034_484, levels: 2, code: None }
        }
        Transceiver::TwentyFiveGig => {
            Receiver { sensitivity_dbm: -11.2, reference_quality: 3.890_592, levels: 2, code: None }
        }
        Transceiver::TwentyFiveGigFec => Receiver {
            sensitivity_dbm: -11.2,
            reference_quality: 3.890_592,
            levels: 2,
            code: Some(RS_528_514),
        },
        Transceiver::FiftyGig => Receiver {
            sensitivity_dbm: -7.9,
            reference_quality: 3.414_071,
            levels: 4,
            code: Some(RS_544_514),
        },
    }
}

pub(super) fn validate_attenuation(attenuation_db: f64) -> Result<(), ParameterError> {
    if attenuation_db.is_finite() && attenuation_db >= 0.0 {
        return Ok(());
    }
    Err(ParameterError::new("attenuation_db", attenuation_db, "must be 0 or more"))
}

/// Share of bits that are wrong before error correction, 0 to 0.5.
pub fn bit_error_rate(transceiver: Transceiver, attenuation_db: f64) -> f64 {
    let receiver = receiver(transceiver);
    let margin_db = LAUNCH_DBM - attenuation_db - receiver.sensitivity_dbm;
    let quality = receiver.reference_quality * libm::exp10(margin_db / 10.0);
    let tail = libm::erfc(quality * std::f64::consts::FRAC_1_SQRT_2);
    if receiver.levels == 2 { 0.5 * tail } else { 0.375 * tail }
}

/// Probability that a codeword cannot be corrected, `None` without error correction.
pub(super) fn codeword_failure(transceiver: Transceiver, attenuation_db: f64) -> Option<f64> {
    let code = receiver(transceiver).code?;
    Some(code.failure(bit_error_rate(transceiver, attenuation_db)))
}

impl Code {
    fn failure(self, bit_error_rate: f64) -> f64 {
        let symbol_error_rate = -libm::expm1(SYMBOL_BITS * libm::log1p(-bit_error_rate));
        binomial_tail(self.symbols, self.correctable, symbol_error_rate)
    }
}

/// Probability of more than `most` successes in `trials`.
fn binomial_tail(trials: u32, most: u32, p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    let (log_success, log_failure) = (libm::log(p), libm::log1p(-p));
    let mut log_choose = 0.0;
    let mut sum = 0.0;
    for k in 0..=trials {
        if k > most {
            sum += libm::exp(log_choose + f64::from(k) * log_success + f64::from(trials - k) * log_failure);
        }
        log_choose += libm::log(f64::from(trials - k) / f64::from(k + 1));
    }
    f64::min(sum, 1.0)
}

/// Share of frames of `bytes` octets that are lost, 0 to 1.
pub fn frame_loss(transceiver: Transceiver, attenuation_db: f64, bytes: u32) -> f64 {
    match codeword_failure(transceiver, attenuation_db) {
        None => per_bit::frame_loss(bit_error_rate(transceiver, attenuation_db), bytes),
        Some(failure) => {
            let beyond_first = u64::from(bytes) + PREAMBLE_BYTES - 1;
            let certain = 1 + beyond_first / CODEWORD_BYTES;
            let share = (beyond_first % CODEWORD_BYTES) as f64 / CODEWORD_BYTES as f64;
            let log_survival = certain as f64 * libm::log1p(-failure) + libm::log1p(-share * failure);
            -libm::expm1(log_survival)
        }
    }
}

const _: () = assert!(CODEWORD_BYTES * BITS_PER_BYTE == 5120);
