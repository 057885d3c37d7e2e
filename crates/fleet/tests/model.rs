//! The simulation against a naive model of the authors', event by event.

mod naive;

use linkmend_fleet::deployment::Deployment;
use linkmend_fleet::network::{CLEAN_LOSS_RATE, Metrics};
use linkmend_fleet::protection::ProtectionLimits;
use linkmend_fleet::simulate::{Optimizer, Settings, simulate};
use linkmend_fleet::strategy::Strategy;
use linkmend_fleet::trace::{LossEvent, Trace};
use linkmend_random::Random;
use linkmend_topology::{FabricParameters, LinkId, Topology, ZoneId};
use naive::{Fabric, Model, Rules};

const DAY_S: u64 = 86_400;

fn fabric(pods: u32, tors: u32, fabric_switches: u32, spines: u32) -> FabricParameters {
    FabricParameters {
        pods,
        tors_per_pod: tors,
        fabric_switches_per_pod: fabric_switches,
        spines_per_plane: spines,
        bits_per_second: 100_000_000_000,
    }
}

/// Events at uniform times. Several may share a second, and a link may fail again and again. Loss rates are between
/// 10^-8 and 10^-2 and practically always distinct, so that the best set of links is unique.
fn random_trace(shape: &FabricParameters, seed: u64, length_s: u64, events: usize) -> Vec<(u64, u32, f64)> {
    let mut random = Random::new(seed, "test/trace");
    let mut below = |limit: u64| (random.uniform() * limit as f64) as u64;
    let mut trace: Vec<(u64, u32, f64)> = (0..events)
        .map(|_| {
            let exponent = -8.0 + 6.0 * below(1 << 40) as f64 / (1_u64 << 40) as f64;
            (below(length_s), below(shape.links()) as u32, libm::pow(10.0, exponent))
        })
        .collect();
    trace.sort_by_key(|event| event.0);
    trace
}

fn settings(topology: &Topology, rules: &Rules) -> Settings {
    let written: Vec<String> =
        rules.repair.iter().map(|(time_s, share)| format!("{time_s}s:{share}")).collect();
    let mut settings = Settings::paper(rules.strategy, rules.constraint, rules.seed);
    settings.repair = written.join(",").parse().expect("the delays are in range");
    settings.limits = ProtectionLimits {
        per_pipe: rules.per_pipe.map(|most| most as u32),
        per_switch: rules.per_switch.map(|most| most as u32),
    };
    if !rules.upgraded.is_empty() {
        let pods = (0..).zip(&rules.upgraded).filter(|(_, upgraded)| **upgraded);
        settings.deployment = Deployment::zones(topology, pods.map(|(pod, _)| ZoneId(pod)));
    }
    if rules.greedy {
        settings.optimizer = Optimizer::Greedy;
    }
    settings
}

fn rules(strategy: Strategy, constraint: f64) -> Rules {
    Rules {
        strategy,
        constraint,
        repair: vec![(2 * DAY_S, 1.0)],
        seed: 7,
        greedy: false,
        whole_network: false,
        upgraded: Vec::new(),
        per_pipe: None,
        per_switch: None,
    }
}

fn close(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= 1e-24 + 1e-12 * theirs.abs()
}

/// Describes where two sets of metrics differ, if they do.
fn difference(ours: &Metrics, theirs: &Metrics) -> Option<String> {
    let integers = |metrics: &Metrics| {
        [
            metrics.min_paths_per_tor,
            metrics.disabled_links,
            metrics.corrupting_links,
            metrics.max_protected_links_per_pipe,
        ]
    };
    let same = integers(ours) == integers(theirs)
        && ours.avg_paths_per_tor == theirs.avg_paths_per_tor
        && ours.max_loss_rate == theirs.max_loss_rate
        && close(ours.total_penalty, theirs.total_penalty)
        && close(ours.total_effective_penalty, theirs.total_effective_penalty)
        && close(ours.avg_pod_capacity_gbps, theirs.avg_pod_capacity_gbps)
        && close(ours.min_pod_capacity_gbps, theirs.min_pod_capacity_gbps);
    (!same).then(|| format!("ours   {ours:?}\ntheirs {theirs:?}"))
}

