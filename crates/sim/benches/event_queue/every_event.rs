//! Queues that hold every pending event: what they share, and the plain one.

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
pub struct Entry {
    pub time: u64,
    pub sequence: u64,
    pub event: Event,
}

impl Entry {
    /// Time and order in one number.
    #[inline]
    pub fn key(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.sequence)
    }
}

/// The earliest is the greatest, as the standard heap wants it and as a sorted list that is popped at its end.
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

/// A queue of every pending event. Nothing is pushed before the time of the last one popped.
pub trait EveryEvent {
    fn push(&mut self, entry: Entry);
    fn pop(&mut self) -> Option<Entry>;
}

/// The binary heap of the standard library.
#[derive(Default)]
pub struct PlainHeap(BinaryHeap<Entry>);

impl EveryEvent for PlainHeap {
    #[inline]
    fn push(&mut self, entry: Entry) {
        self.0.push(entry);
    }

    #[inline]
    fn pop(&mut self) -> Option<Entry> {
        self.0.pop()
    }
}

/// A queue and the counter that numbers what is scheduled.
pub struct Scheduler<Q> {
    queue: Q,
    scheduled: u64,
}

impl<Q: EveryEvent> Scheduler<Q> {
    pub fn new(queue: Q) -> Scheduler<Q> {
        Scheduler { queue, scheduled: 0 }
    }

    #[inline]
    pub fn schedule(&mut self, time: Time, event: Event) {
        self.scheduled += 1;
        self.queue.push(Entry { time: time.0, sequence: self.scheduled, event });
    }

    /// Takes the next event before `end`.
    #[inline]
    pub fn next_before(&mut self, end: Time) -> Option<(Time, Event)> {
        let entry = self.queue.pop()?;
        if entry.time >= end.0 {
            self.queue.push(entry);
            return None;
        }
        Some((Time(entry.time), entry.event))
    }
}
