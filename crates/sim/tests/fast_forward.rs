//! Skipping the steady state between losses changes nothing: a run with fast-forward reports the same as the run that
//! simulates every event, to the last byte.

mod common;

use common::swarm::{self, Extent};
use common::{Case, LossSeverity, bytes_of, gigabits, simulate};
use linkmend_sim::corruption::Corruption;
use linkmend_sim::link::config::{Buffering, Mode};
use linkmend_sim::links::LinksConfig;
use linkmend_sim::stress::StressReport;
use std::sync::atomic::{AtomicU64, Ordering};

/// Seeds of an ordinary test run.
const CASES: u64 = 2_000;

/// Both reports, after making sure that they agree.
fn compare(config: &LinksConfig) -> (StressReport, StressReport) {
    let fast = simulate(&LinksConfig { full: false, ..config.clone() });
    let full = simulate(&LinksConfig { full: true, ..config.clone() });
    let (left, right) = (bytes_of(&fast), bytes_of(&full));
    if left != right {
        let differs: Vec<String> = left
            .lines()
            .zip(right.lines())
            .filter(|(left, right)| left != right)
            .take(20)
            .map(|(left, right)| format!("{left}  but in full {right}"))
            .collect();
        panic!("the reports differ:\n{}\n{config:?}", differs.join("\n"));
    }
    (fast, full)
}

#[test]
fn the_report_is_that_of_the_full_run() {
    let (fast_events, full_events) = (AtomicU64::new(0), AtomicU64::new(0));
    let skipping = AtomicU64::new(0);
    let extent = swarm::run("fast_forward", CASES, |seed| {
        let case = Case::new(seed, LossSeverity::Moderate);
        let (fast, full) = compare(&case.config);
        assert!(fast.events <= full.events, "fast-forward adds events: {case:?}");
        fast_events.fetch_add(fast.events, Ordering::Relaxed);
        full_events.fetch_add(full.events, Ordering::Relaxed);
        skipping.fetch_add(u64::from(fast.events < full.events), Ordering::Relaxed);
    });
    let (fast, full, skipping) = (fast_events.into_inner(), full_events.into_inner(), skipping.into_inner());
    println!("{fast} events instead of {full}; {skipping} runs skipped something");
    if extent == Extent::All {
        // The comparison means nothing where nothing is skipped.
        assert!(fast < full * 3 / 4, "{fast} events instead of {full}");
        assert!(skipping > CASES / 6, "only {skipping} runs skip anything");
    }
}

/// Between losses far apart, hardly an event is left; so a comparison that passes because nothing is skipped fails here.
#[test]
fn a_calm_link_costs_few_events() {
    for gbps in [10, 25, 100] {
        for frame_bytes in [64, 256, 1518] {
            for mode in Mode::ALL.map(Some).into_iter().chain([None]) {
                for buffering in [Buffering::Direct, Buffering::Recirculating] {
                    for loss in [0.0, 1e-5] {
                        let paper = LinksConfig::paper(gigabits(gbps), loss, mode.unwrap_or(Mode::Ordered));
                        let mut config = LinksConfig { frames: 200_000, ..paper };
                        (config.links[0].frame_bytes, config.links[0].buffering) = (frame_bytes, buffering);
                        config.links[0].protection = config.links[0].protection.filter(|_| mode.is_some());
                        if let Some(protection) = &mut config.links[0].protection {
                            // A window of small frames is too short for the round trip.
                            protection.window_frames = 32_768;
                        }
                        let (fast, full) = compare(&config);
                        assert!(
                            fast.events * 5 < full.events,
                            "{} events instead of {}: {config:?}",
                            fast.events,
                            full.events
                        );
                    }
                }
            }
        }
    }
}

/// Time at a level is counted when the level changes; the Rx buffer of a quiet link stays empty for the whole run.
#[test]
fn a_level_that_never_changes_counts_the_time_that_is_skipped() {
    let paper = LinksConfig::paper(gigabits(100), 0.0, Mode::Ordered);
    let config = LinksConfig { frames: 100_000, ..paper }.with_link(|link| {
        link.buffering = Buffering::Direct;
        link.corruption = Corruption::Recorded([50_000].into());
    });
    let (fast, full) = compare(&config);
    assert!(fast.events * 5 < full.events, "{} events instead of {}", fast.events, full.events);
    let empty = fast.rx_buffer_levels.first().expect("the Rx buffer has levels");
    assert!(empty.0 == 0 && empty.1 > 0.99, "one frame of 100,000 is lost: {empty:?}");
}
