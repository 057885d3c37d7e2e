//! The search within one zone: branch and bound over the links above the ToRs; each ToR then decides about its own links.
//!
//! Once it is fixed which candidates above the ToRs are disabled, ToRs no longer affect each other: each takes the
//! heaviest set of its own links that its remaining paths allow. The more is disabled above, the fewer sets a ToR may
//! take, so what the ToRs can gain now is a bound for the rest of the tree. Candidates that connect one switch to the
//! top layer cost every ToR the same, so the worst of them go first, and the search branches only on their number. In a
//! pod with n candidates on each of its four fabric switches there are at most (n+1)^4 nodes, of which the bound leaves
//! few.
//!
//! Where no two ToRs are alike it leaves too many. Then this search is cut short, and [`frontier`](super::frontier) goes on.

use super::Candidate;
use super::climb::fill_up;
use super::demand::{Demand, Trackers};
use super::effort::Effort;
use super::frontier::go_on;
use super::remaining::Remaining;
use super::state::{Best, State};
use crate::network::Network;
use linkmend_topology::{LinkId, ZoneId};
use std::rc::Rc;

/// Work after which it pays to ask how much of the rest a ToR can spare.
const EASY_WORK: u64 = 500;
/// With more classes, branch and bound has to do with so small a part of the work.
const FEW_CLASSES: usize = 8;
const PART_FOR_MANY_CLASSES: u64 = 20;

/// What a search has found for one zone.
#[derive(Debug, Default)]
pub(super) struct ZoneChoice {
    /// Links to disable, in ascending order.
    pub(super) disable: Vec<LinkId>,
    /// What they weigh together.
    pub(super) weight: i128,
    /// No choice that meets the demands weighs more than this.
    pub(super) most: i128,
    /// What the search has cost.
    pub(super) work: u64,
}

impl ZoneChoice {
    /// Whether no choice that meets the demands weighs more.
    pub(super) fn is_proven(&self) -> bool {
        self.weight == self.most
    }
}

/// Finds the heaviest choice of a zone's candidates, the worst of which come first, that leaves every ToR what it needs and
/// meets all demands, whether or not ToRs can reach each other otherwise. `None` if the demands are not met even now. Leaves
/// the network as it was.
pub(super) fn search(
    network: &mut Network,
    zone: ZoneId,
    candidates: &[Candidate],
    demands: &[Rc<Demand>],
    effort: Effort,
) -> Option<ZoneChoice> {
    let trackers = Trackers::new(network, zone, demands)?;
    let state = State::new(network, candidates, trackers);
    let has_few = state.classes.len() <= FEW_CLASSES;
    let work = effort.branching / if has_few { 1 } else { PART_FOR_MANY_CLASSES };
    let mut search = Search::new(state, zone, work);
    let all = search.take_greedily(candidates);
    if !all {
        search.branch(0, 0, i128::MAX);
    }
    let Search { mut state, mut best, open, is_cut, .. } = search;
    let mut most = best.weight.max(open);
    if is_cut && effort.going_on > 0 {
        most = go_on(&mut state, zone, &mut best, most, effort.going_on);
        fill_up(&mut state, candidates, &mut best);
    }
    let Best { links: mut disable, weight } = best;
    disable.sort_unstable();
    Some(ZoneChoice { disable, weight, most, work: state.work() })
}

struct Search<'n, 't> {
    state: State<'n, 't>,
    zone: ZoneId,
    /// Total weight of the classes from each index on.
    total: Vec<i128>,
    /// `None` as long as the search is easy.
    remaining: Option<Remaining>,
    chosen: Vec<LinkId>,
    best: Best,
    /// No choice that was not looked at weighs more than this.
    open: i128,
    work_limit: u64,
    is_cut: bool,
}

impl<'n, 't> Search<'n, 't> {
    fn new(state: State<'n, 't>, zone: ZoneId, work_limit: u64) -> Search<'n, 't> {
        let mut total = vec![0; state.classes.len() + 1];
        for (index, class) in state.classes.iter().enumerate().rev() {
            total[index] = total[index + 1] + class.weight;
        }
        Search {
            state,
            zone,
            total,
            remaining: None,
            chosen: Vec::new(),
            best: Best::default(),
            open: 0,
            work_limit,
            is_cut: false,
        }
    }

    /// Begins with the worst candidate that can be taken, then the next. Returns whether all can be.
    fn take_greedily(&mut self, candidates: &[Candidate]) -> bool {
        for candidate in candidates {
            self.remove_paths(candidate.link);
            if self.state.is_allowed() {
                self.best.weight += candidate.weight;
            } else {
                self.restore_paths();
            }
        }
        self.best.links = self.chosen.clone();
        while !self.chosen.is_empty() {
            self.restore_paths();
        }
        self.best.links.len() == candidates.len()
    }

    /// Decides how many members of class `index` and of those after it to disable, with `weight` already chosen, where no
    /// choice weighs more than `above`.
    fn branch(&mut self, index: usize, weight: i128, above: i128) {
        if !self.state.is_allowed() {
            return;
        }
        let is_all = index == self.state.classes.len();
        let gain = self.state.gain();
        let most = above.min(weight + gain.most + self.most_remaining(index));
        if most <= self.best.weight {
            return;
        }
        if is_all && weight + gain.found > self.best.weight {
            self.best.weight = weight + gain.found;
            self.best.links = self.chosen.clone();
            self.best.links.extend(self.state.own_links());
        }
        self.is_cut |= self.state.work() >= self.work_limit;
        if is_all || self.is_cut {
            self.open = self.open.max(most);
            return;
        }
        self.branch_on_class(index, weight, most);
    }

    /// Tries to disable none, one, two ... members of a class. If a number violates a constraint, so does every larger
    /// one.
    fn branch_on_class(&mut self, index: usize, mut weight: i128, most: i128) {
        self.branch(index + 1, weight, most);
        let mut taken = 0;
        for place in 0..self.state.classes[index].members.len() {
            if self.is_cut {
                break;
            }
            let Candidate { link, weight: more } = self.state.classes[index].members[place];
            self.remove_paths(link);
            taken += 1;
            weight += more;
            if !self.state.is_allowed() {
                break;
            }
            self.branch(index + 1, weight, most);
        }
        if self.is_cut {
            // What comes after the member at which the search was cut was not looked at.
            self.open = self.open.max(most);
        }
        for _ in 0..taken {
            self.restore_paths();
        }
    }

    /// What the classes from this index on can weigh at most.
    fn most_remaining(&mut self, index: usize) -> i128 {
        if self.remaining.is_none() && self.state.work() > EASY_WORK {
            self.remaining = Some(Remaining::new(self.state.network, self.zone, &self.state.classes));
        }
        let remaining =
            self.remaining.as_ref().and_then(|remaining| remaining.most(self.state.network, index));
        remaining.map_or(self.total[index], |most| most.min(self.total[index]))
    }

    fn remove_paths(&mut self, link: LinkId) {
        self.chosen.push(link);
        self.state.take(link);
    }

    fn restore_paths(&mut self) {
        let Some(link) = self.chosen.pop() else { return };
        self.state.give_back(link);
    }
}
