//! The search for the best choice under which no two ToRs lose each other.
//!
//! It begins with the best choice of each zone alone. If two ToRs would lose each other, there is a set of switches that
//! holds all that one of them reaches and nothing that the other does. Either some ToR reaches nothing outside this set;
//! then all that must be able to reach it must reach a switch of the set. Or every ToR reaches a switch outside. Neither half
//! contains the choice just found. Each half is one more demand, under which zones that do not meet it are searched anew, and
//! the half with the greater total goes first, so that the first choice without such a pair is the best.

use super::demand::{Demand, Who};
use super::effort::Effort;
use super::problem::{Problem, with_removed};
use super::search::{ZoneChoice, search};
use crate::network::Network;
use linkmend_topology::{LinkId, SwitchId, Topology, ZoneId, ZoneReach};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::rc::Rc;

/// Nodes after which the search stops.
const MAX_NODES: usize = 4_000;
/// The most work within one zone: so much for branch and bound, and as much for what follows.
const ZONE_WORK: u64 = 200_000;
/// What it costs to look at a zone at all.
const LEAST_ZONE_WORK: u64 = 100;

/// What some ToRs of one zone reach under a choice, and one of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    now: Box<[u64]>,
    /// What they reach before anything is decided.
    before: Box<[u64]>,
    zone: ZoneId,
    tor: SwitchId,
    /// Whether there is another one with the same.
    several: bool,
    /// Whether nothing is decided about their zone.
    is_fixed: bool,
}

/// How far a demand reaches that follows from one ToR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All ToRs can reach each other, and whenever two do, it is by a switch of the top layer.
    Network,
    /// All ToRs can reach each other.
    Zone,
    /// Some ToRs cannot reach each other even before anything is decided.
    Alike,
}

/// The outcome of a search.
pub(super) struct Found {
    /// The best choice under which no two ToRs lose each other; `None` if the search was cut short before it found any.
    pub(super) choices: Option<Vec<Rc<ZoneChoice>>>,
    /// No choice weighs more than this.
    pub(super) most: i128,
}

struct Node {
    /// No choice that meets the demands weighs more than this.
    most: i128,
    /// Nodes are numbered as they are found.
    number: usize,
    choices: Vec<Rc<ZoneChoice>>,
    demands: Vec<Rc<Demand>>,
}

/// The part of [`Node`] that orders them: the greatest bound first, and of several the first.
type Order = (i128, Reverse<usize>);

pub(super) struct Joint<'n, 't, 'p> {
    network: &'n mut Network<'t>,
    problems: &'p [Problem],
    /// What switches reach before anything is decided.
    before: Vec<ZoneReach>,
    /// ToRs of zones about which nothing is decided.
    fixed: Vec<Seen>,
    scope: Scope,
    /// Switches of the top layer that are above the same switches have the same number.
    kinds: Vec<usize>,
    /// What searches within zones may still cost.
    work: u64,
}

/// One half of a node.
enum Half {
    Node(Node),
    /// No choice meets its demands.
    Empty,
    /// The work was done before it was looked at as a whole.
    CutShort,
}

