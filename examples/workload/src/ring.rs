//! A ring all-reduce, as in the training of neural networks: in each step, every host sends a part of its data to the
//! next one, and a step begins when all flows of the previous step have arrived.

use linkmend_sim::host::{Start, Workload};
use linkmend_sim::time::Time;

/// The flows of one all-reduce.
#[derive(Debug)]
pub struct Ring {
    hosts: u32,
    /// What a host sends in a step.
    part_bytes: u64,
    steps_left: u32,
    /// The next host to send in this step, and flows of it that have not arrived.
    next_host: u32,
    missing: u32,
    /// When the step begins or has begun.
    step_at: Time,
}

impl Ring {
    /// The reduction of this many bytes among at least two hosts. Each host has one part of the result after half of
    /// the steps, and all parts at the end.
    pub fn new(hosts: u32, bytes: u64) -> Ring {
        let part_bytes = bytes.div_ceil(u64::from(hosts)).max(1);
        Ring {
            hosts,
            part_bytes,
            steps_left: 2 * (hosts - 1),
            next_host: 0,
            missing: hosts,
            step_at: Time::ZERO,
        }
    }
}

impl Workload for Ring {
    fn next_at(&self) -> Time {
        if self.steps_left > 0 && self.next_host < self.hosts { self.step_at } else { Time::NEVER }
    }

    fn start(&mut self, now: Time) -> Option<Start> {
        if now < self.next_at() {
            return None;
        }
        let source = self.next_host;
        self.next_host += 1;
        let destination = (source + 1) % self.hosts;
        Some(Start { at: now, source, destination, bytes: self.part_bytes })
    }

    fn delivered(&mut self, now: Time, _: u64) {
        self.missing -= 1;
        if self.missing == 0 {
            self.steps_left -= 1;
            (self.next_host, self.missing, self.step_at) = (0, self.hosts, now);
        }
    }

    fn begin_at(&mut self, now: Time) {
        self.step_at = now;
    }

    fn is_finished(&self) -> bool {
        self.steps_left == 0
    }
}
