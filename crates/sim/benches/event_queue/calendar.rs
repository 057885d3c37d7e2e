//! A calendar queue (R. Brown, "Calendar queues", CACM 31(10), 1988) of every pending event.
//!
//! Days are a power of two picoseconds long and a year a power of two days, so that an event's day is a shift and a
//! mask. Each day is a list sorted to be popped at its end.

use crate::every_event::{Entry, EveryEvent};

/// How many of the earliest events the length of a day is drawn from, as in the paper.
const SAMPLE: usize = 25;

pub struct Calendar {
    days: Vec<Vec<Entry>>,
    /// A day lasts two to the power of this.
    day_bits: u32,
    /// The number of the day that is being popped, counted from the beginning of time.
    today: u64,
    len: usize,
}

impl Default for Calendar {
    fn default() -> Calendar {
        Calendar { days: vec![Vec::new(); 2], day_bits: 16, today: 0, len: 0 }
    }
}

impl Calendar {
    #[inline]
    fn insert(&mut self, entry: Entry) {
        let mask = self.days.len() - 1;
        let day = &mut self.days[(entry.time >> self.day_bits) as usize & mask];
        let mut at = day.len();
        while at > 0 && day[at - 1].key() < entry.key() {
            at -= 1;
        }
        day.insert(at, entry);
    }

    /// Changes the number of days, and the length of one to about three times the distance of events.
    #[cold]
    fn resize(&mut self, days: usize) {
        let mut entries: Vec<Entry> = self.days.drain(..).flatten().collect();
        entries.sort_unstable_by_key(Entry::key);
        let times: Vec<u64> = entries.iter().take(SAMPLE).map(|entry| entry.time).collect();
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<u64>() / gaps.len().max(1) as u64;
        // The paper leaves out the gaps above twice the mean.
        let usual: Vec<u64> = gaps.into_iter().filter(|gap| *gap <= 2 * mean).collect();
        let usual_mean = usual.iter().sum::<u64>() / usual.len().max(1) as u64;
        self.day_bits = (3 * usual_mean.max(1)).ilog2();
        self.today = times.first().map_or(0, |time| time >> self.day_bits);
        self.days = vec![Vec::new(); days];
        // Latest first, so that each goes to the end of its day.
        entries.into_iter().rev().for_each(|entry| self.insert(entry));
    }
}

impl EveryEvent for Calendar {
    #[inline]
    fn push(&mut self, entry: Entry) {
        self.insert(entry);
        // Only before the first pop, or with the event that a pop has just given back, can it be before today.
        self.today = self.today.min(entry.time >> self.day_bits);
        self.len += 1;
        if self.len > 2 * self.days.len() {
            self.resize(2 * self.days.len());
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<Entry> {
        if self.len == 0 {
            return None;
        }
        let mask = self.days.len() - 1;
        for _ in 0..=mask {
            let day = &mut self.days[self.today as usize & mask];
            if day.last().is_some_and(|entry| entry.time >> self.day_bits == self.today) {
                self.len -= 1;
                let entry = day.pop();
                if self.len < self.days.len() / 2 && self.days.len() > 2 {
                    self.resize(self.days.len() / 2);
                }
                return entry;
            }
            self.today += 1;
        }
        // Nothing in a whole year: go to the day of the earliest.
        let earliest = self.days.iter().filter_map(|day| day.last()).map(|entry| entry.time).min()?;
        self.today = earliest >> self.day_bits;
        self.pop()
    }
}
