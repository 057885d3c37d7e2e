//! Connections that flows share: applications multiplex them because a card has room for few queue pairs.

use super::workload::Start;
use std::collections::BTreeMap;

/// The connections from each host to each other.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// How many there are between two hosts; `None` if each flow has its own.
    count: Option<u32>,
    between: BTreeMap<(u32, u32), Between>,
    /// Where the numbers begin from which shared connections get their hashes.
    first_hash: u64,
}

/// The connections from one host to another.
#[derive(Debug, Default)]
struct Between {
    /// Their pairs of ends.
    pairs: Vec<u32>,
    /// Flows that have begun.
    flows: usize,
}

impl Connections {
    pub(super) fn new(count: Option<u32>) -> Connections {
        Connections { count, between: BTreeMap::new(), first_hash: 0 }
    }

    /// Draws the paths of shared connections.
    pub(super) fn draw_paths(&mut self, seed: u64) {
        self.first_hash = if self.are_shared() { linkmend_random::mix(seed) } else { 0 };
    }

    /// The number from which the switches' hash of the connection with this number is derived.
    pub(super) fn hash_of(&self, number: u64) -> u64 {
        self.first_hash.wrapping_add(number)
    }

    pub(super) fn are_shared(&self) -> bool {
        self.count.is_some()
    }

    /// The connection whose turn it is; `None` if a new one has to be set up.
    pub(super) fn next(&mut self, start: &Start) -> Option<u32> {
        let count = self.count? as usize;
        let between = self.between.entry((start.source, start.destination)).or_default();
        let turn = between.flows % count;
        between.flows += 1;
        between.pairs.get(turn).copied()
    }

    /// A connection was set up.
    pub(super) fn add(&mut self, start: &Start, pair: u32) {
        if self.are_shared() {
            self.between.entry((start.source, start.destination)).or_default().pairs.push(pair);
        }
    }

    /// Forgets a connection that has failed. Returns whether it was shared.
    pub(super) fn remove(&mut self, pair: u32) -> bool {
        for between in self.between.values_mut() {
            between.pairs.retain(|other| *other != pair);
        }
        self.are_shared()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    #[test]
    fn flows_take_the_connections_between_two_hosts_in_turns() {
        let start = |source, destination| Start { at: Time::ZERO, source, destination, bytes: 1 };
        let mut connections = Connections::new(Some(2));
        assert_eq!(connections.next(&start(0, 1)), None);
        connections.add(&start(0, 1), 7);
        assert_eq!(connections.next(&start(0, 1)), None);
        connections.add(&start(0, 1), 8);
        assert_eq!([(); 3].map(|()| connections.next(&start(0, 1))), [Some(7), Some(8), Some(7)]);
        assert_eq!(connections.next(&start(1, 0)), None, "the other way has its own");
        assert!(connections.remove(8));
        assert_eq!(connections.next(&start(0, 1)), None, "the one whose turn it is has failed");
        assert_eq!(Connections::new(None).next(&start(0, 1)), None);
    }
}
