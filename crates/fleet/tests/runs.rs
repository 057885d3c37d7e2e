//! Properties that hold in every run.

use linkmend_fleet::network::Metrics;
use linkmend_fleet::optimizer::Objective;
use linkmend_fleet::simulate::{Optimizer, Settings, Step, Summary, simulate};
use linkmend_fleet::strategy::Strategy;
use linkmend_fleet::trace::{SharedFailures, Trace, TraceParameters};
use linkmend_topology::{FabricParameters, Topology, fat_tree, leaf_spine};
use std::collections::BTreeSet;

const GBPS_100: u64 = 100_000_000_000;

fn networks() -> Vec<Topology> {
    let shape = FabricParameters { pods: 4, tors_per_pod: 6, spines_per_plane: 5, ..FabricParameters::PAPER };
    [shape.build(), fat_tree(6, GBPS_100), leaf_spine(8, 6, GBPS_100)]
        .into_iter()
        .map(|topology| topology.expect("the parameters are in range"))
        .collect()
}

/// Half a year in which a link fails every 20 days.
fn trace(topology: &Topology, seed: u64) -> Trace {
    let shared = seed.is_multiple_of(2).then_some(SharedFailures { share: 0.2, links: 4 });
    let parameters =
        TraceParameters { length_s: 180 * 86_400, mttf_hours: 480.0, shared, ..TraceParameters::paper(seed) };
    parameters.generate(topology)
}

fn run(topology: &Topology, trace: &Trace, settings: &Settings) -> (Vec<Step>, Summary) {
    let mut steps = Vec::new();
    let summary = simulate(topology, trace, settings, &mut |step, _| steps.push(*step));
    (steps, summary)
}

/// Runs every network with every combination of settings.
fn each_run(mut check: impl FnMut(&Topology, &Trace, &Settings)) {
    for (seed, topology) in (0..).zip(networks()) {
        for strategy in Strategy::ALL {
            for constraint in [0.0, 0.5, 0.7, 0.75, 0.9, 1.0] {
                for objective in [Objective::Penalty, Objective::Effective { capacity_weight: 1e-6 }] {
                    for optimizer in [Optimizer::Exact, Optimizer::Greedy] {
                        let settings =
                            Settings { objective, optimizer, ..Settings::paper(strategy, constraint, seed) };
                        check(&topology, &trace(&topology, seed), &settings);
                    }
                }
            }
        }
    }
}

#[test]
fn the_constraint_is_never_violated() {
    let mut at_the_limit = 0;
    each_run(|topology, trace, settings| {
        let all = linkmend_topology::paths::Paths::new(topology).count(topology.tors()[0]);
        let least = (all as f64 * settings.constraint.paths).ceil() as u64;
        let (steps, _) = run(topology, trace, settings);
        assert!(steps.iter().all(|step| step.after.min_paths_per_tor >= least), "{settings:?}");
        at_the_limit += steps.iter().filter(|step| step.after.min_paths_per_tor == least).count();
    });
    assert!(at_the_limit > 100_000, "{at_the_limit}");
}

#[test]
fn the_penalty_never_goes_up_after_a_repair() {
    each_run(|topology, trace, settings| {
        let losses: BTreeSet<u64> = trace.events().iter().map(|event| event.time_s).collect();
        let (steps, summary) = run(topology, trace, settings);
        let repairs: Vec<&Step> = steps.iter().filter(|step| !losses.contains(&step.time_s)).collect();
        assert_eq!(repairs.len() as u64, summary.repairs);
        for Step { before, after, .. } in repairs {
            // The link that came back counts as clean.
            let most = before.total_penalty * (1.0 + 1e-15) + settings.clean_loss_rate;
            assert!(after.total_penalty <= most, "{before:?} {after:?} {settings:?}");
            let most = before.total_effective_penalty * (1.0 + 1e-15) + settings.clean_loss_rate;
            assert!(after.total_effective_penalty <= most, "{before:?} {after:?} {settings:?}");
        }
    });
}

