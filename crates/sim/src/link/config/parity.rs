//! What is asked of repair in time, and what its ends then know of a link.

use super::LinkConfig;
use super::error::{ParameterError, check};
use crate::corruption::Corruption;
use crate::link::frame::WIRE_OVERHEAD_BYTES;
use crate::link::scheme::{PARITY_HEADER_BYTES, ParityConfig};
use crate::time::{TICK, Time};
use linkmend_parity::{GROUP_MAX, Limits, Losses, PARITY_MAX, Plan};
use linkmend_quantity::{Share, Span};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// From sending a frame to its delivery, for conversations (ITU-T G.114).
const DEADLINE: Duration = Duration::from_millis(150);
/// Longest deadline: stamps wrap after 3.2 s.
const DEADLINE_MAX: Duration = Duration::from_secs(1);
/// Share of frames that may be lost or late.
const TARGET: f64 = 1e-4;
/// The default after which UDPspeeder sends the parity of a group that is not full (`--timeout`, 8 ms).
const FIXED_AGE_NS: u64 = 8_000_000;

/// How much parity there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParityCode {
    /// What the planner chooses, together with retransmission.
    #[default]
    Planned,
    /// Always this many parity frames for this many frames, without retransmission.
    Fixed { frames: u8, parity: u8 },
}

/// What is asked of repair in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParityProfile {
    /// From sending a frame to its delivery.
    pub deadline: Span,
    /// Ceiling of the expected overhead.
    pub overhead_max: Share,
    pub code: ParityCode,
}

impl Default for ParityProfile {
    fn default() -> ParityProfile {
        ParityProfile { deadline: Span(DEADLINE), overhead_max: Share(1.0), code: ParityCode::Planned }
    }
}

impl FromStr for ParityCode {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<ParityCode, ParameterError> {
        if text == "planned" {
            return Ok(ParityCode::Planned);
        }
        let numbers = text.split_once(':').and_then(|(frames, parity)| {
            let fits = |number: u8, max: usize| usize::from(number) <= max;
            let (frames, parity) = (frames.parse().ok()?, parity.parse().ok()?);
            (frames > 0 && fits(frames, GROUP_MAX) && fits(parity, PARITY_MAX)).then_some((frames, parity))
        });
        let (frames, parity) = numbers.ok_or_else(|| {
            let requirement = format!(
                "must be planned, or FRAMES:PARITY like 20:10 with 1 to {GROUP_MAX} frames and 0 to {PARITY_MAX}"
            );
            ParameterError::new("parity-code", format!("\"{text}\""), requirement)
        })?;
        Ok(ParityCode::Fixed { frames, parity })
    }
}

impl fmt::Display for ParityCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParityCode::Planned => f.write_str("planned"),
            ParityCode::Fixed { frames, parity } => write!(f, "{frames}:{parity}"),
        }
    }
}

impl LinkConfig {
    /// The ends of repair in time on this link, first the one whose frames the link corrupts. They know the round trip and the
    /// speed, and begin with the losses that the link is described with, as if they had been measured.
    ///
    /// # Errors
    /// If the deadline is not above the delay of the link and at most a second, or the ceiling is not 0 to 1.
    pub fn parity(&self, profile: &ParityProfile) -> Result<[ParityConfig; 2], ParameterError> {
        let one_way = self.wire_latency() + self.ingress_latency();
        let deadline = profile.deadline.0;
        let requirement =
            format!("must be above the delay of the link, {}, and at most 1s", Span::from(one_way));
        let is_usable = Time::from(profile.deadline) > one_way && deadline <= DEADLINE_MAX;
        check(is_usable, "deadline", profile.deadline, &requirement)?;
        let overhead_max = profile.overhead_max.0;
        check(
            (0.0..=1.0).contains(&overhead_max),
            "parity-overhead",
            profile.overhead_max,
            "must be 0 to 1",
        )?;
        let wire_bytes = u64::from(self.frame_bytes + PARITY_HEADER_BYTES) + WIRE_OVERHEAD_BYTES;
        let round_trip_ns = self.round_trip().0 / TICK.nanos(1).0;
        let config = |corruption: &Corruption| {
            let rate = corruption.frame_loss(self.frame_bytes);
            let burst = corruption.mean_burst_frames().max(Losses::independent(rate).burst);
            ParityConfig {
                limits: Limits { deadline_ns: deadline.as_nanos() as u64, overhead_max, target: TARGET },
                round_trip_ns,
                losses: Losses { rate, burst },
                frame_rate: self.rate.bits_per_second() as f64 / (8 * wire_bytes) as f64,
                fixed: match profile.code {
                    ParityCode::Planned => None,
                    ParityCode::Fixed { frames, parity } => Some(Plan::fixed(frames, parity, FIXED_AGE_NS)),
                },
            }
        };
        Ok([&self.corruption, &self.reverse_corruption].map(config))
    }
}
