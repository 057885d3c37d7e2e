//! What follows where branch and bound within a zone was cut short: a better choice, and a bound on what is better still.
//!
//! [`climb`](super::climb) finds a heavy choice. Then the part of the tree with the greatest bound is split in two, again and again: at
//! most so many links of one class are disabled, or more. [`prices`](super::prices) bound each part, and decide where to split. What
//! has the greatest bound in the end bounds all choices.

use super::climb::{Position, climb};
use super::prices::{Bound, Prices, Relaxation};
use super::slope::follow;
use super::state::{Best, Class, State};
use linkmend_topology::{LinkId, ZoneId};
use std::collections::{BTreeSet, BinaryHeap};
use std::rc::Rc;

/// Steps down the slope for the whole tree, and for each part of it.
const STEPS: [u32; 2] = [600, 12];
/// How many links a bound looks at in the time in which one group of ToRs is asked for its gain.
const LINKS_PER_WORK: u64 = 12;
/// Shares of the work that go into a better choice, before the tree is split and after that: one part of so many.
const FIRST_CLIMB: u64 = 10;
const LAST_CLIMB: u64 = 4;
/// Parts of the tree after which the search ends.
const MAX_PARTS: usize = 50_000;

/// A part of the tree: at least and at most how many members of each class are disabled.
struct Part {
    most: i128,
    at_least: Vec<usize>,
    at_most: Vec<usize>,
    prices: Rc<Prices>,
}

/// Looks for heavier choices than the best so far until the work is done. `most` is what no choice exceeds. Returns what none exceeds
/// then. Leaves the network as it was.
pub(super) fn go_on(state: &mut State, zone: ZoneId, best: &mut Best, most: i128, work: u64) -> i128 {
    let end = state.work() + work;
    let mut frontier = Frontier::new(state, zone, most);
    climb(frontier.state, zone, best, &frontier.starts(best), work / FIRST_CLIMB);
    frontier.look_at_all(best);
    let most = frontier.search(best, end - work / LAST_CLIMB);
    let none = vec![0; frontier.position.taken.len()];
    frontier.position.go_to(frontier.state, &none);
    if most > best.weight {
        let left = end.saturating_sub(frontier.state.work());
        climb(frontier.state, zone, best, &frontier.starts(best), left);
    }
    most.max(best.weight)
}

struct Frontier<'s, 'n, 't> {
    state: &'s mut State<'n, 't>,
    position: Position,
    relaxation: Relaxation,
    /// The number of each class's members in the relaxation.
    numbers: Vec<Vec<usize>>,
    parts: Vec<Option<Part>>,
    /// Bounds and numbers of the parts.
    order: BinaryHeap<(i128, usize)>,
}

