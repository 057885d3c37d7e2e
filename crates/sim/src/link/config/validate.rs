//! Checks the description of a link.

use super::error::{ParameterError, check, of_protocol};
use super::hardware::DIRECT_BUFFER_BYTES;
use super::{Buffering, Copies, LinkConfig, Protection};
use crate::corruption::Corruption;
use crate::link::{FRAME_BYTES_MIN, WIRE_OVERHEAD_BYTES};
use crate::time::Time;
use linkmend_quantity::{ByteSize, Count, Decibels, Distance, LossRate, Share, Span};
use std::time::Duration;

/// Frame lengths, with frame check sequence.
const FRAME_BYTES: std::ops::RangeInclusive<u32> = 64..=9216;
/// Maximum loss rate of the smallest frames on a protected link: handshakes are repeated until one gets through.
const HANDSHAKE_LOSS_MAX: f64 = 0.999;
/// If fewer handshakes than this fit into the time allowed for opening, the cause is latency rather than loss.
const HANDSHAKES_LEAST: u64 = 10;
/// Longest fibre, m.
const DISTANCE_M_MAX: u32 = 100_000;
/// What is required of a distance.
pub const DISTANCE_REQUIREMENT: &str = "must be at most 100km";
/// What is required of a rate: see [`Rate`](crate::time::Rate).
pub const RATE_REQUIREMENT: &str = "must be above 0, at most 8T, and one byte must last a whole number of \
     picoseconds, as at 10G, 25G, 40G, 50G, 100G, 200G, 400G and 800G";
/// Maximum of any latency in a switch: half a second.
const TIME_NANOS_MAX: u64 = 500_000_000;
/// Longest traffic at line rate: half a day.
const RUN_PICOSECONDS_MAX: u64 = 43_200_000_000_000_000;

impl LinkConfig {
    /// Checks everything, and names the first parameter that cannot be used.
    ///
    /// # Errors
    /// [`ParameterError`].
    pub fn validate(&self) -> Result<(), ParameterError> {
        check(
            FRAME_BYTES.contains(&self.frame_bytes),
            "frame-size",
            ByteSize(u64::from(self.frame_bytes)),
            "must be 64B to 9216B, with frame check sequence",
        )?;
        let distance = Distance(u64::from(self.distance_m));
        check(self.distance_m <= DISTANCE_M_MAX, "distance", distance, DISTANCE_REQUIREMENT)?;
        for corruption in [&self.corruption, &self.reverse_corruption] {
            corruption.validate()?;
        }
        self.validate_switch()?;
        if let Some(protection) = &self.protection {
            self.validate_handshake()?;
            self.validate_protection(protection)?;
        }
        if self.buffering == Buffering::Recirculating {
            let passes = self.switch.pipe_packets_per_second;
            check(passes > 0, "pipe-capacity", passes, "must be above 0 packets/s")?;
        }
        let least = u64::from(self.frame_bytes);
        check(
            self.queue.class_bytes >= least,
            "queue",
            ByteSize(self.queue.class_bytes),
            "must have room for a frame",
        )?;
        self.protocol_config().map_or(Ok(()), |config| config.validate()).map_err(of_protocol)
    }

    /// Checks a number of frames: there must be at least one, and at line rate they must take less than half a day,
    /// after which idle sessions send hellos.
    ///
    /// # Errors
    /// [`ParameterError`].
    pub fn validate_frames(&self, frames: u64) -> Result<(), ParameterError> {
        check(frames > 0, "frames", frames, "at least one frame is sent")?;
        let frame_ps = self.rate.time_of(u64::from(self.frame_bytes) + WIRE_OVERHEAD_BYTES).0;
        let frames_max = RUN_PICOSECONDS_MAX / frame_ps;
        let requirement = format!(
            "must be at most {frames_max} at this speed and length: no more fit into half a day of simulated time"
        );
        check(frames <= frames_max, "frames", Count(frames), &requirement)
    }

    /// Copies and thresholds.
    fn validate_protection(&self, protection: &Protection) -> Result<(), ParameterError> {
        match protection.copies {
            Copies::Fixed(copies) => {
                check((1..=16).contains(&copies), "copies", copies, "must be 1 to 16")?;
            }
            Copies::Target { loss } => {
                check(loss > 0.0 && loss < 1.0, "target", loss, "must lie above 0 and below 1")?;
            }
        }
        let Some(backpressure) = protection.backpressure else { return Ok(()) };
        let (room, whose) = match self.buffering {
            Buffering::Recirculating => (self.switch.recirculation_bytes, "`recirculation-buffer`"),
            Buffering::Direct => (DIRECT_BUFFER_BYTES, "the Rx buffer of direct buffering"),
        };
        check(
            backpressure.pause_bytes <= room,
            "pause-threshold",
            ByteSize(backpressure.pause_bytes),
            &format!("must be at most {whose}, which is {}", ByteSize(room)),
        )?;
        check(
            backpressure.resume_bytes < backpressure.pause_bytes,
            "resume-threshold",
            ByteSize(backpressure.resume_bytes),
            &format!("must be below `pause-threshold`, which is {}", ByteSize(backpressure.pause_bytes)),
        )
    }

