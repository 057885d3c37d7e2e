//! The link that corrupts: what is not set has the paper's value.

use super::table::RunParameters;
use crate::corruption::{Corruption, Fec, Interleaved};
use crate::flows::{Recovery, SchemeKind};
use crate::link::config::{
    Backpressure, Buffering, Copies, DISTANCE_REQUIREMENT, LinkConfig, LlrProfile, ParameterError,
    ParityProfile, ProfileName, Protection, RATE_REQUIREMENT, SwitchHardware, check,
};
use crate::time::Rate;
use linkmend_protocol::daemon_profile::Overrides;
use linkmend_quantity::{BitRate, LossRate, Span};
use std::path::Path;
use std::sync::Arc;

/// Default loss rate of a link whose traffic is sent at line rate. Hosts' links lose nothing unless that is said.
const LOSS_DEFAULT: f64 = 1e-3;
const SPEED_DEFAULT: u64 = 100_000_000_000;
/// Hysteresis between the thresholds, in frames (appendix B.1).
const HYSTERESIS_FRAMES: u64 = 2;
/// The largest file of losses that is read: ten million numbers of ten digits.
const LOSSES_FILE_BYTES: u64 = 110_000_000;

/// The slowest line with a shorter code.
const LOW_LATENCY_FEC_MIN: u64 = 50_000_000_000;

impl RunParameters {
    /// How the corrupting links recover.
    pub fn scheme(&self) -> SchemeKind {
        self.scheme.unwrap_or(if self.has_hosts() { SchemeKind::None } else { SchemeKind::Ordered })
    }

    /// What recovers on the corrupting link, which these parameters describe.
    pub(super) fn recovery(&self, link: &LinkConfig) -> Result<Recovery, ParameterError> {
        let scheme = self.scheme();
        if scheme != SchemeKind::Llr {
            self.refuse(&["llr"], "needs `scheme` llr")?;
        }
        if scheme == SchemeKind::Parity {
            let usual = ParityProfile::default();
            let profile = ParityProfile {
                deadline: self.deadline.unwrap_or(usual.deadline),
                overhead_max: self.parity_overhead.unwrap_or(usual.overhead_max),
                code: self.parity_code.unwrap_or(usual.code),
            };
            return link.parity(&profile).map(Recovery::Parity);
        }
        self.refuse(&["deadline", "parity-code", "parity-overhead"], "needs `scheme` parity")?;
        scheme.recovery(link, self.loss(), self.llr.as_ref().unwrap_or(&LlrProfile::default()))
    }

    /// Share of frames that they corrupt.
    pub(super) fn loss(&self) -> f64 {
        let default = if self.has_hosts() { 0.0 } else { LOSS_DEFAULT };
        self.loss.map_or(default, |loss| loss.0)
    }

    /// Speed of the links, where the network does not say another.
    pub(super) fn speed(&self) -> BitRate {
        self.speed.unwrap_or(BitRate(SPEED_DEFAULT))
    }

    /// The corrupting link. A relative path in `losses` starts from `folder`.
    ///
    /// # Errors
    /// The first parameter that cannot be used.
    pub(super) fn link(&self, folder: &Path) -> Result<LinkConfig, ParameterError> {
        let rate = rate("speed", self.speed())?;
        let scheme = self.scheme();
        let mut link = scheme.link(rate, self.loss());
        if let Some(size) = self.frame_size {
            let requirement = "must be 64B to 9216B, with frame check sequence";
            link.frame_bytes = narrow("frame-size", size.0, size, requirement)?;
        }
        if let Some(distance) = self.distance {
            link.distance_m = narrow("distance", distance.0, distance, DISTANCE_REQUIREMENT)?;
        }
        link.corruption = self.corruption(folder, link.frame_bytes)?;
        link.reverse_corruption = Corruption::iid(self.reverse_loss.map_or(0.0, |loss| loss.0));
        let recirculates = self.recirculation_speed.is_some()
            || self.recirculation_buffer.is_some()
            || self.loop_latency.is_some();
        let buffering = match self.buffering {
            Some(buffering) => buffering,
            // A parameter of the recirculation port implies that there is one.
            None if recirculates => Buffering::Recirculating,
            None => link.buffering,
        };
        link = link.buffered(buffering);
        self.set_fec(rate, &mut link.switch)?;
        self.set_switch(&mut link.switch)?;
        if self.profile == Some(ProfileName::Planned) && link.protection.is_some() {
            self.refuse_recirculation(ProfileName::Planned)?;
            link = link.planned();
        }
        let frame_bytes = u64::from(link.frame_bytes);
        link.protection = match link.protection {
            Some(paper) => Some(self.protection(paper, frame_bytes)?),
            None if self.has_hosts() => self.unprotected()?,
            None => None,
        };
        if self.profile == Some(ProfileName::Daemon) {
            link = link.between_daemons(self.overrides()?);
        }
        Ok(link)
    }

