//! The seed decides everything: not the thread, not the machine, not the run before.

mod common;

use common::{Case, LossSeverity, bytes_of, gigabits, simulate};
use linkmend_sim::corruption::Corruption;
use linkmend_sim::link::config::{Buffering, Mode};
use linkmend_sim::links::LinksConfig;
use std::collections::BTreeSet;

#[test]
fn a_seed_gives_the_same_bytes_on_any_thread() {
    let seeds = 0..64_u64;
    let report = |seed| {
        let case = Case::new(seed, LossSeverity::Moderate);
        let report = simulate(&case.config);
        (bytes_of(&report), report.events)
    };
    let here: Vec<_> = seeds.clone().map(report).collect();
    // In the opposite order, beside each other.
    let there: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = seeds.rev().map(|seed| scope.spawn(move || report(seed))).collect();
        threads.into_iter().rev().map(|thread| thread.join().expect("a run ends")).collect()
    });
    assert_eq!(here, there);
}

#[test]
fn another_seed_loses_other_frames() {
    let reports: BTreeSet<String> = (1..=32)
        .map(|seed| {
            let config = LinksConfig { seed, frames: 20_000, ..base() };
            // The report repeats its seed, which proves nothing.
            bytes_of(&linkmend_sim::stress::StressReport { seed: 0, ..simulate(&config) })
        })
        .collect();
    assert_eq!(reports.len(), 32, "each seed has its own losses");
}

fn base() -> LinksConfig {
    LinksConfig::paper(gigabits(100), 5e-3, Mode::Ordered)
}

/// What a small run measures, whole numbers only and in picoseconds: nothing here depends on how a machine divides.
fn golden(config: &LinksConfig) -> [u64; 9] {
    let report = simulate(config);
    [
        report.frames_lost,
        report.frames_undelivered,
        report.retransmitted_copies,
        report.loss_events,
        report.recovery_timeouts,
        report.pauses,
        report.tx_buffer_bytes.max,
        report.rx_buffer_bytes.max,
        (report.simulated_ns * 1e3).round() as u64,
    ]
}

/// Written down once. A machine, a compiler or a library that computes anything differently shows here; so does a
/// change of the model, which then has to be intended.
#[test]
fn small_runs_measure_exactly_what_is_written_down() {
    let small = LinksConfig { seed: 7, frames: 30_000, ..base() };
    let bursts = Corruption::GilbertElliott { loss: 1e-2, mean_burst_frames: 4.0 };
    let cases = [
        ("iid", small.clone(), GOLDEN_IID),
        (
            "bursts, both directions",
            small.clone().with_link(|link| {
                link.corruption = bursts.clone();
                link.reverse_corruption = bursts;
            }),
            GOLDEN_BURSTS,
        ),
        (
            "per bit, direct",
            small.with_link(|link| {
                link.corruption = Corruption::PerBit { bit_error_rate: 1e-6 };
                link.buffering = Buffering::Direct;
            }),
            GOLDEN_PER_BIT,
        ),
    ];
    for (name, config, expected) in cases {
        assert_eq!(golden(&config), expected, "{name}");
    }
}

/// In the order of [`golden`].
const GOLDEN_IID: [u64; 9] = [132, 0, 396, 131, 0, 125, 34914, 62238, 4399639360];
const GOLDEN_BURSTS: [u64; 9] = [356, 41, 1068, 77, 41, 73, 63756, 60720, 4325248960];
const GOLDEN_PER_BIT: [u64; 9] = [334, 0, 1336, 331, 0, 0, 33396, 30360, 3864992400];
