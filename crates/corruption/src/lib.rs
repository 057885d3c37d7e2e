//! Which frames a link corrupts.
//!
//! A [`Corruption`] describes the loss process, and a [`CorruptionProcess`] decides frame by frame. Models do not draw
//! a random number for each frame: they draw the distance to the next corrupted one, so that a clean frame costs only a
//! subtraction, and a simulator can ask how many frames pass before the next decision
//! ([`CorruptionProcess::clean_frames`]) and skip them.
#![forbid(unsafe_code)]

mod codewords;
mod fec;
mod gilbert_elliott;
mod iid;
pub mod optics;
mod per_bit;
mod recorded;
#[cfg(test)]
mod tests;

pub use codewords::WIRE_OVERHEAD_BYTES;
pub use fec::{Fec, Interleaved};
pub use linkmend_diagnose::ParameterError;
pub use optics::Transceiver;

use codewords::Codewords;
use gilbert_elliott::GilbertElliott;
use iid::Iid;
use linkmend_random::Random;
use per_bit::PerBit;
use recorded::Recorded;
use std::sync::Arc;

const BITS_PER_BYTE: u64 = 8;

/// How a link direction corrupts frames.
#[derive(Debug, Clone, PartialEq)]
pub enum Corruption {
    /// It corrupts nothing.
    None,
    /// Each frame independently with probability `loss`.
    Iid {
        /// 0 to 1.
        loss: f64,
    },
    /// Each bit independently; a frame is corrupted if any of its bits is wrong.
    PerBit {
        /// 0 to 1.
        bit_error_rate: f64,
    },
    /// In bursts: a good state without loss and a bad state in which every frame is lost, each of geometric length.
    GilbertElliott {
        /// Share of frames lost in the long run, 0 to below 1.
        loss: f64,
        /// Mean length of a burst, in frames: at least 1, and at least `loss / (1 - loss)`, because a good state lasts
        /// at least one frame.
        mean_burst_frames: f64,
    },
    /// Exactly these frames, counted from 0 over all frames of the direction, in ascending order.
    Recorded(Arc<[u64]>),
    /// Bits independently, behind forward error correction.
    Coded {
        /// The code, and how many of its codewords are interleaved.
        code: Interleaved,
        /// Before error correction, 0 to 1.
        bit_error_rate: f64,
    },
    /// As an attenuated optical link does; see [`optics`].
    Attenuated {
        /// The transceiver at both ends.
        transceiver: Transceiver,
        /// Attenuation added to the weakest link that the standard allows, dB: 0 or more.
        attenuation_db: f64,
    },
}

impl Corruption {
    /// Corrupts each frame independently with probability `loss`, and none at 0.
    pub fn iid(loss: f64) -> Corruption {
        if loss == 0.0 { Corruption::None } else { Corruption::Iid { loss } }
    }

    /// # Errors
    /// The first parameter that is out of its range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        match self {
            Corruption::None => Ok(()),
            Corruption::Iid { loss } => validate_share("loss", *loss),
            Corruption::PerBit { bit_error_rate } | Corruption::Coded { bit_error_rate, .. } => {
                validate_share("bit_error_rate", *bit_error_rate)
            }
            Corruption::GilbertElliott { loss, mean_burst_frames } => {
                validate_burst(*loss, *mean_burst_frames)
            }
            Corruption::Recorded(indices) => match indices.windows(2).find(|pair| pair[0] >= pair[1]) {
                None => Ok(()),
                Some(pair) => Err(ParameterError::new(
                    "recorded",
                    pair[1],
                    format!("must be greater than the previous index, {}", pair[0]),
                )),
            },
            Corruption::Attenuated { attenuation_db, .. } => {
                optics::validate_decibels("attenuation_db", *attenuation_db)
            }
        }
    }

    /// How many frames are usually corrupted in a row.
    pub fn mean_burst_frames(&self) -> f64 {
        match self {
            Corruption::GilbertElliott { mean_burst_frames, .. } => *mean_burst_frames,
            _ => 1.0,
        }
    }

    /// Share of frames of `bytes` that are corrupted in the long run, 0 to 1. A recording says nothing about other
    /// frames than its own, and returns 0.
    ///
    /// `bytes` is the frame from destination address to frame check sequence, with any header of Linkmend's. Parameters
    /// are taken to be valid.
    pub fn frame_loss(&self, bytes: u32) -> f64 {
        match self {
            Corruption::None | Corruption::Recorded(_) => 0.0,
            Corruption::Iid { loss } | Corruption::GilbertElliott { loss, .. } => *loss,
            Corruption::PerBit { bit_error_rate } => per_bit::frame_loss(*bit_error_rate, bytes),
            Corruption::Coded { code, bit_error_rate } => code.frame_loss(*bit_error_rate, bytes),
            Corruption::Attenuated { transceiver, attenuation_db } => {
                optics::frame_loss(*transceiver, *attenuation_db, bytes)
            }
        }
    }
}

