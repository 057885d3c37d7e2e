//! Links that only pass on what others have corrupted.

use super::{actions, active, settings, small_fabric};
use crate::attribution::Culprit;
use crate::constraint::Constraint;
use crate::plan::{Plan, PlanSettings, ReportedLink, Surroundings};
use linkmend_topology::{LinkId, SwitchId, Topology};
use std::collections::{BTreeMap, BTreeSet};

fn cut_through() -> PlanSettings {
    PlanSettings { constraint: Constraint::paper(0.5), store_and_forward: false, ..settings() }
}

/// Links 0 to 3 go from the ToRs of pod 0 to its fabric switches: ToR 0 to both, then ToR 1 to both.
fn upper(topology: &Topology, link: u32) -> Option<SwitchId> {
    Some(topology.link(LinkId(link)).upper)
}

#[test]
fn a_link_behind_a_dirty_one_is_left_alone_and_not_repaired() {
    let topology = &small_fabric();
    // Links 8 and 10 are those of the first fabric switch of pod 0 to the two spines of its plane.
    let reported = [active(0, 1e-3), active(8, 5.2e-4), active(10, 4.8e-4)];
    let plan = Plan::new(topology, &reported, cut_through());
    assert_eq!(actions(&plan), [(0, "disable"), (8, "downstream"), (10, "downstream")]);
    assert_eq!(plan.link(LinkId(8)).and_then(|link| link.upstream), Some(Culprit::Link(LinkId(0))));
    assert_eq!(plan.repairs().iter().map(|repair| repair.link.0).collect::<Vec<u32>>(), [0]);
    assert_eq!((plan.totals_before().penalty, plan.totals_after().penalty), (1e-3, 0.0));
    let explained = plan.explain(LinkId(8)).expect("it was reported");
    assert!(explained.verdict.ends_with("downstream of pod0-tor0--pod0-fabric0."), "{explained:?}");
    assert!(explained.reasons[0].contains("pod0-tor0--pod0-fabric0 has corrupted"), "{explained:?}");
    // The same as if the others were not there.
    let truth = Plan::new(topology, &reported[..1], cut_through());
    assert_eq!(plan.totals_after(), truth.totals_after());
}

/// The silence of the other link up speaks for it, but certain it is not.
#[test]
fn a_link_that_may_be_a_victim_is_protected_and_never_disabled() {
    let topology = &small_fabric();
    let reported = [active(0, 1e-3), active(8, 5e-4)];
    let plan = Plan::new(topology, &reported, cut_through());
    assert_eq!(actions(&plan), [(0, "disable"), (8, "protect")]);
    let explained = plan.explain(LinkId(8)).expect("it was reported");
    assert!(explained.reasons[0].starts_with("It must not be disabled, because it may be healthy"));
    let store_and_forward = PlanSettings { store_and_forward: true, ..cut_through() };
    assert_eq!(actions(&Plan::new(topology, &reported, store_and_forward)), [(0, "disable"), (8, "disable")]);
}

/// Frames that come down do not go up again.
#[test]
fn a_known_receiver_tells_more_than_a_rate() {
    let topology = &small_fabric();
    let counted = |link: u32, loss_rate, receiver| ReportedLink { receiver, ..active(link, loss_rate) };
    let lower = Some(topology.link(LinkId(0)).lower);
    let reported = [counted(0, 1e-3, lower), counted(8, 5e-4, upper(topology, 8))];
    let plan = Plan::new(topology, &reported, cut_through());
    assert_eq!(actions(&plan), [(0, "disable"), (8, "disable")]);
}

/// What a host's cable corrupts comes out of all links up of its ToR.
#[test]
fn links_up_from_a_switch_that_receives_corrupted_frames_from_hosts_are_victims() {
    let topology = &small_fabric();
    let tor = topology.link(LinkId(0)).lower;
    let reported = [active(0, 1e-4), active(1, 1.1e-4)];
    let surroundings = Surroundings { entering: BTreeMap::from([(tor, 1e-3)]), ..Surroundings::default() };
    let plan = Plan::within(topology, &reported, surroundings, cut_through());
    assert_eq!(actions(&plan), [(0, "downstream"), (1, "downstream")]);
    assert_eq!(plan.link(LinkId(0)).and_then(|link| link.upstream), Some(Culprit::Outside(tor)));
}

/// The source flaps, so that it says nothing while it corrupts.
#[test]
fn a_link_behind_one_that_is_not_judged_is_protected_and_not_disabled() {
    let topology = &small_fabric();
    let (up, down) = (topology.link(LinkId(0)).upper, topology.link(LinkId(0)).lower);
    let unjudged = |link: u32, receiver| Surroundings {
        unjudged: BTreeSet::from([(LinkId(link), receiver)]),
        ..Surroundings::default()
    };
    let action = |reported: &[ReportedLink], surroundings| {
        actions(&Plan::within(topology, reported, surroundings, cut_through()))
    };
    let counted = [ReportedLink { receiver: upper(topology, 8), ..active(8, 1e-3) }];
    assert_eq!(action(&counted, unjudged(0, up)), [(8, "protect")]);
    // What comes down to a ToR does not go up again, and a link does not feed itself.
    assert_eq!(action(&counted, unjudged(0, down)), [(8, "disable")]);
    assert_eq!(action(&counted, unjudged(8, topology.link(LinkId(8)).lower)), [(8, "disable")]);
    // A link that counts is named rather than one of which nothing is known, and what it explains is a victim still.
    let plan = Plan::within(topology, &[counted[0], active(0, 1e-3)], unjudged(2, up), cut_through());
    assert_eq!(plan.link(LinkId(8)).and_then(|link| link.upstream), Some(Culprit::Link(LinkId(0))));
    let explained = Plan::within(topology, &counted, unjudged(0, up), cut_through()).explain(LinkId(8));
    assert!(
        explained.expect("it was reported").reasons[0].contains("whether pod0-tor0--pod0-fabric0 corrupts")
    );
}
