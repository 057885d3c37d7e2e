//! Optical attenuation and its effect on frames: the model behind Figure 1, which the paper measured.
//!
//! **Power.** Powers are optical modulation amplitudes (OMA). A transmitter's eye closure (TDP, TDEC, TDECQ) is
//! subtracted from its power, as in the power budgets of the standard: received = [`LAUNCH_DBM`] - [`CHANNEL_LOSS_DB`]
//! - attenuation.
//!
//! **Errors.** The noise of a receiver on multimode fibre is thermal and does not depend on the light, so its Q factor
//! is proportional to the received power: a decibel of attenuation is a decibel (10 log10) of Q. Each receiver is
//! assumed to be just as good as its clause demands: at its sensitivity it has the bit error rate (BER) at which the
//! clause states the sensitivity. With two levels, BER = 1/2 erfc(Q/√2). With four levels, each eye has a third of the
//! height, and three eyes and a Gray code of two bits make it 3/8 erfc(Q/3/√2).
//!
//! **Frames.** Without error correction a frame needs all its bits. The descrambler multiplies errors, which changes
//! this only where an error shortly before a frame spills into it; that is neglected. With RS(528,514) or RS(544,514),
//! bits are grouped into symbols of ten and symbols into codewords, which fail with more than 7 or 15 wrong symbols;
//! errors are assumed to be independent. A failed codeword corrupts every frame of which it carries a part.
//!
//! **How far to trust it.** The steepness of the curves follows from the codes, the distances between them from the
//! clauses. Their common position means little: modules have several decibels more launch power and sensitivity than
//! they need, which moves a curve to the right, while 0 dB here is the weakest link that the standard allows. The order
//! rests on the assumption that all transmitters launch the same power; the paper does not state theirs. With each
//! clause's own minimum (-7.7, -7.3 and -5.9 dBm), at a loss of 1e-5, 25GBASE-SR without error correction would come
//! 0.4 dB before 50GBASE-SR instead of 1.0 dB after it, and 10GBASE-SR 0.2 dB before 25GBASE-SR with error correction
//! instead of as much after it. These two cross in any case, because error correction makes a curve steep.

use super::fec::{Fec, Interleaved};
use super::{ParameterError, per_bit};
use std::fmt;

/// Launch power in OMA less eye closure, dBm: the least that clause 138 of IEEE 802.3 allows, and more than the least of
/// clauses 52 and 112.
pub const LAUNCH_DBM: f64 = -5.9;
/// Fibre and connectors, dB: the most that clauses 95, 112 and 138 allow on 100 m of OM4, 1.5 of it for connectors.
pub const CHANNEL_LOSS_DB: f64 = 1.9;

/// Most points of a curve.
const CURVE_POINTS_MAX: f64 = 100_000.0;

/// A transceiver of Figure 1: short reach, 850 nm, one lane, multimode fibre.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transceiver {
    /// 10GBASE-SR (IEEE 802.3 clause 52): 10.3 GBd, two levels.
    TenGig,
    /// 25GBASE-SR (clause 112) with error correction off: 25.8 GBd, two levels.
    TwentyFiveGig,
    /// 25GBASE-SR with RS(528,514) (clause 108).
    TwentyFiveGigFec,
    /// 50GBASE-SR (clause 138): 26.6 GBd, four levels, RS(544,514) (clause 134), which cannot be switched off.
    FiftyGig,
}

impl Transceiver {
    /// All transceivers, in the order of their rates.
    pub const ALL: [Transceiver; 4] = [
        Transceiver::TenGig,
        Transceiver::TwentyFiveGig,
        Transceiver::TwentyFiveGigFec,
        Transceiver::FiftyGig,
    ];

