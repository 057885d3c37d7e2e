//! Choices under which no two ToRs lose each other because all keep a way to a quorum of a few switches of the top layer: to one, to two
//! of three, or to one and any of three others, or these three. Any two quorums have a switch in common. Such a choice need not be the
//! best, but it takes only one more search of each zone.

use super::demand::{Demand, Who};
use super::effort::Effort;
use super::problem::Problem;
use super::search::{ZoneChoice, search};
use crate::network::Network;
use linkmend_topology::{LinkId, SwitchId, ZoneReach};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Sets of switches of the top layer, by their place among the [`meeting_points`]. Who reaches a switch of each set of one system has
/// one in common with all others who do.
const SYSTEMS: [&[&[usize]]; 4] = [
    &[&[0, 1], &[0, 2], &[1, 2]],
    &[&[0, 1], &[0, 2], &[0, 3], &[1, 2, 3]],
    &[&[1, 2], &[1, 3], &[2, 3]],
    &[&[0]],
];
const MOST_POINTS: usize = 4;

/// The heaviest of the choices that were found in this way, beginning with the best of each zone alone. `None` if too few switches of the
/// top layer are within reach of all ToRs.
pub(super) fn meeting_at_quorums(
    network: &mut Network,
    problems: &[Problem],
    alone: &[Rc<ZoneChoice>],
    effort: Effort,
) -> Option<Vec<Rc<ZoneChoice>>> {
    let effort = effort.of_one(SYSTEMS.len() * problems.len());
    let effort = Effort { branching: effort.branching.min(effort.going_on), ..effort };
    let mut best: Option<(i128, Vec<Rc<ZoneChoice>>)> = None;
    let points = meeting_points(network, problems);
    for system in SYSTEMS {
        let sets = system.iter().map(|set| demand(network, &points, set)).collect::<Option<Vec<_>>>();
        let Some(demands) = sets else { continue };
        let Some(choices) = meeting(network, problems, alone, &demands, effort) else { continue };
        let weight = choices.iter().map(|choice| choice.weight).sum();
        if best.as_ref().is_none_or(|(most, _)| weight > *most) {
            best = Some((weight, choices));
        }
    }
    best.map(|(_, choices)| choices)
}

/// Everyone must reach one of these meeting points. `None` if there are not so many.
fn demand(network: &Network, points: &[SwitchId], set: &[usize]) -> Option<Rc<Demand>> {
    let installed = network.topology().installed();
    let mut tops = vec![0; installed.top_words()];
    for &point in set {
        let place = installed.place(*points.get(point)?);
        tops[place / 64] |= 1 << (place % 64);
    }
    Some(Rc::new(Demand { who: Who::Everyone, tops: tops.into(), inside: None }))
}

/// Switches of the top layer that all ToRs reach, those first whose links are worth the least to disable. Of those that are above the
/// same switches, only one.
fn meeting_points(network: &Network, problems: &[Problem]) -> Vec<SwitchId> {
    let topology = network.topology();
    let installed = topology.installed();
    let mut common = vec![u64::MAX; installed.top_words()];
    for zone in topology.zones() {
        let reach: ZoneReach = installed.reach_in(topology, zone, |link| network.paths().is_active(link));
        let tors = installed.switches_of(zone).iter().rev();
        for tor in tors.take_while(|switch| topology.switch(**switch).layer == 0) {
            let row = reach.row(installed.place(*tor));
            // A ToR that reaches nothing cannot lose anybody.
            if row.iter().any(|word| *word != 0) {
                common.iter_mut().zip(row).for_each(|(common, word)| *common &= word);
            }
        }
    }
    let candidates = problems.iter().flat_map(|problem| &problem.candidates);
    let weights: BTreeMap<LinkId, i128> =
        candidates.map(|candidate| (candidate.link, candidate.weight)).collect();
    let mut kinds: BTreeMap<BTreeSet<SwitchId>, (i128, SwitchId)> = BTreeMap::new();
    for (place, &top) in installed.tops().iter().enumerate() {
        if common[place / 64] >> (place % 64) & 1 == 0 {
            continue;
        }
        let below = topology.down(top);
        let weight = below.iter().filter_map(|hop| weights.get(&hop.link)).sum();
        let kind = kinds.entry(below.iter().map(|hop| hop.switch).collect()).or_insert((weight, top));
        *kind = (*kind).min((weight, top));
    }
    let mut points: Vec<(i128, SwitchId)> = kinds.into_values().collect();
    points.sort_unstable();
    points.into_iter().take(MOST_POINTS).map(|(_, top)| top).collect()
}

/// The best choice of each zone that meets demands.
fn meeting(
    network: &mut Network,
    problems: &[Problem],
    alone: &[Rc<ZoneChoice>],
    demands: &[Rc<Demand>],
    effort: Effort,
) -> Option<Vec<Rc<ZoneChoice>>> {
    let installed = network.topology().installed();
    let meets = |network: &Network, problem: &Problem, choice: &ZoneChoice| {
        let topology = network.topology();
        let is_active =
            |link: LinkId| network.paths().is_active(link) && choice.disable.binary_search(&link).is_err();
        let reach = installed.reach_in(topology, problem.zone, is_active);
        let tors = installed.switches_of(problem.zone).iter().rev();
        let mut tors = tors.take_while(|switch| topology.switch(**switch).layer == 0);
        tors.all(|tor| {
            let row = reach.row(installed.place(*tor));
            demands.iter().all(|demand| demand.is_met(problem.zone, row))
        })
    };
    let mut choices = Vec::new();
    for (problem, choice) in problems.iter().zip(alone) {
        if meets(network, problem, choice) {
            choices.push(choice.clone());
            continue;
        }
        choices.push(Rc::new(search(network, problem.zone, &problem.candidates, demands, effort)?));
    }
    Some(choices)
}
