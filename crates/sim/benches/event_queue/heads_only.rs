//! Queues that hold one event per source: what they share, and two rivals of ours.

use linkmend_sim::event_queue::EventQueue;
use linkmend_sim::time::Time;

/// The part of [`EventQueue`] that a simulator's loop uses.
pub trait HeadsOnly {
    fn set(&mut self, source: usize, time: Time);
    fn next(&self) -> Option<(Time, usize)>;
}

impl HeadsOnly for EventQueue {
    #[inline]
    fn set(&mut self, source: usize, time: Time) {
        EventQueue::set(self, source, time);
    }

    #[inline]
    fn next(&self) -> Option<(Time, usize)> {
        EventQueue::next(self)
    }
}

/// A list of times that is searched for each event.
pub struct LinearScan(Vec<u64>);

impl LinearScan {
    pub fn new(sources: usize) -> LinearScan {
        LinearScan(vec![Time::NEVER.0; sources])
    }
}

impl HeadsOnly for LinearScan {
    #[inline]
    fn set(&mut self, source: usize, time: Time) {
        self.0[source] = time.0;
    }

    #[inline]
    fn next(&self) -> Option<(Time, usize)> {
        let mut first = (Time::NEVER.0, 0);
        for (source, time) in self.0.iter().enumerate() {
            first = if *time < first.0 { (*time, source) } else { first };
        }
        (first.0 != Time::NEVER.0).then_some((Time(first.0), first.1))
    }
}

/// A binary heap of all sources, idle ones included, that knows where each source is.
pub struct IndexedHeap {
    heap: Vec<(u64, usize)>,
    position: Vec<usize>,
}

impl IndexedHeap {
    pub fn new(sources: usize) -> IndexedHeap {
        IndexedHeap {
            heap: (0..sources).map(|source| (Time::NEVER.0, source)).collect(),
            position: (0..sources).collect(),
        }
    }

    #[inline]
    fn put(&mut self, at: usize, entry: (u64, usize)) {
        self.heap[at] = entry;
        self.position[entry.1] = at;
    }
}

impl HeadsOnly for IndexedHeap {
    #[inline]
    fn set(&mut self, source: usize, time: Time) {
        let entry = (time.0, source);
        let mut hole = self.position[source];
        while hole > 0 && entry < self.heap[(hole - 1) / 2] {
            self.put(hole, self.heap[(hole - 1) / 2]);
            hole = (hole - 1) / 2;
        }
        loop {
            let mut child = 2 * hole + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() {
                child += usize::from(self.heap[child + 1] < self.heap[child]);
            }
            if entry <= self.heap[child] {
                break;
            }
            self.put(hole, self.heap[child]);
            hole = child;
        }
        self.put(hole, entry);
    }

    #[inline]
    fn next(&self) -> Option<(Time, usize)> {
        let (time, source) = self.heap[0];
        (time != Time::NEVER.0).then_some((Time(time), source))
    }
}
