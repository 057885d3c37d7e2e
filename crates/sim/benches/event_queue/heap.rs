//! A heap of every pending event, which the event queue is compared with.

use linkmend_sim::time::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What happens, as a simulator without sources would write it.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// A source acts by itself.
    Service { source: u32 },
    /// A frame arrives.
    Arrive { source: u32, frame: u64 },
}

/// A pending event. Events at the same time are ordered by when they were scheduled.
#[derive(Debug, Clone, Copy)]
struct Entry {
    time: u64,
    sequence: u64,
    event: Event,
}

impl Entry {
    /// Time and order in one number.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.sequence)
    }
}

/// The earliest is the greatest, as the standard heap wants it.
impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Entry) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

/// The binary heap of the standard library, and the counter that numbers what is scheduled.
#[derive(Default)]
pub struct Heap {
    pending: BinaryHeap<Entry>,
    scheduled: u64,
}

impl Heap {
    #[inline]
    pub fn schedule(&mut self, time: Time, event: Event) {
        self.scheduled += 1;
        self.pending.push(Entry { time: time.0, sequence: self.scheduled, event });
    }

    /// Takes the next event before `end`.
    #[inline]
    pub fn next_before(&mut self, end: Time) -> Option<(Time, Event)> {
        self.pending.peek().filter(|entry| entry.time < end.0)?;
        let entry = self.pending.pop()?;
        Some((Time(entry.time), entry.event))
    }
}
