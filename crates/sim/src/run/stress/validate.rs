//! Checks parameters, and derives the protocol's from them.

use super::config::{Buffering, Copies, Protection, StressConfig, StressError};
use crate::corruption::{Corruption, ParameterError};
use crate::network::{FRAME_BYTES_MIN, OPENING_MAX, PortError, WIRE_OVERHEAD_BYTES};
use crate::time::{TICK, Time};
use linkmend_protocol::{Config, ConfigError, FallbackConfig, Format, Mode, Ticks, copies_for};
use linkmend_quantity::{ByteSize, Count, Decibels, Distance, LossRate, Span};
use std::time::Duration;

/// Frame lengths, with frame check sequence.
const FRAME_BYTES: std::ops::RangeInclusive<u32> = 64..=9216;
/// Share of the smallest frames that may be lost on a protected link: handshakes are repeated until one passes.
const HANDSHAKE_LOSS_MAX: f64 = 0.999;
/// With fewer handshakes than these in the time that opening may take, latency is to blame rather than loss.
const HANDSHAKES_LEAST: u64 = 10;
/// Longest fibre, m.
pub(crate) const DISTANCE_M_MAX: u32 = 100_000;
/// Longest time of anything in a switch: half a second.
const TIME_NANOS_MAX: u64 = 500_000_000;
/// Longest traffic at line rate: half a day.
const RUN_PICOSECONDS_MAX: u64 = 43_200_000_000_000_000;
/// A day: longer than any simulated run, for timers that are to stay out of the way.
const NEVER: Ticks = TICK.secs(86_400);
/// How often what is missing is repeated when feedbacks can be lost.
pub(crate) const REPEAT: Ticks = TICK.micros(10);
/// Buffer of a switch that can reach its frames directly, bytes.
const DIRECT_BUFFER_BYTES: u64 = 16 << 20;

impl StressConfig {
    /// Checks everything; the first parameter that cannot be used is named.
    ///
    /// # Errors
    /// [`StressError`].
    pub fn validate(&self) -> Result<(), StressError> {
        check(self.frames > 0, "frames", self.frames, "at least one frame is sent")?;
        check(
            FRAME_BYTES.contains(&self.frame_bytes),
            "frame-size",
            ByteSize(u64::from(self.frame_bytes)),
            "must be 64B to 9216B, with frame check sequence",
        )?;
        let distance = Distance(u64::from(self.distance_m));
        check(self.distance_m <= DISTANCE_M_MAX, "distance", distance, "must be at most 100km")?;
        for corruption in [&self.corruption, &self.reverse_corruption] {
            corruption.validate()?;
        }
        self.validate_times()?;
        if let Some(copy_loss) = self.copy_loss {
            self.validate_copy_loss(copy_loss)?;
        }
        if let Some(protection) = &self.protection {
            self.validate_handshake()?;
            self.validate_protection(protection)?;
        }
        if self.buffering == Buffering::Recirculating {
            let passes = self.switch.pipe_packets_per_second;
            check(passes > 0, "pipe-capacity", passes, "must be above 0 packets/s")?;
        }
        self.protocol_config().map_or(Ok(()), |config| config.validate()).map_err(StressError::from)
    }

    /// Whether copies can be lost more often than originals.
    fn validate_copy_loss(&self, copy_loss: f64) -> Result<(), StressError> {
        let least = match self.corruption {
            Corruption::Iid { loss } => loss,
            _ => f64::INFINITY,
        };
        let single_round = self.protection.is_some_and(|protection| protection.max_rounds == 1);
        check(
            single_round,
            "copy-loss",
            LossRate(copy_loss),
            "needs a protected link with one round of retransmission",
        )?;
        check(
            copy_loss >= least && copy_loss < 1.0,
            "copy-loss",
            LossRate(copy_loss),
            "must lie between the loss rate of iid corruption and 1",
        )
    }

