//! Parameters of a link end, and the relations that must hold between them.

use crate::config_error::ConfigError;
use crate::fallback::FallbackConfig;
use crate::sequence::WINDOW_MAX;
use crate::time::{Tick, Ticks};
use core::fmt;

/// The headers that protected frames carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Format {
    /// Any EtherType, VLAN stack and size.
    #[default]
    Transparent,
    /// The 3-byte headers of the authors' P4 program between two Linkmend ends, with Linkmend's sessions: IPv4 only, one
    /// mode at a time.
    Compact,
    /// The protocol of the authors' P4 program with an end that runs it: their headers, no sessions, one round of
    /// retransmission, no automatic fallback.
    Linkguardian,
}

impl fmt::Display for Format {
    /// The spelling of configuration files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Transparent => "transparent",
            Format::Compact => "compact",
            Format::Linkguardian => "linkguardian",
        })
    }
}

/// Minimum size of a Tx or Rx buffer bound: one maximum-size frame must always fit.
pub const BUFFER_BYTES_MIN: u64 = 64 * 1024;

/// Parameters of a link end. [`Config::new`] suits a software link end on a link of some Gb/s with scheduling delays of
/// milliseconds; a driver replaces the parameters that it has measured.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Config {
    /// Header format of frames that are sent. Both ends of a link must use the same; ends with different formats refuse
    /// each other's sessions.
    pub format: Format,
    /// Maximum number of outstanding frames, a power of two, 16 to 32,768; also the size of the receiver's window.
    pub window_frames: u32,
    /// Maximum number of bytes in the Tx buffer of one lane.
    pub window_bytes: u64,
    /// Maximum number of bytes in the Rx buffer.
    pub rx_buffer_bytes: u64,
    /// `pauseThreshold` (Algorithm 2), bytes in the Rx buffer.
    pub pause_bytes: u64,
    /// `resumeThreshold` (Algorithm 2), bytes in the Rx buffer.
    pub resume_bytes: u64,
    /// `ackNoTimeout`: a frame missing for longer is given up, if `max_rounds` is 1, `give_up_by_clock` is set, or the
    /// format is [`Format::Linkguardian`], which cannot express that a frame is withdrawn.
    pub recovery_timeout: Ticks,
    /// Maximum number of retransmission rounds for a loss, 1 to 255; 1 is the paper's protocol. The limit bounds how
    /// long a frame that can never pass blocks the ordered lane. By Equation 1, N copies in R rounds leave `loss^(N R +
    /// 1)`: with 32 rounds less than 1e-16 wherever protection is of use, up to a loss of 0.3 and with a single copy.
    pub max_rounds: u8,
    /// Lets the receiver give up by timeout in spite of further rounds, including frames that arrived and did not fit
    /// into the Rx buffer. Otherwise it waits until the sender withdraws the frame, or the session ends: a machine that
    /// does not run for a while must not cost a frame.
    #[cfg_attr(feature = "serde", serde(default))]
    pub give_up_by_clock: bool,
    /// Shortest time between explicit ACKs on an idle port; zero sends one whenever there is something to acknowledge.
    pub ack_gap: Ticks,
    /// Maximum time that each lane's ACK waits for an idle port or a frame to be piggybacked on; also how often missing
    /// frames are reported again.
    pub ack_interval: Ticks,
    /// Whether ACKs go in feedback frames alone, and ride on no frames of the other direction: if every frame goes out on
    /// two paths, the copy that arrives may be a late one.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "core::ops::Not::not"))]
    pub explicit_acks: bool,
    /// Time from a lane's latest frame to its first dummy.
    pub dummy_delay: Ticks,
    /// Dummies sent each time a lane has nothing more to send (section 5, bursty losses).
    pub dummy_copies: u8,
    /// Time before dummies are repeated, doubled each time up to `dummy_interval_max`. Also the longest time that a due
    /// dummy waits for an idle port; then it goes ahead of normal frames.
    pub dummy_interval_min: Ticks,
    /// The longest time before dummies are repeated; see `dummy_interval_min`.
    pub dummy_interval_max: Ticks,
    /// Longest silence of an active session, in either direction.
    pub keepalive: Ticks,
    /// Silence after which a sender considers its peer gone, and a receiver no longer waits for missing frames.
    pub peer_timeout: Ticks,
    /// Silence after which a receiver forgets a session.
    pub session_expiry: Ticks,
    /// Time before a handshake frame is first repeated, doubled each time up to `handshake_max`.
    pub handshake_min: Ticks,
    /// The longest time before a handshake frame is repeated; see `handshake_min`.
    pub handshake_max: Ticks,
    /// Time between the hellos of an otherwise silent link end.
    pub hello_interval: Ticks,
    /// Frames over which the loss rate is measured.
    pub loss_window_frames: u32,
    /// Limits of the automatic fallback (section 5).
    pub fallback: FallbackConfig,
}