    /// Its name, by the standards; `FEC` says that its error correction is on.
    pub fn name(self) -> &'static str {
        match self {
            Transceiver::TenGig => "10GBASE-SR",
            Transceiver::TwentyFiveGig => "25GBASE-SR",
            Transceiver::TwentyFiveGigFec => "25GBASE-SR-FEC",
            Transceiver::FiftyGig => "50GBASE-SR-FEC",
        }
    }

    /// The receiver that the clause demands.
    ///
    /// 10GBASE-SR: -11.1 dBm at a BER of 1e-12 (clause 52, informative). 25GBASE-SR: clause 112 refers to clause 95,
    /// which states no sensitivity but implies one of -7.3 + 4.3 - 8.2 = -11.2 dBm at 5e-5, from the least launch power
    /// less eye closure, the most eye closure and the power budget for it. 50GBASE-SR: the
    /// eye closure less 7.9 dB, which is -7.9 dBm without eye closure, at 2.4e-4 (clause 138).
    const fn receiver(self) -> Receiver {
        match self {
            Transceiver::TenGig => {
                Receiver { sensitivity_dbm: -11.1, q_at_sensitivity: 7.034_483_825, levels: Levels::Two }
            }
            Transceiver::TwentyFiveGig | Transceiver::TwentyFiveGigFec => {
                Receiver { sensitivity_dbm: -11.2, q_at_sensitivity: 3.890_591_886, levels: Levels::Two }
            }
            Transceiver::FiftyGig => Receiver {
                sensitivity_dbm: -7.9,
                q_at_sensitivity: 3.0 * 3.414_070_554,
                levels: Levels::Four,
            },
        }
    }

    /// Its error correction.
    pub(super) fn code(self) -> Option<Interleaved> {
        let fec = match self {
            Transceiver::TenGig | Transceiver::TwentyFiveGig => return None,
            Transceiver::TwentyFiveGigFec => Fec::Rs528,
            Transceiver::FiftyGig => Fec::Rs544,
        };
        Some(Interleaved { fec, codewords: 1 })
    }
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

struct Receiver {
    /// Received power at which the clause states a BER, dBm in OMA, for a transmitter without eye closure.
    sensitivity_dbm: f64,
    /// Q factor of the whole eye which has that BER.
    q_at_sensitivity: f64,
    levels: Levels,
}

enum Levels {
    Two,
    Four,
}

impl Levels {
    fn bit_error_rate(&self, q: f64) -> f64 {
        match self {
            Levels::Two => 0.5 * libm::erfc(q * std::f64::consts::FRAC_1_SQRT_2),
            Levels::Four => 0.375 * libm::erfc(q / 3.0 * std::f64::consts::FRAC_1_SQRT_2),
        }
    }
}

pub(super) fn validate_decibels(parameter: &'static str, value: f64) -> Result<(), ParameterError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(ParameterError::new(parameter, value, "must be 0 or more"))
}

/// Share of bits that are wrong before error correction, 0 to 0.5, with `attenuation_db` added to the weakest link that
/// the standard allows.
pub fn bit_error_rate(transceiver: Transceiver, attenuation_db: f64) -> f64 {
    let receiver = transceiver.receiver();
    let received_dbm = LAUNCH_DBM - CHANNEL_LOSS_DB - attenuation_db;
    let margin_db = received_dbm - receiver.sensitivity_dbm;
    receiver.levels.bit_error_rate(receiver.q_at_sensitivity * libm::exp10(margin_db / 10.0))
}

/// Share of frames of `bytes` octets, from destination address to frame check sequence, that are lost, 0 to 1, with
/// `attenuation_db` added to the weakest link that the standard allows.
///
/// With error correction it is the mean over where in a codeword the preamble may begin. A frame of `b` octets
/// touches 1 + (`b` + 7) / 640 codewords on average: one with 64 octets 1.11, one with 1,518 octets 3.38.
pub fn frame_loss(transceiver: Transceiver, attenuation_db: f64, bytes: u32) -> f64 {
    let bit_errors = bit_error_rate(transceiver, attenuation_db);
    match transceiver.code() {
        Some(code) => code.frame_loss(bit_errors, bytes),
        None => per_bit::frame_loss(bit_errors, bytes),
    }
}

