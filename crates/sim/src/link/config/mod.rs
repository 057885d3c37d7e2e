//! The description of one link.
//!
//! A [`LinkConfig`] contains everything that the designer of a network must decide about a link: its rate and length,
//! what it corrupts, how it is protected, what its switches can do, and how much may queue for it. It says nothing
//! about traffic. The two ports, the parameters of the protocol, and the assumed hardware with its shortcomings all
//! follow from the description.

mod error;
mod hardware;
mod llr;
mod parity;
mod ports;
mod profile;
mod validate;

pub use error::ParameterError;
pub use hardware::Hardware;
pub use linkmend_protocol::Mode;
pub use llr::LlrProfile;
pub use parity::{ParityCode, ParityProfile};
pub use profile::{Profile, ProfileName};
pub use validate::{DISTANCE_REQUIREMENT, RATE_REQUIREMENT};

pub(crate) use error::{check, of_protocol};
pub(crate) use ports::REPEAT;

use super::frame::FULL_FRAME_BYTES;
use super::frames::PORT_QUEUE;
use crate::corruption::Corruption;
use crate::time::Rate;
use hardware::TOFINO_PORT_MAX;
use linkmend_protocol::schedule::QueueLimits;
use linkmend_quantity::words;
use linkmend_topology::Cable;

/// One-way latency of the PHYs of a link, in Meta's budget for LLR.
const PHY_NS: u64 = 66;

words! {
    /// How buffered frames can be accessed.
    #[derive(Hash)]
    pub enum Buffering {
        /// As on the Tofino: buffered frames circulate through a recirculation port, and each is available only when it
        /// returns.
        Recirculating = "recirculating",
        /// Immediately, as in software or with the credit-based queues of the Tofino2.
        Direct = "direct",
    }
}

impl Buffering {
    /// The kind of buffering of switches with ports of this rate. The Tofino's ports go up to 100G, and its successor
    /// does not need to recirculate: its advanced flow control holds frames back in their queues (section 5,
    /// "Implementing LinkGuardian with Tofino2").
    pub fn of_switches_at(rate: Rate) -> Buffering {
        if rate > TOFINO_PORT_MAX { Buffering::Direct } else { Buffering::Recirculating }
    }
}

/// How many copies of a lost frame are retransmitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Copies {
    /// Always this many, 1 to 16.
    Fixed(u8),
    /// As many as Equation 2 requires for the current loss rate.
    Target {
        /// Effective loss rate to stay below, above 0 and below 1.
        loss: f64,
    },
}

/// Thresholds of Algorithm 2, bytes in the Rx buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backpressure {
    /// `pauseThreshold`.
    pub pause_bytes: u64,
    /// `resumeThreshold`; below `pause_bytes`.
    pub resume_bytes: u64,
}

/// What the link ends do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Protection {
    /// Ordered (LinkGuardian) or non-blocking (LinkGuardianNB).
    pub mode: Mode,
    /// How many copies of a lost frame.
    pub copies: Copies,
    /// `ackNoTimeout`, ns.
    pub recovery_timeout_ns: u64,
    /// Algorithm 2; `None` disables it (Figure 9b).
    pub backpressure: Option<Backpressure>,
    /// Whether dummies reveal lost tails (section 3.2), and in how many copies, 0 to 255; 0 disables them.
    pub dummy_copies: u8,
    /// Maximum number of retransmission rounds for a loss; 1 is the paper's protocol.
    pub max_rounds: u8,
    /// Maximum number of outstanding frames: a power of two, 16 to 32,768 (half the sequence space).
    pub window_frames: u32,
}

/// The two switches of the link. Latencies are calibrated (Figure 19 and appendix B.1); see `docs/design/simulator.md`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SwitchHardware {
    /// Time from the queue to the far port, without fibre and serialisation, in ns: egress pipeline and both ports.
    pub egress_latency_ns: u64,
    /// Time from there to the decision of the ingress pipeline, in ns.
    pub ingress_latency_ns: u64,
    /// Time from that decision to the forwarding decision, in ns: 0 unless a scheme acts at the port itself, before the
    /// ingress pipeline.
    pub pipeline_latency_ns: u64,
    /// Time of one pass through the recirculation port, without serialisation, in ns.
    pub loop_latency_ns: u64,
    /// Rate of the recirculation port.
    pub recirculation_rate: Rate,
    /// Maximum number of bytes in a recirculation buffer (section 4: 200 KB).
    pub recirculation_bytes: u64,
    /// Packets per second that a pipe can process; recirculation is reported as a share of this.
    pub pipe_packets_per_second: u64,
    /// Time between timer packets in ns (section 3.5: 10 Mpps); 0 if nothing waits for them.
    pub timer_interval_ns: u64,
}

/// A full-duplex link between two switches, from which a network builds the link's two ports. [`LinkConfig::paper`] has
/// the paper's values.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkConfig {
    pub rate: Rate,
    /// Length of the fibre, m (5 ns each).
    pub distance_m: u32,
    /// Length of the frames for which the link is set up, from the destination address to the frame check sequence,
    /// without Linkmend's header: 64 to 9,216. The loss rate of frames of this length determines the number of copies.
    pub frame_bytes: u32,
    /// What the link corrupts, in the direction of the data.
    pub corruption: Corruption,
    /// The same in the other direction.
    pub reverse_corruption: Corruption,
    /// `None` for an unprotected link.
    pub protection: Option<Protection>,
    /// Where the link ends get the parameters that are not in `protection`.
    pub profile: Profile,
    /// Where frames are buffered.
    pub buffering: Buffering,
    /// The switches at both ends.
    pub switch: SwitchHardware,
    /// Limits of the normal queues in front of the link, at both ends.
    pub queue: QueueLimits,
}