impl Config {
    /// The defaults, for a driver whose clock has this tick.
    pub const fn new(tick: Tick) -> Config {
        Config {
            format: Format::Transparent,
            window_frames: 8192,
            window_bytes: 16 << 20,
            rx_buffer_bytes: 8 << 20,
            pause_bytes: 2 << 20,
            resume_bytes: 1 << 20,
            recovery_timeout: tick.millis(20),
            max_rounds: 32,
            give_up_by_clock: false,
            ack_gap: tick.micros(20),
            ack_interval: tick.micros(200),
            explicit_acks: false,
            dummy_delay: tick.micros(10),
            dummy_copies: 2,
            dummy_interval_min: tick.micros(200),
            dummy_interval_max: tick.millis(10),
            keepalive: tick.millis(10),
            peer_timeout: tick.millis(400),
            session_expiry: tick.millis(800),
            handshake_min: tick.millis(2),
            handshake_max: tick.millis(250),
            hello_interval: tick.secs(1),
            loss_window_frames: 100_000,
            fallback: FallbackConfig::new(tick),
        }
    }
}

/// How many times the longest interval between two of its frames a peer may be silent. One lost frame proves nothing.
const SILENCES: u64 = 3;

// Asserts that the defaults satisfy the relations that `Config::validate` checks.
const _: () = {
    let config = Config::new(Tick::Nanosecond);
    assert!(config.ack_gap.0 <= config.ack_interval.0);
    assert!(config.dummy_delay.0 <= config.dummy_interval_min.0);
    assert!(config.dummy_interval_min.0 <= config.dummy_interval_max.0);
    assert!(config.dummy_interval_max.0 <= config.keepalive.0);
    assert!(config.ack_interval.0 * SILENCES <= config.peer_timeout.0);
    assert!(config.dummy_interval_max.0 * SILENCES <= config.peer_timeout.0);
    assert!(config.keepalive.0 * SILENCES <= config.peer_timeout.0);
    assert!(config.peer_timeout.0 <= config.session_expiry.0);
    // In the paper's mode, a lost notification is repeated before the receiver gives up.
    assert!((config.ack_interval.0 + config.dummy_interval_min.0) * SILENCES <= config.recovery_timeout.0);
    assert!(config.handshake_max.0 <= config.hello_interval.0);
};

/// A field, its value, whether the value is allowed, and the requirement.
type Check = (&'static str, u64, bool, &'static str);

impl Config {
    /// Checks every bound and relation. The error names the first violation.
    ///
    /// # Errors
    /// The first parameter that is out of its bounds.
    pub fn validate(&self) -> Result<(), ConfigError> {
        for (parameter, value, holds, requirement) in self.size_checks().into_iter().chain(self.time_checks())
        {
            if !holds {
                return Err(ConfigError { parameter, value: value as f64, requirement });
            }
        }
        self.fallback.validate()
    }

    fn size_checks(&self) -> [Check; 5] {
        let window = u64::from(self.window_frames);
        [
            (
                "window_frames",
                window,
                self.window_frames.is_power_of_two() && (16..=WINDOW_MAX).contains(&self.window_frames),
                "must be a power of two from 16 to 32768 (half the sequence space)",
            ),
            (
                "window_bytes",
                self.window_bytes,
                self.window_bytes >= BUFFER_BYTES_MIN,
                "must be at least 64 KiB",
            ),
            (
                "rx_buffer_bytes",
                self.rx_buffer_bytes,
                self.rx_buffer_bytes >= BUFFER_BYTES_MIN,
                "must be at least 64 KiB",
            ),
            (
                "pause_bytes",
                self.pause_bytes,
                self.pause_bytes > 0 && self.pause_bytes <= self.rx_buffer_bytes,
                "must be above 0 and at most rx_buffer_bytes",
            ),
            (
                "resume_bytes",
                self.resume_bytes,
                self.resume_bytes < self.pause_bytes,
                "must be below pause_bytes",
            ),
        ]
    }

