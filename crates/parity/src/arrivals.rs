//! The frames that have arrived, by number, and the groups that can restore others.

use crate::code::{Code, GROUP_MAX};
use crate::feedback::ParityFrame;
use std::collections::VecDeque;

/// Frames that are kept after their delivery, because parity may need them to restore others.
const RETAINED: u64 = 2 * GROUP_MAX as u64;
/// Groups with parity that wait for more of their frames.
const GROUPS_MAX: usize = 64;

/// A group of which parity has arrived.
#[derive(Debug)]
pub(crate) struct Group<P> {
    pub first: u64,
    frames: usize,
    count: u8,
    parity: Vec<(u8, P)>,
}

impl<P> Group<P> {
    pub fn contains(&self, number: u64) -> bool {
        (self.first..self.end()).contains(&number)
    }

    pub fn end(&self) -> u64 {
        self.first + self.frames as u64
    }

    /// How many parity frames have arrived.
    pub fn parity(&self) -> usize {
        self.parity.len()
    }
}

/// A frame with its stamp.
type Stamped<F> = (u16, F);

#[derive(Debug)]
pub(crate) struct Arrivals<C: Code> {
    /// Number of the first slot.
    base: u64,
    slots: VecDeque<Option<Stamped<C::Frame>>>,
    groups: VecDeque<Group<C::Parity>>,
}

impl<C: Code> Arrivals<C> {
    pub fn new() -> Arrivals<C> {
        Arrivals { base: 0, slots: VecDeque::new(), groups: VecDeque::new() }
    }

    /// The number after the last one that is known to have been sent.
    pub fn end(&self) -> u64 {
        self.base + self.slots.len() as u64
    }

    /// The first number whose frame may still be stored.
    pub fn begin(&self) -> u64 {
        self.base
    }

    /// Forgets everything; the next number is `number`.
    pub fn restart(&mut self, number: u64) {
        self.slots.clear();
        self.groups.clear();
        self.base = number;
    }

    /// Extends the known numbers to `end`, without frames.
    pub fn extend(&mut self, end: u64) {
        while self.end() < end {
            self.slots.push_back(None);
        }
    }

    pub fn frame(&self, number: u64) -> Option<&Stamped<C::Frame>> {
        let place = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.slots.get(place)?.as_ref()
    }

    /// Stores a frame at a known number. Returns whether there was none.
    pub fn store(&mut self, number: u64, stamp: u16, frame: C::Frame) -> bool {
        let place = number.checked_sub(self.base).and_then(|place| usize::try_from(place).ok());
        let Some(slot) = place.and_then(|place| self.slots.get_mut(place)) else { return false };
        if slot.is_some() {
            return false;
        }
        *slot = Some((stamp, frame));
        true
    }

    /// Forgets frames that were delivered long before `next`, and groups that need them.
    pub fn forget_before(&mut self, next: u64) {
        while self.base + RETAINED < next && self.slots.pop_front().is_some() {
            self.base += 1;
        }
        let base = self.base;
        while self.groups.pop_front_if(|group| group.first < base).is_some() {}
    }

    /// Keeps a parity frame of the group that begins at `first`. Returns whether it is new.
    pub fn add_parity(&mut self, first: u64, parity: ParityFrame<C::Parity>) -> bool {
        let place = self.groups.iter().position(|group| group.first == first);
        let place = place.unwrap_or_else(|| {
            if self.groups.len() == GROUPS_MAX {
                self.groups.pop_front();
            }
            let frames = usize::from(parity.frames);
            self.groups.push_back(Group { first, frames, count: parity.count, parity: Vec::new() });
            self.groups.len() - 1
        });
        let group = &mut self.groups[place];
        let fits = group.frames == usize::from(parity.frames) && group.count == parity.count;
        if !fits || group.parity.iter().any(|(index, _)| *index == parity.index) {
            return false;
        }
        group.parity.push((parity.index, parity.content));
        true
    }

    /// The group with parity that contains this number.
    pub fn group_of(&self, number: u64) -> Option<&Group<C::Parity>> {
        self.groups.iter().find(|group| group.contains(number))
    }

    pub fn missing_in(&self, group: &Group<C::Parity>) -> usize {
        (group.first..group.end()).filter(|number| self.frame(*number).is_none()).count()
    }

    /// Restores what is missing in a group of which enough has arrived. Returns the numbers, or `None` if there is no such group.
    pub fn restore(&mut self, code: &mut C) -> Option<Vec<u64>> {
        let is_enough = |group: &Group<C::Parity>| self.missing_in(group) <= group.parity();
        let place = self.groups.iter().position(is_enough)?;
        let group = self.groups.remove(place)?;
        if self.missing_in(&group) == 0 {
            return Some(Vec::new());
        }
        let frames: Vec<_> = (group.first..group.end()).map(|number| self.frame(number).cloned()).collect();
        let mut restored = Vec::new();
        for (place, stamp, frame) in code.decode(&frames, &group.parity, group.count) {
            let number = group.first + place as u64;
            if place < group.frames && self.store(number, stamp, frame) {
                restored.push(number);
            }
        }
        Some(restored)
    }
}
