//! From parameters as written to a run's configuration. What is not written has the paper's value.

use super::names::{BufferingName, ProtectionName};
use super::parameters::StressParameters;
use crate::corruption::Corruption;
use crate::link::config::{
    Backpressure, Buffering, Copies, DISTANCE_REQUIREMENT, LinkConfig, ParameterError, ProfileName,
    Protection, RATE_REQUIREMENT, SwitchHardware,
};
use crate::stress::StressConfig;
use crate::time::Rate;
use linkmend_protocol::Mode;
use linkmend_protocol::daemon_profile::Overrides;
use linkmend_quantity::{BitRate, ByteSize, Count, Distance, LossRate, Span};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Default loss rate of a link.
const LOSS_DEFAULT: f64 = 1e-3;
/// Default number of frames of a run.
const FRAMES_DEFAULT: u64 = 10_000_000;
const SPEED_DEFAULT: u64 = 100_000_000_000;
/// Hysteresis between the thresholds, in frames (appendix B.1).
const HYSTERESIS_FRAMES: u64 = 2;
/// The largest file of losses that is read: ten million numbers of ten digits.
const LOSSES_FILE_BYTES: u64 = 110_000_000;

impl StressParameters {
    /// The configuration of the run. A relative path in `losses` starts from `folder`.
    ///
    /// # Errors
    /// The first parameter that cannot be used, by its name in files and on the command line.
    pub fn config(&self, folder: &Path) -> Result<StressConfig, ParameterError> {
        let speed = self.speed.unwrap_or(BitRate(SPEED_DEFAULT));
        let rate = rate("speed", speed)?;
        let mode = self.mode.unwrap_or_default();
        let mut link = LinkConfig::paper(rate, LOSS_DEFAULT, mode.mode().unwrap_or(Mode::Ordered));
        if let Some(size) = self.frame_size {
            link.frame_bytes =
                narrow("frame-size", size.0, size, "must be 64B to 9216B, with frame check sequence")?;
        }
        if let Some(distance) = self.distance {
            link.distance_m = narrow("distance", distance.0, distance, DISTANCE_REQUIREMENT)?;
        }
        link.corruption = self.corruption(folder)?;
        link.reverse_corruption = Corruption::iid(self.reverse_loss.map_or(0.0, |loss| loss.0));
        let recirculates = self.recirculation_speed.is_some()
            || self.recirculation_buffer.is_some()
            || self.loop_latency.is_some();
        let buffering = match self.buffering {
            Some(written) => written.into(),
            // A parameter of the recirculation port implies that there is one.
            None if recirculates => Buffering::Recirculating,
            None => link.buffering,
        };
        link = link.buffered(buffering);
        self.set_switch(&mut link.switch)?;
        let frame_bytes = u64::from(link.frame_bytes);
        link.protection = match (mode, link.protection) {
            (ProtectionName::Off, _) | (_, None) => None,
            (_, Some(paper)) => Some(self.protection(paper, frame_bytes)?),
        };
        if self.profile == Some(ProfileName::Daemon) {
            link = link.between_daemons(self.overrides()?);
        }
        let run = StressConfig::over(link);
        Ok(StressConfig {
            frames: self.frames.map_or(FRAMES_DEFAULT, |frames| frames.0),
            seed: self.seed.unwrap_or(run.seed),
            copy_loss: self.copy_loss.map(|loss| loss.0),
            full: self.full,
            ..run
        })
    }

    fn protection(&self, paper: Protection, frame_bytes: u64) -> Result<Protection, ParameterError> {
        let mut protection = paper;
        protection.copies = match (self.copies, self.target) {
            (Some(copies), Some(_)) => return Err(conflicts_with("copies", copies, "target")),
            (Some(copies), None) => Copies::Fixed(copies),
            (None, Some(target)) => Copies::Target { loss: target.0 },
            (None, None) => paper.copies,
        };
        if let Some(timeout) = self.recovery_timeout {
            protection.recovery_timeout_ns = nanoseconds("recovery-timeout", timeout)?;
        }
        protection.dummy_copies = self.dummy_copies.unwrap_or(paper.dummy_copies);
        protection.window_frames = self.window.unwrap_or(paper.window_frames);
        protection.max_rounds = self.rounds.unwrap_or(paper.max_rounds);
        protection.backpressure = self.backpressure(paper.backpressure, frame_bytes)?;
        Ok(protection)
    }