    fn time_checks(&self) -> [Check; 13] {
        [
            (
                "recovery_timeout",
                self.recovery_timeout.0,
                self.recovery_timeout > Ticks::ZERO,
                "must be above 0",
            ),
            ("max_rounds", self.max_rounds.into(), self.max_rounds >= 1, "must be at least 1"),
            (
                "ack_interval",
                self.ack_interval.0,
                self.ack_interval > Ticks::ZERO && self.ack_interval >= self.ack_gap,
                "must be above 0 and at least ack_gap",
            ),
            ("dummy_copies", self.dummy_copies.into(), self.dummy_copies >= 1, "must be at least 1"),
            (
                "dummy_interval_min",
                self.dummy_interval_min.0,
                self.dummy_interval_min > Ticks::ZERO,
                "must be above 0, or dummies never end",
            ),
            (
                "dummy_interval_max",
                self.dummy_interval_max.0,
                self.dummy_interval_max >= self.dummy_interval_min,
                "must be at least dummy_interval_min",
            ),
            ("keepalive", self.keepalive.0, self.keepalive > Ticks::ZERO, "must be above 0"),
            (
                "peer_timeout",
                self.peer_timeout.0,
                self.peer_timeout >= self.keepalive * SILENCES,
                "must be at least three keepalives, or one lost frame ends a session",
            ),
            (
                "peer_timeout",
                self.peer_timeout.0,
                self.peer_timeout >= self.ack_interval * SILENCES,
                "must be at least three ack_interval, or one lost ACK ends a session",
            ),
            (
                "session_expiry",
                self.session_expiry.0,
                self.session_expiry >= self.peer_timeout,
                "must be at least peer_timeout",
            ),
            (
                "handshake_max",
                self.handshake_max.0,
                self.handshake_min > Ticks::ZERO && self.handshake_max >= self.handshake_min,
                "must be at least handshake_min, which must be above 0",
            ),
            ("hello_interval", self.hello_interval.0, self.hello_interval > Ticks::ZERO, "must be above 0"),
            (
                "loss_window_frames",
                self.loss_window_frames.into(),
                self.loss_window_frames >= 100,
                "must be at least 100, or the measured rate means nothing",
            ),
        ]
    }

    /// Whether a receiver gives up on frames that have been missing for longer than the recovery timeout.
    pub const fn gives_up_by_clock(&self) -> bool {
        self.max_rounds == 1 || self.give_up_by_clock || matches!(self.format, Format::Linkguardian)
    }