    /// Copies and thresholds.
    fn validate_protection(&self, protection: &Protection) -> Result<(), StressError> {
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
    fn validate_handshake(&self) -> Result<(), StressError> {
        for (parameter, corruption) in
            [(self.loss_parameter(), &self.corruption), ("reverse-loss", &self.reverse_corruption)]
        {
            let loss = corruption.frame_loss(FRAME_BYTES_MIN);
            if loss > HANDSHAKE_LOSS_MAX {
                let requirement = format!(
                    "a protected link may lose a share of at most {HANDSHAKE_LOSS_MAX} of its 64-byte frames, or its session \
                     hardly ever opens; this makes it {loss}; with `mode` off it may lose all"
                );
                return Err(StressError { parameter, value: self.written(parameter, loss), requirement });
            }
        }
        Ok(())
    }

    /// What the loss in the direction of the data follows from.
    fn loss_parameter(&self) -> &'static str {
        match self.corruption {
            Corruption::PerBit { .. } => "bit-error-rate",
            Corruption::Attenuated { .. } => "attenuation",
            Corruption::Recorded(_) => "losses",
            _ => "loss",
        }
    }

    /// The value of a parameter from which a loss follows.
    fn written(&self, parameter: &str, loss: f64) -> String {
        match (parameter, &self.corruption) {
            ("bit-error-rate", Corruption::PerBit { bit_error_rate }) => {
                LossRate(*bit_error_rate).to_string()
            }
            ("attenuation", Corruption::Attenuated { attenuation_db, .. }) => {
                Decibels(*attenuation_db).to_string()
            }
            _ => LossRate(loss).to_string(),
        }
    }

    /// Why no session could be opened: the parameter that is the most likely cause, and the values of the others.
    pub(crate) fn not_opened(&self) -> StressError {
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
        let (parameter, value) = match longest {
            Some((parameter, nanos)) if there_and_back.0 > OPENING_MAX.0 / HANDSHAKES_LEAST => {
                let value = match parameter {
                    "distance" => Distance(u64::from(self.distance_m)).to_string(),
                    _ => Span(Duration::from_nanos(nanos)).to_string(),
                };
                (parameter, value)
            }
            _ if back > forth => ("reverse-loss", back.to_string()),
            _ => match &self.corruption {
                Corruption::Recorded(numbers) => ("losses", format!("{} frames", numbers.len())),
                _ => (self.loss_parameter(), forth.to_string()),
            },
        };
        let requirement = format!(
            "no session opened in {} s of simulated time; a handshake takes {} us there and back, and of 64-byte frames \
             the link loses a share of {forth} forth and {back} back; lower what is highest",
            OPENING_MAX.as_secs(),
            there_and_back.as_nanos() / 1e3,
        );
        StressError { parameter, value, requirement }
    }

    /// Checks times against the clock: nothing in a switch may take a second, and no run half the day after which idle
    /// sessions say hello.
    fn validate_times(&self) -> Result<(), StressError> {
        let switch = &self.switch;
        let times = [
            ("egress-latency", switch.egress_latency_ns),
            ("ingress-latency", switch.ingress_latency_ns),
            ("loop-latency", switch.loop_latency_ns),
            ("timer-interval", switch.timer_interval_ns),
            ("recovery-timeout", self.protection.map_or(0, |protection| protection.recovery_timeout_ns)),
        ];
        let refuse = |parameter, value: String, requirement: String| {
            Err(StressError { parameter, value, requirement })
        };
        for (parameter, nanos) in times {
            if nanos > TIME_NANOS_MAX {
                let written = Span(Duration::from_nanos(nanos)).to_string();
                return refuse(parameter, written, "must be at most 500ms".to_owned());
            }
        }
        let frame_ps = self.rate.time_of(u64::from(self.frame_bytes) + WIRE_OVERHEAD_BYTES).0;
        let frames_max = RUN_PICOSECONDS_MAX / frame_ps;
        if self.frames > frames_max {
            let requirement = format!(
                "must be at most {frames_max} at this speed and length: no more fit into half a day of simulated time"
            );
            return refuse("frames", Count(self.frames).to_string(), requirement);
        }
        if self.switch.recirculation_bytes == 0 {
            return refuse("recirculation-buffer", "0B".to_owned(), "must hold at least 64KiB".to_owned());
        }
        Ok(())
    }

