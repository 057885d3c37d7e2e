//! The parameters with which the Linux daemon runs a link end.
//!
//! The daemon and the simulator's `daemon` profile both call these functions, so that a simulated link has exactly the
//! parameters that the daemon would derive for it: first [`DaemonProfile::initial`], from the size of the frame pool, then
//! [`DaemonProfile::measured`], once round trips are known (appendix B.1 derives them from the Tofino's latencies).

use crate::config::{Config, Format};
use crate::fallback::FallbackConfig;
use crate::link_end::RoundTrips;
use crate::sequence::WINDOW_MAX;
use crate::time::Tick;
use core::time::Duration;

/// Size of a chunk of the frame pool, in bytes; the unit in which buffers are sized.
pub const CHUNK_BYTES: u64 = 2048;
/// The maximum number of chunks that the two ports of a link end lend to the kernel for receiving.
pub const LENT_CHUNKS_MAX: u32 = 2 * 4096;
/// Default size of a frame pool in chunks: 4096 frames each for the Tx buffer, the Rx buffer and the queue, besides
/// what is lent.
pub const POOL_CHUNKS_DEFAULT: u32 = LENT_CHUNKS_MAX + 3 * 4096;
/// The rate assumed for a port without a configured rate, bit/s.
pub const RATE_ASSUMED_BPS: u64 = 10_000_000_000;

/// A receiver waits longer for its peer than a sender does, so that the sender ends a session and begins the next one.
const EXPIRY_PEER_TIMEOUTS: u64 = 2;

/// Values that are not derived because an operator has set them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Overrides {
    /// `ackNoTimeout`.
    pub recovery_timeout: Option<Duration>,
    /// Rounds of copies after which a frame is given up.
    pub max_rounds: Option<u8>,
    /// `pauseThreshold`, bytes.
    pub pause_bytes: Option<u64>,
    /// `resumeThreshold`, bytes.
    pub resume_bytes: Option<u64>,
    /// Bound of the Rx buffer, bytes.
    pub rx_buffer_bytes: Option<u64>,
    /// Bound of the Tx buffer, bytes.
    pub tx_buffer_bytes: Option<u64>,
    /// Bound of the number of outstanding frames, a power of two.
    pub window_frames: Option<u32>,
    /// Dummies each time the queue runs empty.
    pub dummy_copies: Option<u8>,
    /// Silence after which the peer is considered dead.
    pub peer_timeout: Option<Duration>,
    /// The longest wait of an ACK.
    pub ack_interval: Option<Duration>,
    /// The number of frames over which the loss rate is measured.
    pub loss_window_frames: Option<u32>,
}

/// What the parameters of a link end are derived from, apart from measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DaemonProfile {
    /// The tick of the driver's clock.
    pub tick: Tick,
    /// Values that are not derived.
    pub overrides: Overrides,
    /// Header format of protected frames.
    pub format: Format,
    /// Limits of the automatic fallback, in ticks of this clock.
    pub fallback: FallbackConfig,
    /// Chunks of the frame pool.
    pub pool_chunks: u32,
}

impl DaemonProfile {
    /// The daemon's defaults, for a driver whose clock has this tick.
    pub const fn new(tick: Tick, overrides: Overrides) -> DaemonProfile {
        DaemonProfile {
            tick,
            overrides,
            format: Format::Transparent,
            fallback: FallbackConfig::new(tick),
            pool_chunks: POOL_CHUNKS_DEFAULT,
        }
    }

    /// The share of a pool, in chunks, that each of the Tx buffer, the Rx buffer and the queue gets. The ports may lend half
    /// of the pool to the kernel. The rest is divided equally between the Tx buffer, the Rx buffer, and the queue with
    /// everything in transit.
    pub fn share_of_pool(chunks: u32) -> u32 {
        (chunks - LENT_CHUNKS_MAX.min(chunks / 2)) / 3
    }

