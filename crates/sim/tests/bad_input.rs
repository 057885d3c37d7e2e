//! Impossible parameters are refused by name, before anything runs.

mod common;

use common::gigabits;
use linkmend_sim::corruption::{Corruption, Transceiver};
use linkmend_sim::link::config::{Backpressure, Buffering, Copies, Mode, Protection};
use linkmend_sim::links::{self, LinksConfig};
use linkmend_sim::stress::run;
use linkmend_sim::time::Rate;

fn base() -> LinksConfig {
    LinksConfig { frames: 100, ..LinksConfig::paper(gigabits(100), 1e-3, Mode::Ordered) }
}

fn with(change: impl FnOnce(&mut LinksConfig)) -> LinksConfig {
    let mut config = base();
    change(&mut config);
    config
}

fn protected(change: impl FnOnce(&mut Protection)) -> LinksConfig {
    with(|config| change(config.links[0].protection.as_mut().expect("the paper's link is protected")))
}

fn backpressure(pause_bytes: u64, resume_bytes: u64) -> LinksConfig {
    protected(|protection| protection.backpressure = Some(Backpressure { pause_bytes, resume_bytes }))
}

fn corrupted(corruption: Corruption) -> LinksConfig {
    with(|config| config.links[0].corruption = corruption)
}

/// Runs with a value that cannot be used, the name of its parameter, and the value as the error repeats it.
fn impossible() -> Vec<(LinksConfig, &'static str, &'static str)> {
    let bursts = |loss, mean_burst_frames| Corruption::GilbertElliott { loss, mean_burst_frames };
    let attenuated =
        |attenuation_db| Corruption::Attenuated { transceiver: Transceiver::TwentyFiveGig, attenuation_db };
    vec![
        (with(|config| config.frames = 0), "frames", "0"),
        (with(|config| config.load = 0.5), "links", "more than line-rate traffic"),
        (with(|config| config.links.push(config.links[0].clone())), "links", "2"),
        (with(|config| config.links[0].frame_bytes = 63), "frame-size", "63B"),
        (with(|config| config.links[0].frame_bytes = 9217), "frame-size", "9217B"),
        (with(|config| config.links[0].distance_m = 100_001), "distance", "100001m"),
        (corrupted(Corruption::Iid { loss: 2.0 }), "loss", "2"),
        (corrupted(Corruption::Iid { loss: -1e-9 }), "loss", "-0.000000001"),
        (corrupted(Corruption::Iid { loss: f64::NAN }), "loss", "NaN"),
        (corrupted(Corruption::PerBit { bit_error_rate: 1.5 }), "bit_error_rate", "1.5"),
        (corrupted(bursts(1.0, 3.0)), "loss", "1"),
        (corrupted(bursts(0.9, 2.0)), "mean_burst_frames", "2"),
        (corrupted(bursts(0.1, f64::INFINITY)), "mean_burst_frames", "inf"),
        (corrupted(Corruption::Recorded([3, 5, 5].into())), "recorded", "5"),
        (corrupted(attenuated(-1.0)), "attenuation_db", "-1"),
        (with(|config| config.links[0].reverse_corruption = Corruption::Iid { loss: 2.0 }), "loss", "2"),
        (protected(|protection| protection.copies = Copies::Fixed(0)), "copies", "0"),
        (protected(|protection| protection.copies = Copies::Fixed(17)), "copies", "17"),
        (protected(|protection| protection.copies = Copies::Target { loss: 0.0 }), "target", "0"),
        (protected(|protection| protection.copies = Copies::Target { loss: 1.0 }), "target", "1"),
        (protected(|protection| protection.copies = Copies::Target { loss: f64::NAN }), "target", "NaN"),
        (protected(|protection| protection.recovery_timeout_ns = 0), "recovery-timeout", "0ns"),
        (protected(|protection| protection.max_rounds = 0), "rounds", "0"),
        (protected(|protection| protection.window_frames = 65_536), "window", "65536"),
        (protected(|protection| protection.window_frames = 1_000), "window", "1000"),
        (protected(|protection| protection.window_frames = 8), "window", "8"),
        (backpressure(40_000, 40_000), "resume-threshold", "40kB"),
        (backpressure(40_000, 50_000), "resume-threshold", "50kB"),
        (backpressure(200_001, 40_000), "pause-threshold", "200001B"),
        (
            with(|config| config.links[0].switch.recirculation_bytes = 65_535),
            "recirculation-buffer",
            "65535B",
        ),
        (with(|config| config.links[0].switch.pipe_packets_per_second = 0), "pipe-capacity", "0"),
    ]
}

#[test]
fn a_value_that_cannot_be_used_is_named() {
    for (config, parameter, value) in impossible() {
        let error = config.validate_stress().expect_err(parameter);
        assert_eq!((error.parameter, error.value.as_str()), (parameter, value), "{error}");
        assert!(!error.requirement.is_empty(), "{parameter}");
    }
}

