//! What the protocol promises on a link that loses frames in both directions, one by one and in bursts: nothing arrives
//! twice, nothing arrives out of order in ordered mode, and a frame is lost only if its original and every copy were.

mod common;

use common::ledger::Ledger;
use common::swarm::{self, Extent};
use common::{Case, LossSeverity, gigabits};
use linkmend_sim::corruption::Corruption;
use linkmend_sim::link::config::{Backpressure, Buffering, Mode};
use linkmend_sim::links::LinksConfig;
use linkmend_sim::stress::{StressReport, run_observed};
use std::sync::atomic::{AtomicU64, Ordering};

/// Seeds of each test in an ordinary test run.
const CASES: u64 = 2_000;

fn watch(config: &LinksConfig) -> (StressReport, Ledger) {
    // An observer does not see what fast-forward skips.
    let config = LinksConfig { full: true, ..config.clone() };
    let (report, ledger, _) = run_observed(&config, Ledger::default(), None, &mut |_| true)
        .unwrap_or_else(|error| panic!("{error} in {config:?}"));
    (report, ledger)
}

/// What holds for every run.
fn check_books(config: &LinksConfig, report: &StressReport, ledger: &Ledger) {
    let undelivered = ledger.count(|fate| fate.deliveries == 0);
    assert_eq!(ledger.fates.len() as u64, report.frames_sent, "each frame sent is seen");
    assert!(ledger.fates.iter().all(|fate| fate.originals == 1), "each original travels once");
    assert_eq!(undelivered, report.frames_undelivered, "sent = delivered + undelivered");
    assert_eq!(ledger.count(|fate| fate.original_corrupted), report.frames_lost);
    let copies: u64 = ledger.fates.iter().map(|fate| u64::from(fate.copies)).sum();
    assert_eq!(copies, report.retransmitted_copies);
    assert_eq!(ledger.reordered, report.frames_reordered);
    assert_eq!(report.hole_lengths.iter().sum::<u64>(), report.loss_events);
    if report.hole_lengths.len() < 64 {
        let lost: u64 = (1..).zip(&report.hole_lengths).map(|(length, holes)| length * holes).sum();
        assert_eq!(lost, report.frames_lost, "the holes are made of what was lost");
    }
    for (id, fate) in ledger.fates.iter().enumerate() {
        assert!(
            fate.copies == 0 || config.links[0].protection.is_some(),
            "frame {id} is copied without protection"
        );
        let arrived = !fate.original_corrupted || fate.copies > fate.copies_corrupted;
        assert_eq!(fate.arrived_at.is_some(), arrived, "frame {id} arrives unless it is corrupted: {fate:?}");
    }
    if config.links[0].protection.is_none_or(|protection| protection.mode == Mode::Ordered) {
        assert_eq!(report.frames_reordered, 0, "frames overtake each other");
    }
}

#[test]
fn nothing_is_delivered_twice_or_out_of_order() {
    swarm::run("safety", CASES, |seed| {
        let case = Case::new(seed, LossSeverity::Severe);
        let (report, ledger) = watch(&case.config);
        check_books(&case.config, &report, &ledger);
    });
}

/// A link whose buffers, windows and timeouts are so large that only corruption can lose a frame.
fn roomy(seed: u64) -> LinksConfig {
    let mut config = Case::new(seed, LossSeverity::Severe).config;
    config.links[0].buffering = Buffering::Direct;
    config.links[0].distance_m = config.links[0].distance_m.min(1_000);
    let protection = config.links[0].protection.as_mut().expect("storms hit protected links");
    protection.backpressure = Some(Backpressure { pause_bytes: 4_000_000, resume_bytes: 2_000_000 });
    protection.recovery_timeout_ns = 10_000_000;
    protection.dummy_copies = protection.dummy_copies.max(1);
    protection.max_rounds = 1;
    protection.window_frames = 32_768;
    config
}

/// A feedback lists 32 holes. If more than half as many are beyond help, those behind them may wait until all are given
/// up together.
const HOPELESS_MAX: u64 = 16;

