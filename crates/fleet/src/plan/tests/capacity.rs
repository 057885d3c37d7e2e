//! Plans for ToRs whose links have different speeds.

use super::{Plan, PlanSettings, active, settings};
use crate::constraint::Constraint;
use crate::optimizer::Objective;
use linkmend_topology::{LinkId, Names, SwitchId, Topology, TopologyBuilder};

const SLOW: u64 = 100_000_000_000;

/// Two ToRs below two spines: the first has two links of one speed to each, the second one of 100G and one of 400G.
fn two_speeds() -> Topology {
    let mut builder = TopologyBuilder::default();
    let [one, other] = [0, 0].map(|layer| builder.switch(layer, None));
    let spines = [1, 1].map(|layer| builder.switch(layer, None));
    for spine in spines {
        builder.link(one, spine, SLOW);
        builder.link(one, spine, SLOW);
    }
    builder.link(other, spines[0], SLOW);
    builder.link(other, spines[1], 4 * SLOW);
    builder.build(Names::Numbers("two speeds".to_owned())).expect("a network")
}

fn plan<'a>(topology: &'a Topology, constraint: &str, link: u32) -> Plan<'a> {
    let constraint: Constraint = constraint.parse().expect(constraint);
    Plan::new(topology, &[active(link, 1e-3)], PlanSettings { constraint, ..settings() })
}

fn action(plan: &Plan) -> &'static str {
    plan.links().next().expect("one link").action.name()
}

#[test]
fn a_fast_link_is_more_than_half_of_two() {
    let topology = two_speeds();
    let (slow, fast) = (4, 5);
    for (constraint, link, expected) in [
        ("50%", fast, "protect"),
        ("50%", slow, "disable"),
        ("capacity=20%", fast, "disable"),
        ("capacity=20.1%", fast, "protect"),
        ("paths=50%", fast, "disable"),
        ("paths=50%,capacity=20%", fast, "disable"),
        ("paths=51%,capacity=20%", fast, "protect"),
        ("paper=50%", fast, "disable"),
    ] {
        assert_eq!(action(&plan(&topology, constraint, link)), expected, "{constraint}, link {link}");
    }
}

#[test]
fn the_plan_says_what_is_left_of_the_capacity() {
    let topology = two_speeds();
    let (tor, fast) = (SwitchId(1), 5);
    let given_up = plan(&topology, "capacity=20%", fast);
    assert!(given_up.counts_capacity());
    assert_eq!(given_up.tor(tor).left(), "1 of 2 paths and 20 % of its capacity");
    let kept = plan(&topology, "50%", fast);
    let reasons = kept.explain(LinkId(fast)).expect("it is reported").reasons.join(" ");
    assert!(reasons.contains("would keep 20 % of its capacity, but must keep 50 %"), "{reasons}");
    assert!(!plan(&topology, "paper=50%", fast).counts_capacity());
}

/// Above a ToR's only switch, one link of 400G or two of 200G can be spared, and the two lose more together.
#[test]
fn links_of_one_switch_to_the_top_are_not_alike_if_their_speeds_differ() {
    let mut builder = TopologyBuilder::default();
    let [tor, above, top] = [0, 1, 2].map(|layer| builder.switch(layer, None));
    builder.link(tor, above, SLOW);
    for speed in [4, 2, 2, 4] {
        builder.link(above, top, speed * SLOW);
    }
    let topology = builder.build(Names::Numbers("by hand".to_owned())).expect("a network");
    let reported = [active(1, 1e-3), active(2, 6e-4), active(3, 6e-4)];
    let constraint = Constraint { paths: 0.0, capacity: 0.66, connected: false };
    let settings = PlanSettings { constraint, objective: Objective::Penalty, ..settings() };
    let plan = Plan::new(&topology, &reported, settings);
    let disabled = plan.links().filter(|link| link.action.name() == "disable");
    assert_eq!(disabled.map(|link| link.link.0).collect::<Vec<_>>(), [2, 3]);
    assert!(plan.is_proven());
}

/// Where the links of each switch are of one speed, paths tell all, however many there are.
#[test]
fn equal_speeds_need_no_second_count() {
    let topology = linkmend_topology::leaf_spine(3, 4, SLOW).expect("a network");
    assert!(!plan(&topology, "50%", 0).counts_capacity());
    assert_eq!(action(&plan(&topology, "capacity=75%", 0)), "disable");
    assert_eq!(action(&plan(&topology, "capacity=76%", 0)), "protect");
}