impl<'n, 't, 'p> Joint<'n, 't, 'p> {
    pub(super) fn new(network: &'n mut Network<'t>, problems: &'p [Problem]) -> Joint<'n, 't, 'p> {
        let topology = network.topology();
        let installed = topology.installed();
        let reach = |network: &Network, zone| {
            installed.reach_in(topology, zone, |link| network.paths().is_active(link))
        };
        let before: Vec<ZoneReach> = topology.zones().map(|zone| reach(network, zone)).collect();
        let candidates: Vec<LinkId> = problems
            .iter()
            .flat_map(|problem| problem.candidates.iter().map(|candidate| candidate.link))
            .collect();
        let least: Vec<ZoneReach> = with_removed(network, &candidates, |network| {
            topology.zones().map(|zone| reach(network, zone)).collect()
        });
        let mut joint = Joint {
            network,
            problems,
            before,
            fixed: Vec::new(),
            scope: Scope::Zone,
            kinds: kinds(topology),
            work: 0,
        };
        let decided: BTreeSet<ZoneId> = problems.iter().map(|problem| problem.zone).collect();
        let zones: Vec<ZoneId> = topology.zones().collect();
        let today: Vec<Seen> =
            zones.iter().flat_map(|&zone| joint.seen(zone, &joint.before[zone.index()], true)).collect();
        joint.scope = match joint.apart(today.iter(), |_, _| true) {
            Some(_) => Scope::Alike,
            None if joint.has_dead_ends(&least) => Scope::Zone,
            None => Scope::Network,
        };
        let fixed = zones.into_iter().filter(|zone| !decided.contains(zone));
        joint.fixed = fixed.flat_map(|zone| joint.seen(zone, &joint.before[zone.index()], true)).collect();
        joint
    }

    /// The best choice, beginning with the best of each zone alone.
    pub(super) fn search(mut self, choices: Vec<Rc<ZoneChoice>>, effort: Effort) -> Found {
        self.work = effort.going_on;
        let mut nodes = vec![Some(Node::new(0, choices, Vec::new()))];
        let mut heap: BinaryHeap<Order> = nodes.iter().flatten().map(Node::order).collect();
        let mut best = Best::default();
        'search: while let Some((most, Reverse(number))) = heap.pop() {
            if best.is_as_good_as(most) {
                break;
            }
            let Some(node) = nodes[number].take() else { continue };
            let seen = self.seen_under(&node.choices);
            let Some((one, other)) = self.parted(seen.iter().chain(&self.fixed)) else {
                best.offer(node);
                continue;
            };
            let (one, other) = (one.clone(), other.clone());
            for demand in self.halves(&one, &other) {
                let half = if nodes.len() < MAX_NODES {
                    self.half(&node, demand, nodes.len())
                } else {
                    Half::CutShort
                };
                match half {
                    Half::Node(child) => {
                        heap.push(child.order());
                        nodes.push(Some(child));
                    }
                    Half::Empty => {}
                    Half::CutShort => {
                        best.most = best.most.max(most);
                        break 'search;
                    }
                }
            }
        }
        Found { choices: best.choices, most: best.most }
    }

    /// The same with one more demand: zones that do not meet it are searched anew.
    fn half(&mut self, node: &Node, demand: Demand, number: usize) -> Half {
        let mut demands = node.demands.clone();
        demands.push(Rc::new(demand));
        let mut choices = node.choices.clone();
        for (place, problem) in self.problems.iter().enumerate() {
            if self.meets(problem.zone, &choices[place], &demands[demands.len() - 1]) {
                continue;
            }
            if self.work == 0 {
                return Half::CutShort;
            }
            let work = ZONE_WORK.min(self.work);
            let effort = Effort { branching: work, going_on: work };
            let found = search(self.network, problem.zone, &problem.candidates, &demands, effort);
            let Some(found) = found else { return Half::Empty };
            self.work = self.work.saturating_sub(found.work.max(LEAST_ZONE_WORK));
            // One more demand leaves no more choices.
            let most = found.most.min(choices[place].most);
            choices[place] = Rc::new(ZoneChoice { most, ..found });
        }
        Half::Node(Node::new(number, choices, demands))
    }

    /// Whether a zone's choice meets a demand.
    fn meets(&mut self, zone: ZoneId, choice: &ZoneChoice, demand: &Demand) -> bool {
        let topology = self.network.topology();
        let installed = topology.installed();
        let reach = self.reach_under(zone, choice);
        let before = &self.before[zone.index()];
        tors_of(topology, zone).filter(|tor| demand.is_of(topology, *tor)).all(|tor| {
            let place = installed.place(tor);
            demand.is_met(zone, reach.row(place)) || before.row(place).iter().all(|word| *word == 0)
        })
    }

    fn reach_under(&self, zone: ZoneId, choice: &ZoneChoice) -> ZoneReach {
        let topology = self.network.topology();
        let is_active = |link: LinkId| {
            self.network.paths().is_active(link) && choice.disable.binary_search(&link).is_err()
        };
        topology.installed().reach_in(topology, zone, is_active)
    }

    fn seen_under(&self, choices: &[Rc<ZoneChoice>]) -> Vec<Seen> {
        let zones = self.problems.iter().zip(choices);
        zones
            .flat_map(|(problem, choice)| {
                self.seen(problem.zone, &self.reach_under(problem.zone, choice), false)
            })
            .collect()
    }

