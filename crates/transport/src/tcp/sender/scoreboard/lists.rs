//! The two lists through the records, and what walks the whole window.

use super::{List, Marks, NONE, Record, Scoreboard};

impl Scoreboard {
    /// The segment in flight that was sent first.
    pub fn sent_first(&self) -> Option<u32> {
        (self.in_flight.first != NONE).then_some(self.in_flight.first)
    }

    /// The segment to resend next: the lost one with the lowest number (RFC 6675, section 4: NextSeg(), rule 1).
    pub fn next_to_resend(&self) -> Option<u32> {
        (self.waiting.first != NONE).then_some(self.waiting.first)
    }

    /// The segment in flight that was sent last before the one that RACK has seen arrive, which was sent at the instant
    /// and ended where `is_before` knows; the answers may only change from no to yes.
    pub fn last_before(&mut self, is_before: impl Fn(&Record) -> bool) -> Option<u32> {
        let mut last = self.before_rack;
        loop {
            let next = if last == NONE { self.in_flight.first } else { self.at(last).next };
            if next == NONE || !is_before(self.at(next)) {
                break;
            }
            self.visit();
            last = next;
        }
        self.before_rack = last;
        (last != NONE).then_some(last)
    }

    pub(super) fn append_in_flight(&mut self, number: u32) {
        let last = self.in_flight.last;
        let record = self.at_mut(number);
        (record.previous, record.next) = (last, NONE);
        if last == NONE {
            self.in_flight.first = number;
        } else {
            self.at_mut(last).next = number;
        }
        self.in_flight.last = number;
    }

    /// Removes a record from the list that it is in.
    pub(super) fn unlink(&mut self, number: u32) {
        let record = *self.at(number);
        if self.before_rack == number {
            self.before_rack = record.previous;
        }
        if self.finger == number {
            self.finger = NONE;
        }
        let mut list = if record.marks.waits() { self.waiting } else { self.in_flight };
        if record.previous == NONE {
            list.first = record.next;
        } else {
            self.at_mut(record.previous).next = record.next;
        }
        if record.next == NONE {
            list.last = record.previous;
        } else {
            self.at_mut(record.next).previous = record.previous;
        }
        if record.marks.waits() {
            self.waiting = list;
        } else {
            self.in_flight = list;
        }
    }

    /// Puts a record among those to resend. They are found lost in rising order most of the time, or next to the one found
    /// before.
    pub(super) fn insert_waiting(&mut self, number: u32) {
        let List { first, last } = self.waiting;
        let near = if last == NONE || last < number {
            last
        } else if first > number || self.finger == NONE {
            first
        } else {
            self.finger
        };
        self.waiting = self.insert(self.waiting, number, near, |one, other| one.start < other.start);
        self.finger = number;
    }

    /// Puts a record where it belongs in a list that is in order, looking for the place from `near` on.
    fn insert(&mut self, list: List, number: u32, near: u32, precedes: fn(&Record, &Record) -> bool) -> List {
        let record = *self.at(number);
        let mut before = near;
        while before != NONE && !precedes(self.at(before), &record) {
            before = self.at(before).previous;
            self.visit();
        }
        let mut after = if before == NONE { list.first } else { self.at(before).next };
        while after != NONE && precedes(self.at(after), &record) {
            (before, after) = (after, self.at(after).next);
            self.visit();
        }
        let mut list = list;
        if before == NONE {
            list.first = number;
        } else {
            self.at_mut(before).next = number;
        }
        if after == NONE {
            list.last = number;
        } else {
            self.at_mut(after).previous = number;
        }
        let record = self.at_mut(number);
        (record.previous, record.next) = (before, after);
        list
    }

    /// Puts a record back among those in flight, where its time of sending belongs.
    fn insert_in_flight(&mut self, number: u32, near: u32) {
        self.in_flight = self.insert(self.in_flight, number, near, |one, other| {
            (one.sent_at, one.start) < (other.sent_at, other.start)
        });
    }

    /// RFC 2018, section 8: after a timeout that finds the oldest segment SACKed, the receiver has discarded what it has
    /// SACKed. Forgets all SACK marks.
    pub fn forget_sacks(&mut self) {
        let mut near = self.in_flight.first;
        for number in self.head..self.tail {
            if self.at(number).marks.contains(Marks::SACKED) {
                self.at_mut(number).marks.remove(Marks::SACKED);
                self.insert_in_flight(number, near);
                near = number;
            }
        }
        self.sacked = 0;
        self.begin_to_count_again();
        self.forget_blocks();
    }

    /// After a timeout: finds lost what is not SACKed and fulfils a condition.
    pub fn mark_all_lost(&mut self, is_lost: impl Fn(&Record) -> bool) {
        for number in self.head..self.tail {
            if is_lost(self.at(number)) {
                self.mark_lost(number);
            }
        }
    }

    /// The reduction was spurious: nothing is lost.
    pub fn forget_losses(&mut self) {
        let mut near = self.in_flight.first;
        while let Some(number) = self.next_to_resend() {
            self.take_out(number);
            self.insert_in_flight(number, near);
            near = number;
        }
        for number in self.head..self.tail {
            self.at_mut(number).marks.remove(Marks::LOST);
        }
        self.lost = 0;
        self.begin_to_count_again();
    }

    fn begin_to_count_again(&mut self) {
        self.counted = self.head;
        self.counted_sacked = 0;
    }
}
