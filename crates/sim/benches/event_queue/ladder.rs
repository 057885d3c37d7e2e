//! A ladder queue (W. T. Tang, R. S. M. Goh, I. L.-J. Thng, "Ladder queue", ACM TOMACS 15(3), 2005) of every pending
//! event: an unsorted top, rungs of ever finer buckets, and a sorted bottom.

use crate::every_event::{Entry, EveryEvent};

/// A bucket of more events than this becomes a rung, as in the paper.
const THRESHOLD: usize = 50;
/// The paper's bound on the number of rungs.
const MOST_RUNGS: usize = 8;

#[derive(Default)]
struct Rung {
    start: u64,
    width: u64,
    /// The first bucket that has not been taken.
    current: usize,
    /// How many there are; `buckets` may be longer, so that memory is reused.
    used: usize,
    buckets: Vec<Vec<Entry>>,
}

impl Rung {
    fn begin(&mut self, start: u64, width: u64, used: usize) {
        (self.start, self.width, self.used, self.current) = (start, width, used, 0);
        if self.buckets.len() < used {
            self.buckets.resize_with(used, Vec::new);
        }
    }

    #[inline]
    fn current_start(&self) -> u64 {
        self.start + self.current as u64 * self.width
    }

    #[inline]
    fn insert(&mut self, entry: Entry) {
        self.buckets[((entry.time - self.start) / self.width) as usize].push(entry);
    }
}

#[derive(Default)]
pub struct Ladder {
    top: Vec<Entry>,
    /// Events from here on go to the top.
    top_start: u64,
    /// Coarsest first. Those from `active` on are kept for their memory.
    rungs: Vec<Rung>,
    active: usize,
    /// Sorted, to be popped at its end.
    bottom: Vec<Entry>,
}

impl Ladder {
    /// Spreads `entries`, all from `start` on and before `end`, over a new rung, about one to a bucket.
    fn add_rung(&mut self, entries: &mut Vec<Entry>, start: u64, end: u64) {
        let used = entries.len();
        if self.active == self.rungs.len() {
            self.rungs.push(Rung::default());
        }
        let rung = &mut self.rungs[self.active];
        rung.begin(start, (end - start).div_ceil(used as u64), used);
        entries.drain(..).for_each(|entry| rung.insert(entry));
        self.active += 1;
    }

    fn sort_into_bottom(&mut self, entries: &mut Vec<Entry>) {
        self.bottom.append(entries);
        self.bottom.sort_unstable();
    }

    /// Empties the top into the first rung, or into the bottom when it is short.
    fn take_top(&mut self) {
        let mut top = std::mem::take(&mut self.top);
        let times = || top.iter().map(|entry| entry.time);
        let (Some(first), Some(last)) = (times().min(), times().max()) else { return };
        self.top_start = last + 1;
        if top.len() > THRESHOLD {
            self.add_rung(&mut top, first, last + 1);
        } else {
            self.sort_into_bottom(&mut top);
        }
        self.top = top;
    }

    /// Empties the earliest bucket of the finest rung into the bottom, or into a finer rung when it is long.
    fn take_bucket(&mut self) {
        let active = self.active;
        let rung = &mut self.rungs[active - 1];
        while rung.current < rung.used && rung.buckets[rung.current].is_empty() {
            rung.current += 1;
        }
        if rung.current == rung.used {
            self.active -= 1;
            return;
        }
        let (at, start) = (rung.current, rung.current_start());
        rung.current += 1;
        let end = rung.current_start();
        let mut bucket = std::mem::take(&mut rung.buckets[at]);
        if bucket.len() > THRESHOLD && active < MOST_RUNGS && end - start > 1 {
            self.add_rung(&mut bucket, start, end);
        } else {
            self.sort_into_bottom(&mut bucket);
        }
        self.rungs[active - 1].buckets[at] = bucket;
    }

    fn insert_into_bottom(&mut self, entry: Entry) {
        let mut at = self.bottom.len();
        while at > 0 && self.bottom[at - 1].key() < entry.key() {
            at -= 1;
        }
        self.bottom.insert(at, entry);
        let (Some(last), Some(first)) = (self.bottom.first(), self.bottom.last()) else { return };
        // The finest rung begins after the bottom ends; without rungs, the top does.
        let end = match self.active {
            0 => self.top_start,
            active => self.rungs[active - 1].current_start(),
        };
        if self.bottom.len() > THRESHOLD && self.active < MOST_RUNGS && last.time > first.time {
            let start = first.time;
            let mut bottom = std::mem::take(&mut self.bottom);
            self.add_rung(&mut bottom, start, end);
            self.bottom = bottom;
        }
    }
}

impl EveryEvent for Ladder {
    #[inline]
    fn push(&mut self, entry: Entry) {
        if entry.time >= self.top_start {
            self.top.push(entry);
            return;
        }
        let rungs = &mut self.rungs[..self.active];
        match rungs.iter_mut().find(|rung| entry.time >= rung.current_start()) {
            Some(rung) => rung.insert(entry),
            None => self.insert_into_bottom(entry),
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<Entry> {
        loop {
            if let Some(entry) = self.bottom.pop() {
                return Some(entry);
            }
            if self.active > 0 {
                self.take_bucket();
            } else if self.top.is_empty() {
                return None;
            } else {
                self.take_top();
            }
        }
    }
}