    /// What the ToRs of a zone reach, one entry for each different set.
    fn seen(&self, zone: ZoneId, reach: &ZoneReach, is_fixed: bool) -> Vec<Seen> {
        let topology = self.network.topology();
        let mut seen: BTreeMap<(&[u64], &[u64]), Seen> = BTreeMap::new();
        for tor in tors_of(topology, zone) {
            let place = topology.installed().place(tor);
            let (now, before) = (reach.row(place), self.before[zone.index()].row(place));
            if before.iter().all(|word| *word == 0) {
                // It reaches nobody, so nobody can lose it.
                continue;
            }
            let new = || Seen { now: now.into(), before: before.into(), zone, tor, several: false, is_fixed };
            seen.entry((now, before)).and_modify(|seen| seen.several = true).or_insert_with(new);
        }
        seen.into_values().collect()
    }

    /// Two ToRs that can reach each other before anything is decided, and cannot any more.
    fn parted<'s>(&self, seen: impl Iterator<Item = &'s Seen>) -> Option<(&'s Seen, &'s Seen)> {
        let installed = self.network.topology().installed();
        self.apart(seen, |one, other| installed.meet(&one.before, &other.before, one.zone == other.zone))
    }

    /// Two ToRs that cannot reach each other, of those that must.
    fn apart<'s>(
        &self,
        seen: impl Iterator<Item = &'s Seen>,
        must_meet: impl Fn(&Seen, &Seen) -> bool,
    ) -> Option<(&'s Seen, &'s Seen)> {
        let installed = self.network.topology().installed();
        let tops =
            |set: &[u64]| set[..installed.top_words()].iter().map(|word| word.count_ones()).sum::<u32>();
        let mut seen: Vec<(u32, &Seen)> = seen.map(|seen| (tops(&seen.now), seen)).collect();
        seen.sort_unstable();
        let all = installed.tops().len() as u32;
        for (place, &(tops, one)) in seen.iter().enumerate() {
            let itself = one.several.then_some((tops, one)).into_iter();
            let others = itself.chain(seen[place + 1..].iter().copied());
            // Two that together reach more than there are reach a common one.
            for (_, other) in others.take_while(|(others, _)| tops + others <= all) {
                if !installed.meet(&one.now, &other.now, one.zone == other.zone) && must_meet(one, other) {
                    return Some((one, other));
                }
            }
        }
        None
    }

    /// Whether a switch below the top layer may lose all of it and still join ToRs, with what is left in any case.
    fn has_dead_ends(&self, least: &[ZoneReach]) -> bool {
        let topology = self.network.topology();
        let installed = topology.installed();
        let is_dead_end = |switch: &SwitchId| match topology.switch(*switch).zone {
            Some(zone) if !topology.down(*switch).is_empty() => {
                let row = least[zone.index()].row(installed.place(*switch));
                row[..installed.top_words()].iter().all(|word| *word == 0)
            }
            _ => false,
        };
        topology.switches().any(|switch| is_dead_end(&switch))
    }

    /// One of these demands must be met so that the two ToRs do not lose each other. Neither is met now.
    fn halves(&self, one: &Seen, other: &Seen) -> Vec<Demand> {
        let words = self.network.topology().installed().top_words();
        let all = |seen: &Seen| match self.scope {
            Scope::Network | Scope::Zone => Who::Everyone,
            Scope::Alike => Who::These(self.tors_that_met(seen)),
        };
        // Nothing changes what a ToR of another zone reaches, so the others must reach that.
        if let Some(fixed) = [one, other].into_iter().find(|seen| seen.is_fixed) {
            return vec![Demand { who: all(fixed), tops: fixed.now[..words].into(), inside: None }];
        }
        let tops = self.around(one, other);
        let without = |set: &[u64]| set.iter().map(|word| !word).collect::<Box<[u64]>>();
        let inside = |set: Box<[u64]>| (self.scope != Scope::Network).then_some((one.zone, set));
        let alike = match self.scope {
            Scope::Network => Who::Everyone,
            Scope::Zone => Who::OfZone(one.zone),
            Scope::Alike => Who::These(self.tors_like(one)),
        };
        vec![
            Demand { who: alike, tops: without(&tops), inside: inside(without(&one.now[words..])) },
            Demand { who: all(one), tops, inside: inside(one.now[words..].into()) },
        ]
    }

    /// A set of switches of the top layer that holds all that one ToR reaches, and nothing that another does. Of the rest, it
    /// holds those that are like more of the one's than of the other's: what brings them into reach is then decided about
    /// once, and not for each switch.
    fn around(&self, one: &Seen, other: &Seen) -> Box<[u64]> {
        let mut balance: BTreeMap<usize, i64> = BTreeMap::new();
        let is_in = |set: &[u64], place: usize| set[place / 64] >> (place % 64) & 1 == 1;
        for (place, &kind) in self.kinds.iter().enumerate() {
            let more = i64::from(is_in(&one.now, place)) - i64::from(is_in(&other.now, place));
            *balance.entry(kind).or_default() += more;
        }
        let words = self.network.topology().installed().top_words();
        let mut set = vec![0; words];
        for (place, kind) in self.kinds.iter().enumerate() {
            let like_one = balance.get(kind).is_some_and(|balance| *balance > 0);
            if is_in(&one.now, place) || like_one && !is_in(&other.now, place) {
                set[place / 64] |= 1 << (place % 64);
            }
        }
        set.into()
    }

    /// The ToRs that could reach this one before anything was decided, and the one itself.
    fn tors_that_met(&self, seen: &Seen) -> Vec<SwitchId> {
        let topology = self.network.topology();
        let installed = topology.installed();
        let met = |tor: &SwitchId| {
            topology.switch(*tor).zone.is_some_and(|zone| {
                let before = self.before[zone.index()].row(installed.place(*tor));
                installed.meet(&seen.before, before, zone == seen.zone)
            })
        };
        topology.tors().iter().copied().filter(met).collect()
    }

    /// The ToRs of one zone that reached the same before anything was decided.
    fn tors_like(&self, seen: &Seen) -> Vec<SwitchId> {
        let topology = self.network.topology();
        let installed = topology.installed();
        let before = &self.before[seen.zone.index()];
        let mut tors: Vec<SwitchId> = tors_of(topology, seen.zone)
            .filter(|tor| before.row(installed.place(*tor)) == &*seen.before)
            .collect();
        tors.sort_unstable();
        tors
    }
}

