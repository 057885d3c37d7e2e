//! Repairs by a limited crew.

use linkmend_fleet::network::Metrics;
use linkmend_fleet::repair::{Crew, RepairOrder, TakeDown};
use linkmend_fleet::simulate::{Settings, Step, Summary, simulate};
use linkmend_fleet::strategy::Strategy;
use linkmend_fleet::trace::{Trace, TraceParameters};
use linkmend_topology::{FabricParameters, Topology, fat_tree, leaf_spine};
use std::collections::{BTreeMap, BTreeSet};

const GBPS_100: u64 = 100_000_000_000;
const DAY_S: u64 = 86_400;
const ORDERS: [RepairOrder; 3] = [RepairOrder::FirstCome, RepairOrder::WorstFirst, RepairOrder::MostWorth];

fn networks() -> Vec<Topology> {
    let shape = FabricParameters { pods: 4, tors_per_pod: 6, spines_per_plane: 5, ..FabricParameters::PAPER };
    [shape.build(), fat_tree(6, GBPS_100), leaf_spine(8, 6, GBPS_100)]
        .into_iter()
        .map(|topology| topology.expect("the parameters are in range"))
        .collect()
}

fn trace(topology: &Topology, seed: u64) -> Trace {
    TraceParameters { length_s: 90 * DAY_S, mttf_hours: 480.0, ..TraceParameters::paper(seed) }
        .generate(topology)
}

fn run(topology: &Topology, trace: &Trace, settings: &Settings) -> (Vec<Step>, Summary) {
    let mut steps = Vec::new();
    let summary = simulate(topology, trace, settings, &mut |step, _| steps.push(*step));
    (steps, summary)
}

fn crew(size: u32, order: RepairOrder, take_down: TakeDown) -> Option<Crew> {
    Some(Crew { size, order, take_down })
}

fn mean(summary: &Summary, metric: &str) -> f64 {
    summary.metrics[metric].mean
}

/// Runs `check` on every network, order and way to take links down, with a crew of this size and repairs of two days.
fn each_run(size: u32, mut check: impl FnMut(&Topology, &Trace, &Settings)) {
    for (seed, topology) in (0..).zip(networks()) {
        let trace = trace(&topology, seed);
        for strategy in [Strategy::DisableIfPossible, Strategy::CorrOpt, Strategy::ProtectCorrOpt] {
            for order in ORDERS {
                for take_down in [TakeDown::AtOnce, TakeDown::ForRepair] {
                    let crew = crew(size, order, take_down);
                    let repair = "2d:1".parse().expect("two days");
                    check(
                        &topology,
                        &trace,
                        &Settings { crew, repair, ..Settings::paper(strategy, 0.7, seed) },
                    );
                }
            }
        }
    }
}

#[test]
fn a_crew_that_is_never_busy_changes_nothing() {
    each_run(10_000, |topology, trace, settings| {
        let without = Settings { crew: None, ..settings.clone() };
        let Some(Crew { order, take_down, .. }) = settings.crew else { return };
        // The repairs of one decision may begin in another order, and then end in other seconds.
        if order == RepairOrder::FirstCome && take_down == TakeDown::AtOnce {
            assert!(run(topology, trace, settings) == run(topology, trace, &without), "{topology}");
        }
    });
}

#[test]
fn no_more_repairs_go_on_than_the_crew_can_do() {
    for size in [1, 3, 8] {
        each_run(size, |topology, trace, settings| {
            let (steps, summary) = run(topology, trace, settings);
            // This step brings a link back. The link may be disabled again in the same second, but not by a loss event.
            let losses: BTreeSet<u64> = trace.events().iter().map(|event| event.time_s).collect();
            let ends: Vec<u64> =
                steps.iter().map(|step| step.time_s).filter(|time_s| !losses.contains(time_s)).collect();
            assert_eq!(ends.len() as u64, summary.repairs);
            for (index, &end_s) in ends.iter().enumerate() {
                // Repairs that end within two days after this one began overlapped it.
                let at_once =
                    ends[index..].iter().take_while(|later_s| **later_s < end_s + 2 * DAY_S).count();
                assert!(at_once <= size as usize, "{at_once} repairs at a time: {settings:?}");
            }
            if size == 1 && settings.crew.is_some_and(|crew| crew.take_down == TakeDown::AtOnce) {
                assert!(summary.repair_wait_s > 0 && summary.max_waiting_repairs > 0, "{settings:?}");
            }
        });
    }
}

#[test]
fn constraints_hold_and_all_links_come_back() {
    each_run(3, |topology, trace, settings| {
        let (steps, _) = run(topology, trace, settings);
        let installed: BTreeMap<u64, u64> =
            topology.tors().iter().map(|_| (steps[0].before.min_paths_per_tor, 0)).collect();
        let least = installed.keys().copied().min().expect("there are ToRs");
        let required = (least as f64 * 0.7).ceil() as u64;
        assert!(steps.iter().all(|step| step.after.min_paths_per_tor >= required), "{settings:?}");
        let Metrics { disabled_links, .. } = steps.last().expect("something happened").after;
        assert_eq!(disabled_links, 0);
    });
}

#[test]
fn links_that_stay_until_somebody_is_free_are_never_disabled_in_vain() {
    each_run(2, |topology, trace, settings| {
        let is_postponed = settings.crew.is_some_and(|crew| crew.take_down == TakeDown::ForRepair);
        if !is_postponed || settings.strategy != Strategy::ProtectCorrOpt {
            return;
        }
        let (steps, summary) = run(topology, trace, settings);
        // All links can be protected, so only links under repair are out of operation.
        assert!(steps.iter().all(|step| step.after.disabled_links <= 2), "{settings:?}");
        assert_eq!((summary.repair_wait_s, summary.max_waiting_repairs), (0, 0));
    });
}

#[test]
fn a_crew_that_cannot_keep_up_does_better_if_protected_links_wait_in_operation() {
    let shape = FabricParameters { pods: 6, tors_per_pod: 8, spines_per_plane: 8, ..FabricParameters::PAPER };
    let topology = shape.build().expect("in range");
    let mut better = [0.0; 3];
    for seed in 0..6 {
        let trace = trace(&topology, seed);
        let summary = |take_down| {
            let crew = crew(12, RepairOrder::FirstCome, take_down);
            run(&topology, &trace, &Settings { crew, ..Settings::paper(Strategy::ProtectCorrOpt, 0.7, seed) })
                .1
        };
        let (at_once, for_repair) = (summary(TakeDown::AtOnce), summary(TakeDown::ForRepair));
        let metrics = ["total_penalty", "total_effective_penalty", "avg_paths_per_tor"];
        for (sum, metric) in better.iter_mut().zip(metrics) {
            *sum += mean(&at_once, metric) - mean(&for_repair, metric);
        }
    }
    let [penalty, effective_penalty, paths] = better;
    assert!(penalty > 0.0 && effective_penalty > 0.0 && paths < 0.0, "{better:?}");
}
