//! Multisets that track their smallest or largest member.

use std::collections::BTreeMap;

/// Counts how many ToRs have each number of paths. The numbers are small, so a table suffices.
#[derive(Debug, Clone, Default)]
pub(super) struct CountTable {
    members: Vec<u32>,
    smallest: usize,
    total: u64,
    sum: u64,
}

impl CountTable {
    pub(super) fn insert(&mut self, value: u64) {
        let index = value as usize;
        if index >= self.members.len() {
            self.members.resize(index + 1, 0);
        }
        self.members[index] += 1;
        self.smallest = if self.total == 0 { index } else { self.smallest.min(index) };
        self.total += 1;
        self.sum += value;
    }

    /// Moves a member. The search for the smallest begins at its last position, which is cheap because counts change
    /// little at a time.
    pub(super) fn change(&mut self, before: u64, after: u64) {
        let (from, to) = (before as usize, after as usize);
        self.members[from] -= 1;
        if to >= self.members.len() {
            self.members.resize(to + 1, 0);
        }
        self.members[to] += 1;
        self.sum = self.sum - before + after;
        self.smallest = self.smallest.min(to);
        while self.members[self.smallest] == 0 {
            self.smallest += 1;
        }
    }

    pub(super) fn min(&self) -> u64 {
        self.smallest as u64
    }

    pub(super) fn mean(&self) -> f64 {
        self.sum as f64 / self.total as f64
    }
}

/// A multiset of ordered values, few of them distinct.
#[derive(Debug, Clone)]
pub(super) struct OrderedCounts<T> {
    counts: BTreeMap<T, u32>,
}

impl<T> Default for OrderedCounts<T> {
    fn default() -> Self {
        OrderedCounts { counts: BTreeMap::new() }
    }
}

impl<T: Ord + Copy> OrderedCounts<T> {
    pub(super) fn insert(&mut self, value: T) {
        *self.counts.entry(value).or_insert(0) += 1;
    }

    pub(super) fn remove(&mut self, value: T) {
        if let Some(count) = self.counts.get_mut(&value) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&value);
            }
        }
    }

    pub(super) fn min(&self) -> Option<T> {
        self.counts.first_key_value().map(|(value, _)| *value)
    }

    pub(super) fn max(&self) -> Option<T> {
        self.counts.last_key_value().map(|(value, _)| *value)
    }
}
