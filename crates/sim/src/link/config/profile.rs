//! Where the parameters of the link ends come from: those of the published prototype, or those of the Linux daemon.

use super::hardware::DIRECT_BUFFER_BYTES;
use super::{Backpressure, Buffering, LinkConfig, Protection};
use crate::link::COMPACT_HEADER_BYTES;
use crate::link::frame::WIRE_OVERHEAD_BYTES;
use crate::time::TICK;
use linkmend_protocol::daemon_profile::{DaemonProfile, Overrides};
use linkmend_protocol::wire::HEADER_GROWTH_MAX;
use linkmend_protocol::{Config, RoundTrips, Ticks, WINDOW_MAX};
use linkmend_quantity::words;

/// Where the parameters of the link ends come from.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Profile {
    /// The published and calibrated parameters of the prototype: compact headers, one round of retransmission, and a
    /// timeout after which the receiver gives up.
    #[default]
    Tofino,
    /// Exactly what the Linux daemon derives for a link of this rate and round trip, except for what is set here:
    /// transparent headers, up to 32 rounds, no timeout for giving up, and automatic fallback.
    Daemon(Overrides),
}

words! {
    /// The name of a [`Profile`] on the command line and in files.
    #[derive(Default)]
    pub enum ProfileName {
        /// Those of the published prototype: compact headers, one round of retransmission, a clock by which frames are given up
        #[default]
        Tofino = "tofino",
        /// Those that `linkmend run` derives for a link of this speed and length: transparent headers, 32 rounds, no such clock,
        /// copies by the measured loss, automatic fallback, and buffers in memory
        Daemon = "daemon",
        /// Those of the prototype, with timeout, thresholds and window for a link of this speed and length, and buffers in memory
        Planned = "planned",
    }
}

impl LinkConfig {
    /// The same link between two Linux daemons, which buffer in memory. Parameters set in `overrides` are not derived.
    #[must_use]
    pub fn between_daemons(self, overrides: Overrides) -> LinkConfig {
        let link = LinkConfig { profile: Profile::Daemon(overrides), buffering: Buffering::Direct, ..self };
        let protocol = link.daemon_config(overrides);
        let protection = link.protection.map(|protection| Protection {
            recovery_timeout_ns: protocol.recovery_timeout.0 / TICK.nanos(1).0,
            backpressure: Some(Backpressure {
                pause_bytes: protocol.pause_bytes,
                resume_bytes: protocol.resume_bytes,
            }),
            dummy_copies: protocol.dummy_copies,
            max_rounds: protocol.max_rounds,
            window_frames: protocol.window_frames,
            ..protection
        });
        LinkConfig { protection, ..link }
    }

    /// The same link with the prototype's parameters for its speed and length, and buffers in memory. The timeout is the
    /// published one and the time in the fibre, both ways. The receiver pauses the sender when it holds the frames of a round
    /// trip and a quarter, or the memory is full.
    #[must_use]
    pub fn planned(self) -> LinkConfig {
        let wire_bytes = u64::from(self.frame_bytes + self.header_bytes()) + WIRE_OVERHEAD_BYTES;
        let round_trip = self.round_trip().0;
        let hysteresis = 2 * u64::from(self.frame_bytes);
        let in_flight = round_trip.div_ceil(self.rate.time_of(wire_bytes).0) as u32;
        let bytes = u64::from(in_flight) * u64::from(self.frame_bytes);
        let resume_bytes = (bytes + bytes / 4).min(DIRECT_BUFFER_BYTES.saturating_sub(hysteresis));
        let protection = self.protection.map(|protection| Protection {
            recovery_timeout_ns: protection.recovery_timeout_ns + 10 * u64::from(self.distance_m),
            backpressure: Some(Backpressure { pause_bytes: resume_bytes + hysteresis, resume_bytes }),
            window_frames: (2 * in_flight).next_power_of_two().clamp(protection.window_frames, WINDOW_MAX),
            ..protection
        });
        LinkConfig { protection, buffering: Buffering::Direct, ..self }
    }

    /// What the daemon derives for this link.
    pub(super) fn daemon_config(&self, overrides: Overrides) -> Config {
        let profile = DaemonProfile::new(TICK, overrides);
        let round_trip = self.round_trip();
        let measured = RoundTrips { samples: 1, min: round_trip, max: round_trip };
        profile.measured(profile.initial(), measured, self.rate.bits_per_second())
    }

    /// Number of bytes that protection adds to a frame.
    pub(crate) fn header_bytes(&self) -> u32 {
        match (&self.protection, self.profile) {
            (None, _) => 0,
            (Some(_), Profile::Tofino) => COMPACT_HEADER_BYTES,
            (Some(_), Profile::Daemon(_)) => HEADER_GROWTH_MAX as u32,
        }
    }

    /// Time from sending a frame until the peer's immediate response arrives.
    pub(super) fn round_trip(&self) -> Ticks {
        let wire_bytes = u64::from(self.frame_bytes + self.header_bytes()) + WIRE_OVERHEAD_BYTES;
        let latency = self.wire_latency().0 + self.ingress_latency().0;
        Ticks(2 * latency + self.rate.time_of(wire_bytes).0)
    }
}