#[test]
fn steps_follow_each_other_and_add_up() {
    each_run(|topology, trace, settings| {
        let (steps, summary) = run(topology, trace, settings);
        assert!(steps.is_sorted_by(|one, other| one.time_s < other.time_s && one.after == other.before));
        assert_eq!(steps.len() as u64, summary.loss_events + summary.repairs);
        assert_eq!(summary.loss_events, trace.events().len() as u64);
        assert_eq!(summary.unproven_decisions, 0);
        let last = steps.last().expect("links fail").after;
        if settings.strategy.disables() {
            assert_eq!(last.disabled_links, 0, "every link comes back");
        } else {
            assert_eq!(summary.repairs + summary.skipped_events + summary.fast_checker_rejections, 0);
            assert_eq!(summary.metrics["disabled_links"].max, 0.0);
        }
        if !settings.strategy.protects() {
            assert!(steps.iter().all(|step| step.after.total_effective_penalty == step.after.total_penalty));
            assert_eq!(summary.metrics["max_protected_links_per_pipe"].max, 0.0);
        }
    });
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let topology = &networks()[0];
    let bytes = |trace_seed, repair_seed| {
        let settings = Settings::paper(Strategy::ProtectCorrOpt, 0.75, repair_seed);
        let (steps, summary) = run(topology, &trace(topology, trace_seed), &settings);
        format!("{steps:?}{}", serde_json::to_string(&summary).expect("a summary is plain data"))
    };
    assert_eq!(bytes(1, 1), bytes(1, 1));
    assert_ne!(bytes(1, 1), bytes(1, 2));
    assert_ne!(bytes(1, 1), bytes(2, 1));
}

/// The values of one metric, and how long each lasted.
fn held(steps: &[Step], metric: usize) -> Vec<(f64, u64)> {
    let mut held: Vec<(f64, u64)> = steps
        .windows(2)
        .map(|pair| (pair[0].after.values()[metric], pair[1].time_s - pair[0].time_s))
        .collect();
    held.sort_by(|one, other| one.0.total_cmp(&other.0));
    held
}

#[test]
fn summaries_are_weighted_with_time() {
    let topology = &networks()[0];
    for strategy in Strategy::ALL {
        let (steps, summary) = run(topology, &trace(topology, 3), &Settings::paper(strategy, 0.75, 3));
        let (first, last) = (steps[0].time_s, steps[steps.len() - 1].time_s);
        assert_eq!((summary.first_event_s, summary.last_event_s), (first, last));
        for (metric, name) in Metrics::names().into_iter().enumerate() {
            let held = held(&steps, metric);
            let found = summary.metrics[name];
            let close = |one: f64, other: f64, relative| (one - other).abs() <= relative * other.abs();
            let sum: f64 = held.iter().map(|(value, seconds)| value * *seconds as f64).sum();
            assert!(close(found.mean, sum / (last - first) as f64, 1e-9), "{name}");
            let values = steps.iter().map(|step| step.after.values()[metric]);
            assert_eq!(found.min, values.clone().fold(f64::INFINITY, f64::min), "{name}");
            assert_eq!(found.max, values.fold(0.0, f64::max), "{name}");
            let percentile = |share: f64| {
                let mut passed = 0;
                let reached = |(_, seconds): &&(f64, u64)| {
                    passed += seconds;
                    passed as f64 >= share * (last - first) as f64
                };
                held.iter().find(reached).expect("the shares sum to one").0
            };
            for (share, found) in
                [(0.01, found.p1), (0.1, found.p10), (0.5, found.p50), (0.9, found.p90), (0.99, found.p99)]
            {
                assert!(close(found, percentile(share), 1e-3), "{name} at {share}");
            }
        }
    }
}

#[test]
fn every_metric_has_a_label_in_the_order_of_its_column() {
    let topology = &networks()[0];
    let (_, summary) = run(topology, &trace(topology, 3), &Settings::paper(Strategy::CorrOpt, 0.75, 3));
    let labelled: Vec<_> = summary.labelled().map(|(_, metric)| *metric).collect();
    assert_eq!(labelled, Metrics::names().map(|name| summary.metrics[name]));
    let labels: BTreeSet<&str> = summary.labelled().map(|(label, _)| label).collect();
    assert_eq!(labels.len(), labelled.len(), "two metrics have the same label");
}
