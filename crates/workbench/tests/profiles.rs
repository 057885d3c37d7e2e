//! The simulator's `daemon` profile is what the daemon derives: field by field, for a hundred links.

use linkmend_dataplane::LinkSettings;
use linkmend_protocol::daemon_profile::Overrides;
use linkmend_protocol::{Config, FallbackConfig, Mode, RoundTrips, Ticks};
use linkmend_random::Random;
use linkmend_sim::corruption::Corruption;
use linkmend_sim::link::LinkConfig;
use linkmend_sim::time::Rate;
use std::time::Duration;

/// The same parameters with times in picoseconds instead of nanoseconds.
fn in_picoseconds(config: Config) -> Config {
    let ps = |ticks: Ticks| Ticks(ticks.0 * 1_000);
    Config {
        recovery_timeout: ps(config.recovery_timeout),
        ack_gap: ps(config.ack_gap),
        ack_interval: ps(config.ack_interval),
        dummy_delay: ps(config.dummy_delay),
        dummy_interval_min: ps(config.dummy_interval_min),
        dummy_interval_max: ps(config.dummy_interval_max),
        keepalive: ps(config.keepalive),
        peer_timeout: ps(config.peer_timeout),
        session_expiry: ps(config.session_expiry),
        handshake_min: ps(config.handshake_min),
        handshake_max: ps(config.handshake_max),
        hello_interval: ps(config.hello_interval),
        fallback: FallbackConfig {
            return_hold: ps(config.fallback.return_hold),
            dormant_hold: ps(config.fallback.dormant_hold),
            ..config.fallback
        },
        ..config
    }
}

fn overrides(draw: &mut impl FnMut(u64) -> u64) -> Overrides {
    let mut overrides = Overrides::default();
    if draw(2) == 0 {
        return overrides;
    }
    overrides.recovery_timeout = (draw(2) == 0).then(|| Duration::from_micros(10 + draw(1_000)));
    overrides.max_rounds = (draw(2) == 0).then(|| 1 + draw(40) as u8);
    overrides.window_frames = (draw(2) == 0).then(|| 1 << (4 + draw(11)));
    overrides.dummy_copies = (draw(2) == 0).then(|| 1 + draw(5) as u8);
    overrides.rx_buffer_bytes = (draw(2) == 0).then(|| 1_000_000 + draw(4_000_000));
    overrides.pause_bytes = (draw(2) == 0).then(|| 200_000 + draw(300_000));
    overrides.ack_interval = (draw(2) == 0).then(|| Duration::from_micros(1 + draw(900)));
    overrides
}

#[test]
fn a_hundred_links_have_the_parameters_that_the_daemon_derives() {
    let mut random = Random::new(29, "profiles");
    let mut draw = |below: u64| random.next_u64() % below;
    for _ in 0..100 {
        let gbps = [1, 10, 25, 40, 50, 100, 200, 400][draw(8) as usize];
        let rate = Rate::from_bits_per_second(gbps * 1_000_000_000).expect("whole picoseconds a byte");
        let link = LinkConfig {
            distance_m: draw(100_000) as u32,
            frame_bytes: 64 + draw(9_000) as u32,
            corruption: Corruption::iid(1e-3),
            ..LinkConfig::paper(rate, 1e-3, Mode::Ordered)
        };
        let overrides = overrides(&mut draw);
        let link = link.between_daemons(overrides);
        let simulated = link.protocol_config().expect("protected");
        // What the daemon would measure, in its nanoseconds.
        let wire_bytes = u64::from(link.frame_bytes) + 8 + 20;
        let round_trip_ps = 2 * (1_110_000 + 5_000 * u64::from(link.distance_m)) + rate.time_of(wire_bytes).0;
        let round_trip = Ticks(round_trip_ps / 1_000);
        let profile = LinkSettings { overrides, ..LinkSettings::new("link", "inner0", "link0") }.profile();
        let measured = RoundTrips { samples: 8, min: round_trip, max: round_trip };
        let daemon = in_picoseconds(profile.measured(profile.initial(), measured, gbps * 1_000_000_000));
        // A round trip is no whole number of nanoseconds: bytes in flight and timeouts differ by less than one of them.
        let bytes_in_a_nanosecond = gbps / 8 + 1;
        assert!(simulated.pause_bytes.abs_diff(daemon.pause_bytes) <= bytes_in_a_nanosecond);
        assert!(simulated.resume_bytes.abs_diff(daemon.resume_bytes) <= bytes_in_a_nanosecond);
        assert!(simulated.peer_timeout.0.abs_diff(daemon.peer_timeout.0) < 1_000);
        assert!(simulated.session_expiry.0.abs_diff(daemon.session_expiry.0) < 2_000);
        let Config { pause_bytes, resume_bytes, peer_timeout, session_expiry, .. } = simulated;
        assert_eq!(simulated, Config { pause_bytes, resume_bytes, peer_timeout, session_expiry, ..daemon });
    }
}