fn validate_share(parameter: &'static str, value: f64) -> Result<(), ParameterError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(ParameterError::new(parameter, value, "must be from 0 to 1"))
}

fn validate_burst(loss: f64, mean_burst_frames: f64) -> Result<(), ParameterError> {
    if !(0.0..1.0).contains(&loss) {
        return Err(ParameterError::new("loss", loss, "must be from 0 to below 1"));
    }
    let least = (loss / (1.0 - loss)).max(1.0);
    // The quotient may be rounded up: 0.9 / (1 - 0.9) is above 9.
    if mean_burst_frames.is_finite() && mean_burst_frames >= least * (1.0 - 1e-12) {
        return Ok(());
    }
    let requirement = format!("must be at least {least} at a loss of {loss}");
    Err(ParameterError::new("mean_burst_frames", mean_burst_frames, requirement))
}

/// Decides which frames of one link direction are corrupted.
///
/// Call [`CorruptionProcess::corrupts`] once for each frame in the order of transmission. Any number of frames that are
/// known to pass can be replaced by one call of [`CorruptionProcess::skip`].
#[derive(Debug, Clone)]
pub struct CorruptionProcess {
    /// What may still pass before the next corrupted frame, in the units of `costs`.
    clean: u64,
    costs: Costs,
    /// `None` if nothing is ever corrupted. It is in a box because clean frames do not need it: what they need fits into
    /// half a cache line.
    draws: Option<Box<Draws>>,
}

/// Draws the distances between corrupted frames.
#[derive(Debug, Clone)]
struct Draws {
    model: Model,
    random: Random,
}

/// How much a clean frame takes from the counter: 1 for models that treat all frames alike, its bits if bits are drawn,
/// its octets on the wire if codewords are drawn, and 0 if nothing is ever corrupted.
#[derive(Debug, Clone, Copy)]
struct Costs {
    per_frame: u64,
    per_byte: u64,
}

const FREE: Costs = Costs { per_frame: 0, per_byte: 0 };
const FRAMES: Costs = Costs { per_frame: 1, per_byte: 0 };
const BITS: Costs = Costs { per_frame: 0, per_byte: BITS_PER_BYTE };
const WIRE_BYTES: Costs = Costs { per_frame: WIRE_OVERHEAD_BYTES, per_byte: 1 };

#[derive(Debug, Clone)]
enum Model {
    Iid(Iid),
    PerBit(PerBit),
    GilbertElliott(GilbertElliott),
    Recorded(Recorded),
    Codewords(Codewords),
}

impl CorruptionProcess {
    /// Before the first frame.
    ///
    /// # Errors
    /// As [`Corruption::validate`].
    pub fn new(corruption: &Corruption, random: Random) -> Result<CorruptionProcess, ParameterError> {
        corruption.validate()?;
        let Some((costs, model)) = Model::new(corruption) else {
            return Ok(CorruptionProcess { clean: 0, costs: FREE, draws: None });
        };
        let mut draws = Box::new(Draws { model, random });
        Ok(CorruptionProcess { clean: draws.first_gap(), costs, draws: Some(draws) })
    }

    /// Whether the next frame, of `bytes` octets from destination address to frame check sequence with any header of
    /// Linkmend's, is corrupted.
    #[inline]
    pub fn corrupts(&mut self, bytes: u32) -> bool {
        let cost = self.cost(bytes);
        if cost <= self.clean {
            self.clean -= cost;
            return false;
        }
        self.corrupt(bytes);
        true
    }

    /// Whether so few `octets` between frames, such as a control ordered set, are corrupted, on a link whose frames have
    /// `frame_bytes`. Where losses are stated for frames, octets are lost as often as their share of a frame; a recording
    /// counts them as a frame.
    #[inline]
    pub fn corrupts_octets(&mut self, octets: u32, frame_bytes: u32) -> bool {
        if !self.corrupts(octets) {
            return false;
        }
        self.hits_octets(octets, frame_bytes)
    }

