//! The situations of the paper's section 5 that could bring a link to a standstill: corruption in both directions, and a
//! loss rate that rises suddenly.

use linkmend_protocol::Format;
use linkmend_sim::corruption::Corruption;
use linkmend_sim::link::LinkConfig;
use linkmend_sim::link::config::{Buffering, Mode};
use linkmend_sim::links::{self, Course, LevelChange, LinksConfig, LinksReport, Phase, Sample};
use linkmend_sim::time::{Rate, Time};

fn link(loss: f64, mode: Mode) -> LinkConfig {
    let rate = Rate::from_bits_per_second(100_000_000_000).expect("an Ethernet rate");
    LinkConfig { reverse_corruption: Corruption::iid(loss), ..LinkConfig::paper(rate, loss, mode) }
}

/// As much in both directions as the link takes.
fn full(link: LinkConfig, format: Format, frames: u64) -> LinksConfig {
    LinksConfig { format: Some(format), reverse_load: 1.0, ..LinksConfig::row(vec![link], frames) }
}

fn run(config: &LinksConfig) -> LinksReport {
    links::run(config, &mut |_| true).expect("valid")
}

/// Every combination of format, rounds, buffering and mode at some loss rates.
fn combinations() -> Vec<LinksConfig> {
    let mut all = Vec::new();
    for (index, loss) in [1e-3, 1e-2, 0.05, 0.2].into_iter().enumerate() {
        for format in [Format::Compact, Format::Transparent] {
            for rounds in [1, 3, 255] {
                for buffering in [Buffering::Direct, Buffering::Recirculating] {
                    for mode in [Mode::Ordered, Mode::NonBlocking] {
                        for load in [1.0, 0.3] {
                            let mut link = link(loss, mode);
                            link.buffering = buffering;
                            if let Some(protection) = &mut link.protection {
                                protection.max_rounds = rounds;
                            }
                            let seed = all.len() as u64 + index as u64;
                            let full = full(link, format, 500);
                            all.push(LinksConfig { seed, load, reverse_load: load, ..full });
                        }
                    }
                }
            }
        }
    }
    all
}

#[test]
fn nothing_stalls_when_both_directions_corrupt() {
    for config in combinations() {
        let report = run(&config);
        assert!(report.ending.drained, "{:?} of {config:?}", report.ending);
        // A keepalive of 100 us repairs what was reported in vain; the handshakes before it take their time.
        assert!(report.ending.drained_after_ns < 5e6, "{:?} of {config:?}", report.ending);
        for (link, stream) in report.links.iter().zip(&report.streams) {
            let lost = link.recovery_timeouts + link.queue_drops;
            assert_eq!(stream.delivery.frames_undelivered, lost, "{stream:?} of {config:?}");
            if config.links[0].is_ordered() {
                assert_eq!(stream.delivery.frames_reordered, 0, "{stream:?} of {config:?}");
            }
        }
    }
}

#[test]
fn only_the_transparent_format_lets_acknowledgements_ride_on_data() {
    let config = |format| full(link(1e-3, Mode::NonBlocking).buffered(Buffering::Direct), format, 20_000);
    let compact = run(&config(Format::Compact));
    let transparent = run(&config(Format::Transparent));
    assert_eq!(compact.links[0].piggybacked_acks, 0);
    // There is no idle slot for other frames.
    let forward = &transparent.links[0];
    assert!(forward.piggybacked_acks > 10 * forward.explicit_acks, "{transparent:?}");
    // Either way, the other direction's data costs little more than headers.
    for report in [compact, transparent] {
        for direction in &report.streams {
            assert!(direction.delivery.speed_gbps > 95.0, "{direction:?}");
            assert!(direction.delivery.loss_rate < 1e-3, "{direction:?}");
        }
    }
}

#[test]
fn copies_and_buffered_frames_share_the_port_of_a_switch_in_both_directions() {
    // An end's copies pass its switch's port once each, and so does what it receives while it waits for a loss. As the
    // port carries 100G, the buffer never empties again, and both directions get half.
    let config = full(link(1e-3, Mode::Ordered), Format::Compact, 20_000);
    let report = run(&config);
    for direction in &report.streams {
        assert!((40.0..60.0).contains(&direction.delivery.speed_gbps), "{direction:?}");
    }
}

/// Phases of these milliseconds and loss rates, at 40% of the link.
fn phases(phases: &[(u64, f64)]) -> LinksConfig {
    let phase = |&(ms, loss): &(u64, f64)| Phase { duration: Time::from_nanos(ms * 1_000_000), loss };
    let link = link(0.0, Mode::Ordered).buffered(Buffering::Direct);
    let sample = Time::from_nanos(SAMPLE_US * 1_000);
    let course = Course { sample, ..Course::of(phases.iter().map(phase).collect()) };
    LinksConfig { load: 0.4, course: Some(course), ..LinksConfig::over(link) }
}