/// A point of a curve of Figure 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Added to the weakest link that the standard allows, dB.
    pub attenuation_db: f64,
    /// Before error correction, 0 to 0.5.
    pub bit_error_rate: f64,
    /// After error correction, 0 to 1.
    pub frame_loss: f64,
}

/// One curve of Figure 1, for frames of `bytes` octets: from `from_db` up to `to_db`, included, every `step_db`.
///
/// # Errors
/// If `from_db` is not 0 or more, `to_db` is below it, or `step_db` is not above 0 or makes more than 100,000 points.
pub fn curve(
    transceiver: Transceiver,
    bytes: u32,
    from_db: f64,
    to_db: f64,
    step_db: f64,
) -> Result<Vec<CurvePoint>, ParameterError> {
    validate_decibels("from_db", from_db)?;
    validate_decibels("to_db", to_db)?;
    if to_db < from_db {
        return Err(ParameterError::new("to_db", to_db, format!("must not be below from_db, {from_db}")));
    }
    // A little slack, so that rounding does not drop the last point.
    let steps = (to_db - from_db) / step_db + 1e-9;
    if step_db <= 0.0 || !steps.is_finite() || steps >= CURVE_POINTS_MAX {
        let requirement = "must be above 0 and make at most 100,000 points";
        return Err(ParameterError::new("step_db", step_db, requirement));
    }
    let point = |step: u64| {
        let attenuation_db = from_db + step as f64 * step_db;
        CurvePoint {
            attenuation_db,
            bit_error_rate: bit_error_rate(transceiver, attenuation_db),
            frame_loss: frame_loss(transceiver, attenuation_db, bytes),
        }
    };
    Ok((0..=steps as u64).map(point).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Transceiver::{FiftyGig, TenGig, TwentyFiveGig, TwentyFiveGigFec};

    /// Attenuation at which frames of 1,518 octets are lost at this rate, by bisection.
    fn crossing(transceiver: Transceiver, loss: f64) -> f64 {
        let (mut low, mut high) = (0.0, 20.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if frame_loss(transceiver, middle, 1518) < loss { low = middle } else { high = middle }
        }
        low
    }

    fn assert_close(value: f64, expected: f64, relative: f64) {
        assert!((value / expected - 1.0).abs() < relative, "{value:e} instead of {expected:e}");
    }

    #[test]
    fn receivers_have_their_bit_error_rate_at_their_sensitivity() {
        for (transceiver, expected) in
            [(TenGig, 1e-12), (TwentyFiveGig, 5e-5), (TwentyFiveGigFec, 5e-5), (FiftyGig, 2.4e-4)]
        {
            let attenuation_db = LAUNCH_DBM - CHANNEL_LOSS_DB - transceiver.receiver().sensitivity_dbm;
            assert_close(bit_error_rate(transceiver, attenuation_db), expected, 1e-7);
        }
    }

    #[test]
    fn loss_rises_with_attenuation_and_with_length() {
        for transceiver in Transceiver::ALL {
            let losses = curve(transceiver, 1518, 0.0, 12.0, 0.05).expect("a good step");
            for pair in losses.windows(2) {
                assert!(pair[0].bit_error_rate < pair[1].bit_error_rate, "{transceiver}: {pair:?}");
                assert!(pair[0].frame_loss <= pair[1].frame_loss, "{transceiver}: {pair:?}");
            }
            let attenuation_db = crossing(transceiver, 1e-4);
            let by_length: Vec<f64> = [1, 64, 640, 641, 1518, 9216]
                .map(|bytes| frame_loss(transceiver, attenuation_db, bytes))
                .into();
            assert!(by_length.windows(2).all(|pair| pair[0] < pair[1]), "{transceiver}: {by_length:?}");
        }
    }

    /// Section 1: links become more susceptible from 10G to 25G by the higher baud rate, and from 25G to 50G by the
    /// denser modulation, even with error correction.
    #[test]
    fn the_curves_of_figure_1_are_in_its_order() {
        for loss in [1e-5, 1e-4, 1e-3] {
            let at = [FiftyGig, TwentyFiveGig, TwentyFiveGigFec, TenGig]
                .map(|transceiver| crossing(transceiver, loss));
            assert!(at.windows(2).all(|pair| pair[0] < pair[1]), "at {loss}: {at:?}");
        }
    }

    /// So that a changed constant shows as a diff: dB at which 1,518-octet frames are lost at 1e-8, 1e-5, 1e-3 and
    /// 1e-2.
    #[test]
    fn the_curves_cross_the_rates_where_those_of_figure_1_do() {
        let expected = [
            (TenGig, [3.28, 3.97, 4.58, 4.97]),
            (TwentyFiveGig, [0.81, 1.50, 2.11, 2.50]),
            (TwentyFiveGigFec, [3.47, 3.74, 3.96, 4.09]),
            (FiftyGig, [0.31, 0.51, 0.68, 0.79]),
        ];
        for (transceiver, expected) in expected {
            let crossings = [1e-8, 1e-5, 1e-3, 1e-2].map(|loss| crossing(transceiver, loss));
            let near = crossings.iter().zip(expected).all(|(at, expected)| (at - expected).abs() < 0.0051);
            assert!(near, "{transceiver}: {crossings:?}");
        }
    }

    #[test]
    fn the_weakest_allowed_link_is_healthy() {
        for transceiver in Transceiver::ALL {
            assert!(frame_loss(transceiver, 0.0, 1518) < 1e-12, "{transceiver}");
        }
    }

    #[test]
    fn extreme_attenuations_give_shares_from_0_to_1() {
        for transceiver in Transceiver::ALL {
            for attenuation_db in [-1e3, 0.0, 1e-300, 100.0, 1e308] {
                let bit_errors = bit_error_rate(transceiver, attenuation_db);
                assert!(
                    (0.0..=0.5).contains(&bit_errors),
                    "{transceiver} at {attenuation_db} dB: {bit_errors}"
                );
                for bytes in [0, 1, 64, 9216, u32::MAX] {
                    let loss = frame_loss(transceiver, attenuation_db, bytes);
                    assert!((0.0..=1.0).contains(&loss), "{transceiver} at {attenuation_db} dB: {loss}");
                }
            }
            assert_eq!(frame_loss(transceiver, -1e3, 9216), 0.0, "without bit errors no frame is lost");
            assert!(frame_loss(transceiver, 100.0, 64) > 0.999_999, "without light every frame is lost");
        }
    }

    #[test]
    fn a_curve_includes_both_its_ends() {
        let points = curve(TwentyFiveGig, 64, 0.0, 0.3, 0.1).expect("a good step");
        assert_eq!(points.len(), 4);
        assert!((points[3].attenuation_db - 0.3).abs() < 1e-12);
        assert_eq!(points[3].frame_loss, frame_loss(TwentyFiveGig, points[3].attenuation_db, 64));
        assert_eq!(curve(TwentyFiveGig, 64, 1.0, 1.0, 0.1).expect("a good step").len(), 1);
        for (from_db, to_db, step_db, parameter) in [
            (0.0, 1.0, 0.0, "step_db"),
            (0.0, 1.0, -0.1, "step_db"),
            (0.0, 1.0, f64::NAN, "step_db"),
            (0.0, 1.0, 1e-9, "step_db"),
            (2.0, 1.0, 0.1, "to_db"),
            (-1.0, 1.0, 0.1, "from_db"),
            (0.0, f64::INFINITY, 0.1, "to_db"),
        ] {
            let error = curve(TwentyFiveGig, 64, from_db, to_db, step_db).expect_err("must be refused");
            assert_eq!(error.parameter, parameter);
        }
    }
}
