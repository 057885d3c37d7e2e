//! Dividing a segment in two.

use super::{Marks, NONE, Scoreboard};

impl Scoreboard {
    /// Divides a segment behind its first `length` bytes: it is retransmitted as shorter ones. Both are where it was and marked as it
    /// was. It must be longer than this, and not be SACKed. Returns the number of the first of them. This is rare, and walks
    /// the window.
    pub fn split(&mut self, number: u32, length: u16) -> u32 {
        let place = number - self.head;
        self.make_room();
        let number = self.head + place;
        self.shift_behind(number);
        let (mut front, mut back) = (*self.at(number), *self.at(number));
        back.start += u64::from(length);
        back.length -= length;
        front.length = length;
        front.marks.remove(Marks::FIN);
        let second = number + 1;
        (front.next, back.previous) = (second, number);
        if back.next != NONE {
            self.at_mut(back.next).previous = second;
        } else if back.marks.waits() {
            self.waiting.last = second;
        } else {
            self.in_flight.last = second;
        }
        self.lost += u32::from(back.marks.contains(Marks::LOST));
        self.resent += u32::from(back.marks.contains(Marks::RESENT));
        (*self.at_mut(number), *self.at_mut(second)) = (front, back);
        number
    }

    /// Gives every record behind `number` the next number.
    fn shift_behind(&mut self, number: u32) {
        let higher = |other: &mut u32| {
            if *other != NONE && *other > number {
                *other += 1;
            }
        };
        for later in (number + 1..self.tail).rev() {
            let record = *self.at(later);
            *self.at_mut(later + 1) = record;
        }
        self.tail += 1;
        for other in (self.head..self.tail).filter(|&other| other != number + 1) {
            let record = self.at_mut(other);
            higher(&mut record.next);
            higher(&mut record.previous);
        }
        for list in [&mut self.in_flight, &mut self.waiting] {
            higher(&mut list.first);
            higher(&mut list.last);
        }
        for other in [&mut self.finger, &mut self.before_rack, &mut self.counted] {
            higher(other);
        }
        self.forget_blocks();
    }
}