    /// Whether a session can open.
    fn validate_handshake(&self) -> Result<(), ParameterError> {
        for (parameter, corruption) in
            [(self.loss_parameter(), &self.corruption), ("reverse-loss", &self.reverse_corruption)]
        {
            let loss = corruption.frame_loss(FRAME_BYTES_MIN);
            if loss > HANDSHAKE_LOSS_MAX {
                let [most, loss_here] = [HANDSHAKE_LOSS_MAX, loss].map(|share| Share(share).percent());
                let requirement = format!(
                    "must be lower on a protected link: at most {most}% of the 64-byte frames that open its \
                     session may be lost, but here {loss_here}% are; there is no such limit with `scheme` none"
                );
                return Err(ParameterError { parameter, value: self.written(parameter, loss), requirement });
            }
        }
        Ok(())
    }

    /// The parameter that determines the loss in the direction of the data.
    fn loss_parameter(&self) -> &'static str {
        match self.corruption {
            Corruption::PerBit { .. } | Corruption::Coded { .. } => "bit-error-rate",
            Corruption::Attenuated { .. } => "attenuation",
            Corruption::Recorded(_) => "losses",
            _ => "loss",
        }
    }

    /// The value of a parameter that determines a loss rate.
    fn written(&self, parameter: &str, loss: f64) -> String {
        match (parameter, &self.corruption) {
            (
                "bit-error-rate",
                Corruption::PerBit { bit_error_rate } | Corruption::Coded { bit_error_rate, .. },
            ) => LossRate(*bit_error_rate).to_string(),
            ("attenuation", Corruption::Attenuated { attenuation_db, .. }) => {
                Decibels(*attenuation_db).to_string()
            }
            _ => LossRate(loss).to_string(),
        }
    }

    /// Why no session could be opened within `waited`: the most likely parameter, and the values of the others.
    pub(crate) fn not_opened(&self, waited: Time) -> ParameterError {
        let switch = &self.switch;
        let there_and_back = Time(2 * (self.wire_latency().0 + self.ingress_latency().0));
        let [forth, back] = [&self.corruption, &self.reverse_corruption]
            .map(|corruption| corruption.frame_loss(FRAME_BYTES_MIN));
        let times = [
            ("egress-latency", switch.egress_latency_ns),
            ("ingress-latency", switch.ingress_latency_ns),
            ("distance", 5 * u64::from(self.distance_m)),
        ];
        let longest = times.into_iter().max_by_key(|(_, nanos)| *nanos);
        let losses = || {
            let [forth, back] = [forth, back].map(|share| Share(share).percent());
            format!(
                "the link loses {forth}% of its 64-byte frames in the forward direction and {back}% in the reverse direction"
            )
        };
        let (parameter, value, cause) = match longest {
            Some((parameter, nanos)) if there_and_back.0 > waited.0 / HANDSHAKES_LEAST => {
                let value = match parameter {
                    "distance" => Distance(u64::from(self.distance_m)).to_string(),
                    _ => Span(Duration::from_nanos(nanos)).to_string(),
                };
                (parameter, value, format!("the round trip takes {} us", there_and_back.as_micros()))
            }
            _ if back > forth => ("reverse-loss", back.to_string(), losses()),
            _ => match &self.corruption {
                Corruption::Recorded(numbers) => ("losses", format!("{} frames", numbers.len()), losses()),
                _ => (self.loss_parameter(), forth.to_string(), losses()),
            },
        };
        let requirement = format!(
            "must be lower: no session opened in {} s of simulated time, because no handshake got through; {cause}",
            waited.as_secs(),
        );
        ParameterError { parameter, value, requirement }
    }

    /// Checks that nothing in a switch takes a second, and that the switch can buffer frames.
    fn validate_switch(&self) -> Result<(), ParameterError> {
        let switch = &self.switch;
        let times = [
            ("egress-latency", switch.egress_latency_ns),
            ("ingress-latency", switch.ingress_latency_ns),
            ("loop-latency", switch.loop_latency_ns),
            ("timer-interval", switch.timer_interval_ns),
            ("recovery-timeout", self.protection.map_or(0, |protection| protection.recovery_timeout_ns)),
        ];
        for (parameter, nanos) in times {
            let written = Span(Duration::from_nanos(nanos));
            check(nanos <= TIME_NANOS_MAX, parameter, written, "must be at most 500ms")?;
        }
        check(switch.recirculation_bytes > 0, "recirculation-buffer", "0B", "must hold at least 64KiB")
    }
}
