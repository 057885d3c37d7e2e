//! Execution of a program on a network that is never congested: a lower bound for real ones.

use crate::program::{Action, Program};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Every rank's link to a network without limits. It sends one message at a time, in the order in which they became
/// ready, and receives any number meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdealLink {
    /// Its rate in either direction.
    pub bits_per_second: u64,
    /// From the end of sending a message to its delivery.
    pub latency_nanos: u64,
}

impl IdealLink {
    /// How long it sends this many bytes, rounded up. A link without rate never ends: `u64::MAX`.
    pub fn sending_nanos(&self, bytes: u64) -> u64 {
        let bit_nanos = u128::from(bytes) * 8_000_000_000;
        let nanos = bit_nanos.checked_div(u128::from(self.bits_per_second));
        nanos.map_or(u64::MAX, |whole| {
            let rest = u128::from(whole * u128::from(self.bits_per_second) < bit_nanos);
            u64::try_from(whole + rest).unwrap_or(u64::MAX)
        })
    }

    /// From the beginning of sending this many bytes to their delivery.
    pub fn delivery_nanos(&self, bytes: u64) -> u64 {
        self.sending_nanos(bytes).saturating_add(self.latency_nanos)
    }
}

/// When each operation of the program is complete, in nanoseconds from its beginning.
pub fn completion_nanos(program: &Program, link: &IdealLink) -> Vec<u64> {
    Execution::new(program, link).run()
}

/// How long the program takes.
pub fn total_nanos(program: &Program, link: &IdealLink) -> u64 {
    completion_nanos(program, link).into_iter().max().unwrap_or(0)
}

/// What happens to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Complete,
    /// The last byte has left the sender.
    Sent,
}

struct Execution<'a> {
    program: &'a Program,
    link: &'a IdealLink,
    /// Operations that wait for each one: those of operation `i` end at `waiting_ends[i]`.
    waiting: Vec<u32>,
    waiting_ends: Vec<u32>,
    missing: Vec<u32>,
    queues: Vec<VecDeque<u32>>,
    events: BinaryHeap<Reverse<(u64, Event, u32)>>,
    completed: Vec<u64>,
}

impl<'a> Execution<'a> {
    fn new(program: &'a Program, link: &'a IdealLink) -> Execution<'a> {
        let operations = program.len();
        let mut waiting_ends = vec![0_u32; operations as usize + 1];
        for &after in (0..operations).flat_map(|index| program.after(index)) {
            waiting_ends[after as usize + 1] += 1;
        }
        for index in 1..waiting_ends.len() {
            waiting_ends[index] += waiting_ends[index - 1];
        }
        let mut waiting = vec![0; program.dependency_count() as usize];
        for index in 0..operations {
            for &after in program.after(index) {
                let place = &mut waiting_ends[after as usize];
                waiting[*place as usize] = index;
                *place += 1;
            }
        }
        Execution {
            program,
            link,
            waiting,
            waiting_ends,
            missing: (0..operations).map(|index| program.after(index).len() as u32).collect(),
            queues: vec![VecDeque::new(); program.ranks() as usize],
            events: BinaryHeap::new(),
            completed: vec![u64::MAX; operations as usize],
        }
    }

    fn run(mut self) -> Vec<u64> {
        for index in (0..self.program.len()).filter(|&index| self.program.after(index).is_empty()) {
            self.begin(0, index);
        }
        while let Some(Reverse((now, event, index))) = self.events.pop() {
            match event {
                Event::Complete => self.complete(now, index),
                Event::Sent => {
                    let queue = &mut self.queues[self.program.action(index).rank() as usize];
                    queue.pop_front();
                    if let Some(&next) = queue.front() {
                        self.send(now, next);
                    }
                }
            }
        }
        self.completed
    }

    fn begin(&mut self, now: u64, index: u32) {
        match self.program.action(index) {
            Action::Compute { nanos, .. } => {
                self.events.push(Reverse((now.saturating_add(nanos), Event::Complete, index)));
            }
            Action::Send { from, .. } => {
                let queue = &mut self.queues[from as usize];
                queue.push_back(index);
                if queue.len() == 1 {
                    self.send(now, index);
                }
            }
        }
    }

    fn send(&mut self, now: u64, index: u32) {
        let Action::Send { bytes, .. } = self.program.action(index) else { return };
        let sent = now.saturating_add(self.link.sending_nanos(bytes));
        self.events.push(Reverse((sent, Event::Sent, index)));
        self.events.push(Reverse((sent.saturating_add(self.link.latency_nanos), Event::Complete, index)));
    }

    fn complete(&mut self, now: u64, index: u32) {
        self.completed[index as usize] = now;
        let begin = index.checked_sub(1).map_or(0, |previous| self.waiting_ends[previous as usize]);
        for place in begin..self.waiting_ends[index as usize] {
            let next = self.waiting[place as usize];
            self.missing[next as usize] -= 1;
            if self.missing[next as usize] == 0 {
                self.begin(now, next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_sends_one_message_at_a_time_and_computations_take_their_time() {
        let mut builder = Program::builder(3).expect("ranks");
        let compute = builder.add(Action::Compute { rank: 0, nanos: 7 }, &[]).expect("good");
        let send = |to| Action::Send { from: 0, to, bytes: 100 };
        let first = builder.add(send(1), &[compute]).expect("good");
        let second = builder.add(send(2), &[compute]).expect("good");
        builder.add(Action::Send { from: 1, to: 2, bytes: 1 }, &[first, second, compute]).expect("good");
        // A byte in 8 ns.
        let link = IdealLink { bits_per_second: 1_000_000_000, latency_nanos: 50 };
        assert_eq!(completion_nanos(&builder.finish(), &link), [7, 857, 1657, 1715]);
    }

    #[test]
    fn rates_round_up_and_no_rate_takes_for_ever() {
        let link = |bits_per_second| IdealLink { bits_per_second, latency_nanos: 1 };
        assert_eq!(link(3_000_000_000).delivery_nanos(1), 4);
        assert_eq!(link(0).delivery_nanos(1), u64::MAX);
    }
}
