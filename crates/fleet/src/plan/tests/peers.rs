//! Peer links: planned for, protected, never disabled.

use super::{Plan, actions, active, down, settings};
use crate::constraint::Constraint;
use linkmend_topology::{LinkId, Names, SwitchId, Topology, TopologyBuilder};

/// Two leaves and two spines, fully meshed by links 0 to 3; link 4 joins the leaves, 5 the spines.
fn pairs() -> Topology {
    let mut builder = TopologyBuilder::default();
    let [leaf1, leaf2, spine1, spine2] = [0, 0, 1, 1].map(|layer| builder.switch(layer, None));
    for (one, other) in
        [(leaf1, spine1), (leaf1, spine2), (leaf2, spine1), (leaf2, spine2), (leaf1, leaf2), (spine2, spine1)]
    {
        builder.link(one, other, 100_000_000_000);
    }
    builder.build(Names::Numbers("pairs".to_owned())).expect("a network")
}

#[test]
fn peer_links_are_protected_even_where_every_path_may_go() {
    let topology = pairs();
    let reported = [active(0, 1e-3), active(4, 1e-3), active(5, 1e-3)];
    let free = super::PlanSettings { constraint: Constraint::paper(0.0), ..settings() };
    let plan = Plan::new(&topology, &reported, free);
    assert_eq!(actions(&plan), [(0, "disable"), (4, "protect"), (5, "protect")]);
    let explained = plan.explain(LinkId(5)).expect("it was reported");
    assert!(explained.reasons[0].contains("two switches of the same layer"), "{explained:?}");
    assert_eq!(plan.tor(SwitchId(0)).paths, 1);
    assert!(plan.affected_zones().iter().all(|zone| zone.zone.0 < 2), "the top is no pod");
}

#[test]
fn a_peer_link_that_is_disabled_takes_no_path_and_its_repair_returns_none() {
    let topology = pairs();
    let plan = Plan::new(&topology, &[down(4), down(5)], settings());
    assert_eq!(actions(&plan), [(4, "keep disabled"), (5, "keep disabled")]);
    assert!(plan.tors().all(|tor| tor.paths == 2));
    assert!(plan.repairs().iter().all(|repair| repair.paths_regained == 0 && repair.worst_tor.is_none()));
}
