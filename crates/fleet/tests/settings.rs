//! Repair times, protection tables, deployments and limits, one by one.

use linkmend_diagnose::Diagnose;
use linkmend_fleet::Constraint;
use linkmend_fleet::deployment::Deployment;
use linkmend_fleet::network::Network;
use linkmend_fleet::protection::{
    Nearest, ProtectionError, ProtectionLimits, ProtectionRow, ProtectionTable,
};
use linkmend_fleet::repair::RepairDelays;
use linkmend_fleet::simulate::{Settings, Step, simulate};
use linkmend_fleet::strategy::Strategy;
use linkmend_fleet::trace::{LossEvent, Trace};
use linkmend_topology::{
    FabricParameters, LinkId, Names, SwitchId, Topology, TopologyBuilder, TopologyError, ZoneId, leaf_spine,
};

const GBPS_100: u64 = 100_000_000_000;

#[test]
fn repairs_are_parsed_in_every_unit() {
    for (written, shown) in [
        ("2d:0.8,4d:0.2", "172800s:0.8,345600s:0.2"),
        ("2d:1", "172800s:1"),
        (" 36h : 0.75 , 90m : 25e-2 ", "129600s:0.75,5400s:0.25"),
        ("1s:0.333,2s:0.333,3s:0.333", "1s:0.333,2s:0.333,3s:0.333"),
        ("0.5d:1", "43200s:1"),
        ("3660d:1", "316224000s:1"),
    ] {
        let parsed: RepairDelays = written.parse().expect(written);
        assert_eq!(parsed.to_string(), shown);
        assert_eq!(shown.parse::<RepairDelays>().expect(shown), parsed, "what is shown can be read back");
    }
    assert_eq!("2d:0.8,4d:0.2".parse(), Ok(RepairDelays::paper()));
}

#[test]
fn repairs_that_cannot_be_are_refused_with_a_reason() {
    for (written, reason) in [
        ("", "has no colon"),
        ("2d", "has no colon"),
        ("2d:1,", "has no colon"),
        ("2d:x", "is not a share"),
        ("2d:", "is not a share"),
        ("2d:1:1", "is not a share"),
        ("2d:0", "is not above 0"),
        ("2d:-1", "is not above 0"),
        ("2d:NaN", "is not above 0"),
        ("2d:inf", "is not above 0"),
        ("2:1", "has no unit"),
        ("2w:1", "has no unit"),
        ("d:1", "is not a number"),
        ("xd:1", "is not a number"),
        ("0d:1", "is not from 1s to 10 years"),
        ("0.4s:1", "is not from 1s to 10 years"),
        ("-2d:1", "is not from 1s to 10 years"),
        ("nand:1", "is not from 1s to 10 years"),
        ("infd:1", "is not from 1s to 10 years"),
        ("3661d:1", "is not from 1s to 10 years"),
    ] {
        let error = written.parse::<RepairDelays>().expect_err(written).to_string();
        assert!(error.contains(reason), "{error}\ndoes not say: {reason}");
        assert!(error.starts_with(&format!("repair {written}: ")), "{error}");
    }
}

/// Thousands of repairs, each of which takes two days or four.
#[test]
fn repairs_take_as_long_as_often_as_they_should() {
    let topology = leaf_spine(40, 500, GBPS_100).expect("in range");
    let event = |link: u64| LossEvent { time_s: link * 1_000_000, link: LinkId(link as u32), loss_rate: 0.1 };
    let trace = Trace::new((0..20_000).map(event).collect());
    let settings = Settings::paper(Strategy::CorrOpt, 0.5, 3);
    let (mut short, mut long) = (0, 0);
    simulate(&topology, &trace, &settings, &mut |step, _| match step.time_s % 1_000_000 {
        0 => {}
        172_800 => short += 1,
        345_600 => long += 1,
        other => panic!("a repair after {other} s"),
    });
    assert_eq!(short + long, 20_000);
    let deviation = (20_000.0_f64 * 0.8 * 0.2).sqrt();
    assert!((f64::from(short) - 16_000.0).abs() < 5.0 * deviation, "{short} of 20,000");
}

