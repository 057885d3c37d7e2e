//! The pattern of a simulated link, both directions: a port serves frames back to back; each crosses the wire and then
//! the receiver's pipeline, while the sender's copy goes once round its recirculation loop. About forty events are
//! pending per link, in eight sources.

use crate::heap::{Event, Heap};
use crate::{Observed, Run, mixed};
use linkmend_sim::event_queue::EventQueue;
use linkmend_sim::time::Time;
use std::collections::VecDeque;

/// Sources of a link. Those of one direction: the port, the wire, the pipeline, the recirculation loop.
const SOURCES: usize = 8;
const PORT: usize = 0;
const WIRE: usize = 1;
const PIPELINE: usize = 2;
const LOOP: usize = 3;

/// How long 1541 bytes last at 100 Gbit/s: a full frame with its overheads and header.
const FULL_FRAME: Time = Time(123_280);
/// How long the smallest frame lasts, 84 bytes: every eighth one is such, say an acknowledgement.
const SMALL_FRAME: Time = Time(6_720);
/// Twenty metres of fibre.
const PROPAGATION: Time = Time(100_000);
/// Through a switch's pipeline, or once round its recirculation loop.
const TRAVERSAL: Time = Time(1_000_000);

/// Two directions, four events a frame, and how many frames a microsecond has.
pub const EVENTS_PER_US: f64 = 8.0 * 1e6 / (123_280.0 * 0.875 + 6_720.0 * 0.125);

fn stage(source: usize) -> usize {
    source % (SOURCES / 2)
}

/// Ports begin at different times.
fn begin(port: usize) -> Time {
    Time(mixed(port as u64) % FULL_FRAME.0)
}

fn ports(links: usize) -> impl Iterator<Item = usize> {
    (0..SOURCES * links).filter(|source| stage(*source) == PORT)
}

#[inline]
fn service(port: usize, frame: u64) -> Time {
    if mixed(frame << 20 ^ port as u64) >> 61 == 0 { SMALL_FRAME } else { FULL_FRAME }
}

/// Links whose queue is `Q`.
pub struct Links<Q> {
    queue: Q,
    /// How many frames each port has sent, by source.
    sent: Vec<u64>,
}

impl Links<Heap> {
    pub fn every_event(links: usize) -> Self {
        let mut queue = Heap::default();
        ports(links).for_each(|port| queue.schedule(begin(port), Event::Service { source: port as u32 }));
        Links { queue, sent: vec![0; SOURCES * links] }
    }
}

impl Run for Links<Heap> {
    fn run_until(&mut self, end: Time, seen: &mut Observed) {
        while let Some((now, event)) = self.queue.next_before(end) {
            match event {
                Event::Service { source } => {
                    let port = source as usize;
                    seen.event(now, port);
                    self.sent[port] += 1;
                    let frame = self.sent[port];
                    self.queue.schedule(now + service(port, frame), event);
                    let [wire, copy] = [WIRE, LOOP].map(|stage| source + stage as u32);
                    self.queue.schedule(now + PROPAGATION, Event::Arrive { source: wire, frame });
                    self.queue.schedule(now + TRAVERSAL, Event::Arrive { source: copy, frame });
                }
                Event::Arrive { source, frame } => {
                    seen.event(now, source as usize);
                    if stage(source as usize) == WIRE {
                        let pipeline = source + (PIPELINE - WIRE) as u32;
                        self.queue.schedule(now + TRAVERSAL, Event::Arrive { source: pipeline, frame });
                    }
                }
            }
        }
    }
}

/// A queue of heads, and the frames each source has in flight.
pub struct Fifos {
    heads: EventQueue,
    in_flight: Vec<VecDeque<(Time, u64)>>,
}

impl Fifos {
    #[inline]
    fn push(&mut self, source: usize, time: Time, frame: u64) {
        let in_flight = &mut self.in_flight[source];
        if in_flight.is_empty() {
            self.heads.set(source, time);
        }
        in_flight.push_back((time, frame));
    }

    #[inline]
    fn pop(&mut self, source: usize) -> Option<u64> {
        let in_flight = &mut self.in_flight[source];
        let (_, frame) = in_flight.pop_front()?;
        self.heads.set(source, in_flight.front().map_or(Time::NEVER, |(time, _)| *time));
        Some(frame)
    }
}

impl Links<Fifos> {
    pub fn heads_only(links: usize) -> Self {
        let mut heads = EventQueue::new(SOURCES * links);
        ports(links).for_each(|port| heads.set(port, begin(port)));
        let in_flight = vec![VecDeque::new(); SOURCES * links];
        Links { queue: Fifos { heads, in_flight }, sent: vec![0; SOURCES * links] }
    }
}

impl Run for Links<Fifos> {
    fn run_until(&mut self, end: Time, seen: &mut Observed) {
        while let Some((now, source)) = self.queue.heads.next().filter(|(now, _)| *now < end) {
            seen.event(now, source);
            if stage(source) == PORT {
                self.sent[source] += 1;
                let frame = self.sent[source];
                self.queue.heads.set(source, now + service(source, frame));
                self.queue.push(source + WIRE, now + PROPAGATION, frame);
                self.queue.push(source + LOOP, now + TRAVERSAL, frame);
            } else {
                let frame = self.queue.pop(source);
                if let (WIRE, Some(frame)) = (stage(source), frame) {
                    self.queue.push(source - WIRE + PIPELINE, now + TRAVERSAL, frame);
                }
            }
        }
    }
}
