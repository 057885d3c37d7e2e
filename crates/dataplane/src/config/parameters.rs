//! Parameters that are derived from the link unless they are set.

use crate::parameter_keys::{KEYS, parameter_key};
use linkmend_diagnose::ParameterError;
use linkmend_protocol::daemon_profile::{DaemonProfile, Overrides};
use linkmend_protocol::{ConfigError, FallbackConfig, Format, Tick};
use linkmend_quantity::{ByteSize, Span};
use serde::{Deserialize, Serialize};

/// `[link.parameters]`. What is not set is derived when protection starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", command(next_help_heading = "Parameters (derived from the link unless set)"))]
pub struct ParametersConfig {
    /// Give up on a frame that has been missing for this long (the paper's ackNoTimeout), like 20ms [default: never]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_timeout: Option<Span>,
    /// Bytes in the Rx buffer at which the peer is asked to pause (pauseThreshold), like 2MiB
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<ByteSize>,
    /// Bytes in the Rx buffer at which the peer may resume (resumeThreshold); below --pause
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<ByteSize>,
    /// Maximum number of bytes held back while a lost frame is recovered; at least 64KiB
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_buffer: Option<ByteSize>,
    /// Maximum number of bytes kept until they are acknowledged; at least 64KiB
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_buffer: Option<ByteSize>,
    /// Maximum number of outstanding frames: a power of two from 16 to 32768
    #[cfg_attr(feature = "clap", arg(long, value_name = "FRAMES"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Dummy frames sent each time the queue runs empty, 1 to 255
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dummy_copies: Option<u8>,
    /// Silence after which the peer is considered dead [default: 400ms plus the link's round-trip time]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_timeout: Option<Span>,
    /// Maximum delay of an acknowledgement, like 200us
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_interval: Option<Span>,
    /// Frames over which the loss rate is measured; at least 100
    #[cfg_attr(feature = "clap", arg(long, value_name = "FRAMES"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_window: Option<u32>,
}

impl ParametersConfig {
    /// Translates the parameters into the link end's settings.
    pub fn overrides(&self) -> Overrides {
        Overrides {
            max_rounds: None,
            recovery_timeout: self.recovery_timeout.map(|time| time.0),
            pause_bytes: self.pause.map(|size| size.0),
            resume_bytes: self.resume.map(|size| size.0),
            rx_buffer_bytes: self.rx_buffer.map(|size| size.0),
            tx_buffer_bytes: self.tx_buffer.map(|size| size.0),
            window_frames: self.window,
            dummy_copies: self.dummy_copies,
            peer_timeout: self.peer_timeout.map(|time| time.0),
            ack_interval: self.ack_interval.map(|time| time.0),
            loss_window_frames: self.loss_window,
        }
    }

    /// Checks how the configured values relate to those that the engine starts with, given a pool of `chunks`.
    pub(super) fn validate(
        &self,
        chunks: u32,
        format: Format,
        fallback: FallbackConfig,
    ) -> Result<(), ParameterError> {
        let profile = DaemonProfile {
            format,
            fallback,
            pool_chunks: chunks,
            ..DaemonProfile::new(Tick::Nanosecond, self.overrides())
        };
        let config = profile.initial();
        config.validate().and_then(|()| crate::engine::takeover::validate(&config)).map_err(in_our_keys)
    }
}

/// Translates the protocol's error into the keys of the configuration.
fn in_our_keys(error: ConfigError) -> ParameterError {
    let parameter = parameter_key(error.parameter);
    let mut requirement = error.requirement.to_owned();
    for (field, key) in KEYS {
        let name = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
        requirement = requirement.replace(name(field), name(key));
    }
    let whole = error.value as u64;
    let value = match error.parameter {
        "window_bytes" | "rx_buffer_bytes" | "pause_bytes" | "resume_bytes" => ByteSize(whole).to_string(),
        "recovery_timeout" | "peer_timeout" | "ack_interval" => {
            Span(std::time::Duration::from_nanos(whole)).to_string()
        }
        _ => error.value.to_string(),
    };
    ParameterError { parameter, value, requirement }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_protocol::Tick;

    fn verdict(parameters: ParametersConfig) -> Result<(), String> {
        parameters
            .validate(16 * 1024, Format::Transparent, FallbackConfig::new(Tick::Nanosecond))
            .map_err(|error| error.to_string())
    }

    fn size(bytes: u64) -> Option<ByteSize> {
        Some(ByteSize(bytes))
    }

    #[test]
    fn contradictions_are_told_in_our_words() {
        let none = ParametersConfig::default();
        let cases = [
            (
                ParametersConfig { pause: size(4 << 20), rx_buffer: size(1 << 20), ..none },
                "parameters.pause = 4MiB: must be above 0 and at most rx-buffer",
            ),
            (
                ParametersConfig { pause: size(1 << 20), resume: size(1 << 20), ..none },
                "parameters.resume = 1MiB: must be below pause",
            ),
            (
                ParametersConfig { rx_buffer: size(1000), ..none },
                "parameters.rx-buffer = 1kB: must be at least 64 KiB",
            ),
            (
                ParametersConfig { pause: size(64 << 20), ..none },
                "parameters.pause = 64MiB: must be above 0 and at most rx-buffer",
            ),
            (
                ParametersConfig { peer_timeout: Some(Span(std::time::Duration::from_millis(1))), ..none },
                "parameters.peer-timeout = 1ms: must be at least three keepalives, or one lost frame ends a session",
            ),
            (
                ParametersConfig { peer_timeout: Some(Span(std::time::Duration::from_millis(60))), ..none },
                "parameters.peer-timeout = 60ms: must be at least 330 ms: a loop may stall for 300 ms before the kernel takes over, and a session outlasts that",
            ),
            (
                ParametersConfig { window: Some(100), ..none },
                "parameters.window = 100: must be a power of two from 16 to 32768 (half the sequence space)",
            ),
            (
                ParametersConfig { loss_window: Some(1), ..none },
                "parameters.loss-window = 1: must be at least 100, or the measured rate means nothing",
            ),
        ];
        for (parameters, message) in cases {
            assert_eq!(verdict(parameters), Err(message.to_owned()));
        }
    }
}
