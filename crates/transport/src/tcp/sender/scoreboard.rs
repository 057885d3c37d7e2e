//! The segments that were sent and not acknowledged yet (RFC 6675, section 3: the scoreboard).
//!
//! One record stands for each, in a ring in the order of their sequence numbers. A record is in one of three places:
//!
//! - in flight: in the list by time of sending, which RACK walks from its oldest end (RFC 8985, section 6.2);
//! - lost and not retransmitted yet: in the list of what to resend, lowest sequence number first;
//! - SACKed: in no list. Its link names a later record, before which all are SACKed, so that a block that
//!   was seen before is crossed in one step.
//!
//! Only operations after a timeout or an undo walk the window. Each of the others visits the records that it moves,
//! and, amortised, a bounded number of others.

mod lists;
mod record;
mod split;
#[cfg(test)]
mod tests;

pub use record::{Marks, Record, Snapshot};

use crate::time::Instant;
use std::ops::Range;

/// The index that stands for no record.
const NONE: u32 = u32::MAX;
/// Initial capacity of a scoreboard, in records.
const CAPACITY_MIN: usize = 16;
/// Number of blocks that are remembered.
const SEEN_BLOCKS: usize = 4;

/// A doubly linked list through the records.
#[derive(Debug, Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

impl Default for List {
    fn default() -> List {
        List { first: NONE, last: NONE }
    }
}

/// A SACK block that was walked: the records from `first` to before `end` are SACKed.
#[derive(Debug, Clone, Copy)]
struct SeenBlock {
    start: u64,
    first: u32,
    end: u32,
}

impl Default for SeenBlock {
    fn default() -> SeenBlock {
        SeenBlock { start: 0, first: NONE, end: NONE }
    }
}

/// See the module's documentation. A record is known by its number: they are numbered as they are sent.
#[derive(Debug, Clone)]
pub struct Scoreboard {
    /// The record with number `n` is in place `n` modulo the length, a power of two.
    ring: Vec<Record>,
    /// The oldest, and the one after the newest.
    head: u32,
    tail: u32,
    in_flight: List,
    waiting: List,
    /// The record that was put into `waiting` last, near which the next belongs.
    finger: u32,
    /// The latest sent record that was sent before RACK's (see [`last_before`](Self::last_before)).
    before_rack: u32,
    /// Those below this one are judged by the number of segments SACKed above them, `counted_sacked` of which are below.
    counted: u32,
    counted_sacked: u32,
    seen: [SeenBlock; SEEN_BLOCKS],
    next_seen: u8,
    sacked: u32,
    lost: u32,
    resent: u32,
    /// Duplicate acknowledgements of a peer without SACK: each stands for a segment that has arrived.
    duplicates: u32,
    /// Total number of segments detected as lost; a lost retransmission counts again.
    lost_total: u64,
    /// The end of the highest SACKed segment.
    sacked_end: u64,
    #[cfg(test)]
    visits: u64,
}

impl Default for Scoreboard {
    fn default() -> Scoreboard {
        Scoreboard {
            ring: Vec::new(),
            head: 0,
            tail: 0,
            in_flight: List::default(),
            waiting: List::default(),
            finger: NONE,
            before_rack: NONE,
            counted: 0,
            counted_sacked: 0,
            seen: Default::default(),
            next_seen: 0,
            sacked: 0,
            lost: 0,
            resent: 0,
            duplicates: 0,
            lost_total: 0,
            sacked_end: 0,
            #[cfg(test)]
            visits: 0,
        }
    }
}

impl Scoreboard {
    /// Segments sent and not acknowledged cumulatively.
    pub fn len(&self) -> u32 {
        self.tail - self.head
    }

    /// Whether everything is acknowledged.
    pub fn is_empty(&self) -> bool {
        self.tail == self.head
    }

    /// Segments that have arrived out of order, as far as is known.
    pub fn sacked(&self) -> u32 {
        self.sacked + self.duplicates
    }

    /// Segments detected as lost and not acknowledged yet.
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// Retransmissions in flight.
    pub fn resent(&self) -> u32 {
        self.resent
    }

    /// Total number of segments detected as lost; a lost retransmission counts again.
    pub fn lost_total(&self) -> u64 {
        self.lost_total
    }

    /// RFC 6675, section 4: SetPipe(), in segments.
    pub fn pipe(&self) -> u32 {
        let left = u64::from(self.sacked()) + u64::from(self.lost);
        (u64::from(self.len()) + u64::from(self.resent)).saturating_sub(left) as u32
    }

    /// The end of the highest SACKed segment; `unacknowledged` if there is none above it.
    pub fn highest_sacked(&self, unacknowledged: u64) -> u64 {
        if self.sacked == 0 { unacknowledged } else { self.sacked_end.max(unacknowledged) }
    }

