//! Which pods to upgrade first, checked against runs of every deployment.

use linkmend_fleet::deployment::Deployment;
use linkmend_fleet::simulate::{Settings, simulate};
use linkmend_fleet::strategy::Strategy;
use linkmend_fleet::trace::{Trace, TraceParameters};
use linkmend_fleet::upgrades::{ALWAYS, Spared, Upgrades, spared_by_seed, spared_in};
use linkmend_topology::file::{TopologyFileOptions, read_topology};
use linkmend_topology::{FabricParameters, Topology, ZoneId, fat_tree, leaf_spine};
use std::sync::atomic::AtomicBool;

const GBPS_100: u64 = 100_000_000_000;

fn networks() -> Vec<Topology> {
    let shape = FabricParameters { pods: 5, tors_per_pod: 4, spines_per_plane: 3, ..FabricParameters::PAPER };
    [shape.build(), fat_tree(4, GBPS_100), leaf_spine(4, 5, GBPS_100)]
        .into_iter()
        .map(|topology| topology.expect("the parameters are in range"))
        .collect()
}

fn trace(topology: &Topology, seed: u64) -> Trace {
    TraceParameters { length_s: 90 * 86_400, mttf_hours: 480.0, ..TraceParameters::paper(seed) }
        .generate(topology)
}

/// The mean total penalty without protection, and the effective one with this deployment.
fn penalties(topology: &Topology, trace: &Trace, settings: &Settings, deployment: Deployment) -> (f64, f64) {
    let settings = Settings { deployment, ..settings.clone() };
    let metrics = simulate(topology, trace, &settings, &mut |_, _| {}).metrics;
    (metrics["total_penalty"].mean, metrics["total_effective_penalty"].mean)
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs()) + 1e-15
}

#[test]
fn what_a_deployment_spares_is_what_running_it_spares() {
    for (seed, topology) in (0..).zip(networks()) {
        let trace = trace(&topology, seed);
        for constraint in [0.5, 0.75, 1.0] {
            let settings = Settings::paper(Strategy::ProtectCorrOpt, constraint, seed);
            let spared = spared_in(&topology, &trace, &settings, &[ALWAYS]).remove(0);
            for pods in 0..=topology.zone_count() {
                let deployment = Deployment::zones(&topology, (0..pods as u32).map(ZoneId));
                for deployment in [deployment.clone(), deployment.and_top(&topology), Deployment::Everywhere]
                {
                    let (all, left) = penalties(&topology, &trace, &settings, deployment.clone());
                    assert!(
                        close(all - left, spared.by_deployment(&topology, &deployment)),
                        "{topology} {constraint}"
                    );
                    assert!(close(all, spared.penalty()), "{topology}: {all} {}", spared.penalty());
                }
            }
        }
    }
}

#[test]
fn no_other_pods_spare_more() {
    for (seed, topology) in (10..).zip(networks().into_iter().chain([of_different_size()])) {
        let settings = Settings::paper(Strategy::ProtectCorrOpt, 0.75, seed);
        let runs: Vec<Spared> = (0..3)
            .flat_map(|more| spared_in(&topology, &trace(&topology, seed + more), &settings, &[ALWAYS]))
            .collect();
        let upgrades = Upgrades::new(&topology, &runs);
        let mean = |deployment: &Deployment| {
            runs.iter().map(|run| run.by_deployment(&topology, deployment)).sum::<f64>() / runs.len() as f64
        };
        let zones = topology.zone_count();
        for with_top in [false, true] {
            let mut best = vec![0.0_f64; zones + 1];
            for chosen in 0_u32..1 << zones {
                let deployment = Deployment::zones(
                    &topology,
                    (0..zones as u32).filter(|zone| chosen >> zone & 1 == 1).map(ZoneId),
                );
                let deployment = if with_top { deployment.and_top(&topology) } else { deployment };
                let count = chosen.count_ones() as usize;
                best[count] = best[count].max(mean(&deployment));
            }
            for (pods, best) in best.into_iter().enumerate() {
                assert!(close(mean(&upgrades.deployment(pods, with_top)), best), "{topology}, {pods} pods");
                assert!(close(upgrades.spared(pods, with_top), best), "{topology}, {pods} pods");
            }
        }
        assert!(close(upgrades.all(), mean(&Deployment::Everywhere)));
    }
}

