//! The explanations of links.

use super::{active, down, four_links, settings, small_fabric};
use crate::constraint::Constraint;
use crate::deployment::Deployment;
use crate::optimizer::Objective;
use crate::plan::{Plan, PlanSettings, ReportedLink};
use crate::protection::ProtectionLimits;
use linkmend_topology::{LinkId, Topology};

fn explain(topology: &Topology, reported: &[ReportedLink], settings: PlanSettings, link: u32) -> String {
    let plan = Plan::new(topology, reported, settings);
    let explanation = plan.explain(LinkId(link)).expect("reported");
    [vec![explanation.verdict], explanation.reasons].concat().join("\n")
}

fn penalty() -> PlanSettings {
    PlanSettings { objective: Objective::Penalty, ..settings() }
}

#[track_caller]
fn assert_says(text: &str, expected: &[&str]) {
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

const ONE_COPY: &str = "One copy of each lost frame (Equation 2) should reduce the loss rate to 1e-8 (Equation \
                        1), for a target of 1e-8; 7.56e-9 was measured at 9.16e-5, the closest loss rate in \
                        the protection table.";

#[test]
fn of_two_links_each_is_explained_by_the_other() {
    let topology = four_links();
    let two = [active(0, 1e-4), active(1, 1e-3)];
    assert_says(
        &explain(&topology, &two, penalty(), 0),
        &[
            "Link 0, switch0--switch1 (loses 1e-4): protect, ordered, one copy.",
            "It must not be disabled: switch0 would keep 2 of 4 paths, but must keep 3; switch0--switch2 \
             (contributes 1e-3) \
             is disabled instead. This link contributes 1e-4; if it were disabled, that would stay in operation, \
             and the objective of pod0 would be 1e-3 instead of 1e-4, which is worse (the objective is \
             the loss rate on the wire).",
            "Ordered mode leaves 98.74 % of the capacity, at least the required 85 %.",
            ONE_COPY,
        ],
    );
    assert_says(
        &explain(&topology, &two, penalty(), 1),
        &[
            "Link 1, switch0--switch2 (loses 1e-3): disable.",
            "With the whole plan switch0 has 3 of 4 paths and must keep 3; pod0 has 298.74 of 400 Gb/s.",
            "If it were kept in operation, switch0--switch1 could be disabled instead, and the objective of pod0 \
             would be 1e-3 instead of 1e-4; the link itself contributes 1e-3 (the objective is the loss \
             rate on the wire).",
        ],
    );
}

#[test]
fn a_link_whose_paths_nothing_can_spare_says_which_tor_needs_them() {
    let text = explain(&small_fabric(), &[active(0, 1e-2)], settings(), 0);
    assert_says(
        &text,
        &[
            "Link 0, pod0-tor0--pod0-fabric0 (loses 0.01): protect, non-blocking, 3 copies.",
            "It must not be disabled, whatever else is done: pod0-tor0 would keep 2 of 4 paths, but must keep 3.",
            "Ordered mode would leave 60 % of the capacity, less than the required 85 %; without ordering there \
             are no pauses and only the copies cost capacity, so 95.88 % remains.",
            "3 copies of each lost frame (Equation 2) should reduce the loss rate to 1e-8 (Equation 1), for \
             a target of 1e-8; \
             1e-8 was measured at 0.01, the closest loss rate in the protection table.",
        ],
    );
    let short = explain(&small_fabric(), &[active(1, 1e-4), down(0), down(12)], settings(), 1);
    let must = "It must not be disabled, whatever else is done: pod0-tor0 has 1 of 4 paths, fewer than the \
     3 that it must keep, \
                and would have 0.";
    assert_eq!(short.lines().nth(1), Some(must));
}

#[test]
fn links_that_were_disabled_before_are_named() {
    let reported = [active(8, 1e-3), active(10, 1e-4), down(14)];
    let text = explain(
        &small_fabric(),
        &reported,
        PlanSettings { constraint: Constraint::paper(0.5), ..penalty() },
        10,
    );
    let reason = "It must not be disabled: pod0-tor0 would keep 1 of 4 paths, but must keep 2; of its \
     links, pod0-fabric1--spine1-1 was disabled before; pod0-fabric0--spine0-0 (contributes 1e-3) is disabled instead. \
                  This link contributes 1e-4; if it were disabled, that would stay in operation, and the \
                  objective of pod0 would be 1e-3 instead of 1e-4, which is worse (the objective is the \
                  loss rate on the wire).";
    assert_eq!(text.lines().nth(1), Some(reason));
}

#[test]
fn a_difference_that_rounding_hides_is_said() {
    let reported = [active(8, 2e-3), active(10, 3e-3)];
    let text = explain(&small_fabric(), &reported, settings(), 10);
    assert!(
        text.contains("would be 9.12e-5 instead of 9.12e-5, which is worse, but only by 6.71e-9"),
        "{text}"
    );
    let text = explain(&small_fabric(), &reported, settings(), 8);
    assert!(text.contains("instead of 9.12e-5, a difference of only 6.71e-9;"), "{text}");
}

#[test]
fn a_disabled_link_says_what_its_return_buys() {
    let text = explain(&small_fabric(), &[active(8, 2e-3), down(10)], settings(), 10);
    assert_says(
        &text,
        &[
            "Link 10, pod0-fabric0--spine0-1 (loss rate unknown): keep disabled.",
            "It was disabled before and stays disabled until it is repaired; the plan makes no decision \
             about it today.",
            "It is number 1 of 2 to repair: its repair allows pod0-fabric0--spine0-0 to be disabled, which \
             spares 9.12e-5 and gives pod0-tor0 one path back.",
        ],
    );
}

#[test]
fn a_link_that_loses_everything_misses_the_target() {
    let text = explain(&small_fabric(), &[active(8, 1.0), down(10)], settings(), 8);
    assert!(
        text.starts_with("Link 8, pod0-fabric0--spine0-0 (loses 1): protect, non-blocking, 16 copies.\n"),
        "{text}"
    );
    assert!(
        text.ends_with(
            "so the target is missed: of the links that stay in operation, repair this one \
     first."
        ),
        "{text}"
    );
}

#[test]
fn links_that_nothing_is_done_about_say_why() {
    let last = |text: String| text.lines().last().map(str::to_owned);
    let watched = explain(&small_fabric(), &[active(0, 1e-9)], settings(), 0);
    let reason = "Its loss rate of 1e-9 is not above the target of 1e-8, so protection would not improve it, and \
                  disabling it would needlessly cost paths. Check again when the rate rises.";
    assert_eq!(last(watched).as_deref(), Some(reason));

    let nowhere = PlanSettings { deployment: Deployment::zones(&small_fabric(), []), ..settings() };
    let left = explain(&small_fabric(), &[active(0, 1e-2)], nowhere, 0);
    let reason = "It should be protected, but a switch at one of its ends does not support this.";
    assert_eq!(last(left).as_deref(), Some(reason));

    let limits = ProtectionLimits { per_pipe: Some(1), per_switch: None };
    let full = PlanSettings { limits, constraint: Constraint::paper(1.0), ..settings() };
    let left = explain(&four_links(), &[active(0, 1e-2), active(1, 1e-3)], full, 1);
    let reason = "It should be protected, but a pipe of switch0 already protects its limit of 1, and those links have \
         higher loss rates.";
    assert_eq!(last(left).as_deref(), Some(reason));
}