#[test]
fn nothing_runs_before_everything_is_checked() {
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
fn a_session_that_does_not_open_names_what_is_to_blame() {
    let cases = [
        (corrupted(Corruption::Recorded((0..100_000).collect())), "losses", "100000 frames"),
        (with(|config| config.links[0].switch.egress_latency_ns = 500_000_000), "egress-latency", "500ms"),
        (with(|config| config.links[0].switch.ingress_latency_ns = 500_000_000), "ingress-latency", "500ms"),
    ];
    for (config, parameter, value) in cases {
        let error = run(&config, &mut |_| true).expect_err(parameter);
        assert_eq!((error.parameter, error.value.as_str()), (parameter, value), "{error}");
        assert!(error.requirement.starts_with("must be lower: no session opened in 1 s of"), "{error}");
    }
    let deaf = run(&corrupted(Corruption::iid(1.0)), &mut |_| true).expect_err("nothing arrives");
    assert_eq!(
        deaf.to_string(),
        "loss = 1: must be lower on a protected link: at most 99.9% of the 64-byte frames that open its session may be lost, but here 100% are; there is no such limit with `scheme` none"
    );
    // With one handshake in a thousand it is a matter of luck.
    let unlucky = |seed| {
        with(|config| {
            config.seed = seed;
            config.links[0].reverse_corruption = Corruption::iid(0.999);
        })
    };
    let errors: Vec<_> = (0..10).filter_map(|seed| run(&unlucky(seed), &mut |_| true).err()).collect();
    assert!(!errors.is_empty(), "some are unlucky");
    assert!(
        errors.iter().all(|error| error.parameter == "reverse-loss" && error.value == "0.999"),
        "{errors:?}"
    );

    let links = vec![corrupted(Corruption::None).links[0].clone(); 3];
    let mut path = LinksConfig { load: 0.5, ..LinksConfig::row(links, 100) };
    path.links[1].corruption = Corruption::Recorded((0..100_000).collect());
    assert_eq!(links::run(&path, &mut |_| true).expect_err("the second hop").parameter, "losses");
}

/// A frame that lost its copy keeps those behind it circling until it is given up: a quarter of a second here.
#[test]
fn a_run_can_be_ended_while_it_waits_for_the_last_frame() {
    let mut config = corrupted(Corruption::iid(0.05));
    config.copy_loss = Some(0.999);
    // Short frames, which return after the loop's latency and not when the port has sent them all.
    config.links[0].frame_bytes = 64;
    let protection = config.links[0].protection.as_mut().expect("protected");
    protection.copies = Copies::Fixed(1);
    protection.recovery_timeout_ns = 250_000_000;
    protection.backpressure = None;
    let calls_until = |last: u64| {
        let mut calls = 0;
        let report = run(&config, &mut |_| {
            calls += 1;
            calls < last
        });
        let report = report.expect("it runs");
        assert_eq!(report.frames_sent, config.frames);
        (calls, report.events)
    };
    let (calls, events) = calls_until(u64::MAX);
    assert!(calls >= 2, "it is asked while it waits: {calls}");
    let (fewer_calls, fewer_events) = calls_until(2);
    assert!(fewer_calls == 2 && fewer_events < events, "{fewer_events} of {events} events");
}

#[test]
fn values_just_inside_the_bounds_are_accepted() {
    let inside = [
        with(|config| config.frames = 1),
        with(|config| config.links[0].frame_bytes = 64),
        with(|config| config.links[0].frame_bytes = 9216),
        with(|config| config.links[0].distance_m = 0),
        with(|config| config.links[0].distance_m = 100_000),
        corrupted(Corruption::GilbertElliott { loss: 0.9, mean_burst_frames: 9.0 }),
        protected(|protection| protection.copies = Copies::Fixed(16)),
        protected(|protection| protection.copies = Copies::Target { loss: 0.5 }),
        protected(|protection| protection.recovery_timeout_ns = 1),
        protected(|protection| protection.window_frames = 32_768),
        protected(|protection| protection.window_frames = 16),
        backpressure(200_000, 199_999),
        backpressure(1, 0),
        with(|config| config.links[0].switch.recirculation_bytes = 65_536),
        with(|config| config.links[0].switch.timer_interval_ns = 0),
        // What is not used need not be right.
        with(|config| {
            config.links[0].buffering = Buffering::Direct;
            config.links[0].switch.pipe_packets_per_second = 0;
        }),
    ];
    for config in inside {
        assert_eq!(config.validate_stress(), Ok(()), "{config:?}");
        let report = run(&config, &mut |_| true).unwrap_or_else(|error| panic!("{error} in {config:?}"));
        assert_eq!(report.frames_sent, config.frames, "{config:?}");
    }
}

#[test]
fn a_rate_that_cannot_be_exact_is_refused() {
    for bits_per_second in [0, 7, 30_000_000_000, 9_000_000_000_000, u64::MAX] {
        assert_eq!(Rate::from_bits_per_second(bits_per_second), None, "{bits_per_second}");
    }
}