    /// The oldest record.
    pub fn head(&self) -> Option<&Record> {
        (!self.is_empty()).then(|| self.at(self.head))
    }

    /// The number of the newest record.
    pub fn newest(&self) -> Option<u32> {
        (!self.is_empty()).then(|| self.tail - 1)
    }

    /// The number of the oldest record.
    pub fn oldest(&self) -> Option<u32> {
        (!self.is_empty()).then_some(self.head)
    }

    /// The record with this number, one of those between the oldest and the newest.
    pub fn at(&self, number: u32) -> &Record {
        &self.ring[self.place(number)]
    }

    fn at_mut(&mut self, number: u32) -> &mut Record {
        let place = self.place(number);
        &mut self.ring[place]
    }

    fn place(&self, number: u32) -> usize {
        number as usize & (self.ring.len() - 1)
    }

    fn visit(&mut self) {
        #[cfg(test)]
        {
            self.visits += 1;
        }
    }

    /// Adds a segment that is sent now for the first time.
    pub fn push(&mut self, record: Record) {
        self.make_room();
        let number = self.tail;
        self.tail += 1;
        *self.at_mut(number) = record;
        self.append_in_flight(number);
        self.visit();
    }

    /// For another record; it may change numbers.
    fn make_room(&mut self) {
        if self.len() as usize == self.ring.len() {
            self.enlarge();
        }
        if self.tail == NONE - 1 {
            self.renumber();
        }
    }

    fn enlarge(&mut self) {
        let mut larger = vec![Record::default(); (2 * self.ring.len()).max(CAPACITY_MIN)];
        let mask = larger.len() - 1;
        for number in self.head..self.tail {
            larger[number as usize & mask] = *self.at(number);
        }
        self.ring = larger;
    }

    /// Renumbers the records before 32 bits overflow, without moving them.
    fn renumber(&mut self) {
        let passed = self.head - (self.head & (self.ring.len() as u32 - 1));
        let lower = |number: &mut u32| {
            if *number != NONE {
                *number = number.saturating_sub(passed);
            }
        };
        for number in self.head..self.tail {
            let place = self.place(number);
            lower(&mut self.ring[place].next);
            lower(&mut self.ring[place].previous);
        }
        for list in [&mut self.in_flight, &mut self.waiting] {
            lower(&mut list.first);
            lower(&mut list.last);
        }
        for number in
            [&mut self.head, &mut self.tail, &mut self.finger, &mut self.before_rack, &mut self.counted]
        {
            lower(number);
        }
        self.forget_blocks();
    }

    /// Removes the oldest record, which is acknowledged cumulatively.
    pub fn pop(&mut self) -> Option<Record> {
        if self.is_empty() {
            return None;
        }
        self.visit();
        let number = self.head;
        let record = *self.at(number);
        self.take_out(number);
        if record.marks.contains(Marks::SACKED) {
            self.sacked -= 1;
            self.counted_sacked -= u32::from(number < self.counted);
        }
        self.head += 1;
        self.counted = self.counted.max(self.head);
        Some(record)
    }

    /// Removes a record from its list, and what it counts for, except that it is SACKed.
    fn take_out(&mut self, number: u32) {
        let marks = self.at(number).marks;
        if !marks.contains(Marks::SACKED) {
            self.unlink(number);
        }
        self.lost -= u32::from(marks.contains(Marks::LOST));
        self.resent -= u32::from(marks.contains(Marks::RESENT));
        let record = self.at_mut(number);
        record.marks.remove(Marks::LOST);
        record.marks.remove(Marks::RESENT);
    }

    /// Bytes up to `acknowledgement`, in the middle of the oldest record, are acknowledged.
    pub fn trim(&mut self, acknowledgement: u64) {
        if !self.is_empty() {
            let record = self.at_mut(self.head);
            let trimmed = acknowledgement.saturating_sub(record.start).min(u64::from(record.length));
            record.start += trimmed;
            record.length -= trimmed as u16;
        }
    }

    /// Marks the segments within `block` that are not SACKed yet, and calls `each` for them as they were before.
    pub fn sack(&mut self, block: Range<u64>, mut each: impl FnMut(&Record)) {
        let slot = self.seen.iter().position(|seen| seen.start == block.start && seen.end != NONE);
        let (first, from) = match slot {
            Some(slot) => (self.seen[slot].first, self.seen[slot].end.max(self.head)),
            None => {
                let first = self.first_from(block.start);
                (first, first)
            }
        };
        let mut number = from;
        while number < self.tail {
            let record = *self.at(number);
            self.visit();
            if record.end() > block.end {
                break;
            }
            if record.marks.contains(Marks::SACKED) {
                number = self.after_sacked(number);
                continue;
            }
            each(&record);
            self.mark_sacked(number);
            number += 1;
        }
        if number > from {
            self.remember(slot, SeenBlock { start: block.start, first, end: number });
        }
    }

