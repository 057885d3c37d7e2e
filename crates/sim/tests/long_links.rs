//! Links that lose hundreds of frames within a round trip.

use linkmend_sim::link::config::{Buffering, Copies, Mode};
use linkmend_sim::links::LinksConfig;
use linkmend_sim::stress::{self, StressReport};
use linkmend_sim::time::Rate;

/// A link of `km` of fibre at `gbps`, with a buffer and times to match, unless the test removes them.
fn link(gbps: u64, km: u32, loss: f64, mode: Mode, frames: u64) -> LinksConfig {
    let rate = Rate::from_bits_per_second(gbps * 1_000_000_000).expect("an Ethernet rate");
    let mut config = LinksConfig { frames, ..LinksConfig::paper(rate, loss, mode) };
    config.links[0].distance_m = km * 1_000;
    config.links[0].buffering = Buffering::Direct;
    if let Some(protection) = &mut config.links[0].protection {
        protection.copies = Copies::Fixed(2);
        protection.window_frames = 16_384;
        protection.recovery_timeout_ns = 10 * u64::from(km) * 10_000;
        // More than a round trip contains.
        protection.backpressure = None;
    }
    config
}

fn run(config: &LinksConfig) -> StressReport {
    stress::run(config, &mut |_| true).expect("valid")
}

#[test]
fn equation_1_holds_at_400g_over_10_km_with_a_fifth_lost() {
    let report = run(&link(400, 10, 0.2, Mode::NonBlocking, 200_000));
    let expected = 0.2f64.powi(3);
    let deviation = (expected * (1.0 - expected) / 2e5).sqrt();
    assert!((report.effective_loss_rate - expected).abs() < 4.0 * deviation, "{report:?}");
}

#[test]
fn equation_1_holds_at_100g_over_10_km_in_order() {
    let report = run(&link(100, 10, 0.05, Mode::Ordered, 200_000));
    let expected = 0.05f64.powi(3);
    let deviation = (expected / 2e5).sqrt();
    assert!((report.effective_loss_rate - expected).abs() < 4.0 * deviation, "{report:?}");
    assert_eq!(report.frames_reordered, 0);
}

#[test]
fn a_link_too_long_for_its_window_or_its_timeout_is_named() {
    let mut config = link(400, 10, 1e-3, Mode::NonBlocking, 20_000);
    assert!(run(&config).warnings.is_empty(), "{:?}", run(&config).warnings);
    if let Some(protection) = &mut config.links[0].protection {
        protection.window_frames = 1_024;
        protection.recovery_timeout_ns = 7_000;
    }
    let warnings = run(&config).warnings;
    let [full, window, timeout] = &warnings[..] else { panic!("three warnings, not {warnings:?}") };
    assert!(full.starts_with("the Tx buffer was full for "), "{full}");
    assert!(window.starts_with("`window` is 1024 frames, and"), "{window}");
    assert!(window.ends_with("% of its rate"), "{window}");
    assert!(timeout.starts_with("`recovery-timeout` is 7 us, and"), "{timeout}");
}