    /// Whether a loss that was stated for a frame hits these of its octets.
    #[cold]
    fn hits_octets(&mut self, octets: u32, frame_bytes: u32) -> bool {
        match &mut self.draws {
            Some(draws) if matches!(draws.model, Model::Iid(_) | Model::GilbertElliott(_)) => {
                let share = f64::from(octets) / (f64::from(frame_bytes) + WIRE_OVERHEAD_BYTES as f64);
                draws.random.uniform() < share
            }
            _ => true,
        }
    }

    /// How many frames of `bytes` octets in a row will pass; the one after them is corrupted. `u64::MAX` if nothing is
    /// ever corrupted.
    #[inline]
    pub fn clean_frames(&self, bytes: u32) -> u64 {
        self.clean.checked_div(self.cost(bytes)).unwrap_or(u64::MAX)
    }

    /// The same as `frames` calls of [`CorruptionProcess::corrupts`], all of which would return false.
    ///
    /// # Panics
    /// If there are not so many [`CorruptionProcess::clean_frames`].
    #[inline]
    pub fn skip(&mut self, frames: u64, bytes: u32) {
        let clean_frames = self.clean_frames(bytes);
        assert!(frames <= clean_frames, "only {clean_frames} frames surely pass, not {frames}");
        // Fits, since the product is at most `clean`, or the cost is 0.
        self.clean -= frames * self.cost(bytes);
    }

    #[inline]
    fn cost(&self, bytes: u32) -> u64 {
        self.costs.per_frame + self.costs.per_byte * u64::from(bytes)
    }

    #[cold]
    fn corrupt(&mut self, bytes: u32) {
        if let Some(draws) = &mut self.draws {
            self.clean = draws.gap(self.clean, bytes);
        }
    }
}

impl Draws {
    /// The counter before the first frame.
    fn first_gap(&mut self) -> u64 {
        let Draws { model, random } = self;
        match model {
            Model::Iid(iid) => iid.gap(random),
            Model::PerBit(per_bit) => per_bit.gap(random),
            Model::GilbertElliott(chain) => chain.first_gap(random),
            Model::Recorded(recorded) => recorded.first_gap(),
            Model::Codewords(codewords) => codewords.first_gap(random),
        }
    }

    /// The counter after a corrupted frame of `bytes`, which found it at `clean`.
    fn gap(&mut self, clean: u64, bytes: u32) -> u64 {
        let Draws { model, random } = self;
        match model {
            Model::Iid(iid) => iid.gap(random),
            Model::PerBit(per_bit) => per_bit.gap(random),
            Model::GilbertElliott(chain) => chain.gap(random),
            Model::Recorded(recorded) => recorded.gap(),
            Model::Codewords(codewords) => codewords.gap(clean, bytes, random),
        }
    }
}

impl Model {
    /// The model, and what a clean frame costs; `None` if nothing is ever corrupted.
    fn new(corruption: &Corruption) -> Option<(Costs, Model)> {
        match *corruption {
            Corruption::None => None,
            Corruption::Iid { loss } | Corruption::GilbertElliott { loss, .. } if loss == 0.0 => None,
            Corruption::Iid { loss } => Some((FRAMES, Model::Iid(Iid { loss }))),
            Corruption::PerBit { bit_error_rate } => Model::per_bit(bit_error_rate),
            Corruption::GilbertElliott { loss, mean_burst_frames } => {
                Some((FRAMES, Model::GilbertElliott(GilbertElliott::new(loss, mean_burst_frames))))
            }
            Corruption::Recorded(ref indices) => {
                Some((FRAMES, Model::Recorded(Recorded::new(Arc::clone(indices)))))
            }
            Corruption::Attenuated { transceiver, attenuation_db } => {
                let bit_error_rate = optics::bit_error_rate(transceiver, attenuation_db);
                match transceiver.code() {
                    None => Model::per_bit(bit_error_rate),
                    Some(code) => Model::coded(code, bit_error_rate),
                }
            }
            Corruption::Coded { code, bit_error_rate } => Model::coded(code, bit_error_rate),
        }
    }

    fn coded(code: Interleaved, bit_error_rate: f64) -> Option<(Costs, Model)> {
        let failure = code.failure(bit_error_rate);
        (failure != 0.0).then(|| (WIRE_BYTES, Model::Codewords(Codewords::new(code.bytes(), failure))))
    }

    fn per_bit(bit_error_rate: f64) -> Option<(Costs, Model)> {
        (bit_error_rate != 0.0).then_some((BITS, Model::PerBit(PerBit { bit_error_rate })))
    }
}
