//! What a link requires of a link end's parameters, so that Equation 1 and the link's rate can be reached.
//!
//! A frame is kept until it is acknowledged. This takes a round trip, and another one if an earlier loss must be
//! recovered first; copies take their share of the link. Smaller windows and buffers do not lose frames, but make the
//! link slower; shorter times lose frames, or sessions.

use crate::config::Config;
use crate::mode::Mode;
use crate::sequence::WINDOW_MAX;
use crate::time::Ticks;
use core::fmt;

/// A link, as measured or known. Times are in ticks of the link end's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkConditions {
    /// From sending a frame until the peer's immediate answer arrives.
    pub round_trip: Ticks,
    /// Share of frames that are lost.
    pub loss: f64,
    /// Copies of a lost frame.
    pub copies: u8,
    /// Length of a frame, in bytes in a buffer.
    pub frame_bytes: u32,
    /// Length of a frame on the wire, as time: with header, preamble and gap.
    pub frame_time: Ticks,
    /// The mode of the frames that are sent.
    pub mode: Mode,
}

/// What a link of some [`LinkConditions`] needs at full rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkNeeds {
    /// [`Config::window_frames`]; it may exceed the largest possible window.
    pub window_frames: u64,
    /// [`Config::window_bytes`].
    pub window_bytes: u64,
    /// [`Config::rx_buffer_bytes`]: what still arrives after a pause was requested must fit.
    pub rx_buffer_bytes: u64,
    /// [`Config::recovery_timeout`], where the clock counts: the time for a report to arrive, and for the copies of
    /// everything lost in the meantime to come back.
    pub recovery_timeout: Ticks,
    /// [`Config::peer_timeout`]: the time for the answer to a keepalive, even if one of two is lost.
    pub peer_timeout: Ticks,
}

/// A parameter that is too small for a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shortfall {
    /// Name of the field of [`Config`].
    pub field: &'static str,
    /// Its value (times in ticks).
    pub value: u64,
    /// The value that the link needs.
    pub needed: u64,
    /// The effect of the small value.
    pub consequence: Consequence,
}

/// The effect of a [`Shortfall`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Consequence {
    /// The link carries at most this share of its rate.
    Slow {
        /// The share of the rate, at most 1.
        share: f64,
    },
    /// Frames that do not fit must be retransmitted, or are lost with one round of retransmission.
    Overflow,
    /// Lost frames may be given up before their copies arrive.
    GivenUp,
    /// Sessions end because an answer is still on its way.
    SessionLost,
}

impl fmt::Display for Consequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Consequence::Slow { share } => {
                write!(f, "the link carries at most {:.0} % of its rate", 100.0 * share)
            }
            Consequence::Overflow => f.write_str("frames overflow the Rx buffer after a pause"),
            Consequence::GivenUp => f.write_str("lost frames may be given up before their copies arrive"),
            Consequence::SessionLost => {
                f.write_str("sessions end before an answer arrives, and protection starts again")
            }
        }
    }
}

impl LinkConditions {
    /// The parameter values that the link needs.
    pub fn needs(&self, config: &Config) -> LinkNeeds {
        let in_flight = self.round_trip.0.div_ceil(self.frame_time.0.max(1)).max(1);
        let bytes = |frames: u64| frames.saturating_mul(u64::from(self.frame_bytes));
        // Each frame costs, besides its own time, that of this many copies.
        let copies = self.loss * f64::from(self.copies);
        // How often the sender waits for a loss; with rare losses the link seldom stops.
        let waits = (self.loss * in_flight as f64).min(1.0);
        let held = 1.0 + waits / (1.0 + copies);
        let window_frames = scale(in_flight, held);
        LinkNeeds {
            window_frames,
            window_bytes: bytes(window_frames),
            rx_buffer_bytes: match self.mode {
                Mode::Ordered => config.pause_bytes.saturating_add(bytes(in_flight)),
                Mode::NonBlocking => 0,
            },
            recovery_timeout: Ticks(scale(self.round_trip.0, 1.0 + copies)),
            peer_timeout: self.round_trip + config.keepalive * 2,
        }
    }
}

/// `factor` is at least 1; rounded up.
fn scale(value: u64, factor: f64) -> u64 {
    let exact = value as f64 * factor;
    let whole = exact as u64;
    if (whole as f64) < exact { whole.saturating_add(1) } else { whole }
}

