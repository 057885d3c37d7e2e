//! Parallel queues in front of one port, as in a load-balanced switch. Each frame goes to one of them, and they are
//! served round-robin. If frames of a flow are in different queues, they may leave in a different order than they
//! arrived.

use super::frame::{Frame, WIRE_OVERHEAD_BYTES};
use super::id::PortId;
use crate::histogram::Histogram;
use crate::random::Random;
use crate::time::{Rate, Time};
use linkmend_random::mix;
use std::collections::VecDeque;

/// How frames are distributed over parallel queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Each frame goes to a random queue, all equally likely. This reorders frames.
    Uniform,
    /// All frames of a flow go to the same queue. This does not.
    Hashed,
}

/// How many queues there are in parallel, and how frames are distributed over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParallelConfig {
    /// At least 1.
    pub queues: u32,
    pub placement: Placement,
    /// Frames are marked (ECN) when all of them together hold more than this.
    pub ecn_bytes: u64,
}

/// A frame in one of the queues.
#[derive(Debug, Clone, Copy)]
struct Queued {
    arrived: Time,
    frame: Frame,
    /// The port of the switch at which it arrived.
    ingress: PortId,
}

/// The queues, and how long frames spent in them.
#[derive(Debug)]
pub struct ParallelQueues {
    config: ParallelConfig,
    queues: Vec<VecDeque<Queued>>,
    /// The queue whose turn it is.
    next: usize,
    frames: u64,
    bytes: u64,
    random: Random,
    rate: Rate,
    /// Time from the arrival of a frame until its last bit has left, in ns.
    pub delays_ns: Histogram,
    /// Bytes of frames that have left, preambles and gaps included.
    pub wire_bytes: u64,
}

impl ParallelQueues {
    pub(crate) fn new(config: ParallelConfig, rate: Rate, random: Random) -> ParallelQueues {
        ParallelQueues {
            config,
            queues: vec![VecDeque::new(); config.queues.max(1) as usize],
            next: 0,
            frames: 0,
            bytes: 0,
            random,
            rate,
            delays_ns: Histogram::new(),
            wire_bytes: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// Puts a frame that arrived at `ingress` into one of the queues. Returns whether it was marked.
    pub(crate) fn push(&mut self, now: Time, mut frame: Frame, ingress: PortId) -> bool {
        let count = self.queues.len();
        let queue = match self.config.placement {
            Placement::Uniform => (self.random.uniform() * count as f64) as usize % count,
            Placement::Hashed => (mix(u64::from(frame.flow.0)) % count as u64) as usize,
        };
        let marks = self.bytes > self.config.ecn_bytes;
        frame.marked |= marks;
        self.frames += 1;
        self.bytes += u64::from(frame.bytes);
        self.queues[queue].push_back(Queued { arrived: now, frame, ingress });
        marks
    }

    /// The frame that leaves at `now`, and the port at which it arrived.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Frame, PortId)> {
        let count = self.queues.len();
        let mut turns = (0..count).map(|turn| (self.next + turn) % count);
        let queue = turns.find(|queue| !self.queues[*queue].is_empty())?;
        self.next = (queue + 1) % count;
        let Queued { arrived, frame, ingress } = self.queues[queue].pop_front()?;
        self.frames -= 1;
        self.bytes -= u64::from(frame.bytes);
        let wire_bytes = u64::from(frame.bytes) + WIRE_OVERHEAD_BYTES;
        self.wire_bytes += wire_bytes;
        let left = now + self.rate.time_of(wire_bytes);
        self.delays_ns.record(left.0.saturating_sub(arrived.0) / 1_000);
        Some((frame, ingress))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::FlowId;
    use linkmend_protocol::Mode;

    fn frame(flow: u32, id: u64) -> Frame {
        Frame { id, flow: FlowId(flow), bytes: 1_500, mode: Mode::Ordered, marked: false }
    }

    fn queues(placement: Placement) -> ParallelQueues {
        let config = ParallelConfig { queues: 8, placement, ecn_bytes: u64::MAX };
        let rate = Rate::from_bits_per_second(10_000_000_000).expect("exact");
        ParallelQueues::new(config, rate, Random::new(1, "test"))
    }

    #[test]
    fn hashed_flows_stay_in_order_and_spread_ones_do_not() {
        for (placement, reorders) in [(Placement::Hashed, false), (Placement::Uniform, true)] {
            let mut queues = queues(placement);
            for id in 0..1_000 {
                for flow in 0..4 {
                    queues.push(Time::ZERO, frame(flow, id), PortId::at(0));
                }
            }
            let (mut last, mut reordered, mut left) = ([0; 4], false, 0);
            while let Some((frame, _)) = queues.pop(Time::ZERO) {
                let last = &mut last[frame.flow.0 as usize];
                reordered |= frame.id < *last;
                *last = frame.id;
                left += 1;
            }
            assert_eq!((reordered, left, queues.is_empty()), (reorders, 4_000, true));
        }
    }

    #[test]
    fn queues_that_hold_something_take_turns() {
        let mut queues = queues(Placement::Hashed);
        (0..100).for_each(|flow| {
            queues.push(Time::ZERO, frame(flow, 0), PortId::at(0));
        });
        let mut seen = Vec::new();
        for _ in 0..8 {
            let (frame, _) = queues.pop(Time::ZERO).expect("each has some");
            seen.push(mix(u64::from(frame.flow.0)) % 8);
        }
        assert_eq!(seen, (0..8).collect::<Vec<_>>());
    }

    /// Poisson arrivals with exponential sizes at half load form an M/M/1 queue, whatever the number of queues, because
    /// the port is never idle while a frame waits: P(W >= t) = exp(-(mu - lambda) t) for one queue, and the same mean
    /// for any number.
    #[test]
    fn delays_are_those_of_an_m_m_1_queue() {
        for rate_gbps in [1, 10, 100] {
            let config = ParallelConfig { queues: 1, placement: Placement::Uniform, ecn_bytes: u64::MAX };
            let rate = Rate::from_bits_per_second(rate_gbps * 1_000_000_000).expect("exact");
            let mut queues = ParallelQueues::new(config, rate, Random::new(7, "placement"));
            let mut random = Random::new(3, "arrivals");
            let mean_bytes = 1_000.0;
            let service_ps = rate.time_of(1_000).0 as f64;
            let (mut arrives_at, mut free_at) = (0.0, 0.0);
            for id in 0..400_000 {
                arrives_at += random.exponential() * service_ps / 0.5;
                while free_at <= arrives_at {
                    let Some((frame, _)) = queues.pop(Time(free_at as u64)) else { break };
                    free_at += rate.time_of(u64::from(frame.bytes) + WIRE_OVERHEAD_BYTES).0 as f64;
                }
                if queues.is_empty() {
                    free_at = f64::max(free_at, arrives_at);
                }
                let bytes =
                    (random.exponential() * mean_bytes - WIRE_OVERHEAD_BYTES as f64).clamp(1.0, 65_000.0);
                queues.push(
                    Time(arrives_at as u64),
                    Frame { bytes: bytes as u16, ..frame(0, id) },
                    PortId::at(0),
                );
            }
            // mu - lambda is half of mu.
            for share in [0.5, 0.9, 0.99, 0.999] {
                let expected_ns = -libm::log(1.0 - share) * 2.0 * service_ps / 1e3;
                let measured = queues.delays_ns.quantile(share) as f64;
                assert!(
                    (measured / expected_ns - 1.0).abs() < 0.08,
                    "{rate_gbps}G {share}: {measured}, {expected_ns}"
                );
            }
        }
    }
}
