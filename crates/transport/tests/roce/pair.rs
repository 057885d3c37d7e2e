//! Two queue pairs and a link between them that may lose, delay, duplicate and mark packets.
//!
//! A byte takes a nanosecond (8 Gb/s) and the way takes 50 us, so times can be counted by hand.

use linkmend_transport::roce::{
    Body, Completion, Config, Opcode, Packet, QueuePair, Request, Response, Syndrome,
};
use linkmend_transport::tcp::Codepoint;
use linkmend_transport::{Instant, Nanos};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Preamble and gap of Ethernet.
const OVERHEAD_BYTES: u64 = 20;
/// One way, after the last byte was sent.
pub const DELAY: Nanos = Nanos(50_000);
/// More events than any test here needs.
const STEPS_MAX: u32 = 2_000_000;

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fate {
    #[default]
    Arrives,
    IsLost,
    /// Arrives later than it should.
    IsLate(Nanos),
    ArrivesTwice,
    /// Arrives, and this many copies behind it.
    ArrivesWithCopies(usize),
    IsMarked,
}

/// A packet that an end has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    pub at: Instant,
    pub from: usize,
    /// How many packets this end has sent before it.
    pub nth: u64,
    pub packet: Packet,
    pub fate: Fate,
}

/// Decides what becomes of a packet; it may look at the ends.
pub type Faults = Box<dyn FnMut(&Sent, &[QueuePair; 2]) -> Fate>;

pub struct Pair {
    pub ends: [QueuePair; 2],
    pub now: Instant,
    pub sent: Vec<Sent>,
    /// Completions of each end with their times.
    pub completions: [Vec<(Instant, Completion)>; 2],
    faults: Faults,
    port_free: [Instant; 2],
    counts: [u64; 2],
    /// Packets under way by arrival, then by order of sending.
    under_way: BTreeMap<(Instant, usize), (usize, Packet)>,
    order: usize,
}

impl Pair {
    pub fn new(config: Config) -> Pair {
        Pair::with_faults(config, |_, _| Fate::Arrives)
    }

    pub fn with_faults(config: Config, faults: impl FnMut(&Sent, &[QueuePair; 2]) -> Fate + 'static) -> Pair {
        let config = Arc::new(config);
        let end = || QueuePair::new(Arc::clone(&config)).expect("a good configuration");
        Pair {
            ends: [end(), end()],
            now: Instant(0),
            sent: Vec::new(),
            completions: [Vec::new(), Vec::new()],
            faults: Box::new(faults),
            port_free: [Instant(0); 2],
            counts: [0; 2],
            under_way: BTreeMap::new(),
            order: 0,
        }
    }

    /// A pair that loses the packets that end 0 (first) and end 1 (second) send in these places.
    pub fn losing(config: Config, requests: &[u64], responses: &[u64]) -> Pair {
        let lost = [requests.to_vec(), responses.to_vec()];
        Pair::with_faults(config, move |sent, _| {
            if lost[sent.from].contains(&sent.nth) { Fate::IsLost } else { Fate::Arrives }
        })
    }

    /// End 0 posts a WRITE.
    pub fn write(&mut self, bytes: u32) {
        self.ends[0].post(Request { opcode: Opcode::Write, bytes }).expect("there is room");
    }

    /// Runs until nothing is left to happen, or until `end`.
    pub fn run_until(&mut self, end: Instant) {
        for _ in 0..STEPS_MAX {
            self.let_both_send();
            let Some(next) = self.next_event().filter(|next| *next <= end) else { return };
            self.now = next;
            while let Some(arrival) = self.under_way.first_entry().filter(|entry| entry.key().0 <= next) {
                let (to, packet) = arrival.remove();
                self.ends[to].handle_packet(next, &packet);
                self.let_both_send();
            }
            for end in &mut self.ends {
                end.handle_timeout(next);
            }
        }
        panic!("it does not come to rest: {:?}", self.sent.last());
    }

    /// Runs until nothing is left to happen.
    pub fn run(&mut self) {
        self.run_until(Instant(u64::MAX));
    }

    /// Numbers of the requests that end 0 has sent.
    pub fn requests(&self) -> Vec<u64> {
        let requests = self.sent.iter().filter(|sent| sent.from == 0);
        requests
            .filter(|sent| matches!(sent.packet.body, Body::Request(_)))
            .map(|sent| sent.packet.psn)
            .collect()
    }

    /// What end 1 has answered, in the order in which it was sent.
    pub fn responses(&self) -> Vec<(Syndrome, u64)> {
        let answers = self.sent.iter().filter(|sent| sent.from == 1);
        let answer = |sent: &Sent| match sent.packet.body {
            Body::Response(Response { syndrome, .. }) => Some((syndrome, sent.packet.psn)),
            _ => None,
        };
        answers.filter_map(answer).collect()
    }

    /// When the last request of end 0 was completed.
    pub fn completed_at(&self) -> Option<Instant> {
        self.completions[0].last().map(|(at, _)| *at)
    }

    fn next_event(&self) -> Option<Instant> {
        let arrival = self.under_way.first_key_value().map(|((at, _), _)| *at);
        let timeouts = self.ends.iter().filter_map(QueuePair::next_timeout).map(|at| at.max(self.now));
        let ports = self.port_free.iter().copied().filter(|at| *at > self.now);
        arrival.into_iter().chain(timeouts).chain(ports).min()
    }

    fn let_both_send(&mut self) {
        for from in 0..2 {
            while self.port_free[from] <= self.now
                && let Some(packet) = self.ends[from].poll_transmit(self.now)
            {
                self.send(from, packet);
            }
            while let Some(completion) = self.ends[from].poll_completion() {
                self.completions[from].push((self.now, completion));
            }
        }
    }

    fn send(&mut self, from: usize, packet: Packet) {
        let mut sent = Sent { at: self.now, from, nth: self.counts[from], packet, fate: Fate::Arrives };
        self.counts[from] += 1;
        sent.fate = (self.faults)(&sent, &self.ends);
        self.sent.push(sent);
        self.port_free[from] = self.now + Nanos(u64::from(packet.frame_bytes()) + OVERHEAD_BYTES);
        let at = self.port_free[from] + DELAY;
        match sent.fate {
            Fate::Arrives => self.arrive(at, from, packet),
            Fate::IsLost => {}
            Fate::IsLate(by) => self.arrive(at + by, from, packet),
            Fate::ArrivesTwice => {
                self.arrive(at, from, packet);
                self.arrive(at, from, packet);
            }
            Fate::ArrivesWithCopies(copies) => {
                (0..=copies).for_each(|_| self.arrive(at, from, packet));
            }
            Fate::IsMarked => {
                let mark = if packet.codepoint == Codepoint::Ect0 { Codepoint::Ce } else { packet.codepoint };
                self.arrive(at, from, Packet { codepoint: mark, ..packet });
            }
        }
    }

    fn arrive(&mut self, at: Instant, from: usize, packet: Packet) {
        self.order += 1;
        self.under_way.insert((at, self.order), (1 - from, packet));
    }
}

/// A small generator of random numbers (SplitMix64), so that one seed is one run.
pub struct Draw(pub u64);

impl Draw {
    /// Uniform from 0 to 1, excluded.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
