//! Derives parameters: from the size of the frame pool at the start, and from measured round trips once a session is
//! open (appendix B.1 derives them from the Tofino's latencies).

use super::shortfall;
use super::{CHUNK_BYTES, Engine};
use crate::port_pair::LENT_CHUNKS_MAX;
use crate::settings::Overrides;
use linkmend_protocol::paths::Path;
use linkmend_protocol::{
    Config, FallbackConfig, Format, LinkConditions, RoundTrips, Tick, Ticks, WINDOW_MAX, wire,
};

/// How many round trips are measured before parameters are derived from them.
const SAMPLES: u32 = 8;
/// The rate assumed for a port without a configured rate, bit/s.
const RATE_ASSUMED_BPS: u64 = 10_000_000_000;

/// In software every frame costs a microsecond of a core, so explicit ACKs and dummies wait a little: an ACK for more
/// frames to acknowledge, a dummy for a frame that makes it unnecessary. Neither wait delays a loss notification.
const ACK_GAP: Ticks = Tick::Nanosecond.micros(400);
const ACK_INTERVAL: Ticks = Tick::Nanosecond.micros(500);
const DUMMY_DELAY: Ticks = Tick::Nanosecond.micros(200);
/// One at first; repeats with back-off follow in any case until everything is acknowledged.
const DUMMY_COPIES: u8 = 1;

/// A receiver waits longer for its peer than a sender does, so that the sender ends a session and begins the next one.
const EXPIRY_PEER_TIMEOUTS: u64 = 2;

/// From this many frames on, their mean length says more than the longest possible length.
const MEAN_FRAMES_MIN: u64 = 1_000;

/// What has been derived in the current session.
#[derive(Debug, Default)]
pub(super) struct Derived {
    pub(super) round_trips: Option<RoundTrips>,
}

/// The share of a pool, in chunks, that each of the Tx buffer, the Rx buffer and the queue gets.
pub(super) fn share_of_pool(chunks: u32) -> u32 {
    (chunks - LENT_CHUNKS_MAX.min(chunks / 2)) / 3
}