/// Runs both and compares them. Returns how many links came back, and how many could not be disabled.
fn compare(shape: FabricParameters, trace: &[(u64, u32, f64)], rules: &Rules) -> (u64, u64) {
    let topology = shape.build().expect("the parameters are in range");
    let event =
        |&(time_s, link, loss_rate): &(u64, u32, f64)| LossEvent { time_s, link: LinkId(link), loss_rate };
    let ours_trace = Trace::new(trace.iter().map(event).collect());
    let mut ours = Vec::new();
    let summary =
        simulate(&topology, &ours_trace, &settings(&topology, rules), &mut |step, _| ours.push(*step));
    let mut model = Model::new(Fabric::new(shape, CLEAN_LOSS_RATE), trace, rules.clone());
    let theirs = model.run();
    for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours.time_s, theirs.time_s, "event {number}\n{rules:?}");
        for (ours, theirs) in [(&ours.before, &theirs.before), (&ours.after, &theirs.after)] {
            if let Some(difference) = difference(ours, theirs) {
                panic!("event {number}\n{difference}\n{rules:?}\n{shape:?}");
            }
        }
    }
    assert_eq!(ours.len(), theirs.len());
    assert_eq!(summary.loss_events, trace.len() as u64);
    assert_eq!(summary.skipped_events, model.skipped);
    assert_eq!(summary.repairs, model.repairs);
    assert_eq!(summary.fast_checker_rejections, model.rejections);
    assert_eq!(summary.unproven_decisions, 0);
    (model.repairs, model.rejections)
}

#[test]
fn every_strategy_agrees_with_the_model_event_by_event() {
    let (mut repairs, mut rejections) = (0, 0);
    for seed in 0..16 {
        let shape = fabric(3, 4, 4, 4);
        // 96 links fail every 20 days, on average, for 60 days.
        let trace = random_trace(&shape, seed, 60 * DAY_S, 300);
        for constraint in [0.5, 0.6, 0.75] {
            for strategy in Strategy::ALL {
                let (repaired, rejected) = compare(shape, &trace, &rules(strategy, constraint));
                repairs += repaired;
                rejections += rejected;
            }
        }
    }
    assert!(repairs > 25_000 && rejections > 2_500, "{repairs} repairs, {rejections} rejections");
}

#[test]
fn other_shapes_and_constraints_agree_with_the_model() {
    for (shape, events) in [
        (fabric(1, 1, 1, 1), 40),
        (fabric(2, 3, 2, 5), 150),
        (fabric(1, 8, 3, 7), 250),
        (fabric(4, 2, 6, 3), 300),
        // Two spine pipes, then three.
        (fabric(17, 2, 2, 2), 300),
        (fabric(33, 1, 2, 3), 400),
    ] {
        for seed in 100..102 {
            let trace = random_trace(&shape, seed, 40 * DAY_S, events);
            for constraint in [0.0, 0.1, 0.34, 0.9, 1.0] {
                for strategy in [Strategy::CorrOpt, Strategy::ProtectCorrOpt] {
                    compare(shape, &trace, &rules(strategy, constraint));
                }
            }
        }
    }
}

#[test]
fn looking_at_the_repaired_pod_alone_is_as_good_as_looking_everywhere() {
    let shape = fabric(3, 3, 3, 4);
    for seed in 200..240 {
        let trace = random_trace(&shape, seed, 60 * DAY_S, 300);
        for constraint in [0.5, 0.75] {
            let rules = Rules { whole_network: true, ..rules(Strategy::CorrOpt, constraint) };
            compare(shape, &trace, &rules);
        }
    }
}

#[test]
fn the_heuristic_agrees_with_the_model() {
    let shape = fabric(3, 4, 4, 4);
    for seed in 300..330 {
        let trace = random_trace(&shape, seed, 60 * DAY_S, 300);
        for strategy in [Strategy::CorrOpt, Strategy::ProtectCorrOpt] {
            compare(shape, &trace, &Rules { greedy: true, ..rules(strategy, 0.6) });
        }
    }
}

/// Hundreds of events within a few hundred seconds, so that events and repairs often compete for the same second.
#[test]
fn crowded_seconds_agree_with_the_model() {
    let shape = fabric(2, 4, 4, 4);
    for seed in 400..420 {
        let trace = random_trace(&shape, seed, 400, 300);
        for repair in [
            vec![(1, 1.0)],
            vec![(60, 1.0)],
            vec![(60, 0.5), (61, 0.3), (59, 0.2)],
            vec![(5, 0.5), (5, 0.5)],
            vec![(200, 0.2), (1, 0.8)],
        ] {
            let rules = Rules { repair, seed, ..rules(Strategy::ProtectCorrOpt, 0.6) };
            compare(shape, &trace, &rules);
        }
    }
}

#[test]
fn limits_and_partial_deployment_agree_with_the_model() {
    let shape = fabric(3, 4, 4, 4);
    for seed in 500..508 {
        let trace = random_trace(&shape, seed, 60 * DAY_S, 300);
        for (per_pipe, per_switch) in [(Some(1), None), (None, Some(1)), (Some(1), Some(2)), (Some(0), None)]
        {
            for upgraded in [vec![], vec![true, false, true], vec![false; 3]] {
                for strategy in [Strategy::Protect, Strategy::ProtectCorrOpt] {
                    let upgraded = upgraded.clone();
                    let rules = Rules { upgraded, per_pipe, per_switch, ..rules(strategy, 0.75) };
                    compare(shape, &trace, &rules);
                }
            }
        }
    }
}