#[test]
fn the_nearest_row_is_that_of_the_least_difference_or_factor() {
    let row =
        |loss_rate, effective_loss_rate| ProtectionRow { loss_rate, effective_loss_rate, capacity: 1.0 };
    let rows = vec![row(1e-5, 0.1), row(1e-3, 0.2), row(3e-3, 0.3)];
    let table = |nearest| ProtectionTable::new(rows.clone(), nearest).expect("the rows are in range");
    let found = |nearest, loss_rate| table(nearest).row(loss_rate).effective_loss_rate;
    // Half-way between the first two is 5.05e-4 by difference, and 1e-4 by factor.
    assert_eq!(found(Nearest::Linear, 5.04e-4), 0.1);
    assert_eq!(found(Nearest::Linear, 5.06e-4), 0.2);
    assert_eq!(found(Nearest::Logarithmic, 9.9e-5), 0.1);
    assert_eq!(found(Nearest::Logarithmic, 1.01e-4), 0.2);
    for nearest in [Nearest::Linear, Nearest::Logarithmic] {
        assert_eq!(found(nearest, 1e-9), 0.1);
        assert_eq!(found(nearest, 1.0), 0.3);
    }
    // Of two equally near rows, the earlier one.
    let tied = vec![row(0.5, 0.1), row(0.25, 0.2), row(0.5, 0.3)];
    for nearest in [Nearest::Linear, Nearest::Logarithmic] {
        let table = ProtectionTable::new(tied.clone(), nearest).expect("the rows are in range");
        assert_eq!(table.row(0.6).effective_loss_rate, 0.1);
    }
    let table = ProtectionTable::new(tied, Nearest::Linear).expect("the rows are in range");
    assert_eq!(table.row(0.375).effective_loss_rate, 0.1);
}

#[test]
fn the_authors_table_is_the_published_one() {
    let table = ProtectionTable::authors();
    for (loss_rate, effective, percent) in [
        (1e-8, 5.97e-10, 98.76),
        (5.29e-5, 5.97e-10, 98.76),
        (5.3e-5, 7.56e-9, 98.74),
        (6.25e-4, 7.56e-9, 98.74),
        (6.26e-4, 1.29e-9, 90.88),
        (5.57e-3, 1.29e-9, 90.88),
        (5.59e-3, 1e-8, 60.0),
        (1.0, 1e-8, 60.0),
    ] {
        let row = table.row(loss_rate);
        assert_eq!((row.effective_loss_rate, row.capacity), (effective, percent / 100.0), "{loss_rate}");
    }
}

#[test]
fn protection_tables_that_cannot_be_are_refused() {
    assert_eq!(ProtectionTable::new(vec![], Nearest::Linear), Err(ProtectionError::Empty { list: "rows" }));
    let good = ProtectionRow { loss_rate: 0.1, effective_loss_rate: 0.0, capacity: 1.0 };
    for (bad, name, value) in [
        (ProtectionRow { loss_rate: 1.5, ..good }, "loss_rate", "1.5"),
        (ProtectionRow { effective_loss_rate: -0.1, ..good }, "effective_loss_rate", "-0.1"),
        (ProtectionRow { capacity: f64::NAN, ..good }, "capacity", "NaN"),
    ] {
        let error = ProtectionTable::new(vec![good, bad], Nearest::Linear).expect_err(name).to_string();
        assert_eq!(error, format!("rows, row 2: {name} is {value}; it must be from 0 to 1"));
    }
}

/// `2d:0.8,4d:0.1` must not mean eight to one, and a draw beyond all shares must not always give the last time.
#[test]
fn shares_of_repairs_that_do_not_add_up_to_1_are_refused() {
    for (written, sum) in [
        ("2d:0.8,4d:0.1", "0.9"),
        ("2d:8,4d:2", "10"),
        ("2d:1,4d:1", "2"),
        ("2d:0.5", "0.5"),
        ("1d:1e308,2d:1e308", "inf"),
    ] {
        let error = written.parse::<RepairDelays>().expect_err(written);
        let message = format!("repair {written}: the shares add up to {sum}, but must add up to 1");
        assert_eq!(error.to_string(), message);
        let hint = "a repair is written like 2d:0.8,4d:0.2 (s, m, h or d)";
        assert_eq!(error.hint().as_deref(), Some(hint));
    }
}