    fn remember(&mut self, slot: Option<usize>, block: SeenBlock) {
        if block.first >= self.head {
            self.at_mut(block.first).next = block.end;
        }
        let slot = slot.unwrap_or_else(|| {
            self.next_seen = (self.next_seen + 1) % SEEN_BLOCKS as u8;
            usize::from(self.next_seen)
        });
        self.seen[slot] = block;
    }

    fn forget_blocks(&mut self) {
        self.seen = [SeenBlock::default(); SEEN_BLOCKS];
    }

    /// The first record that begins at `start` or above it.
    fn first_from(&mut self, start: u64) -> u32 {
        let (mut low, mut high) = (self.head, self.tail);
        while low < high {
            self.visit();
            let middle = low + (high - low) / 2;
            if self.at(middle).start < start { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The first record above a SACKed one that is not SACKed. What lies between is crossed in one step from now on.
    fn after_sacked(&mut self, number: u32) -> u32 {
        let mut end = number;
        while end < self.tail && self.at(end).marks.contains(Marks::SACKED) {
            end = self.at(end).next;
            self.visit();
        }
        let mut passed = number;
        while passed < end {
            let next = self.at(passed).next;
            self.at_mut(passed).next = end;
            passed = next;
        }
        end
    }

    fn mark_sacked(&mut self, number: u32) {
        self.take_out(number);
        self.sacked += 1;
        self.counted_sacked += u32::from(number < self.counted);
        let record = self.at_mut(number);
        record.marks.insert(Marks::SACKED);
        record.next = number + 1;
        let end = record.end();
        self.sacked_end = self.sacked_end.max(end);
    }

    /// Whether the segment that begins at `start` was sent more than once and is SACKed.
    pub fn is_resent_and_sacked(&mut self, start: u64) -> bool {
        let number = self.first_from(start);
        number < self.tail && {
            let marks = self.at(number).marks;
            marks.contains(Marks::SACKED) && marks.contains(Marks::EVER_RESENT)
        }
    }

    /// Counts a duplicate acknowledgement of a peer without SACK. Returns whether it stands for a segment.
    pub fn count_duplicate(&mut self) -> bool {
        // At least the first segment is missing.
        let counts = self.duplicates + self.lost.max(1) < self.len();
        self.duplicates += u32::from(counts);
        counts
    }

    /// `acknowledged` segments have left at the head: one of them was missing, the others have made duplicates.
    pub fn uncount_duplicates(&mut self, acknowledged: u32) -> u32 {
        let delivered = acknowledged.saturating_sub(self.duplicates).max(1);
        self.duplicates = self.duplicates.saturating_sub(acknowledged.saturating_sub(1)).min(self.len());
        delivered
    }

    /// Duplicate acknowledgements no longer count.
    pub fn forget_duplicates(&mut self) {
        self.duplicates = 0;
    }

    /// Marks a segment or its retransmission as lost. Returns whether that is new.
    pub fn mark_lost(&mut self, number: u32) -> bool {
        self.visit();
        let marks = self.at(number).marks;
        if marks.contains(Marks::SACKED) || marks.waits() {
            return false;
        }
        self.take_out(number);
        self.at_mut(number).marks.insert(Marks::LOST);
        self.lost += 1;
        self.lost_total += 1;
        self.insert_waiting(number);
        true
    }

    /// Marks the original as lost. A retransmission of it, which may have been a tail loss probe, stays in flight.
    fn find_original_lost(&mut self, number: u32) {
        if !self.at(number).marks.contains(Marks::RESENT) {
            self.mark_lost(number);
            return;
        }
        self.at_mut(number).marks.insert(Marks::LOST);
        self.lost += 1;
        self.lost_total += 1;
    }

    /// RFC 6675, section 4: finds lost what has `threshold` SACKed segments above it (IsLost(), counted in segments).
    pub fn mark_lost_below(&mut self, threshold: u32) {
        let threshold = threshold.max(1);
        self.counted = self.counted.max(self.head);
        while self.counted < self.tail && self.sacked - self.counted_sacked >= threshold {
            let marks = self.at(self.counted).marks;
            if marks.contains(Marks::SACKED) {
                self.visit();
                self.counted_sacked += 1;
            } else if !marks.contains(Marks::LOST) {
                self.find_original_lost(self.counted);
            }
            self.counted += 1;
        }
    }

    /// A segment is retransmitted now.
    pub fn resend(&mut self, number: u32, now: Instant, snapshot: Snapshot) {
        self.visit();
        self.unlink(number);
        let record = self.at_mut(number);
        record.stamp(now, snapshot);
        let is_first = !record.marks.contains(Marks::RESENT);
        record.marks.insert(Marks::RESENT);
        record.marks.insert(Marks::EVER_RESENT);
        self.resent += u32::from(is_first);
        self.append_in_flight(number);
    }
}
