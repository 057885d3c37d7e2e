//! The order in which links are repaired.

use super::{active, down, four_links, settings, small_fabric};
use crate::constraint::Constraint;
use crate::plan::{Origin, Plan, PlanSettings};
use linkmend_topology::{LinkId, SwitchId};

fn order(plan: &Plan) -> Vec<(u32, u32, Origin)> {
    plan.repairs().iter().map(|repair| (repair.link.0, repair.round, repair.origin)).collect()
}

#[test]
fn the_return_that_lets_most_be_disabled_comes_first() {
    let topology = small_fabric();
    // Each ToR of a pod may lose one path of four. In pod 0 a link that loses 1e-3 waits for link 8, in pod 1 one that
    // loses 1e-5 for link 9.
    let reported = [down(8), active(10, 1e-3), down(9), active(11, 1e-5)];
    let plan = Plan::new(&topology, &reported, settings());
    let repairs = plan.repairs();
    assert_eq!(
        order(&plan),
        [
            (8, 1, Origin::Down),
            (9, 2, Origin::Down),
            // Nothing waits for these two; they tie, and the smaller number goes first.
            (10, 3, Origin::Later),
            (11, 4, Origin::Later),
        ]
    );
    assert_eq!(repairs[0].then_disable, [LinkId(10)]);
    assert!(repairs[0].objective_gain > repairs[1].objective_gain);
    assert_eq!((repairs[0].worst_tor, repairs[0].paths_regained), (Some(SwitchId(0)), 1));
    assert_eq!((repairs[2].objective_gain, repairs[2].paths_regained), (0.0, 1));
}

#[test]
fn what_is_disabled_in_a_round_is_repaired_in_a_later_one() {
    let topology = small_fabric();
    let reported = [down(8), active(10, 1e-3), down(9), active(11, 1e-5)];
    let plan = Plan::new(&topology, &reported, PlanSettings { crew: 3, ..settings() });
    let rounds: Vec<(u32, u32)> = plan.repairs().iter().map(|repair| (repair.link.0, repair.round)).collect();
    assert_eq!(rounds, [(8, 1), (9, 1), (10, 2), (11, 2)]);
}

#[test]
fn the_second_is_chosen_given_the_first_is_back() {
    let topology = four_links();
    // Two of four may go. Link 2 waits: the return of either disabled link gains the same, but the return of both gains
    // no more.
    let settings = PlanSettings { constraint: Constraint::paper(0.5), ..settings() };
    let plan = Plan::new(&topology, &[down(0), down(1), active(2, 1e-3)], settings);
    let repairs = plan.repairs();
    assert_eq!((repairs[0].link, &repairs[0].then_disable[..]), (LinkId(0), &[LinkId(2)][..]));
    assert_eq!((repairs[1].link, repairs[1].objective_gain), (LinkId(1), 0.0));
}

#[test]
fn tors_that_are_short_come_before_any_penalty() {
    let topology = small_fabric();
    // ToR 0 has lost two of four paths with link 0. In pod 1, link 7 waits for link 6.
    let plan = Plan::new(
        &topology,
        &[down(0), down(9), active(11, 1e-2)],
        PlanSettings { constraint: Constraint::paper(0.75), ..settings() },
    );
    let repairs = plan.repairs();
    assert_eq!((repairs[0].link, repairs[0].shortage_ended), (LinkId(0), 1));
    assert_eq!((repairs[1].link, &repairs[1].then_disable[..]), (LinkId(9), &[LinkId(11)][..]));
}

#[test]
fn links_that_can_never_be_disabled_come_last_by_loss_rate() {
    let topology = four_links();
    let plan = Plan::new(
        &topology,
        &[active(0, 1e-5), active(1, 1e-3), down(3)],
        PlanSettings { constraint: Constraint::paper(1.0), ..settings() },
    );
    assert_eq!(
        order(&plan),
        [(3, 1, Origin::Down), (1, 2, Origin::InOperation), (0, 3, Origin::InOperation)]
    );
}

#[test]
fn every_link_that_corrupts_is_repaired_once() {
    let topology = small_fabric();
    let reported: Vec<_> =
        (0..16).map(|link| if link % 5 == 0 { down(link) } else { active(link, 1e-3) }).collect();
    for crew in [0, 1, 3, u32::MAX] {
        let plan = Plan::new(&topology, &reported, PlanSettings { crew, ..settings() });
        let repairs = plan.repairs();
        let mut links: Vec<u32> = repairs.iter().map(|repair| repair.link.0).collect();
        links.sort_unstable();
        assert_eq!(links, (0..16).collect::<Vec<u32>>());
        assert!(
            repairs.windows(2).all(|pair| pair[0].rank + 1 == pair[1].rank && pair[0].round <= pair[1].round)
        );
    }
}