/// The parameters before anything is measured: what fits a pool of `chunks`. The ports may lend half of it to the
/// kernel. The rest is divided equally between the Tx buffer, the Rx buffer, and the queue with everything in transit.
pub(crate) fn initial(
    overrides: &Overrides,
    format: Format,
    fallback: FallbackConfig,
    chunks: u32,
) -> Config {
    let nanos = |duration: std::time::Duration| Ticks(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    let share = share_of_pool(chunks);
    let window_frames = (1 << share.max(1).ilog2()).min(WINDOW_MAX);
    let share_bytes = u64::from(share) * CHUNK_BYTES;
    let base = Config::new(Tick::Nanosecond);
    let rx_buffer_bytes = overrides.rx_buffer_bytes.unwrap_or(share_bytes);
    let pause_bytes = overrides.pause_bytes.unwrap_or(rx_buffer_bytes / 2);
    let peer_timeout = overrides.peer_timeout.map_or(base.peer_timeout, nanos);
    Config {
        format,
        window_frames: overrides.window_frames.unwrap_or(window_frames),
        window_bytes: overrides.tx_buffer_bytes.unwrap_or(share_bytes),
        rx_buffer_bytes,
        pause_bytes,
        resume_bytes: overrides.resume_bytes.unwrap_or(pause_bytes / 2),
        recovery_timeout: overrides.recovery_timeout.map_or(base.recovery_timeout, nanos),
        // A loop that waits for a core must not cost a frame, so the clock counts only if it is configured.
        give_up_by_clock: overrides.recovery_timeout.is_some(),
        max_rounds: overrides.max_rounds.unwrap_or(base.max_rounds),
        peer_timeout,
        session_expiry: peer_timeout * EXPIRY_PEER_TIMEOUTS,
        ack_interval: overrides.ack_interval.map_or(ACK_INTERVAL, nanos),
        ack_gap: ACK_GAP.min(overrides.ack_interval.map_or(ACK_GAP, nanos)),
        dummy_delay: DUMMY_DELAY,
        dummy_copies: overrides.dummy_copies.unwrap_or(DUMMY_COPIES),
        loss_window_frames: overrides.loss_window_frames.unwrap_or(base.loss_window_frames),
        fallback,
        ..base
    }
}

/// The parameters for a link of this rate and these `measured` round trips: `config`, except for configured values.
fn for_link(config: Config, overrides: &Overrides, measured: RoundTrips, rate_bps: u64) -> Config {
    let mut config = config;
    // After a pause is sent, frames arrive for one more round trip and must fit.
    let in_flight = (u128::from(rate_bps / 8) * u128::from(measured.max.0) / 1_000_000_000) as u64;
    if overrides.pause_bytes.is_none() {
        config.pause_bytes = config.rx_buffer_bytes.saturating_sub(in_flight).max(config.rx_buffer_bytes / 4);
    }
    if overrides.resume_bytes.is_none() {
        config.resume_bytes = config.pause_bytes / 2;
    }
    if overrides.peer_timeout.is_none() {
        // The peer timeout of a short link, which mainly allows for a peer that stands still, plus the time the answer
        // takes. The shortest round trip is the link's own; a longer one may include a standstill.
        config.peer_timeout = Config::new(Tick::Nanosecond).peer_timeout + measured.min;
        config.session_expiry = config.peer_timeout * EXPIRY_PEER_TIMEOUTS;
    }
    config
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
        let configured = match (self.active, &self.settings.backup) {
            (Path::Backup, Some(backup)) => backup.rate_bps,
            _ => self.settings.rate_bps,
        };
        let rate = configured.unwrap_or(RATE_ASSUMED_BPS);
        let config = for_link(*self.end.config(), &self.settings.overrides, measured, rate);
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
                "parameters derived: pause = Rx buffer less what arrives in the longest round trip; peer timeout = 400 \
                 ms and the shortest"
            ),
            Err(error) => {
                tracing::warn!(link = %self.settings.name, %error, "derived parameters do not fit the overrides; unchanged");
            }
        }
    }

    /// Logs, once for each activation, which parameters are too small for this link. The shortest round trip is the
    /// link's own; the length of frames is the mean of those sent so far, or else the longest possible one.
    fn warn_of_shortfalls(&self, measured: RoundTrips, rate_bps: u64, is_assumed: bool) {
        let (status, stats) = (self.end.status(), self.end.stats());
        let longest = u64::from(self.ports.on(self.active).mtu());
        let mean = stats.protected_bytes.checked_div(stats.protected_frames).unwrap_or(longest);
        let frame_bytes = if stats.protected_frames < MEAN_FRAMES_MIN { longest } else { mean };
        let link = LinkConditions {
            round_trip: measured.min,
            loss: status.measured_loss.unwrap_or(0.0),
            copies: status.copies,
            frame_bytes: frame_bytes as u32,
            frame_time: frame_time(frame_bytes, rate_bps),
            mode: self.protection.classifier.default_mode(),
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
    use crate::port_pair::POOL_CHUNKS_DEFAULT;

    fn measured(ms: u64) -> RoundTrips {
        RoundTrips {
            samples: SAMPLES,
            min: Tick::Nanosecond.millis(ms),
            max: Tick::Nanosecond.millis(ms + 1),
        }
    }

    fn derived(overrides: Overrides, ms: u64) -> Config {
        let config = initial(
            &overrides,
            Format::Transparent,
            FallbackConfig::new(Tick::Nanosecond),
            POOL_CHUNKS_DEFAULT,
        );
        for_link(config, &overrides, measured(ms), 1_000_000_000)
    }

    /// With a fixed 400 ms for every link, 100 ms of round trip would leave less than a standstill may take.
    #[test]
    fn the_peer_timeout_leaves_room_for_a_standstill_beside_a_round_trip() {
        for ms in [0, 1, 100, 300] {
            let config = derived(Overrides::default(), ms);
            assert_eq!(config.peer_timeout, Tick::Nanosecond.millis(400 + ms));
            assert_eq!(config.session_expiry, config.peer_timeout * 2);
            assert!(
                config.peer_timeout >= takeover::PEER_TIMEOUT_MIN + Tick::Nanosecond.millis(ms),
                "{ms} ms"
            );
            config.validate().expect("a round trip makes no contradiction");
        }
        let own =
            Overrides { peer_timeout: Some(std::time::Duration::from_millis(500)), ..Overrides::default() };
        assert_eq!(derived(own, 100).peer_timeout, Tick::Nanosecond.millis(500));
    }

    #[test]
    fn a_pause_leaves_room_for_a_round_trip_or_a_quarter() {
        let near = derived(Overrides::default(), 1);
        assert_eq!(near.rx_buffer_bytes - near.pause_bytes, 250_000, "2 ms at 1 Gbit/s");
        let far = derived(Overrides::default(), 100);
        assert_eq!(far.pause_bytes, far.rx_buffer_bytes / 4);
        assert_eq!(far.resume_bytes, far.pause_bytes / 2);
    }
}