#[test]
fn a_table_may_have_rows_of_non_blocking_mode() {
    let text = r#"{"rows": [{"loss_rate": 1e-3, "effective_loss_rate": 1e-9, "capacity": 0.9}],
        "non_blocking_rows": [{"loss_rate": 1e-3, "effective_loss_rate": 1e-9, "capacity": 0.98}]}"#;
    let table = ProtectionTable::from_json(text).expect("it is of that form");
    let capacity = |table: &ProtectionTable| table.row(0.5).capacity;
    assert_eq!((capacity(&table), table.non_blocking_row(0.5).map(|row| row.capacity)), (0.9, Some(0.98)));
    assert_eq!(table.into_non_blocking().map(|table| capacity(&table)), Some(0.98));
    assert_eq!(ProtectionTable::authors().into_non_blocking(), None);
    for (from, to, reason) in [
        ("0.98", "1.5", "non_blocking_rows, row 1: capacity is 1.5; it must be from 0 to 1"),
        ("0.98", "much", "expected value at line 2"),
        ("\"rows\"", "\"row\"", "unknown field `row`"),
    ] {
        let error = ProtectionTable::from_json(&text.replacen(from, to, 1)).expect_err(reason).to_string();
        assert!(error.contains(reason), "{error}");
    }
    let error = ProtectionTable::from_json(r#"{"rows": []}"#).expect_err("it is empty");
    assert_eq!(error, ProtectionError::Empty { list: "rows" });
}

fn pods(pods: u32) -> Topology {
    let shape = FabricParameters { pods, tors_per_pod: 2, spines_per_plane: 2, ..FabricParameters::PAPER };
    shape.build().expect("the parameters are in range")
}

fn upgraded(topology: &Topology, share: f64, seed: u64) -> Vec<bool> {
    match Deployment::share(topology, share, seed) {
        Deployment::Everywhere => panic!("a share of {share} is not everywhere"),
        // A pod is upgraded if its first ToR is.
        Deployment::Switches(upgraded) => {
            let first_tors = topology.tors().iter().step_by(topology.tors().len() / topology.zone_count());
            first_tors.map(|tor| upgraded[tor.index()]).collect()
        }
    }
}

#[test]
fn a_deployment_has_its_share_of_the_pods() {
    let topology = pods(100);
    // For example, 55 hundredths of 100 are 55, though 0.55 * 100 is slightly more in floating point.
    for (share, count) in [(0.0, 0), (0.001, 1), (0.07, 7), (0.28, 28), (0.5, 50), (0.501, 51), (0.55, 55)] {
        for seed in 0..5 {
            let found = upgraded(&topology, share, seed).iter().filter(|pod| **pod).count();
            assert_eq!(found, count, "{share} of 100 pods");
        }
    }
    assert_eq!(Deployment::share(&topology, 1.0, 1), Deployment::Everywhere);
    assert_eq!(upgraded(&topology, 0.5, 1), upgraded(&topology, 0.5, 1));
    assert_ne!(upgraded(&topology, 0.5, 1), upgraded(&topology, 0.5, 2));
    // Every pod is equally likely.
    let mut chosen = vec![0.0; 100];
    for seed in 0..1000 {
        upgraded(&topology, 0.2, seed).iter().zip(&mut chosen).for_each(|(pod, sum)| *sum += f64::from(*pod));
    }
    let deviation = (1000.0_f64 * 0.2 * 0.8).sqrt();
    assert!(chosen.iter().all(|sum| (sum - 200.0).abs() < 5.0 * deviation), "{chosen:?}");
}

#[test]
fn a_deployment_covers_links_between_upgraded_switches() {
    let topology = pods(2);
    let deployment = Deployment::zones(&topology, [ZoneId(0)]);
    let covered = |link| deployment.covers(&topology, LinkId(link));
    // The 8 links within each pod come first, then those to the spines.
    assert!((0..8).all(covered));
    assert!(!(8..32).any(covered));
    assert!((0..32).all(|link| Deployment::Everywhere.covers(&topology, LinkId(link))));
    // Links to the spines follow the pods' in the order of planes, spines and pods.
    let with_top = deployment.and_top(&topology);
    let covered: Vec<u32> = (0..32).filter(|link| with_top.covers(&topology, LinkId(*link))).collect();
    assert_eq!(covered, (0..8).chain((16..32).step_by(2)).collect::<Vec<u32>>());
}

