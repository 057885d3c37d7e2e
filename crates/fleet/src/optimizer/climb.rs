//! A good choice where the best cannot be found: small changes of a choice, as long as they make it heavier, then a larger one at random.

use super::Candidate;
use super::state::{Best, State};
use linkmend_random::Random;
use linkmend_topology::{LinkId, ZoneId};
use std::collections::BTreeSet;

/// Most changes at random before the choice is made heavier again.
const MOST_CHANGES: u64 = 5;

/// How many members of each class are taken.
pub(super) struct Position {
    pub(super) taken: Vec<usize>,
    pub(super) weight: i128,
}

impl Position {
    pub(super) fn new(state: &State) -> Position {
        Position { taken: vec![0; state.classes.len()], weight: 0 }
    }

    /// Takes this number of a class's members.
    pub(super) fn set(&mut self, state: &mut State, class: usize, number: usize) {
        while self.taken[class] < number {
            let member = state.classes[class].members[self.taken[class]];
            state.take(member.link);
            self.weight += member.weight;
            self.taken[class] += 1;
        }
        while self.taken[class] > number {
            self.taken[class] -= 1;
            let member = state.classes[class].members[self.taken[class]];
            state.give_back(member.link);
            self.weight -= member.weight;
        }
    }

    pub(super) fn go_to(&mut self, state: &mut State, taken: &[usize]) {
        for (class, &number) in taken.iter().enumerate() {
            self.set(state, class, number.min(self.taken[class]));
        }
        for (class, &number) in taken.iter().enumerate() {
            self.set(state, class, number);
        }
    }

    /// What this choice weighs with what ToRs can gain beside it; `None` if ToRs lose what they must keep.
    fn value(&self, state: &mut State) -> Option<i128> {
        if !state.is_allowed() {
            state.add_work(1);
            return None;
        }
        Some(self.weight + state.gain().found)
    }

    /// Records the choice if it is the heaviest so far.
    pub(super) fn offer(&self, state: &State, weight: i128, best: &mut Best) -> bool {
        if weight <= best.weight {
            return false;
        }
        best.weight = weight;
        let members = state.classes.iter().zip(&self.taken);
        best.links =
            members.flat_map(|(class, taken)| class.members[..*taken].iter().map(|one| one.link)).collect();
        best.links.extend(state.own_links());
        true
    }
}

/// Looks for a heavier choice than the best so far until the work is done, from there and from `starts`. Leaves the network as it was.
pub(super) fn climb(state: &mut State, zone: ZoneId, best: &mut Best, starts: &[Vec<usize>], work: u64) {
    let end = state.work() + work;
    let mut climber = Climber { position: Position::new(state), value: 0, end };
    let mut random = Random::new(u64::from(zone.0), "fleet/optimizer/climb");
    let mut at: (i128, Vec<usize>) = (0, climber.position.taken.clone());
    for start in starts {
        climber.position.go_to(state, start);
        climber.climb(state);
        climber.position.offer(state, climber.value, best);
        if climber.value > at.0 {
            at = (climber.value, climber.position.taken.clone());
        }
    }
    while state.work() < end && !state.classes.is_empty() {
        climber.position.go_to(state, &at.1);
        climber.shake(state, &mut random);
        climber.climb(state);
        if climber.value >= at.0 {
            climber.position.offer(state, climber.value, best);
            at = (climber.value, climber.position.taken.clone());
        }
    }
    let none = vec![0; state.classes.len()];
    climber.position.go_to(state, &none);
}

/// Adds what can be disabled beside the best choice, the worst first. Leaves the network as it was.
pub(super) fn fill_up(state: &mut State, candidates: &[Candidate], best: &mut Best) {
    let taken: BTreeSet<LinkId> = best.links.iter().copied().collect();
    best.links.iter().for_each(|link| state.take(*link));
    for candidate in candidates.iter().filter(|candidate| !taken.contains(&candidate.link)) {
        state.take(candidate.link);
        if state.is_allowed() {
            best.links.push(candidate.link);
            best.weight += candidate.weight;
        } else {
            state.give_back(candidate.link);
        }
    }
    best.links.iter().for_each(|link| state.give_back(*link));
}

struct Climber {
    position: Position,
    value: i128,
    end: u64,
}

impl Climber {
    /// Changes some classes at random, and gives back what ToRs cannot spare.
    fn shake(&mut self, state: &mut State, random: &mut Random) {
        let classes = state.classes.len() as u64;
        for _ in 0..1 + random.next_u64() % MOST_CHANGES {
            let class = (random.next_u64() % classes) as usize;
            let number = random.next_u64() % (state.classes[class].members.len() as u64 + 1);
            self.position.set(state, class, number as usize);
        }
        while !state.is_allowed() {
            let class = (random.next_u64() % classes) as usize;
            let fewer = self.position.taken[class].saturating_sub(1);
            self.position.set(state, class, fewer);
        }
    }

    /// Makes the choice heavier by one link more, one less, or one more of one class and one less of another, until none of this does.
    fn climb(&mut self, state: &mut State) {
        let Some(value) = self.position.value(state) else { return };
        self.value = value;
        while state.work() < self.end && (self.change_one(state) || self.swap(state)) {}
    }

    fn change_one(&mut self, state: &mut State) -> bool {
        let mut is_better = false;
        for class in 0..state.classes.len() {
            let taken = self.position.taken[class];
            for number in [taken + 1, taken.wrapping_sub(1)] {
                if number > state.classes[class].members.len() || state.work() >= self.end {
                    continue;
                }
                self.position.set(state, class, number);
                if self.keep(state) {
                    is_better = true;
                    break;
                }
                self.position.set(state, class, taken);
            }
        }
        is_better
    }

    fn swap(&mut self, state: &mut State) -> bool {
        for more in 0..state.classes.len() {
            let before = self.position.taken[more];
            if before == state.classes[more].members.len() {
                continue;
            }
            for less in 0..state.classes.len() {
                let taken = self.position.taken[less];
                if less == more || taken == 0 || state.work() >= self.end {
                    continue;
                }
                self.position.set(state, less, taken - 1);
                self.position.set(state, more, before + 1);
                if self.keep(state) {
                    return true;
                }
                self.position.set(state, more, before);
                self.position.set(state, less, taken);
            }
        }
        false
    }

    /// Whether the choice has become heavier.
    fn keep(&mut self, state: &mut State) -> bool {
        match self.position.value(state) {
            Some(value) if value > self.value => {
                self.value = value;
                true
            }
            _ => false,
        }
    }
}
