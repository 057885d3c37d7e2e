//! The hold model: each event schedules the next one of its source, after an exponentially distributed time.

use crate::heap::{Event, Heap};
use crate::{Observed, Run, mixed};
use linkmend_sim::event_queue::EventQueue;
use linkmend_sim::time::Time;

/// The mean time between two events of one source.
pub const MEAN: Time = Time::from_nanos(1_000);

/// The distribution's quantiles are in a small table, so that drawing one costs little.
const QUANTILES: usize = 1 << 10;

struct Increments(Vec<Time>);

impl Increments {
    fn new() -> Increments {
        let quantile = |at: usize| -libm::log((at as f64 + 0.5) / QUANTILES as f64);
        Increments((0..QUANTILES).map(|at| Time((quantile(at) * MEAN.0 as f64) as u64)).collect())
    }

    #[inline]
    fn after(&self, now: Time, source: usize) -> Time {
        // The low bits make times odd, or they would soon be sums of few different numbers.
        let bits = mixed(now.0.wrapping_add((source as u64) << 40));
        now + self.0[(bits >> 54) as usize] + Time(bits & 0xFF)
    }
}

pub struct Hold<Q> {
    queue: Q,
    increments: Increments,
}

impl Hold<Heap> {
    pub fn every_event(pending: usize) -> Self {
        let (mut queue, increments) = (Heap::default(), Increments::new());
        for source in 0..pending {
            queue.schedule(increments.after(Time::ZERO, source), Event::Service { source: source as u32 });
        }
        Hold { queue, increments }
    }
}

impl Run for Hold<Heap> {
    fn run_until(&mut self, end: Time, seen: &mut Observed) {
        while let Some((now, event)) = self.queue.next_before(end) {
            let (Event::Service { source } | Event::Arrive { source, .. }) = event;
            seen.event(now, source as usize);
            self.queue.schedule(self.increments.after(now, source as usize), event);
        }
    }
}

impl Hold<EventQueue> {
    pub fn heads_only(pending: usize) -> Self {
        let (mut queue, increments) = (EventQueue::new(pending), Increments::new());
        (0..pending).for_each(|source| queue.set(source, increments.after(Time::ZERO, source)));
        Hold { queue, increments }
    }
}

impl Run for Hold<EventQueue> {
    fn run_until(&mut self, end: Time, seen: &mut Observed) {
        while let Some((now, source)) = self.queue.next().filter(|(now, _)| *now < end) {
            seen.event(now, source);
            self.queue.set(source, self.increments.after(now, source));
        }
    }
}