    /// Refuses what only link ends have. Sweeps over line-rate traffic may leave it.
    fn unprotected(&self) -> Result<Option<Protection>, ParameterError> {
        let needs = "needs `scheme` ordered or non-blocking";
        if let Some(profile @ (ProfileName::Daemon | ProfileName::Planned)) = self.profile {
            return Err(ParameterError::new("profile", profile.name(), needs));
        }
        self.refuse(&["dummy-copies"], needs).map(|()| None)
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
        if self.no_backpressure == Some(true) {
            return Err(conflicts_with("no-backpressure", true, "profile daemon"));
        }
        self.refuse_recirculation(ProfileName::Daemon)?;
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

    /// Refuses what link ends do not have that buffer in memory.
    fn refuse_recirculation(&self, profile: ProfileName) -> Result<(), ParameterError> {
        let profile = format!("profile {}", profile.name());
        if let Some(buffering @ Buffering::Recirculating) = self.buffering {
            return Err(conflicts_with("buffering", buffering.name(), &profile));
        }
        let of_recirculation = ["recirculation-speed", "recirculation-buffer", "loop-latency"];
        self.refuse(&of_recirculation, &cannot_be_combined_with(&profile))
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
        match (threshold, self.no_backpressure.unwrap_or(false)) {
            (Some((name, size)), true) => return Err(conflicts_with(name, size, "no-backpressure")),
            (None, true) => return Ok(None),
            (_, false) => {}
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

    /// What the link corrupts. Bit errors are those by which frames of this length get lost at the rate that is set.
    pub(super) fn corruption(&self, folder: &Path, frame_bytes: u32) -> Result<Corruption, ParameterError> {
        let models = ["loss", "bit-error-rate", "attenuation", "losses"];
        let mut written = models.into_iter().filter(|key| self.value(key).is_some());
        let first = written.next();
        if let (Some(name), Some(other)) = (first, written.next()) {
            return Err(conflicts_with(name, self.text(name), other));
        }
        let loss = self.loss();
        let other = first.filter(|name| *name != "loss");
        let bit_errors = self.bit_errors.unwrap_or(false);
        if let Some(mean_burst_frames) = self.mean_burst {
            let other = other.or(bit_errors.then_some("bit-errors"));
            return match other {
                Some(other) => Err(conflicts_with("mean-burst", mean_burst_frames, other)),
                None => Ok(Corruption::GilbertElliott { loss, mean_burst_frames }),
            };
        }
        if let (true, Some(other)) = (bit_errors, other) {
            return Err(conflicts_with("bit-errors", true, other));
        }
        if let Some(LossRate(bit_error_rate)) = self.bit_error_rate {
            return Ok(match self.fec {
                Some(fec) => Corruption::Coded { code: Interleaved::at(fec, self.speed().0), bit_error_rate },
                None => Corruption::PerBit { bit_error_rate },
            });
        }
        if let Some(path) = &self.losses {
            return recorded(&folder.join(path));
        }
        if let (Some(fec), Some(_)) = (self.fec, self.transceiver) {
            return Err(conflicts_with("fec", fec, "transceiver"));
        }
        match (self.transceiver, self.attenuation) {
            (Some(transceiver), Some(attenuation)) => {
                Ok(Corruption::Attenuated { transceiver, attenuation_db: attenuation.0 })
            }
            (None, Some(attenuation)) => Err(needs("attenuation", attenuation, "transceiver")),
            (Some(_), None) => Err(needs("transceiver", "set", "attenuation")),
            (None, None) if bit_errors && loss > 0.0 => {
                let bits = 8.0 * f64::from(frame_bytes);
                Ok(Corruption::PerBit { bit_error_rate: -libm::expm1(libm::log1p(-loss) / bits) })
            }
            (None, None) => Ok(Corruption::iid(loss)),
        }
    }

    /// The latency that a shorter code saves: the PHY has to receive a group of interleaved codewords before it can correct
    /// them. The default includes the longer one's.
    fn set_fec(&self, rate: Rate, switch: &mut SwitchHardware) -> Result<(), ParameterError> {
        let Some(fec @ Fec::Rs272) = self.fec else { return Ok(()) };
        let bits_per_second = rate.bits_per_second();
        check(
            bits_per_second >= LOW_LATENCY_FEC_MIN,
            "fec",
            fec,
            "is defined for links of 50G and above; use rs-528, or a faster link",
        )?;
        let [usual, short] =
            [Fec::Rs544, fec].map(|fec| Interleaved::at(fec, bits_per_second).nanoseconds(bits_per_second));
        switch.egress_latency_ns = switch.egress_latency_ns.saturating_sub(libm::round(usual - short) as u64);
        Ok(())
    }

    fn set_switch(&self, switch: &mut SwitchHardware) -> Result<(), ParameterError> {
        let latencies = [
            ("egress-latency", self.egress_latency, &mut switch.egress_latency_ns),
            ("ingress-latency", self.ingress_latency, &mut switch.ingress_latency_ns),
            ("pipeline-latency", self.pipeline_latency, &mut switch.pipeline_latency_ns),
            ("loop-latency", self.loop_latency, &mut switch.loop_latency_ns),
            ("timer-interval", self.timer_interval, &mut switch.timer_interval_ns),
        ];
        for (name, latency, place) in latencies {
            if let Some(latency) = latency {
                *place = nanoseconds(name, latency)?;
            }
        }
        if let Some(speed) = self.recirculation_speed {
            switch.recirculation_rate = rate("recirculation-speed", speed)?;
        }
        switch.recirculation_bytes =
            self.recirculation_buffer.map_or(switch.recirculation_bytes, |size| size.0);
        switch.pipe_packets_per_second =
            self.pipe_capacity.map_or(switch.pipe_packets_per_second, |capacity| capacity.0);
        Ok(())
    }
}

/// The error with the parameter's name in files.
pub(super) fn in_terms_of_files(error: ParameterError) -> ParameterError {
    const NAMES: [(&str, &str); 8] = [
        ("bit_error_rate", "bit-error-rate"),
        ("mean_burst_frames", "mean-burst"),
        ("attenuation_db", "attenuation"),
        ("recorded", "losses"),
        ("dummy_copies", "dummy-copies"),
        ("loss_window_frames", "loss-window"),
        ("fallback.ordered_loss_max", "fallback-ordered-loss-max"),
        ("fallback.non_blocking_loss_max", "fallback-non-blocking-loss-max"),
    ];
    let name = NAMES.iter().find(|(theirs, _)| *theirs == error.parameter).map(|(_, ours)| *ours);
    ParameterError { parameter: name.unwrap_or(error.parameter), ..error }
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
    u32::try_from(value).map_err(|_| ParameterError::new(parameter, written, requirement))
}

fn nanoseconds(parameter: &'static str, span: Span) -> Result<u64, ParameterError> {
    u64::try_from(span.0.as_nanos())
        .map_err(|_| ParameterError::new(parameter, span, "must be at most 500ms"))
}

fn conflicts_with(parameter: &'static str, value: impl std::fmt::Display, other: &str) -> ParameterError {
    ParameterError::new(parameter, value, cannot_be_combined_with(other))
}

fn cannot_be_combined_with(other: &str) -> String {
    format!("cannot be combined with `{other}`; remove one of them")
}

fn needs(parameter: &'static str, value: impl std::fmt::Display, other: &str) -> ParameterError {
    ParameterError::new(parameter, value, format!("needs `{other}` as well"))
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
        return Err(wrong(format!("has {bytes} bytes, but at most {LOSSES_FILE_BYTES} are read")));
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
            return Err(wrong(format!("line {line}: {number} must be greater than the previous number")));
        }
        numbers.push(number);
    }
    Ok(Corruption::Recorded(Arc::from(numbers)))
}
