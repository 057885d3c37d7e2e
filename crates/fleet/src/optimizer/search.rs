//! The search within one zone: branch and bound over the links above the ToRs; each ToR then decides about its own links.
//!
//! Once it is fixed which candidates above the ToRs are disabled, ToRs no longer affect each other: each takes the
//! heaviest set of its own links that its remaining paths allow. The more is disabled above, the fewer sets a ToR may
//! take, so what the ToRs can gain now is a bound for the rest of the tree. Candidates that connect one switch to the
//! top layer cost every ToR the same, so the worst of them go first, and the search branches only on their number. In a
//! pod with n candidates on each of its four fabric switches there are at most (n+1)^4 nodes, of which the bound leaves
//! few.

use super::demand::{Demand, Trackers};
use super::gains::Gains;
use super::subset::Cost;
use super::{Candidate, lower_switch};
use crate::network::Network;
use linkmend_topology::{LinkId, SwitchId, ZoneId};
use std::rc::Rc;

/// Nodes after which the search stops and returns the best choice so far.
const MAX_NODES: u64 = 2_000_000;

/// What a search has found for one zone.
#[derive(Debug, Default)]
pub(super) struct ZoneChoice {
    /// Links to disable, in ascending order.
    pub(super) disable: Vec<LinkId>,
    /// What they weigh together.
    pub(super) weight: i128,
    /// Whether no choice that meets the demands weighs more.
    pub(super) proven: bool,
}

/// Finds the heaviest choice of a zone's candidates, the worst of which come first, that leaves every ToR what it needs and
/// meets all demands, whether or not ToRs can reach each other otherwise. `None` if the demands are not met even now. Leaves
/// the network as it was.
pub(super) fn search(
    network: &mut Network,
    zone: ZoneId,
    candidates: &[Candidate],
    demands: &[Rc<Demand>],
) -> Option<ZoneChoice> {
    let trackers = Trackers::new(network, zone, demands)?;
    let mut search = Search::new(network, candidates, trackers);
    let all = search.take_greedily(candidates);
    if !all {
        search.branch(0, 0);
    }
    let proven = search.nodes < MAX_NODES && search.gains.is_certain;
    let (mut disable, weight) = (search.best, search.best_weight);
    disable.sort_unstable();
    Some(ZoneChoice { disable, weight, proven })
}

/// Candidates that cost every ToR the same, the worst first.
struct Class {
    members: Vec<Candidate>,
    weight: i128,
}

struct Search<'n, 't> {
    network: &'n mut Network<'t>,
    trackers: Trackers,
    classes: Vec<Class>,
    gains: Gains,
    /// Total weight of the classes from each index on.
    remaining: Vec<i128>,
    chosen: Vec<LinkId>,
    /// How many ToRs the current choice takes below their constraint, and how many demands of ToRs it no longer meets. ToRs
    /// that were below it before lose nothing, because none of their paths leads through a candidate.
    violated: u32,
    best_weight: i128,
    best: Vec<LinkId>,
    nodes: u64,
}

impl<'n, 't> Search<'n, 't> {
    fn new(network: &'n mut Network<'t>, candidates: &[Candidate], trackers: Trackers) -> Search<'n, 't> {
        let (lower, upper): (Vec<Candidate>, Vec<Candidate>) =
            candidates.iter().partition(|candidate| network.topology().layer_of(candidate.link) == 0);
        let classes = classes(network, &trackers, &upper);
        let mut remaining = vec![0; classes.len() + 1];
        for (index, class) in classes.iter().enumerate().rev() {
            remaining[index] = remaining[index + 1] + class.weight;
        }
        Search {
            gains: Gains::new(network, &trackers, &lower),
            network,
            trackers,
            classes,
            remaining,
            chosen: Vec::new(),
            violated: 0,
            best_weight: 0,
            best: Vec::new(),
            nodes: 0,
        }
    }

    /// Begins with the worst candidate that can be taken, then the next. Returns whether all can be.
    fn take_greedily(&mut self, candidates: &[Candidate]) -> bool {
        for candidate in candidates {
            self.remove_paths(candidate.link);
            if self.violated > 0 {
                self.restore_paths();
            } else {
                self.best_weight += candidate.weight;
            }
        }
        self.best = self.chosen.clone();
        while !self.chosen.is_empty() {
            self.restore_paths();
        }
        self.best.len() == candidates.len()
    }

    /// Decides how many members of class `index` and of those after it to disable, with `weight` already chosen.
    fn branch(&mut self, index: usize, weight: i128) {
        self.nodes += 1;
        if self.violated > 0 || self.nodes >= MAX_NODES {
            return;
        }
        let gain = self.gains.total(self.network, &self.trackers);
        if weight + gain + self.remaining[index] <= self.best_weight {
            return;
        }
        if index == self.classes.len() {
            self.best_weight = weight + gain;
            self.best = self.chosen.clone();
            self.best.extend(self.gains.members(self.network, &self.trackers));
            return;
        }
        self.branch_on_class(index, weight);
    }

    /// Tries to disable none, one, two ... members of a class. If a number violates a constraint, so does every larger
    /// one.
    fn branch_on_class(&mut self, index: usize, mut weight: i128) {
        self.branch(index + 1, weight);
        let mut taken = 0;
        for place in 0..self.classes[index].members.len() {
            let Candidate { link, weight: more } = self.classes[index].members[place];
            self.remove_paths(link);
            taken += 1;
            weight += more;
            if self.violated > 0 {
                break;
            }
            self.branch(index + 1, weight);
        }
        for _ in 0..taken {
            self.restore_paths();
        }
    }

    fn remove_paths(&mut self, link: LinkId) {
        self.chosen.push(link);
        self.violated += self.network.remove_paths(link).crossed;
        self.violated += self.trackers.remove(self.network, link);
    }

    fn restore_paths(&mut self) {
        let Some(link) = self.chosen.pop() else { return };
        self.violated -= self.network.restore_paths(link);
        self.violated -= self.trackers.restore(self.network, link);
    }
}

/// The lower switch of a link to the top layer, what the link brings it, and in which demands' sets its upper switch is.
type ClassKey = (SwitchId, Cost, Vec<bool>);

/// Groups the candidates above the ToRs. Those that connect one switch to the top layer, equally fast where speeds count, to
/// switches of the same sets, form one class; every other candidate is a class of its own.
fn classes(network: &Network, trackers: &Trackers, upper: &[Candidate]) -> Vec<Class> {
    let topology = network.topology();
    let mut classes: Vec<(Option<ClassKey>, Class)> = Vec::new();
    for &candidate in upper {
        let above = topology.link(candidate.link).upper;
        let into_top = topology.switch(above).zone.is_none();
        let alike = into_top.then(|| {
            let lower = lower_switch(network, candidate.link);
            (lower, network.brings(candidate.link), trackers.membership(topology, above))
        });
        match classes.iter_mut().find(|(of, _)| of.is_some() && *of == alike) {
            Some((_, class)) => {
                class.weight += candidate.weight;
                class.members.push(candidate);
            }
            None => classes.push((alike, Class { weight: candidate.weight, members: vec![candidate] })),
        }
    }
    classes.into_iter().map(|(_, class)| class).collect()
}