#[test]
fn windows_add_up() {
    let topology = networks().remove(0);
    let trace = trace(&topology, 3);
    let settings = Settings::paper(Strategy::CorrOpt, 0.75, 3);
    let (middle, end) = (40 * 86_400, 80 * 86_400);
    let spared = spared_in(&topology, &trace, &settings, &[0..middle, middle..end, 0..end]);
    let sum = |of: &dyn Fn(&Spared) -> f64, windows: &[Spared]| -> f64 {
        windows.iter().map(|spared| of(spared) * spared.seconds() as f64).sum()
    };
    let all = |spared: &Spared| spared.by_deployment(&topology, &Deployment::Everywhere);
    assert!(all(&spared[0]) > 0.0 && all(&spared[1]) > 0.0);
    assert!(close(sum(&all, &spared[..2]), sum(&all, &spared[2..])));
    assert!(close(sum(&Spared::penalty, &spared[..2]), sum(&Spared::penalty, &spared[2..])));
}

#[test]
fn the_top_layer_is_worth_it_once_enough_pods_are_upgraded() {
    // All links of a leaf-spine lead to the top layer: without it nothing is spared, with it one leaf is enough.
    let topology = networks().remove(2);
    let settings = Settings::paper(Strategy::Protect, 0.75, 1);
    let upgrades =
        Upgrades::new(&topology, &spared_in(&topology, &trace(&topology, 1), &settings, &[ALWAYS]));
    assert_eq!(upgrades.spared(4, false), 0.0);
    assert_eq!((upgrades.pods_before_top(), upgrades.top_switches()), (Some(1), 5));
    assert_eq!(upgrades.pods_differ(true), None);

    // In a fabric with few pods and many spines, pods come first. The test tries both kinds.
    let shape = FabricParameters { pods: 6, tors_per_pod: 4, spines_per_plane: 3, ..FabricParameters::PAPER };
    let topology = shape.build().expect("in range");
    let upgrades =
        Upgrades::new(&topology, &spared_in(&topology, &trace(&topology, 1), &settings, &[ALWAYS]));
    let first = upgrades.pods_before_top().expect("links to the top corrupt too");
    // A pod has 8 switches, the top layer 12.
    let instead = |pods: usize| upgrades.spared((8 * pods + 12) / 8, false);
    assert!(upgrades.spared(first, true) > instead(first));
    assert!((0..first).all(|pods| upgrades.spared(pods, true) <= instead(pods)));
}

#[test]
fn pods_with_fewer_uplinks_are_told_from_chance() {
    let alike = networks().remove(0);
    assert_eq!(upgrades(&alike).pods_differ(true), Some(false));
    let topology = of_different_size();
    let upgrades = upgrades(&topology);
    assert_eq!(upgrades.pods_differ(true), Some(true));
    let thin = upgrades.order(true)[0].zone;
    assert_eq!(topology.names().zone(thin), "thin");
}

fn of_different_size() -> Topology {
    let file = tempfile::NamedTempFile::with_suffix(".yaml").expect("a file");
    std::fs::write(file.path(), pods_of_different_size()).expect("written");
    read_topology(file.path(), &TopologyFileOptions::default()).expect("it is layered").topology
}

/// Five pods of two ToRs. Four of them have eight fabric switches and one has two, so nothing can be disabled there.
fn pods_of_different_size() -> String {
    let mut switches = String::from("switches:\n");
    let mut links = String::from("links:\n");
    for pod in ["thin", "one", "two", "three", "four"] {
        let fabric = if pod == "thin" { 2 } else { 8 };
        for tor in 0..2 {
            switches += &format!("  - {{name: {pod}-t{tor}, layer: 0, pod: {pod}}}\n");
        }
        for up in 0..fabric {
            switches += &format!("  - {{name: {pod}-f{up}, layer: 1, pod: {pod}}}\n");
            for tor in 0..2 {
                links += &format!("  - {{from: {pod}-t{tor}, to: {pod}-f{up}, speed: 100G}}\n");
            }
            links += &format!("  - {{from: {pod}-f{up}, to: spine, speed: 100G}}\n");
        }
    }
    switches += "  - {name: spine, layer: 2}\n";
    switches + &links
}

fn upgrades(topology: &Topology) -> Upgrades<'_> {
    let settings = Settings::paper(Strategy::CorrOpt, 0.75, 0);
    let runs = |threads: usize| {
        let never = AtomicBool::new(false);
        spared_by_seed(
            topology,
            &settings,
            1..31,
            |seed| trace(topology, seed),
            &[ALWAYS],
            (threads, &never, &|| {}),
        )
        .expect("nobody stops it")
    };
    assert_eq!(runs(1), runs(3));
    Upgrades::new(topology, &runs(2).into_iter().flatten().collect::<Vec<Spared>>())
}