#[test]
fn a_deployment_is_named_by_pods_switches_and_the_top_layer() {
    let topology = pods(3);
    let named = |names: &str| Deployment::named(&topology, names.split(','));
    let (first, last) = (ZoneId(0), ZoneId(2));
    assert_eq!(named("pod0,2"), Ok(Deployment::zones(&topology, [first, last])));
    assert_eq!(named("top,pod2"), Ok(Deployment::zones(&topology, [last]).and_top(&topology)));
    let one_link = named("pod1-tor1,pod1-fabric0").expect("both exist");
    let covered: Vec<u32> = (0..48).filter(|link| one_link.covers(&topology, LinkId(*link))).collect();
    assert_eq!(covered, [8 + 4]);
    let error = named("pod0,pod3").expect_err("there are three");
    assert_eq!(error.to_string(), "there is no pod or switch `pod3`");
    assert_eq!(error.hint().as_deref(), Some("pods are pod0 to pod2, the top layer is `top`"));
}

/// One leaf with four links to four spines; it must keep all but one path. Its four ports share a pipe.
fn one_leaf(limits: ProtectionLimits) -> Vec<Step> {
    let topology = leaf_spine(1, 4, GBPS_100).expect("in range");
    let event = |time_s, link, loss_rate| LossEvent { time_s, link: LinkId(link), loss_rate };
    // Link 0 is disabled until 100 s, link 1 takes the only slot, and 2 and 3 wait. When 0 is back, 1 is disabled.
    let trace = Trace::new(vec![
        event(0, 0, 1e-2),
        event(1, 1, 1e-2),
        event(2, 3, 1e-3),
        event(3, 2, 1e-4),
        event(4, 3, 2e-3),
    ]);
    let mut settings = Settings::paper(Strategy::ProtectCorrOpt, 0.75, 1);
    settings.repair = "100s:1".parse().expect("it can be");
    settings.limits = limits;
    settings.clean_loss_rate = 0.0;
    let mut steps = Vec::new();
    simulate(&topology, &trace, &settings, &mut |step, _| steps.push(*step));
    steps
}

#[test]
fn waiting_links_are_protected_when_a_slot_frees() {
    let per_pipe = ProtectionLimits { per_pipe: Some(1), per_switch: None };
    let per_switch = ProtectionLimits { per_pipe: None, per_switch: Some(1) };
    for limits in [per_pipe, per_switch] {
        let steps = one_leaf(limits);
        let effective: Vec<f64> = steps.iter().map(|step| step.after.total_effective_penalty).collect();
        let close = |one: f64, other: f64| (one - other).abs() < 1e-15;
        let expected = [
            0.0,
            1e-8,
            1e-8 + 1e-3,
            1e-8 + 1e-3 + 1e-4,
            1e-8 + 2e-3 + 1e-4,
            // Link 2 has the slot, because it comes first in the order of links; 3 still waits.
            7.56e-9 + 2e-3,
            // Then 3 is disabled, and so on until all are clean.
            7.56e-9,
            0.0,
            0.0,
        ];
        assert_eq!(effective.len(), expected.len(), "{effective:?}");
        for (found, expected) in effective.iter().zip(expected) {
            assert!(close(*found, expected), "{effective:?}");
        }
        assert!(steps.iter().all(|step| step.after.max_protected_links_per_pipe <= 1));
    }
    let none = one_leaf(ProtectionLimits { per_pipe: Some(0), per_switch: None });
    assert!(none.iter().all(|step| step.after.max_protected_links_per_pipe == 0));
    let all = one_leaf(ProtectionLimits::default());
    assert_eq!(all.iter().map(|step| step.after.max_protected_links_per_pipe).max(), Some(3));
}