    /// Whether only the timeout decides, although the sender could withdraw the frame. With further rounds the sender
    /// does so, and the recovery timeout is only an upper limit.
    pub(crate) const fn gives_up_by_clock_alone(&self) -> bool {
        self.max_rounds == 1 || matches!(self.format, Format::Linkguardian)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid() {
        assert_eq!(Config::new(Tick::Nanosecond).validate(), Ok(()));
    }

    #[test]
    fn impossible_parameters_are_named() {
        let base = Config::new(Tick::Nanosecond);
        let cases = [
            (Config { window_frames: 65536, ..base }, "window_frames"),
            (Config { window_frames: 100, ..base }, "window_frames"),
            (Config { resume_bytes: base.pause_bytes, ..base }, "resume_bytes"),
            (Config { pause_bytes: base.rx_buffer_bytes + 1, ..base }, "pause_bytes"),
            (Config { recovery_timeout: Ticks::ZERO, ..base }, "recovery_timeout"),
            (Config { peer_timeout: base.keepalive, ..base }, "peer_timeout"),
            (Config { dummy_interval_min: Ticks::ZERO, ..base }, "dummy_interval_min"),
            (Config { ack_gap: base.ack_interval + Ticks(1), ..base }, "ack_interval"),
        ];
        for (config, field) in cases {
            assert_eq!(config.validate().map_err(|error| error.parameter), Err(field));
        }
    }

    /// Values just inside and just outside the allowed range.
    #[test]
    fn every_bound_allows_its_last_unit() {
        let base = Config::new(Tick::Nanosecond);
        let one = Ticks(1);
        let ms = |millis| Tick::Nanosecond.millis(millis);
        let fallback = base.fallback;
        let allowed = [
            Config { window_frames: 16, ..base },
            Config { window_frames: 32_768, ..base },
            Config { window_bytes: 65_536, ..base },
            Config { rx_buffer_bytes: 65_536, pause_bytes: 65_536, resume_bytes: 65_535, ..base },
            Config { pause_bytes: 1, resume_bytes: 0, ..base },
            Config { recovery_timeout: one, ..base },
            Config { max_rounds: 1, ..base },
            Config { ack_gap: Ticks::ZERO, ack_interval: one, ..base },
            Config { ack_gap: ms(1), ack_interval: ms(1), ..base },
            Config { dummy_copies: 1, ..base },
            Config { dummy_interval_min: one, dummy_interval_max: one, ..base },
            Config { keepalive: one, ..base },
            Config { keepalive: ms(20), peer_timeout: ms(60), session_expiry: ms(60), ..base },
            Config { handshake_min: one, handshake_max: one, ..base },
            Config { hello_interval: one, ..base },
            Config { loss_window_frames: 100, ..base },
            Config {
                fallback: FallbackConfig { ordered_loss_max: 0.0, non_blocking_loss_max: 0.0, ..fallback },
                ..base
            },
            Config {
                fallback: FallbackConfig { ordered_loss_max: 1.0, non_blocking_loss_max: 1.0, ..fallback },
                ..base
            },
        ];
        for config in allowed {
            assert_eq!(config.validate(), Ok(()), "{config:?}");
        }
    }

    #[test]
    fn every_bound_refuses_the_unit_beyond_it() {
        let base = Config::new(Tick::Nanosecond);
        let ms = |millis| Tick::Nanosecond.millis(millis);
        let fallback = base.fallback;
        let limits = |fallback: FallbackConfig| Config { fallback, ..base };
        let refused = [
            (Config { window_frames: 8, ..base }, "window_frames", 8.0),
            (Config { window_frames: 48, ..base }, "window_frames", 48.0),
            (Config { window_bytes: 65_535, ..base }, "window_bytes", 65_535.0),
            (Config { rx_buffer_bytes: 65_535, ..base }, "rx_buffer_bytes", 65_535.0),
            (Config { pause_bytes: 0, ..base }, "pause_bytes", 0.0),
            (Config { max_rounds: 0, ..base }, "max_rounds", 0.0),
            (Config { ack_gap: Ticks::ZERO, ack_interval: Ticks::ZERO, ..base }, "ack_interval", 0.0),
            (Config { dummy_copies: 0, ..base }, "dummy_copies", 0.0),
            (
                Config { dummy_interval_min: ms(2), dummy_interval_max: ms(1), ..base },
                "dummy_interval_max",
                1e6,
            ),
            (Config { keepalive: Ticks::ZERO, ..base }, "keepalive", 0.0),
            (Config { peer_timeout: Ticks(base.keepalive.0 * 3 - 1), ..base }, "peer_timeout", 29_999_999.0),
            (Config { peer_timeout: ms(50), ack_interval: ms(17), ..base }, "peer_timeout", 50e6),
            (
                Config { session_expiry: Ticks(base.peer_timeout.0 - 1), ..base },
                "session_expiry",
                399_999_999.0,
            ),
            (Config { handshake_min: Ticks::ZERO, ..base }, "handshake_max", 250e6),
            (Config { handshake_max: Ticks(base.handshake_min.0 - 1), ..base }, "handshake_max", 1_999_999.0),
            (Config { hello_interval: Ticks::ZERO, ..base }, "hello_interval", 0.0),
            (Config { loss_window_frames: 99, ..base }, "loss_window_frames", 99.0),
            (
                limits(FallbackConfig { ordered_loss_max: -0.1, ..fallback }),
                "fallback.ordered_loss_max",
                -0.1,
            ),
            (limits(FallbackConfig { ordered_loss_max: 1.1, ..fallback }), "fallback.ordered_loss_max", 1.1),
            (
                limits(FallbackConfig { non_blocking_loss_max: 0.04, ..fallback }),
                "fallback.non_blocking_loss_max",
                0.04,
            ),
            (
                limits(FallbackConfig { non_blocking_loss_max: 1.1, ..fallback }),
                "fallback.non_blocking_loss_max",
                1.1,
            ),
            (limits(FallbackConfig { return_factor: 0.0, ..fallback }), "fallback.return_factor", 0.0),
            (limits(FallbackConfig { return_factor: 1.0, ..fallback }), "fallback.return_factor", 1.0),
        ];
        for (config, field, value) in refused {
            let error = config.validate().expect_err(field);
            assert_eq!((error.parameter, error.value), (field, value));
        }
    }

    #[test]
    fn an_error_names_the_field_its_value_and_the_requirement() {
        let error =
            Config { window_bytes: 1, ..Config::new(Tick::Nanosecond) }.validate().expect_err("too small");
        assert_eq!(std::format!("{error}"), "window_bytes = 1: must be at least 64 KiB");
    }
}
