//! The exact optimizer: branch and bound over the links above the ToRs; each ToR then decides about its own links.
//!
//! Once it is fixed which candidates above the ToRs are disabled, ToRs no longer affect each other: each takes the
//! heaviest set of its own links that its remaining paths allow. The more is disabled above, the fewer sets a ToR may
//! take, so what the ToRs can gain now is a bound for the rest of the tree. Candidates that connect one switch to the
//! top layer cost every ToR the same, so the worst of them go first, and the search branches only on their number. In a
//! pod with n candidates on each of its four fabric switches there are at most (n+1)^4 nodes, of which the bound leaves
//! few.

use super::gains::Gains;
use super::{Candidate, Decision, Objective, candidates, greedy, lower_switch};
use crate::network::Network;
use linkmend_topology::{LinkId, SwitchId, ZoneId};

/// Nodes after which the search stops and returns the best choice so far.
const MAX_NODES: u64 = 2_000_000;

/// Returns the links of one zone to disable so that the objective becomes as small as possible. Leaves the network as
/// it was.
pub fn exact(network: &mut Network, zone: ZoneId, objective: Objective) -> Decision {
    let candidates = candidates(network, zone, objective);
    if candidates.len() <= 1 {
        return Decision {
            disable: candidates.iter().map(|candidate| candidate.link).collect(),
            proven: true,
        };
    }
    let start = greedy(network, zone, objective);
    if start.disable.len() == candidates.len() {
        return Decision { proven: true, ..start };
    }
    let mut search = Search::new(network, &candidates, start.disable);
    search.branch(0, 0);
    let proven = search.nodes < MAX_NODES;
    let mut disable = search.best;
    disable.sort_unstable();
    Decision { disable, proven }
}

/// Candidates that cost every ToR the same number of paths, the worst first.
struct Class {
    members: Vec<Candidate>,
    weight: i128,
}

struct Search<'n, 't> {
    network: &'n mut Network<'t>,
    classes: Vec<Class>,
    gains: Gains,
    /// Total weight of the classes from each index on.
    remaining: Vec<i128>,
    chosen: Vec<LinkId>,
    /// How many ToRs the current choice takes below their constraint. ToRs that were below it before lose nothing,
    /// because none of their paths leads through a candidate.
    violated: u32,
    best_weight: i128,
    best: Vec<LinkId>,
    nodes: u64,
}

impl<'n, 't> Search<'n, 't> {
    fn new(network: &'n mut Network<'t>, candidates: &[Candidate], start: Vec<LinkId>) -> Search<'n, 't> {
        let (lower, upper): (Vec<Candidate>, Vec<Candidate>) =
            candidates.iter().partition(|candidate| network.topology().layer_of(candidate.link) == 0);
        let classes = classes(network, &upper);
        let mut remaining = vec![0; classes.len() + 1];
        for (index, class) in classes.iter().enumerate().rev() {
            remaining[index] = remaining[index + 1] + class.weight;
        }
        let weight_of = |link: &LinkId| {
            candidates
                .iter()
                .find(|candidate| candidate.link == *link)
                .map_or(0, |candidate| candidate.weight)
        };
        Search {
            gains: Gains::new(network, &lower),
            network,
            classes,
            remaining,
            chosen: Vec::new(),
            violated: 0,
            best_weight: start.iter().map(weight_of).sum(),
            best: start,
            nodes: 0,
        }
    }

    /// Decides how many members of class `index` and of those after it to disable, with `weight` already chosen.
    fn branch(&mut self, index: usize, weight: i128) {
        self.nodes += 1;
        if self.violated > 0 || self.nodes >= MAX_NODES {
            return;
        }
        let gain = self.gains.total(self.network);
        if weight + gain + self.remaining[index] <= self.best_weight {
            return;
        }
        if index == self.classes.len() {
            self.best_weight = weight + gain;
            self.best = self.chosen.clone();
            self.best.extend(self.gains.members(self.network));
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
        let Search { network, violated, .. } = self;
        let mut now = 0;
        let mut below = |required: u64, before: u64, after: u64| {
            now += u32::from(before >= required && after < required);
        };
        network.remove_paths(link, &mut below);
        *violated += now;
    }

    fn restore_paths(&mut self) {
        let Some(link) = self.chosen.pop() else { return };
        let Search { network, violated, .. } = self;
        let mut now = 0;
        let mut above = |required: u64, before: u64, after: u64| {
            now += u32::from(before < required && after >= required);
        };
        network.restore_paths(link, &mut above);
        *violated -= now;
    }
}

/// Groups the candidates above the ToRs. Those that connect one switch to the top layer form one class; every other
/// candidate is a class of its own.
fn classes(network: &Network, upper: &[Candidate]) -> Vec<Class> {
    let topology = network.topology();
    let top = topology.layer_count() as u8 - 1;
    let mut classes: Vec<(Option<SwitchId>, Class)> = Vec::new();
    for &candidate in upper {
        let into_top = topology.switch(topology.link(candidate.link).upper).layer == top;
        let switch = into_top.then(|| lower_switch(network, candidate.link));
        match classes.iter_mut().find(|(of, _)| of.is_some() && *of == switch) {
            Some((_, class)) => {
                class.weight += candidate.weight;
                class.members.push(candidate);
            }
            None => classes.push((switch, Class { weight: candidate.weight, members: vec![candidate] })),
        }
    }
    classes.into_iter().map(|(_, class)| class).collect()
}