/// In floating point, 0.55 * 100 is a little more than 55.
#[test]
fn a_constraint_of_55_percent_of_100_paths_is_55_paths() {
    let topology = leaf_spine(1, 100, GBPS_100).expect("in range");
    for percent in 0..=100 {
        let network = Network::new(&topology, Constraint::paper(f64::from(percent) / 100.0), 1e-18);
        assert_eq!(network.required(SwitchId(0)), percent as u64);
    }
    let network = Network::new(&topology, Constraint::paper(0.551), 1e-18);
    assert_eq!(network.required(SwitchId(0)), 56);
}

#[test]
fn the_highest_loss_rate_is_never_below_that_of_clean_links() {
    let topology = leaf_spine(1, 2, GBPS_100).expect("in range");
    let mut network = Network::new(&topology, Constraint::paper(0.5), 1e-18);
    network.corrupt(LinkId(0), 1e-20);
    assert_eq!(network.metrics().max_loss_rate, 1e-18);
}

#[test]
fn a_switch_in_layer_255_is_refused() {
    let mut builder = TopologyBuilder::default();
    let (tor, top) = (builder.switch(0, None), builder.switch(255, None));
    builder.link(tor, top, GBPS_100);
    let error =
        builder.build(Names::Numbers("by hand".to_owned())).expect_err("layers are counted in 8 bits");
    assert_eq!(error.to_string(), "layer is 255; it must be 0 to 254");
}

#[test]
fn a_network_without_tors_is_refused() {
    let mut builder = TopologyBuilder::default();
    let (low, top) = (builder.switch(1, None), builder.switch(2, None));
    builder.link(low, top, GBPS_100);
    assert_eq!(
        builder.build(Names::Numbers("by hand".to_owned())).expect_err("no ToR"),
        TopologyError::NoTor
    );
}

/// A spare switch, or one with only uplinks, is not a pod. If it counted as one, the smallest capacity of a pod would
/// be zero.
#[test]
fn switches_without_tors_below_them_are_no_pods() {
    let mut builder = TopologyBuilder::default();
    let [tor, fabric, _spare, border] = [0, 1, 1, 1].map(|layer| builder.switch(layer, None));
    let spine = builder.switch(2, None);
    builder.link(tor, fabric, 2 * GBPS_100);
    builder.link(fabric, spine, 2 * GBPS_100);
    builder.link(border, spine, GBPS_100);
    let topology = builder.build(Names::Numbers("by hand".to_owned())).expect("it is layered");
    let metrics = Network::new(&topology, Constraint::paper(0.5), 1e-18).metrics();
    assert_eq!((metrics.min_pod_capacity_gbps, metrics.avg_pod_capacity_gbps), (200.0, 200.0));
}

/// Half of the ToR's capacity goes past the fabric switch.
#[test]
fn links_that_skip_a_layer_count_on_every_layer_they_pass() {
    let mut builder = TopologyBuilder::default();
    let [tor, fabric, spine] = [0, 1, 2].map(|layer| builder.switch(layer, None));
    builder.link(tor, fabric, GBPS_100);
    let direct = builder.link(tor, spine, GBPS_100);
    builder.link(fabric, spine, GBPS_100);
    let topology = builder.build(Names::Numbers("by hand".to_owned())).expect("it is layered");
    let mut network = Network::new(&topology, Constraint::paper(0.0), 1e-18);
    assert_eq!(network.metrics().min_pod_capacity_gbps, 200.0);
    network.corrupt(direct, 1e-3);
    network.protect(direct, 1e-9, GBPS_100 / 2);
    assert_eq!(network.metrics().min_pod_capacity_gbps, 150.0);
    network.disable(direct);
    assert_eq!(network.metrics().min_pod_capacity_gbps, 100.0);
}

#[test]
fn tables_that_come_with_the_crate_have_names() {
    assert_eq!(ProtectionTable::named("authors"), Some(ProtectionTable::authors()));
    for speed in ["25G", "100G", "400G"] {
        assert!(
            ProtectionTable::named(speed).is_some_and(|table| table.into_non_blocking().is_some()),
            "{speed}"
        );
    }
    assert_eq!(ProtectionTable::named("50G"), None);
}