    /// What is set of the parameters that the daemon derives.
    fn overrides(&self) -> Result<Overrides, ParameterError> {
        let profile = "profile daemon";
        if self.no_backpressure {
            return Err(conflicts_with("no-backpressure", "true", profile));
        }
        let recirculation = [
            (
                "buffering",
                self.buffering
                    .filter(|name| *name != BufferingName::Direct)
                    .map(|_| "recirculating".to_owned()),
            ),
            ("recirculation-speed", self.recirculation_speed.map(|speed| speed.to_string())),
            ("recirculation-buffer", self.recirculation_buffer.map(|size| size.to_string())),
            ("loop-latency", self.loop_latency.map(|latency| latency.to_string())),
        ];
        for (name, value) in recirculation {
            if let Some(value) = value {
                return Err(conflicts_with(name, value, profile));
            }
        }
        Ok(Overrides {
            recovery_timeout: self.recovery_timeout.map(|span| span.0),
            max_rounds: self.rounds,
            pause_bytes: self.pause_threshold.map(|size| size.0),
            resume_bytes: self.resume_threshold.map(|size| size.0),
            window_frames: self.window,
            dummy_copies: self.dummy_copies,
            ..Overrides::default()
        })
    }

    /// A threshold that is not set keeps its distance from the other one.
    fn backpressure(
        &self,
        paper: Option<Backpressure>,
        frame_bytes: u64,
    ) -> Result<Option<Backpressure>, ParameterError> {
        let threshold = self
            .pause_threshold
            .map(|size| ("pause-threshold", size))
            .or(self.resume_threshold.map(|size| ("resume-threshold", size)));
        match threshold {
            Some((name, size)) if self.no_backpressure => {
                return Err(conflicts_with(name, size, "no-backpressure"));
            }
            _ if self.no_backpressure => return Ok(None),
            _ => {}
        }
        let hysteresis = HYSTERESIS_FRAMES * frame_bytes;
        let resume_default = paper.map_or(0, |paper| paper.resume_bytes);
        let resume_bytes = match (self.resume_threshold, self.pause_threshold) {
            (Some(resume), _) => resume.0,
            (None, Some(pause)) => pause.0.saturating_sub(hysteresis),
            (None, None) => resume_default,
        };
        let pause_bytes =
            self.pause_threshold.map_or(resume_bytes.saturating_add(hysteresis), |pause| pause.0);
        Ok(Some(Backpressure { pause_bytes, resume_bytes }))
    }

