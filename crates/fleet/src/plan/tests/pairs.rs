//! Pairs of ToRs that would lose each other.

use super::{Plan, PlanSettings, active, down, settings};
use crate::constraint::Constraint;
use linkmend_topology::{FabricParameters, LinkId, Topology, leaf_spine};

/// Three leaves and two spines: links 0 and 1 are those of the first leaf, 2 and 3 those of the second.
fn two_spines() -> Topology {
    leaf_spine(3, 2, 100_000_000_000).expect("a network")
}

fn at_half(constraint: fn(f64) -> Constraint) -> PlanSettings {
    PlanSettings { constraint: constraint(0.5), ..settings() }
}

fn disabled(plan: &Plan) -> Vec<u32> {
    let disable = plan.links().filter(|planned| planned.action.name() == "disable");
    disable.map(|planned| planned.link.0).collect()
}

#[test]
fn two_leaves_keep_a_common_spine() {
    let topology = two_spines();
    let reported = [active(0, 1e-4), active(3, 1e-4)];
    let plan = Plan::new(&topology, &reported, at_half(Constraint::connected));
    assert_eq!(disabled(&plan).len(), 1, "each may lose one of its two paths, but not each another one");
    assert!(plan.is_proven());
    assert_eq!(plan.totals_after().parted_pairs, 0);
    // The paper's constraint lets them lose each other, and the plan says so.
    let paper = Plan::new(&topology, &reported, at_half(Constraint::paper));
    assert_eq!((disabled(&paper), paper.totals_after().parted_pairs), (vec![0, 3], 1));
}

#[test]
fn the_explanation_names_the_pair() {
    let topology = two_spines();
    let reported = [active(0, 1e-4), active(3, 2e-4)];
    let plan = Plan::new(&topology, &reported, at_half(Constraint::connected));
    assert_eq!(disabled(&plan), [3], "the worse one");
    let reasons = plan.explain(LinkId(0)).expect("it is reported").reasons.join(" ");
    let [one, other] = [0, 1].map(|tor| topology.names().switch(topology.tors()[tor]));
    assert!(reasons.contains(&format!("{one} and {other} could no longer reach each other")), "{reasons}");
    assert!(reasons.contains("the objective of the network would be"), "{reasons}");
}

/// A ToR of one pod would keep the planes 2 and 3 of four, and a ToR of another pod the planes 0 and 1.
#[test]
fn tors_of_two_pods_keep_a_common_plane() {
    let shape = FabricParameters { pods: 2, tors_per_pod: 2, spines_per_plane: 3, ..FabricParameters::PAPER };
    let topology = shape.build().expect("a network");
    // The links of each ToR are numbered in the order of planes, pod by pod.
    let reported = [active(0, 1e-3), active(1, 1e-3), active(10, 1e-3), active(11, 1e-3)];
    let paper = Plan::new(&topology, &reported, at_half(Constraint::paper));
    assert_eq!((disabled(&paper), paper.totals_after().parted_pairs), (vec![0, 1, 10, 11], 1));
    let plan = Plan::new(&topology, &reported, at_half(Constraint::connected));
    assert_eq!((disabled(&plan).len(), plan.totals_after().parted_pairs), (3, 0));
    assert!(plan.is_proven());
}

/// Many leaves would keep only one spine, and as many only the other: all of one kind must keep both.
#[test]
fn of_many_leaves_those_that_lose_less_stay_with_both_spines() {
    let topology = leaf_spine(200, 2, 100_000_000_000).expect("a network");
    let loss = |leaf: u32| if leaf.is_multiple_of(2) { 2e-4 } else { 1e-4 };
    // The even leaves have a bad link to the first spine, the odd ones to the second.
    let reported: Vec<_> = (0..200).map(|leaf| active(2 * leaf + leaf % 2, loss(leaf))).collect();
    let plan = Plan::new(&topology, &reported, at_half(Constraint::connected));
    assert!(plan.is_proven());
    assert_eq!(disabled(&plan), (0..100).map(|pair| 4 * pair).collect::<Vec<u32>>());
}

/// What is lost already is not held against a plan, and what is left is kept.
#[test]
fn pairs_that_are_parted_already_are_counted_and_the_others_stay() {
    let topology = two_spines();
    let reported = [down(0), down(3), active(4, 1e-3), active(5, 1e-4)];
    let plan = Plan::new(&topology, &reported, at_half(Constraint::connected));
    assert_eq!(plan.totals_before().parted_pairs, 1);
    // The third leaf reaches the first by one spine and the second by the other, so it needs both.
    assert_eq!((disabled(&plan), plan.totals_after().parted_pairs), (vec![], 1));
}

/// Once a link of one leaf is back, a link of another may be disabled.
#[test]
fn a_repair_lets_a_link_of_another_pod_be_disabled() {
    let topology = two_spines();
    let reported = [active(0, 1e-4), active(3, 2e-4)];
    let plan = Plan::new(&topology, &reported, at_half(Constraint::connected));
    let repairs = plan.repairs();
    assert_eq!((repairs[0].link, &repairs[0].then_disable[..]), (LinkId(3), &[LinkId(0)][..]));
}
