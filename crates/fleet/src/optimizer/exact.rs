//! The exact optimizer: each zone alone first, and then all of them together where ToRs would lose each other.

use super::effort::Effort;
use super::joint::{Found, Joint};
use super::meeting::meeting_at_quorums;
use super::problem::{Problem, together, with_removed};
use super::search::{ZoneChoice, search};
use super::{Candidate, Decision, Objective, candidates, greedy};
use crate::network::Network;
use linkmend_topology::{LinkId, ZoneId};
use std::rc::Rc;

/// The work of branch and bound in all zones together, each of which may take an equal part of what is left, and any so much.
const BRANCHING_OF_ALL: u64 = 60_000_000;
const BRANCHING_OF_EACH: u64 = 20_000;
/// Links times ToRs up to which a choice is filled up: each link is checked against each ToR, unless path counts tell.
const MOST_PAIRS_TO_FILL_UP: usize = 2_000_000;

/// Returns the links of one zone to disable so that the objective becomes as small as possible. Leaves the network as
/// it was.
pub fn exact(network: &mut Network, zone: ZoneId, objective: Objective) -> Decision {
    exact_together(network, &[zone], objective)
}

/// The same for several zones together, which are in ascending order. Zones depend on each other only if ToRs must be able to
/// reach each other.
pub fn exact_together(network: &mut Network, zones: &[ZoneId], objective: Objective) -> Decision {
    exact_within(network, zones, objective, Effort::default())
}

/// The same with a limit on the work. If it does not suffice, the decision says how much better another can be.
pub fn exact_within(
    network: &mut Network,
    zones: &[ZoneId],
    objective: Objective,
    effort: Effort,
) -> Decision {
    let mut limited = false;
    let problem = |&zone: &ZoneId| {
        let candidates = candidates(network, zone, objective);
        limited |= candidates.limited;
        Problem { zone, candidates: candidates.list }
    };
    let problems: Vec<Problem> = zones.iter().map(problem).collect();
    let choices = each_alone(network, &problems, effort);
    if network.meet_for_certain() || meet_by_paths(network, zones, &choices) {
        return Decision { limited, ..together(&choices) };
    }
    let alone = together(&choices);
    let Found { choices: found, most } = Joint::new(network, &problems).search(choices.clone(), effort);
    let mut found: Vec<Vec<LinkId>> = found.iter().map(|choices| together(choices).disable).collect();
    if found.iter().all(|links| weight_of(network, links, objective) < most) {
        let quorums = meeting_at_quorums(network, &problems, &choices, effort);
        found.extend(quorums.iter().map(|choices| together(choices).disable));
    }
    if found.is_empty() {
        found.push(one_after_the_other(network, zones, objective, effort));
    }
    let weighed = found.into_iter().map(|links| (weight_of(network, &links, objective), links));
    let (mut weight, mut disable) = weighed.max_by_key(|(weight, _)| *weight).unwrap_or_default();
    if weight < most {
        fill_up(network, &problems, &mut disable);
        weight = weight_of(network, &disable, objective);
    }
    let gap = most.max(weight) - weight;
    let limited = limited || disable != alone.disable;
    Decision { disable, proven: gap == 0, gap: Some(gap), limited }
}

/// Adds what can be disabled beside a choice that may not be the best.
fn fill_up(network: &mut Network, problems: &[Problem], links: &mut Vec<LinkId>) {
    let mut rest: Vec<Candidate> = problems.iter().flat_map(|problem| problem.candidates.clone()).collect();
    rest.retain(|candidate| links.binary_search(&candidate.link).is_err());
    if rest.len() * network.topology().tors().len() > MOST_PAIRS_TO_FILL_UP {
        return;
    }
    rest.sort_by_key(|candidate| (-candidate.weight, candidate.link));
    links.iter().for_each(|link| _ = network.remove_paths(*link));
    for Candidate { link, .. } in rest {
        if network.may_disable(link) {
            network.remove_paths(link);
            links.push(link);
        }
    }
    links.iter().rev().for_each(|link| _ = network.restore_paths(*link));
    links.sort_unstable();
}

/// What links count that corrupt.
fn weight_of(network: &Network, links: &[LinkId], objective: Objective) -> i128 {
    let weight =
        |&link: &LinkId| Some(objective.weight(network.corrupting(link)?, network.topology().capacity(link)));
    links.iter().filter_map(weight).sum()
}

/// The best choice of each zone alone. Zones where it is not found quickly share the work.
fn each_alone(network: &mut Network, problems: &[Problem], effort: Effort) -> Vec<Rc<ZoneChoice>> {
    let mut alone = |problem: &Problem, effort| {
        search(network, problem.zone, &problem.candidates, &[], effort).unwrap_or_default()
    };
    let mut left = BRANCHING_OF_ALL;
    let mut choices: Vec<ZoneChoice> = Vec::new();
    for (place, problem) in problems.iter().enumerate() {
        let part = (left / (problems.len() - place) as u64).max(BRANCHING_OF_EACH);
        let choice = alone(problem, Effort { branching: effort.branching.min(part), going_on: 0 });
        left = left.saturating_sub(choice.work);
        choices.push(choice);
    }
    let open = choices.iter().filter(|choice| !choice.is_proven()).count();
    let of_zones = problems.iter().zip(&mut choices).filter(|(_, choice)| !choice.is_proven());
    for (problem, choice) in of_zones {
        // Branch and bound has found what it could.
        let branching = effort.branching.min(BRANCHING_OF_EACH);
        *choice = alone(problem, Effort { branching, ..effort.of_one(open) });
    }
    choices.into_iter().map(Rc::new).collect()
}

/// Whether paths alone show that the choices leave ToRs connected.
fn meet_by_paths(network: &mut Network, zones: &[ZoneId], choices: &[Rc<ZoneChoice>]) -> bool {
    let links: Vec<LinkId> = choices.iter().flat_map(|choice| choice.disable.clone()).collect();
    with_removed(network, &links, |network| network.meet_by_paths(zones))
}

/// Decides zone by zone, where the search for the best of all together was cut short before it found any choice. What one zone
/// gives up, the next ones cannot.
fn one_after_the_other(
    network: &mut Network,
    zones: &[ZoneId],
    objective: Objective,
    effort: Effort,
) -> Vec<LinkId> {
    let mut taken: Vec<LinkId> = Vec::new();
    for &zone in zones {
        let decision = match zones {
            [_] => greedy(network, zone, objective),
            _ => exact_within(network, &[zone], objective, effort.of_one(zones.len())),
        };
        for link in decision.disable {
            network.remove_paths(link);
            taken.push(link);
        }
    }
    for &link in taken.iter().rev() {
        network.restore_paths(link);
    }
    taken.sort_unstable();
    taken
}