    fn corruption(&self, folder: &Path) -> Result<Corruption, ParameterError> {
        let models: [(&'static str, Option<String>); 4] = [
            ("loss", self.loss.map(|loss| loss.to_string())),
            ("bit-error-rate", self.bit_error_rate.map(|rate| rate.to_string())),
            ("attenuation", self.attenuation.map(|attenuation| attenuation.to_string())),
            ("losses", self.losses.as_ref().map(|path| path.display().to_string())),
        ];
        let mut written = models.iter().filter_map(|(name, value)| Some((*name, value.as_ref()?)));
        let first = written.next();
        if let (Some((name, value)), Some((other, _))) = (first, written.next()) {
            return Err(conflicts_with(name, value, other));
        }
        let loss = self.loss.map_or(LOSS_DEFAULT, |loss| loss.0);
        if let Some(burst) = self.burst {
            if let Some((other, _)) = first.filter(|(name, _)| *name != "loss") {
                return Err(conflicts_with("burst", burst, other));
            }
            return Ok(Corruption::GilbertElliott { loss, mean_burst_frames: burst });
        }
        if let Some(bit_error_rate) = self.bit_error_rate {
            return Ok(Corruption::PerBit { bit_error_rate: bit_error_rate.0 });
        }
        if let Some(path) = &self.losses {
            return recorded(&folder.join(path));
        }
        match (self.transceiver, self.attenuation) {
            (Some(name), Some(attenuation)) => {
                Ok(Corruption::Attenuated { transceiver: name.into(), attenuation_db: attenuation.0 })
            }
            (None, Some(attenuation)) => Err(needs("attenuation", attenuation, "transceiver")),
            (Some(_), None) => Err(needs("transceiver", "set", "attenuation")),
            (None, None) => Ok(Corruption::iid(loss)),
        }
    }

    fn set_switch(&self, switch: &mut SwitchHardware) -> Result<(), ParameterError> {
        if let Some(latency) = self.egress_latency {
            switch.egress_latency_ns = nanoseconds("egress-latency", latency)?;
        }
        if let Some(latency) = self.ingress_latency {
            switch.ingress_latency_ns = nanoseconds("ingress-latency", latency)?;
        }
        if let Some(latency) = self.loop_latency {
            switch.loop_latency_ns = nanoseconds("loop-latency", latency)?;
        }
        if let Some(interval) = self.timer_interval {
            switch.timer_interval_ns = nanoseconds("timer-interval", interval)?;
        }
        if let Some(speed) = self.recirculation_speed {
            switch.recirculation_rate = rate("recirculation-speed", speed)?;
        }
        if let Some(size) = self.recirculation_buffer {
            switch.recirculation_bytes = size.0;
        }
        if let Some(capacity) = self.pipe_capacity {
            switch.pipe_packets_per_second = capacity.0;
        }
        Ok(())
    }

    /// The same parameters with every value written out that `config`, which was made from them, takes from the paper.
    #[must_use]
    pub fn resolved(&self, config: &StressConfig) -> StressParameters {
        let link = &config.link;
        let switch = &link.switch;
        let mut resolved = StressParameters {
            speed: Some(BitRate(link.rate.bits_per_second())),
            frames: Some(Count(config.frames)),
            frame_size: Some(ByteSize(u64::from(link.frame_bytes))),
            distance: Some(Distance(u64::from(link.distance_m))),
            seed: Some(config.seed),
            mode: Some(self.mode.unwrap_or_default()),
            reverse_loss: Some(self.reverse_loss.unwrap_or(LossRate(0.0))),
            buffering: Some(link.buffering.into()),
            egress_latency: Some(span(switch.egress_latency_ns)),
            ingress_latency: Some(span(switch.ingress_latency_ns)),
            loop_latency: Some(span(switch.loop_latency_ns)),
            timer_interval: Some(span(switch.timer_interval_ns)),
            recirculation_speed: Some(BitRate(switch.recirculation_rate.bits_per_second())),
            recirculation_buffer: Some(ByteSize(switch.recirculation_bytes)),
            pipe_capacity: Some(Count(switch.pipe_packets_per_second)),
            ..self.clone()
        };
        match link.corruption {
            Corruption::None => resolved.loss = Some(LossRate(0.0)),
            Corruption::Iid { loss } | Corruption::GilbertElliott { loss, .. } => {
                resolved.loss = Some(LossRate(loss));
            }
            _ => {}
        }
        if let Some(protection) = &link.protection {
            match protection.copies {
                Copies::Fixed(copies) => resolved.copies = Some(copies),
                Copies::Target { loss } => resolved.target = Some(LossRate(loss)),
            }
            resolved.recovery_timeout = Some(span(protection.recovery_timeout_ns));
            resolved.dummy_copies = Some(protection.dummy_copies);
            resolved.window = Some(protection.window_frames);
            resolved.rounds = Some(protection.max_rounds);
            resolved.pause_threshold = protection.backpressure.map(|limits| ByteSize(limits.pause_bytes));
            resolved.resume_threshold = protection.backpressure.map(|limits| ByteSize(limits.resume_bytes));
        }
        resolved
    }
}

fn span(nanoseconds: u64) -> Span {
    Span(Duration::from_nanos(nanoseconds))
}

fn rate(parameter: &'static str, rate: BitRate) -> Result<Rate, ParameterError> {
    Rate::from_bits_per_second(rate.0).ok_or_else(|| ParameterError::new(parameter, rate, RATE_REQUIREMENT))
}

fn narrow(
    parameter: &'static str,
    value: u64,
    written: impl std::fmt::Display,
    requirement: &str,
) -> Result<u32, ParameterError> {
    u32::try_from(value).map_err(|_| ParameterError {
        parameter,
        value: written.to_string(),
        requirement: requirement.to_owned(),
    })
}

fn nanoseconds(parameter: &'static str, span: Span) -> Result<u64, ParameterError> {
    u64::try_from(span.0.as_nanos()).map_err(|_| ParameterError {
        parameter,
        value: span.to_string(),
        requirement: "must be at most 500ms".to_owned(),
    })
}

fn conflicts_with(parameter: &'static str, value: impl std::fmt::Display, other: &str) -> ParameterError {
    let requirement = format!("has no meaning beside `{other}`; remove one of them");
    ParameterError { parameter, value: value.to_string(), requirement }
}

fn needs(parameter: &'static str, value: impl std::fmt::Display, other: &str) -> ParameterError {
    ParameterError { parameter, value: value.to_string(), requirement: format!("needs `{other}` as well") }
}

/// Reads the numbers of the frames to corrupt: one a line, ascending; `#` begins a remark.
fn recorded(path: &Path) -> Result<Corruption, ParameterError> {
    let wrong = |requirement: String| ParameterError {
        parameter: "losses",
        value: path.display().to_string(),
        requirement,
    };
    let unreadable = |error: std::io::Error| wrong(format!("cannot be read: {error}"));
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    if bytes > LOSSES_FILE_BYTES {
        return Err(wrong(format!("has {bytes} bytes, at most {LOSSES_FILE_BYTES} are read")));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let mut numbers = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = line.split('#').next().unwrap_or_default().trim();
        if number.is_empty() {
            continue;
        }
        let line = index + 1;
        let number: u64 = number
            .parse()
            .map_err(|_| wrong(format!("line {line}: `{number}` is not the number of a frame")))?;
        if numbers.last().is_some_and(|last| *last >= number) {
            return Err(wrong(format!("line {line}: {number} must be above the number before it")));
        }
        numbers.push(number);
    }
    Ok(Corruption::Recorded(Arc::from(numbers)))
}