#[test]
fn nothing_is_lost_unless_its_original_and_every_copy_were() {
    let (strict, recovered_frames) = (AtomicU64::new(0), AtomicU64::new(0));
    let extent = swarm::run("safety", CASES, |seed| {
        let config = roomy(seed);
        let (report, ledger) = watch(&config);
        check_books(&config, &report, &ledger);
        assert_eq!(report.rx_buffer_overflows, 0, "there is room for every frame");
        let recovered = ledger.count(|fate| fate.original_corrupted && fate.deliveries == 1);
        assert_eq!(report.frames_lost, recovered + report.frames_undelivered);
        assert_eq!(report.recovery_timeouts, report.frames_undelivered, "what is given up is what is lost");
        if ledger.count(|fate| fate.arrived_at.is_none()) > HOPELESS_MAX {
            return;
        }
        strict.fetch_add(1, Ordering::Relaxed);
        recovered_frames.fetch_add(recovered, Ordering::Relaxed);
        let copies = report.copies.map_or(0, u32::from);
        for (id, fate) in ledger.fates.iter().enumerate() {
            let arrived = fate.arrived_at.is_some();
            assert_eq!(fate.deliveries == 1, arrived, "frame {id} arrived or was lost for good: {fate:?}");
            let due = if fate.original_corrupted { copies } else { 0 };
            assert_eq!(fate.copies, due, "frame {id} is copied if it was lost, once: {fate:?}");
        }
    });
    if extent == Extent::All {
        assert!(strict.into_inner() > CASES / 2, "most seeds are held to every word of it");
        assert!(recovered_frames.into_inner() > 10 * CASES, "there is much to recover");
    }
}

/// A receiver that gives up a whole window, with no frame circling behind it, must still accept the frames that follow.
#[test]
fn a_window_that_is_given_up_as_a_whole_opens_again() {
    let mut config = LinksConfig::paper(gigabits(25), 0.0, Mode::Ordered);
    config.frames = 1_000;
    // Sixteen originals, and everything after them until the receiver gives up.
    config.links[0].corruption = Corruption::Recorded((200..200 + 16).chain(217..217 + 32).collect());
    config.links[0].protection.as_mut().expect("protected").window_frames = 16;
    let (report, ledger) = watch(&config);
    check_books(&config, &report, &ledger);
    assert_eq!(report.frames_sent, 1_000);
    assert!(report.recovery_timeouts >= 16, "a window was given up: {}", report.recovery_timeouts);
    assert_eq!(report.frames_undelivered, report.recovery_timeouts, "all others are delivered");
}

/// Where light takes longer there and back than the interval after which feedback is repeated, a loss on the way back
/// is reported several times before the first report can be answered.
#[test]
fn distances_beyond_the_interval_of_repeats_change_no_promise() {
    for distance_m in [20_000, 50_000, 100_000] {
        for buffering in [Buffering::Direct, Buffering::Recirculating] {
            for mode in Mode::ALL {
                let mut config = LinksConfig::paper(gigabits(100), 1e-2, mode);
                config.frames = 5_000;
                config.links[0].distance_m = distance_m;
                config.links[0].buffering = buffering;
                config.links[0].reverse_corruption = Corruption::iid(0.1);
                config.links[0].switch.recirculation_bytes = 16_000_000;
                let protection = config.links[0].protection.as_mut().expect("protected");
                protection.backpressure =
                    Some(Backpressure { pause_bytes: 15_000_000, resume_bytes: 10_000_000 });
                protection.recovery_timeout_ns = 10_000_000;
                protection.window_frames = 32_768;
                let (report, ledger) = watch(&config);
                check_books(&config, &report, &ledger);
                let case = format!("{distance_m} m, {buffering:?}, {mode:?}");
                assert_eq!((report.frames_sent, report.rx_buffer_overflows), (5_000, 0), "{case}");
                assert!(report.frames_lost > 20, "{case}: {} frames lost", report.frames_lost);
                assert_eq!(report.recovery_timeouts, report.frames_undelivered, "{case}");
                for (id, fate) in ledger.fates.iter().enumerate() {
                    let arrived = fate.arrived_at.is_some();
                    assert_eq!(fate.deliveries == 1, arrived, "{case}: frame {id}: {fate:?}");
                    let due = if fate.original_corrupted { report.copies.map_or(0, u32::from) } else { 0 };
                    assert_eq!(
                        fate.copies, due,
                        "{case}: frame {id} is copied if it was lost, once: {fate:?}"
                    );
                }
            }
        }
    }
}
