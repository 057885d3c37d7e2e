//! When parameters are derived from measured round trips, and what is said of it. How they are derived stands in
//! [`linkmend_protocol::daemon_profile`].

use super::Engine;
use super::shortfall;
use crate::link_use::LinkUse;
use crate::settings::LinkSettings;
use crate::udp_link::UdpLink;
use linkmend_protocol::daemon_profile::RATE_ASSUMED_BPS;
use linkmend_protocol::{Config, LinkConditions, RoundTrips, Tick, Ticks, wire};

/// How many round trips are measured before parameters are derived from them.
const SAMPLES: u32 = 8;
/// From this many frames on, their mean length says more than the longest possible length.
const MEAN_FRAMES_MIN: u64 = 1_000;
/// The rate assumed for a path over UDP. Buffers for the rate of a cable and a round trip of the Internet would not fit.
const PATH_RATE_ASSUMED_BPS: u64 = 100_000_000;

/// What has been derived in the current session.
#[derive(Debug, Default)]
pub(super) struct Derived {
    pub(super) round_trips: Option<RoundTrips>,
}

/// The time from the latest frame to the first dummy on a path, and the shortest and longest between two dummies. Each is a
/// datagram of its own, and a round trip is many times as long.
const PATH_DUMMY_DELAY_MS: u64 = 3;
const PATH_DUMMY_INTERVAL_MIN_MS: u64 = 6;
const PATH_DUMMY_INTERVAL_MAX_MS: u64 = 40;

/// The parameters before anything is measured. If every link is a path over UDP, whatever is a datagram of its own is sent
/// less often than on a cable.
pub(super) fn initial(settings: &LinkSettings) -> Config {
    let explicit_acks = settings.backup.as_ref().is_some_and(|backup| backup.link_use != LinkUse::Active);
    let config = Config { explicit_acks, ..settings.profile().initial() };
    if settings.links().any(|(link, _)| !UdpLink::is_meant(link)) {
        return config;
    }
    let ms = |ms| Tick::Nanosecond.millis(ms);
    Config {
        ack_gap: config.ack_interval,
        dummy_delay: ms(PATH_DUMMY_DELAY_MS),
        dummy_interval_min: ms(PATH_DUMMY_INTERVAL_MIN_MS),
        dummy_interval_max: ms(PATH_DUMMY_INTERVAL_MAX_MS),
        keepalive: ms(PATH_DUMMY_INTERVAL_MAX_MS),
        ..config
    }
}

impl Engine {
    /// Derives parameters once enough round trips are measured, and again when the longest has grown so much that the
    /// Rx buffer would overflow.
    pub(super) fn derive_parameters(&mut self) {
        let measured = self.end.round_trips();
        let outgrown = self.derived.round_trips.is_none_or(|before| measured.max > before.max * 2);
        if measured.samples < SAMPLES || !outgrown {
            return;
        }
        self.derived.round_trips = Some(measured);
        let carrying = || self.sides.paths().filter(|&path| path == self.active || self.shares());
        let configured: Option<u64> = carrying().map(|path| self.sides[path].shaper.rate_bps()).sum();
        let assumed =
            |path| if self.sides[path].port.is_udp() { PATH_RATE_ASSUMED_BPS } else { RATE_ASSUMED_BPS };
        let of = |path| self.sides[path].shaper.rate_bps().unwrap_or_else(|| assumed(path));
        let rate = carrying().map(of).sum();
        let config = self.settings.profile().measured(*self.end.config(), measured, rate);
        let outcome = self.end.reconfigure(config);
        self.warn_of_shortfalls(measured, rate, configured.is_none());
        if let Some(rate) = configured {
            self.warn_of_long_detection(rate);
        }
        match outcome {
            Ok(()) => tracing::info!(
                link = %self.settings.name,
                round_trips = measured.samples,
                shortest_us = measured.min.0 / 1_000,
                longest_us = measured.max.0 / 1_000,
                pause_bytes = config.pause_bytes,
                resume_bytes = config.resume_bytes,
                peer_timeout_ms = config.peer_timeout.0 / 1_000_000,
                "derived parameters: pause = Rx buffer minus what arrives in the longest round trip; peer \
                 timeout = 400 ms plus the shortest round trip"
            ),
            Err(error) => {
                tracing::warn!(link = %self.settings.name, %error, "the derived parameters contradict the configured ones, so nothing is changed");
            }
        }
    }

    /// Logs, once for each activation, which parameters are too small for this link. The shortest round trip is the
    /// link's own; the length of frames is the mean of those sent so far, or else the longest possible one.
    fn warn_of_shortfalls(&self, measured: RoundTrips, rate_bps: u64, is_assumed: bool) {
        let (status, stats) = (self.end.status(), self.end.stats());
        let longest = u64::from(self.sides[self.active].port.mtu());
        let mean = stats.protected_bytes.checked_div(stats.protected_frames).unwrap_or(longest);
        let frame_bytes = if stats.protected_frames < MEAN_FRAMES_MIN { longest } else { mean };
        let link = LinkConditions {
            round_trip: measured.min,
            loss: status.measured_loss.unwrap_or(0.0),
            copies: status.copies,
            frame_bytes: frame_bytes as u32,
            frame_time: frame_time(frame_bytes, rate_bps),
            mode: self.protection.default_mode(),
        };
        let rate = shortfall::Rate { bps: rate_bps, is_assumed };
        for text in shortfall::texts(self.end.config(), &self.settings.overrides, &link, rate) {
            tracing::warn!(link = %self.settings.name, "{text}");
        }
    }
}

/// How long `frame_bytes` take on the wire at this rate.
pub(super) fn frame_time(frame_bytes: u64, rate_bps: u64) -> Ticks {
    let bits = wire::wire_bytes(frame_bytes + wire::HEADER_GROWTH_MAX as u64) * 8;
    Ticks((u128::from(bits) * 1_000_000_000 / u128::from(rate_bps.max(1))) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::takeover;

    /// With a fixed 400 ms for every link, 100 ms of round trip would leave less than a stall may take.
    #[test]
    fn the_peer_timeout_leaves_room_for_a_stall_beside_a_round_trip() {
        let profile = LinkSettings::new("a", "inner", "link").profile();
        for ms in [0, 1, 100, 300] {
            let round_trip = Tick::Nanosecond.millis(ms);
            let measured = RoundTrips { samples: SAMPLES, min: round_trip, max: round_trip * 2 };
            let config = profile.measured(profile.initial(), measured, 1_000_000_000);
            assert!(config.peer_timeout >= takeover::PEER_TIMEOUT_MIN + round_trip, "{ms} ms");
        }
    }

    #[test]
    fn a_path_gets_fewer_datagrams_of_their_own_than_a_cable() {
        let path = initial(&LinkSettings::new("a", "inner", "udp:listen"));
        path.validate().expect("no contradiction");
        let cable = initial(&LinkSettings::new("a", "inner", "link"));
        assert!(path.dummy_delay > cable.dummy_delay && path.keepalive > cable.keepalive);
    }
}
