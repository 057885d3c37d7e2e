//! Links with the parameters of the Linux daemon.

mod common;

use common::{gigabits, simulate};
use linkmend_protocol::daemon_profile::Overrides;
use linkmend_sim::link::config::{Copies, Mode};
use linkmend_sim::links::LinksConfig;

fn stress(loss: f64, frames: u64) -> LinksConfig {
    LinksConfig { frames, ..LinksConfig::paper(gigabits(100), loss, Mode::Ordered) }
}

fn between_daemons(config: &LinksConfig) -> LinksConfig {
    config.clone().with_link(|link| *link = link.clone().between_daemons(Overrides::default()))
}

/// Three frames in a hundred are lost, with a single copy for each: the prototype's clock gives frames up however many
/// rounds it may have, and the daemon has no such clock.
#[test]
fn the_daemon_delivers_what_the_clock_of_the_prototype_gives_up() {
    let config = stress(3e-2, 200_000).with_link(|link| {
        let protection = link.protection.as_mut().expect("protected");
        protection.copies = Copies::Fixed(1);
        protection.max_rounds = 32;
    });
    let tofino = simulate(&config);
    assert!(tofino.frames_undelivered > 100, "{} undelivered", tofino.frames_undelivered);
    let daemon = simulate(&between_daemons(&config));
    assert!(daemon.frames_lost > 5_000, "{} lost", daemon.frames_lost);
    assert_eq!((daemon.frames_undelivered, daemon.frames_reordered), (0, 0));
    assert_eq!(daemon.recovery_timeouts, 0);
}

/// Above a loss of 5 % the daemon leaves ordered mode after the first 100,000 frames.
#[test]
fn the_daemon_falls_back_to_non_blocking_mode_on_a_link_that_loses_a_tenth() {
    let short = simulate(&between_daemons(&stress(0.1, 50_000)));
    assert_eq!((short.frames_undelivered, short.frames_reordered), (0, 0));
    let long = simulate(&between_daemons(&stress(0.1, 400_000)));
    assert_eq!(long.frames_undelivered, 0);
    assert!(long.frames_reordered > 1_000, "{} reordered", long.frames_reordered);
}

/// What is set is not derived: a recovery timeout brings the clock back.
#[test]
fn overrides_are_kept() {
    let timeout = std::time::Duration::from_micros(20);
    let overrides = Overrides {
        recovery_timeout: Some(timeout),
        window_frames: Some(64),
        max_rounds: Some(3),
        ..Overrides::default()
    };
    let link = stress(1e-3, 1).links[0].clone().between_daemons(overrides);
    let config = link.protocol_config().expect("protected");
    assert!(config.give_up_by_clock);
    assert_eq!((config.recovery_timeout.0, config.window_frames, config.max_rounds), (20_000_000, 64, 3));
    let protection = link.protection.expect("protected");
    assert_eq!(protection.recovery_timeout_ns, 20_000);
}

/// On a fast long link, the published window holds back most frames; the planned one is as fast as the copies allow.
#[test]
fn planned_parameters_suit_a_fast_long_link() {
    let long = LinksConfig { frames: 200_000, ..LinksConfig::paper(gigabits(400), 1e-3, Mode::Ordered) }
        .with_link(|link| link.distance_m = 2_000);
    let published = simulate(&long);
    assert!(published.effective_speed_pct < 90.0, "{} %", published.effective_speed_pct);
    let planned = simulate(&long.with_link(|link| *link = link.clone().planned()));
    assert!(planned.effective_speed_pct > 98.0, "{} %", planned.effective_speed_pct);
    assert_eq!(
        (planned.frames_undelivered, planned.rx_buffer_overflows, planned.recovery_timeouts),
        (0, 0, 0)
    );
    assert_eq!(planned.warnings, [""; 0]);
}