    /// The parameters before anything is measured: what fits the pool.
    pub fn initial(&self) -> Config {
        let DaemonProfile { tick, overrides, format, fallback, pool_chunks } = *self;
        let share = DaemonProfile::share_of_pool(pool_chunks);
        let window_frames = (1 << share.max(1).ilog2()).min(WINDOW_MAX);
        let share_bytes = u64::from(share) * CHUNK_BYTES;
        let base = Config::new(tick);
        let rx_buffer_bytes = overrides.rx_buffer_bytes.unwrap_or(share_bytes);
        let pause_bytes = overrides.pause_bytes.unwrap_or(rx_buffer_bytes / 2);
        let ticks = |time: Duration| tick.duration(time);
        let peer_timeout = overrides.peer_timeout.map_or(base.peer_timeout, ticks);
        // In software every frame costs a microsecond of a core, so explicit ACKs and dummies wait a little: an ACK for
        // more frames to acknowledge, a dummy for a frame that makes it unnecessary. Neither wait delays a loss notification.
        let ack_interval = overrides.ack_interval.map_or(tick.micros(500), ticks);
        Config {
            format,
            window_frames: overrides.window_frames.unwrap_or(window_frames),
            window_bytes: overrides.tx_buffer_bytes.unwrap_or(share_bytes),
            rx_buffer_bytes,
            pause_bytes,
            resume_bytes: overrides.resume_bytes.unwrap_or(pause_bytes / 2),
            recovery_timeout: overrides.recovery_timeout.map_or(base.recovery_timeout, ticks),
            // A loop that waits for a core must not cost a frame, so there is a timeout only if it is configured.
            give_up_by_clock: overrides.recovery_timeout.is_some(),
            max_rounds: overrides.max_rounds.unwrap_or(base.max_rounds),
            peer_timeout,
            session_expiry: peer_timeout * EXPIRY_PEER_TIMEOUTS,
            ack_interval,
            ack_gap: tick.micros(400).min(ack_interval),
            dummy_delay: tick.micros(200),
            // One at first; repeats with back-off follow in any case until everything is acknowledged.
            dummy_copies: overrides.dummy_copies.unwrap_or(1),
            loss_window_frames: overrides.loss_window_frames.unwrap_or(base.loss_window_frames),
            fallback,
            ..base
        }
    }

    /// The parameters for a link of this rate and these `measured` round trips: `config`, except for configured values.
    pub fn measured(&self, config: Config, measured: RoundTrips, rate_bps: u64) -> Config {
        let DaemonProfile { tick, overrides, .. } = self;
        let mut config = config;
        // After a pause is sent, frames arrive for one more round trip and must fit.
        let second = u128::from(tick.secs(1).0);
        let in_flight = (u128::from(rate_bps / 8) * u128::from(measured.max.0) / second) as u64;
        if overrides.pause_bytes.is_none() {
            config.pause_bytes =
                config.rx_buffer_bytes.saturating_sub(in_flight).max(config.rx_buffer_bytes / 4);
        }
        if overrides.resume_bytes.is_none() {
            config.resume_bytes = config.pause_bytes / 2;
        }
        if overrides.peer_timeout.is_none() {
            // The peer timeout of a short link, which mainly allows for a stalled peer, plus the time that the response
            // takes. The shortest round trip is that of the link itself; a longer one may include a stall.
            config.peer_timeout = Config::new(*tick).peer_timeout + measured.min;
            config.session_expiry = config.peer_timeout * EXPIRY_PEER_TIMEOUTS;
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(ms: u64) -> RoundTrips {
        let tick = Tick::Nanosecond;
        RoundTrips { samples: 8, min: tick.millis(ms), max: tick.millis(ms + 1) }
    }

    fn derived(overrides: Overrides, ms: u64) -> Config {
        let profile = DaemonProfile::new(Tick::Nanosecond, overrides);
        profile.measured(profile.initial(), measured(ms), 1_000_000_000)
    }

    #[test]
    fn a_round_trip_lengthens_the_peer_timeout_unless_it_is_configured() {
        for ms in [0, 1, 100, 300] {
            let config = derived(Overrides::default(), ms);
            assert_eq!(config.peer_timeout, Tick::Nanosecond.millis(400 + ms));
            assert_eq!(config.session_expiry, config.peer_timeout * 2);
            config.validate().expect("a round trip makes no contradiction");
        }
        let own = Overrides { peer_timeout: Some(Duration::from_millis(500)), ..Overrides::default() };
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

    #[test]
    fn an_ack_never_waits_longer_than_configured() {
        let own = Overrides { ack_interval: Some(Duration::from_micros(50)), ..Overrides::default() };
        let config = derived(own, 0);
        assert_eq!((config.ack_gap, config.ack_interval), (Tick::Nanosecond.micros(50), config.ack_gap));
    }
}