impl<'s, 'n, 't> Frontier<'s, 'n, 't> {
    fn new(state: &'s mut State<'n, 't>, zone: ZoneId, most: i128) -> Frontier<'s, 'n, 't> {
        let upper = state.classes.iter().flat_map(|class| class.members.iter().copied());
        let relaxation = Relaxation::new(state.network, zone, upper, state.own_candidates());
        let number = |class: &Class| {
            class.members.iter().map(|member| relaxation.number(member.link)).collect::<Vec<usize>>()
        };
        let at_most = state.classes.iter().map(|class| class.members.len()).collect();
        let position = Position::new(state);
        let root =
            Part { most, at_least: position.taken.clone(), at_most, prices: Rc::new(relaxation.free()) };
        Frontier {
            numbers: state.classes.iter().map(number).collect(),
            position,
            state,
            relaxation,
            parts: vec![Some(root)],
            order: BinaryHeap::from([(most, 0)]),
        }
    }

    /// Where climbing begins: at the best choice so far, and at none.
    fn starts(&self, best: &Best) -> Vec<Vec<usize>> {
        let links: BTreeSet<LinkId> = best.links.iter().copied().collect();
        let taken =
            |class: &Class| class.members.iter().filter(|member| links.contains(&member.link)).count();
        vec![self.state.classes.iter().map(taken).collect(), self.position.taken.clone()]
    }

    /// Finds prices for the whole tree.
    fn look_at_all(&mut self, best: &Best) {
        let open = self.open(&self.position.taken, &self.at_most());
        self.relaxation.look_at(self.state.network);
        let mut prices = self.relaxation.free();
        follow(&self.relaxation, &mut prices, &open, best.weight, STEPS[0]);
        self.state.add_work(u64::from(STEPS[0]) * self.relaxation.size() / LINKS_PER_WORK);
        if let Some(root) = &mut self.parts[0] {
            root.prices = Rc::new(prices);
        }
    }

    fn at_most(&self) -> Vec<usize> {
        self.state.classes.iter().map(|class| class.members.len()).collect()
    }

    fn search(&mut self, best: &mut Best, end: u64) -> i128 {
        while let Some((most, number)) = self.order.pop() {
            if most <= best.weight {
                return best.weight;
            }
            if self.state.work() >= end || self.parts.len() >= MAX_PARTS {
                return most;
            }
            let Some(part) = self.parts[number].take() else { return most };
            self.split(part, best);
        }
        best.weight
    }

    /// Bounds a part anew and, unless that shows that no choice in it is heavier than the best so far, splits it.
    fn split(&mut self, mut part: Part, best: &mut Best) {
        self.position.go_to(self.state, &part.at_least);
        self.state.add_work(1);
        if !self.state.is_allowed() {
            return;
        }
        self.forbid(&mut part);
        let gain = self.state.gain();
        self.position.offer(self.state, self.position.weight + gain.found, best);
        let open = self.open(&part.at_least, &part.at_most);
        let remaining: i128 = self.members(&part).map(|(_, _, weight)| weight).sum();
        part.most = part.most.min(self.position.weight + gain.most + remaining);
        if part.most <= best.weight {
            return;
        }
        if remaining == 0 {
            // Only what ToRs can gain is not known for certain.
            self.closed(part.most);
            return;
        }
        self.relaxation.look_at(self.state.network);
        let mut prices = Prices::clone(&part.prices);
        let target = best.weight - self.position.weight;
        follow(&self.relaxation, &mut prices, &open, target, STEPS[1]);
        self.state.add_work(u64::from(STEPS[1] + 2) * self.relaxation.size() / LINKS_PER_WORK);
        let bound = self.relaxation.bound(&prices, &open);
        if let Some(bound) = &bound {
            let most = self.position.weight + bound.most;
            part.most = part.most.min(most);
            if part.most <= best.weight {
                return;
            }
            let is_more = self.fix(&mut part, bound, most - best.weight);
            if is_more || self.members(&part).next().is_none() {
                self.push(part.most, part.at_least, part.at_most, Rc::new(prices));
                return;
            }
        }
        let (class, number) = self.where_to_split(&part, bound.as_ref());
        let prices = Rc::new(prices);
        let mut at_most = part.at_most.clone();
        at_most[class] = number;
        self.push(part.most, part.at_least.clone(), at_most, prices.clone());
        part.at_least[class] = number + 1;
        self.push(part.most, part.at_least, part.at_most, prices);
    }

    fn push(&mut self, most: i128, at_least: Vec<usize>, at_most: Vec<usize>, prices: Rc<Prices>) {
        self.order.push((most, self.parts.len()));
        self.parts.push(Some(Part { most, at_least, at_most, prices }));
    }

    /// Keeps the bound of a part that cannot be split.
    fn closed(&mut self, most: i128) {
        self.order.push((most, self.parts.len()));
        self.parts.push(None);
    }
}

impl Frontier<'_, '_, '_> {
    /// The candidates that a part leaves open, each with its class, its place there and its weight.
    fn members<'p>(&'p self, part: &'p Part) -> impl Iterator<Item = (usize, usize, i128)> + 'p {
        let classes = self.state.classes.iter().enumerate();
        classes.flat_map(|(class, members)| {
            let open = part.at_least[class]..part.at_most[class];
            open.map(move |place| (class, place, members.members[place].weight))
        })
    }

    /// Which candidates are open, by number.
    fn open(&self, at_least: &[usize], at_most: &[usize]) -> Vec<bool> {
        let mut open = vec![false; self.numbers.iter().map(Vec::len).sum()];
        for (class, numbers) in self.numbers.iter().enumerate() {
            numbers[at_least[class]..at_most[class]].iter().for_each(|number| open[*number] = true);
        }
        open
    }

    /// Closes classes of which no further member can be disabled.
    fn forbid(&mut self, part: &mut Part) {
        for class in 0..part.at_least.len() {
            let taken = part.at_least[class];
            if taken < part.at_most[class] {
                let link = self.state.classes[class].members[taken].link;
                self.state.take(link);
                if !self.state.is_allowed() {
                    part.at_most[class] = taken;
                }
                self.state.give_back(link);
            }
        }
        self.state.add_work(part.at_least.len() as u64 / 4);
    }

    /// Decides about candidates without which, or with which, no choice in a part is heavier than the best so far, which is `room` below
    /// the bound. Returns whether more members of a class are disabled now.
    fn fix(&self, part: &mut Part, bound: &Bound, room: i128) -> bool {
        let mut is_more = false;
        for (class, numbers) in self.numbers.iter().enumerate() {
            let open = part.at_least[class]..part.at_most[class];
            for place in open.clone() {
                let beyond = bound.beyond[numbers[place]];
                if beyond >= room {
                    part.at_least[class] = place + 1;
                    is_more = true;
                }
            }
            for place in open.rev().take_while(|place| *place >= part.at_least[class]) {
                if bound.beyond[numbers[place]] <= -room {
                    part.at_most[class] = place;
                }
            }
        }
        is_more
    }

    /// A class, and the number of its members at which a part is split: as many as the prices would disable in the class that they are
    /// least sure about.
    fn where_to_split(&self, part: &Part, bound: Option<&Bound>) -> (usize, usize) {
        let doubt = |class: usize, place: usize, weight: i128| {
            let beyond = bound.map_or(0, |bound| bound.beyond[self.numbers[class][place]]);
            (weight - beyond.abs(), class, place)
        };
        let doubts = self.members(part).map(|(class, place, weight)| doubt(class, place, weight));
        doubts.max().map_or((0, 0), |(_, class, place)| (class, place))
    }
}