impl LinkConfig {
    /// A link of the paper's testbed at `rate`: 1,518-byte frames, iid corruption at `loss`, target 1e-8, thresholds
    /// and timeout of appendix B.1 (at other rates than 25G and 100G, those of the closer one), and up to 10G the
    /// timeout from the authors' artifact. Above 100G, which the Tofino does not support, frames are buffered as in
    /// switches that do.
    pub fn paper(rate: Rate, loss: f64, mode: Mode) -> LinkConfig {
        let fast = rate.bits_per_second() > 50_000_000_000;
        let slow = rate.bits_per_second() <= 10_000_000_000;
        let resume_bytes = if fast { 37_000 } else { 40_000 };
        let frame_bytes = FULL_FRAME_BYTES;
        LinkConfig {
            frame_bytes,
            corruption: Corruption::iid(loss),
            protection: Some(Protection {
                mode,
                copies: Copies::Target { loss: 1e-8 },
                recovery_timeout_ns: match (fast, slow) {
                    (true, _) => 7_000,
                    (_, true) => 13_500,
                    _ => 7_500,
                },
                backpressure: Some(Backpressure {
                    pause_bytes: resume_bytes + 2 * u64::from(frame_bytes),
                    resume_bytes,
                }),
                dummy_copies: 1,
                max_rounds: 1,
                window_frames: 1024,
            }),
            ..LinkConfig::clean(rate)
        }
    }

    /// A link of the same testbed that corrupts nothing and is not protected.
    pub fn clean(rate: Rate) -> LinkConfig {
        LinkConfig {
            rate,
            distance_m: 2,
            frame_bytes: FULL_FRAME_BYTES,
            corruption: Corruption::None,
            reverse_corruption: Corruption::None,
            protection: None,
            profile: Profile::Tofino,
            buffering: Buffering::of_switches_at(rate),
            switch: SwitchHardware::default(),
            queue: PORT_QUEUE,
        }
    }

    /// The same link with this kind of buffering. A recirculation port is as fast as the link, and at least as fast as
    /// the Tofino's.
    #[must_use]
    pub fn buffered(self, buffering: Buffering) -> LinkConfig {
        let recirculation_rate = match buffering {
            Buffering::Recirculating => self.rate.max(TOFINO_PORT_MAX),
            Buffering::Direct => self.switch.recirculation_rate,
        };
        LinkConfig { buffering, switch: SwitchHardware { recirculation_rate, ..self.switch }, ..self }
    }

    /// The same link with a cable of this speed and length.
    ///
    /// # Errors
    /// If a byte does not last a whole number of picoseconds at this speed, or the cable exceeds the maximum length of
    /// a fibre.
    pub fn over(self, cable: Cable) -> Result<LinkConfig, ParameterError> {
        let rate = Rate::from_bits_per_second(cable.speed.0)
            .ok_or_else(|| ParameterError::new("speed", cable.speed, RATE_REQUIREMENT))?;
        let distance_m = u32::try_from(cable.length.0)
            .map_err(|_| ParameterError::new("distance", cable.length, DISTANCE_REQUIREMENT))?;
        Ok(LinkConfig { rate, distance_m, ..self })
    }

    /// The same link as the other direction sees it.
    #[must_use]
    pub fn reversed(&self) -> LinkConfig {
        LinkConfig {
            corruption: self.reverse_corruption.clone(),
            reverse_corruption: self.corruption.clone(),
            ..self.clone()
        }
    }

    /// Whether buffered frames circulate through recirculation ports.
    pub fn recirculates(&self) -> bool {
        self.buffering == Buffering::Recirculating && self.protection.is_some()
    }

    /// Whether frames are delivered in the order in which they were sent.
    pub fn is_ordered(&self) -> bool {
        self.protection.is_some_and(|protection| protection.mode == Mode::Ordered)
    }
}

impl SwitchHardware {
    /// The same switch for a scheme that acts in the port, as LLR does. Only the PHYs (66 ns each way, as in Meta's
    /// budget for LLR from FBOSS) and the fibre remain between the two ends; the pipelines are behind the ports.
    #[must_use]
    pub fn at_the_port(self) -> SwitchHardware {
        let pipelines = (self.egress_latency_ns + self.ingress_latency_ns).saturating_sub(PHY_NS);
        SwitchHardware {
            egress_latency_ns: PHY_NS,
            ingress_latency_ns: 0,
            pipeline_latency_ns: pipelines,
            ..self
        }
    }
}

impl Default for SwitchHardware {
    fn default() -> Self {
        SwitchHardware {
            egress_latency_ns: 260,
            ingress_latency_ns: 850,
            pipeline_latency_ns: 0,
            loop_latency_ns: 2_350,
            recirculation_rate: TOFINO_PORT_MAX,
            recirculation_bytes: 200_000,
            pipe_packets_per_second: 1_220_000_000,
            timer_interval_ns: 100,
        }
    }
}