    /// Copies of a lost frame, if the link is protected.
    pub fn copies(&self) -> Option<u8> {
        self.protection.map(|protection| match protection.copies {
            Copies::Fixed(copies) => copies,
            Copies::Target { loss } => copies_for(self.corruption.frame_loss(self.frame_bytes), loss),
        })
    }

    /// The link ends' parameters. Their clock ticks picoseconds here.
    pub(crate) fn protocol_config(&self) -> Option<Config> {
        let protection = self.protection?;
        let buffer_bytes = match self.buffering {
            Buffering::Recirculating => self.switch.recirculation_bytes,
            Buffering::Direct => DIRECT_BUFFER_BYTES,
        };
        // Without backpressure the pause threshold is one that the buffer never reaches.
        let (pause_bytes, resume_bytes) = match protection.backpressure {
            Some(backpressure) => (backpressure.pause_bytes, backpressure.resume_bytes),
            None => (buffer_bytes, buffer_bytes - 1),
        };
        let rx_buffer_bytes = match protection.backpressure {
            None if buffer_bytes.is_multiple_of(u64::from(self.frame_bytes)) => buffer_bytes + 1,
            _ => buffer_bytes,
        };
        let reverse_is_clean = self.reverse_corruption == Corruption::None;
        Some(Config {
            format: Format::Compact,
            window_frames: protection.window_frames,
            window_bytes: buffer_bytes,
            rx_buffer_bytes,
            pause_bytes: if protection.backpressure.is_none() { rx_buffer_bytes } else { pause_bytes },
            resume_bytes,
            recovery_timeout: TICK.nanos(protection.recovery_timeout_ns),
            max_rounds: protection.max_rounds,
            give_up_by_clock: true,
            ack_gap: Ticks::ZERO,
            ack_interval: if reverse_is_clean { NEVER } else { REPEAT },
            dummy_delay: if protection.dummy_copies == 0 { NEVER } else { Ticks::ZERO },
            dummy_copies: protection.dummy_copies.max(1),
            dummy_interval_min: REPEAT,
            dummy_interval_max: NEVER,
            keepalive: if reverse_is_clean { NEVER } else { REPEAT * 10 },
            peer_timeout: NEVER * 4,
            session_expiry: NEVER * 4,
            handshake_min: REPEAT * 10,
            handshake_max: REPEAT * 100,
            hello_interval: NEVER,
            loss_window_frames: 100_000,
            fallback: FallbackConfig { enabled: false, ..FallbackConfig::new(TICK) },
        })
    }

    /// Whether frames are delivered in the order of sending.
    pub fn is_ordered(&self) -> bool {
        self.protection.is_some_and(|protection| protection.mode == Mode::Ordered)
    }
}

fn check(
    holds: bool,
    parameter: &'static str,
    value: impl ToString,
    requirement: &str,
) -> Result<(), StressError> {
    if holds {
        return Ok(());
    }
    Err(StressError { parameter, value: value.to_string(), requirement: requirement.to_owned() })
}

impl From<ConfigError> for StressError {
    fn from(error: ConfigError) -> Self {
        let parameter = match error.field {
            "window_frames" => "window",
            "recovery_timeout" => "recovery-timeout",
            "pause_bytes" => "pause-threshold",
            "resume_bytes" => "resume-threshold",
            "rx_buffer_bytes" | "window_bytes" => "recirculation-buffer",
            "max_rounds" => "rounds",
            other => other,
        };
        let value = match parameter {
            "pause-threshold" | "resume-threshold" | "recirculation-buffer" => {
                ByteSize(error.value as u64).to_string()
            }
            // The link ends' clock ticks picoseconds.
            "recovery-timeout" => Span(Duration::from_nanos((error.value / 1e3) as u64)).to_string(),
            _ => error.value.to_string(),
        };
        StressError { parameter, value, requirement: error.requirement.to_owned() }
    }
}

impl From<ParameterError> for StressError {
    fn from(error: ParameterError) -> Self {
        StressError { parameter: error.parameter, value: error.value, requirement: error.requirement }
    }
}

impl From<PortError> for StressError {
    fn from(error: PortError) -> Self {
        match error {
            PortError::Protocol(error) => error.into(),
            PortError::Corruption(error) => error.into(),
        }
    }
}
