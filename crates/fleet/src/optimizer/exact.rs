//! The exact optimizer: each zone alone first, and then all of them together where ToRs would lose each other.

use super::joint::Joint;
use super::problem::{Problem, together, with_removed};
use super::search::{ZoneChoice, search};
use super::{Decision, Objective, candidates, greedy};
use crate::network::Network;
use linkmend_topology::{LinkId, ZoneId};
use std::rc::Rc;

/// Returns the links of one zone to disable so that the objective becomes as small as possible. Leaves the network as
/// it was.
pub fn exact(network: &mut Network, zone: ZoneId, objective: Objective) -> Decision {
    exact_together(network, &[zone], objective)
}

/// The same for several zones together, which are in ascending order. Zones depend on each other only if ToRs must be able to
/// reach each other.
pub fn exact_together(network: &mut Network, zones: &[ZoneId], objective: Objective) -> Decision {
    let mut limited = false;
    let problem = |&zone: &ZoneId| {
        let candidates = candidates(network, zone, objective);
        limited |= candidates.limited;
        Problem { zone, candidates: candidates.list }
    };
    let problems: Vec<Problem> = zones.iter().map(problem).collect();
    let alone = |problem: &Problem| {
        let choice = search(network, problem.zone, &problem.candidates, &[]);
        Rc::new(choice.unwrap_or_default())
    };
    let choices: Vec<Rc<ZoneChoice>> = problems.iter().map(alone).collect();
    if network.meet_for_certain() || meet_by_paths(network, zones, &choices) {
        return Decision { limited, ..together(&choices) };
    }
    let alone = together(&choices);
    let found = Joint::new(network, &problems).search(choices);
    let found = found.unwrap_or_else(|| one_after_the_other(network, zones, objective));
    Decision { limited: limited || found.disable != alone.disable, ..found }
}

/// Whether paths alone show that the choices leave ToRs connected.
fn meet_by_paths(network: &mut Network, zones: &[ZoneId], choices: &[Rc<ZoneChoice>]) -> bool {
    let links: Vec<LinkId> = choices.iter().flat_map(|choice| choice.disable.clone()).collect();
    with_removed(network, &links, |network| network.meet_by_paths(zones))
}

/// Decides zone by zone, where the search for the best of all together was cut short. What one zone gives up, the next ones
/// cannot.
fn one_after_the_other(network: &mut Network, zones: &[ZoneId], objective: Objective) -> Decision {
    let mut taken: Vec<LinkId> = Vec::new();
    for &zone in zones {
        let decision = match zones {
            [_] => greedy(network, zone, objective),
            _ => exact(network, zone, objective),
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
    Decision { disable: taken, proven: false, limited: true }
}