impl Config {
    /// The parameters that are too small for `link`, if any.
    pub fn shortfalls(&self, link: &LinkConditions) -> impl Iterator<Item = Shortfall> + use<> {
        let needs = link.needs(self);
        let slow = |value: u64, needed: u64| Consequence::Slow { share: value as f64 / needed as f64 };
        let window = u64::from(self.window_frames);
        let checks = [
            ("window_frames", window, needs.window_frames, slow(window, needs.window_frames)),
            (
                "window_bytes",
                self.window_bytes,
                needs.window_bytes,
                slow(self.window_bytes, needs.window_bytes),
            ),
            ("rx_buffer_bytes", self.rx_buffer_bytes, needs.rx_buffer_bytes, Consequence::Overflow),
            ("recovery_timeout", self.recovery_timeout.0, needs.recovery_timeout.0, Consequence::GivenUp),
            ("peer_timeout", self.peer_timeout.0, needs.peer_timeout.0, Consequence::SessionLost),
        ];
        let by_clock = self.gives_up_by_clock();
        let falls_short = move |(field, value, needed, consequence)| {
            let counts = by_clock || consequence != Consequence::GivenUp;
            (value < needed && counts).then_some(Shortfall { field, value, needed, consequence })
        };
        checks.into_iter().filter_map(falls_short)
    }
}

impl Shortfall {
    /// Whether the parameter cannot be set to the value that is needed.
    pub fn is_beyond_reach(&self) -> bool {
        self.field == "window_frames" && self.needed > u64::from(WINDOW_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Tick;
    use std::vec::Vec;

    /// A link of this many Gb/s, with the daemon's 24 bytes around a frame.
    fn link(gbps: u64, round_trip: Ticks, frame_bytes: u32, loss: f64) -> LinkConditions {
        LinkConditions {
            round_trip,
            loss,
            copies: crate::copies_for(loss, 1e-8),
            frame_bytes,
            frame_time: Ticks((u64::from(frame_bytes) + 24) * 8 / gbps),
            mode: Mode::Ordered,
        }
    }

    fn fields(config: &Config, link: &LinkConditions) -> Vec<&'static str> {
        config.shortfalls(link).map(|shortfall| shortfall.field).collect()
    }

    #[test]
    fn the_defaults_suffice_for_a_short_link() {
        let config = Config::new(Tick::Nanosecond);
        assert!(fields(&config, &link(10, Tick::Nanosecond.micros(100), 1_500, 1e-3)).is_empty());
        assert!(fields(&config, &link(1, Tick::Nanosecond.millis(5), 1_500, 1e-2)).is_empty());
    }

    #[test]
    fn the_shortfalls_of_a_long_fast_link_are_named() {
        let config = Config::new(Tick::Nanosecond);
        // 200-byte frames over 2 ms: 11,200 of them are in flight.
        let long = link(10, Tick::Nanosecond.millis(2), 200, 0.049);
        assert_eq!(fields(&config, &long), ["window_frames"]);
        let shortfall = config.shortfalls(&long).next().expect("it is short");
        assert_eq!(shortfall.needed, 19_810);
        assert!(!shortfall.is_beyond_reach());
        assert!(matches!(shortfall.consequence, Consequence::Slow { share } if (share - 0.41).abs() < 0.01));
        // 64-byte frames at 400G over 20 km: no window is large enough.
        let fast = link(400, Tick::Nanosecond.micros(100), 64, 1e-3);
        let shortfall = config.shortfalls(&fast).next().expect("it is short");
        assert!(shortfall.is_beyond_reach(), "{shortfall:?}");
    }

    #[test]
    fn times_shorter_than_a_round_trip_are_named() {
        let far = link(1, Tick::Nanosecond.millis(100), 1_500, 1e-3);
        let patient = Config {
            window_frames: 32_768,
            window_bytes: 1 << 30,
            peer_timeout: Tick::Nanosecond.millis(100),
            ..Config::new(Tick::Nanosecond)
        };
        assert_eq!(fields(&patient, &far), ["rx_buffer_bytes", "peer_timeout"]);
        let config = Config { max_rounds: 1, ..patient };
        assert_eq!(fields(&config, &far), ["rx_buffer_bytes", "recovery_timeout", "peer_timeout"]);
        let non_blocking = LinkConditions { mode: Mode::NonBlocking, ..far };
        assert_eq!(fields(&config, &non_blocking), ["recovery_timeout", "peer_timeout"]);
    }

    #[test]
    fn copies_lengthen_the_recovery_timeout() {
        let clean = link(10, Tick::Nanosecond.millis(1), 1_500, 0.0).needs(&Config::new(Tick::Nanosecond));
        let lossy = link(10, Tick::Nanosecond.millis(1), 1_500, 0.2).needs(&Config::new(Tick::Nanosecond));
        assert_eq!(clean.recovery_timeout, Tick::Nanosecond.millis(1));
        // 11 copies of every fifth frame.
        assert_eq!(lossy.recovery_timeout, Tick::Nanosecond.micros(3_200));
        assert!(lossy.window_frames > clean.window_frames);
    }
}