const SAMPLE_US: u64 = 500;

/// A loss rate that rises from 1e-4 to 8e-2 and 0.4, and returns.
fn sudden() -> LinksConfig {
    phases(&[(5, 1e-4), (5, 8e-2), (10, 0.4), (30, 1e-4)])
}

#[test]
fn the_level_follows_the_loss_rate_down_and_up() {
    let report = run(&sudden());
    assert!(report.ending.drained, "{:?}", report.ending);
    let changes: Vec<(&str, f64)> = report.changes.iter().map(|change| (change.level, change.loss)).collect();
    assert_eq!(changes[..2], [("non-blocking", 0.08), ("dormant", 0.4)], "{changes:?}");
    assert_eq!(changes[changes.len() - 2..], [("non-blocking", 1e-4), ("full", 1e-4)], "{changes:?}");
    // In between, a dormant link is retried now and then.
    for pair in changes[1..].windows(2) {
        assert_ne!(pair[0].0, pair[1].0, "{changes:?}");
    }
}

#[test]
fn each_level_does_what_it_promises() {
    let report = run(&sudden());
    let samples = || report.samples.iter();
    assert_eq!(report.samples.len() as u64, 50_000 / SAMPLE_US);
    let mean = |of: &dyn Fn(&Sample) -> f64, from: u64, until: u64| {
        let within: Vec<f64> = samples().filter(|at| at.at_us > from && at.at_us <= until).map(of).collect();
        within.iter().sum::<f64>() / within.len() as f64
    };
    // 8% of the frames are lost, and hardly any of them for good, once copies are sent.
    let (actual, effective) =
        (mean(&|at| at.actual_loss, 7_000, 9_500), mean(&|at| at.effective_loss, 7_000, 9_500));
    assert!((actual - 0.08).abs() < 0.02 && effective < 1e-3, "{actual} {effective}");
    // A dormant link loses what the link loses, and passes the rest at once. Until the sample in which it became dormant
    // is over, frames of the session that ended may still be counted as lost.
    let became_dormant = |change: &&LevelChange| change.level == "dormant" && change.at_us < 20_000.0;
    let last = report.changes.iter().rfind(became_dormant).expect("40% is too much to protect");
    let dormant: Vec<_> =
        samples().filter(|at| (at.at_us - SAMPLE_US) as f64 > last.at_us && at.at_us <= 20_000).collect();
    assert!(dormant.len() >= 2, "{last:?}");
    for sample in dormant {
        assert_eq!(sample.level, "dormant", "{sample:?}");
        assert!((sample.effective_loss - sample.actual_loss).abs() < 1e-9, "{sample:?}");
    }
    // In the end everything is as it was in the beginning: 40% of the link.
    let speed = mean(&|at| at.speed_gbps, 40_000, 50_000);
    assert!((speed - 40.0 * 1518.0 / 1538.0).abs() < 0.1, "{speed}");
    assert!(mean(&|at| at.effective_loss, 40_000, 50_000) < 1e-9);
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let json = |seed: u64| {
        let config = LinksConfig { seed, ..sudden() };
        let full = full(link(1e-2, Mode::Ordered), Format::Transparent, 1_000);
        let both = LinksConfig { seed, reverse_load: 0.5, ..full };
        serde_json::to_string(&(run(&config), run(&both))).expect("serialises")
    };
    assert_eq!(json(1), json(1));
    assert_ne!(json(1), json(2));
}

#[test]
fn impossible_parameters_are_named() {
    let course = |change: fn(&mut Course)| {
        let mut config = sudden();
        change(config.course.as_mut().expect("phases"));
        config
    };
    let unprotected = LinkConfig { protection: None, ..link(1e-2, Mode::Ordered) };
    let sudden = sudden();
    for (config, parameter) in [
        (phases(&[]), "phases"),
        (course(|course| course.phases[0].duration = Time(u64::MAX)), "phases"),
        (course(|course| course.phases[0].duration = Time(1)), "phases"),
        (course(|course| course.sample = Time::ZERO), "sample"),
        (course(|course| course.non_blocking_loss_max = 0.01), "fallback.non_blocking_loss_max"),
        (LinksConfig { links: vec![sudden.links[0].clone(); 2], ..sudden.clone() }, "phases"),
        (LinksConfig { links: vec![unprotected.clone()], ..sudden }, "scheme"),
        (full(unprotected, Format::Compact, 1_000), "scheme"),
        (full(link(1e-2, Mode::Ordered), Format::Linkguardian, 1_000), "format"),
    ] {
        let error = config.validate().expect_err(parameter);
        assert_eq!(error.parameter, parameter, "{error}");
    }
}
