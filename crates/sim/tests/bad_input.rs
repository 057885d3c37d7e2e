//! Impossible parameters are refused by name, before anything runs.

mod common;

use common::gigabits;
use linkmend_sim::corruption::{Corruption, Transceiver};
use linkmend_sim::stress::{Backpressure, Buffering, Copies, Mode, Protection, StressConfig, run};
use linkmend_sim::time::Rate;

fn base() -> StressConfig {
    StressConfig { frames: 100, ..StressConfig::paper(gigabits(100), 1e-3, Mode::Ordered) }
}

fn with(change: impl FnOnce(&mut StressConfig)) -> StressConfig {
    let mut config = base();
    change(&mut config);
    config
}

fn protected(change: impl FnOnce(&mut Protection)) -> StressConfig {
    with(|config| change(config.protection.as_mut().expect("the paper's link is protected")))
}

fn backpressure(pause_bytes: u64, resume_bytes: u64) -> StressConfig {
    protected(|protection| protection.backpressure = Some(Backpressure { pause_bytes, resume_bytes }))
}

fn corrupted(corruption: Corruption) -> StressConfig {
    with(|config| config.corruption = corruption)
}

/// What cannot be used, how it is called, and its value as it is repeated to whoever asked for it.
fn impossible() -> Vec<(StressConfig, &'static str, &'static str)> {
    let bursts = |loss, mean_burst_frames| Corruption::GilbertElliott { loss, mean_burst_frames };
    let attenuated =
        |attenuation_db| Corruption::Attenuated { transceiver: Transceiver::TwentyFiveGig, attenuation_db };
    vec![
        (with(|config| config.frames = 0), "frames", "0"),
        (with(|config| config.frame_bytes = 63), "frame-size", "63"),
        (with(|config| config.frame_bytes = 9217), "frame-size", "9217"),
        (with(|config| config.distance_m = 100_001), "distance", "100001"),
        (corrupted(Corruption::Iid { loss: 2.0 }), "loss", "2"),
        (corrupted(Corruption::Iid { loss: -1e-9 }), "loss", "-0.000000001"),
        (corrupted(Corruption::Iid { loss: f64::NAN }), "loss", "NaN"),
        (corrupted(Corruption::PerBit { bit_error_rate: 1.5 }), "bit_error_rate", "1.5"),
        (corrupted(bursts(1.0, 3.0)), "loss", "1"),
        (corrupted(bursts(0.9, 2.0)), "mean_burst_frames", "2"),
        (corrupted(bursts(0.1, f64::INFINITY)), "mean_burst_frames", "inf"),
        (corrupted(Corruption::Recorded([3, 5, 5].into())), "recorded", "5"),
        (corrupted(attenuated(-1.0)), "attenuation_db", "-1"),
        (with(|config| config.reverse_corruption = Corruption::Iid { loss: 2.0 }), "loss", "2"),
        (protected(|protection| protection.copies = Copies::Fixed(0)), "copies", "0"),
        (protected(|protection| protection.copies = Copies::Fixed(17)), "copies", "17"),
        (protected(|protection| protection.copies = Copies::Target { loss: 0.0 }), "target", "0"),
        (protected(|protection| protection.copies = Copies::Target { loss: 1.0 }), "target", "1"),
        (protected(|protection| protection.copies = Copies::Target { loss: f64::NAN }), "target", "NaN"),
        (protected(|protection| protection.recovery_timeout_ns = 0), "recovery-timeout", "0"),
        (protected(|protection| protection.max_rounds = 0), "rounds", "0"),
        (protected(|protection| protection.window_frames = 65_536), "window", "65536"),
        (protected(|protection| protection.window_frames = 1_000), "window", "1000"),
        (protected(|protection| protection.window_frames = 8), "window", "8"),
        (backpressure(40_000, 40_000), "resume-threshold", "40000"),
        (backpressure(40_000, 50_000), "resume-threshold", "50000"),
        (backpressure(200_001, 40_000), "pause-threshold", "200001"),
        (with(|config| config.switch.recirculation_bytes = 65_535), "recirculation-buffer", "65535"),
        (with(|config| config.switch.pipe_packets_per_second = 0), "pipe-capacity", "0"),
    ]
}

#[test]
fn what_cannot_be_used_is_named_with_its_value() {
    for (config, parameter, value) in impossible() {
        let error = config.validate().expect_err(parameter);
        assert_eq!((error.parameter, error.value.as_str()), (parameter, value), "{error}");
        assert!(!error.requirement.is_empty(), "{parameter}");
    }
}

#[test]
fn nothing_runs_before_all_is_checked() {
    for (config, parameter, _) in impossible() {
        let mut asked = false;
        let outcome = run(&config, &mut |_| {
            asked = true;
            true
        });
        assert_eq!(outcome.map_err(|error| error.parameter), Err(parameter));
        assert!(!asked, "{parameter}: the run had begun");
    }
}

#[test]
fn what_lies_just_inside_the_bounds_is_used() {
    let inside = [
        with(|config| config.frames = 1),
        with(|config| config.frame_bytes = 64),
        with(|config| config.frame_bytes = 9216),
        with(|config| config.distance_m = 0),
        with(|config| config.distance_m = 100_000),
        corrupted(Corruption::GilbertElliott { loss: 0.9, mean_burst_frames: 9.0 }),
        protected(|protection| protection.copies = Copies::Fixed(16)),
        protected(|protection| protection.copies = Copies::Target { loss: 0.5 }),
        protected(|protection| protection.recovery_timeout_ns = 1),
        protected(|protection| protection.window_frames = 32_768),
        protected(|protection| protection.window_frames = 16),
        backpressure(200_000, 199_999),
        backpressure(1, 0),
        with(|config| config.switch.recirculation_bytes = 65_536),
        // What is not used need not be right.
        with(|config| {
            config.buffering = Buffering::Direct;
            config.switch.pipe_packets_per_second = 0;
        }),
    ];
    for config in inside {
        assert_eq!(config.validate(), Ok(()), "{config:?}");
    }
}

#[test]
fn a_rate_that_cannot_be_exact_is_none() {
    for bits_per_second in [0, 7, 30_000_000_000, 9_000_000_000_000, u64::MAX] {
        assert_eq!(Rate::from_bits_per_second(bits_per_second), None, "{bits_per_second}");
    }
}