/// The best choice so far.
#[derive(Default)]
struct Best {
    choices: Option<Vec<Rc<ZoneChoice>>>,
    weight: i128,
    /// No choice that was looked at weighs more than this.
    most: i128,
}

impl Best {
    fn is_as_good_as(&self, weight: i128) -> bool {
        self.choices.is_some() && self.weight >= weight
    }

    /// Takes a choice under which no two ToRs lose each other. A heavier one may exist where searches within zones were cut short.
    fn offer(&mut self, node: Node) {
        let weight = node.choices.iter().map(|choice| choice.weight).sum();
        self.most = self.most.max(node.most);
        if self.choices.is_none() || weight > self.weight {
            self.weight = weight;
            self.choices = Some(node.choices);
        }
    }
}

impl Node {
    fn new(number: usize, choices: Vec<Rc<ZoneChoice>>, demands: Vec<Rc<Demand>>) -> Node {
        Node { most: choices.iter().map(|choice| choice.most).sum(), number, choices, demands }
    }

    fn order(&self) -> Order {
        (self.most, Reverse(self.number))
    }
}

/// The ToRs of a zone.
fn tors_of(topology: &Topology, zone: ZoneId) -> impl Iterator<Item = SwitchId> {
    let switches = topology.installed().switches_of(zone).iter().copied();
    switches.filter(move |switch| topology.switch(*switch).layer == 0)
}

/// Numbers the switches of the top layer by what is below them.
fn kinds(topology: &Topology) -> Vec<usize> {
    let mut numbers: BTreeMap<BTreeSet<SwitchId>, usize> = BTreeMap::new();
    let below = |top: &SwitchId| topology.down(*top).iter().map(|hop| hop.switch).collect();
    let tops = topology.installed().tops().iter();
    tops.map(|top| {
        let next = numbers.len();
        *numbers.entry(below(top)).or_insert(next)
    })
    .collect()
}
