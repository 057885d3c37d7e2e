//! Two ends of a connection and a link between them that may lose, delay, duplicate and mark segments.
//!
//! A byte takes a nanosecond (8 Gb/s) and the way takes 50 us unless said otherwise, so times can be counted by hand.

use linkmend_transport::tcp::{Codepoint, Config, Connection, Event, Flags, Segment, State};
use linkmend_transport::{Instant, Nanos};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Ethernet with preamble and gap, IPv4, and TCP without options.
const OVERHEAD_BYTES: u64 = 78;
/// One way, after the last byte was sent.
pub const DELAY: Nanos = Nanos(50_000);
/// More events than any test here needs.
const STEPS_MAX: u32 = 2_000_000;

/// What becomes of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fate {
    #[default]
    Arrives,
    IsLost,
    /// Arrives later than it should.
    IsLate(Nanos),
    ArrivesTwice,
    IsMarked,
}

/// A segment that an end has sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent {
    pub at: Instant,
    pub from: usize,
    /// How many segments this end has sent before it.
    pub nth: u64,
    pub segment: Segment,
    pub fate: Fate,
}

/// Decides what becomes of a segment.
pub type Faults = Box<dyn FnMut(&Sent) -> Fate>;

pub struct Pair {
    pub ends: [Connection; 2],
    pub now: Instant,
    pub sent: Vec<Sent>,
    /// Events of each end with their times.
    pub events: [Vec<(Instant, Event)>; 2],
    /// Bytes that each end has received in order.
    pub delivered: [u64; 2],
    pub delay: Nanos,
    /// Largest payload on the link.
    pub mss: u32,
    /// Whether an end closes when its peer has closed.
    pub answers_close: [bool; 2],
    faults: Faults,
    port_free: [Instant; 2],
    counts: [u64; 2],
    /// Segments under way by arrival, then by order of sending.
    under_way: BTreeMap<(Instant, u64), (usize, Segment)>,
    under_way_to: [u32; 2],
    order: u64,
}

impl Pair {
    /// Two ends that are connected.
    pub fn established(config: Config) -> Pair {
        let config = Arc::new(config);
        let end = || Connection::established(Instant(0), Arc::clone(&config)).expect("a good configuration");
        Pair::of([end(), end()], config.mss)
    }

    /// A client, which has opened the connection, and a server.
    pub fn opening(client: Config, server: Config) -> Pair {
        let mss = client.mss;
        let mut client = Connection::new_client(client).expect("a good configuration");
        client.open();
        Pair::of([client, Connection::new_server(server).expect("a good configuration")], mss)
    }

    pub fn of(ends: [Connection; 2], mss: u32) -> Pair {
        Pair {
            ends,
            now: Instant(0),
            sent: Vec::new(),
            events: [Vec::new(), Vec::new()],
            delivered: [0; 2],
            delay: DELAY,
            mss,
            answers_close: [false; 2],
            faults: Box::new(|_| Fate::Arrives),
            port_free: [Instant(0); 2],
            counts: [0; 2],
            under_way: BTreeMap::new(),
            under_way_to: [0; 2],
            order: 0,
        }
    }

    #[must_use]
    pub fn with_faults(mut self, faults: impl FnMut(&Sent) -> Fate + 'static) -> Pair {
        self.faults = Box::new(faults);
        self
    }

    /// Loses the segments that end `from` sends in these places.
    #[must_use]
    pub fn losing(self, from: usize, places: &[u64]) -> Pair {
        let places = places.to_vec();
        self.with_faults(move |sent| {
            if sent.from == from && places.contains(&sent.nth) { Fate::IsLost } else { Fate::Arrives }
        })
    }

    pub fn write(&mut self, end: usize, bytes: u64) {
        assert_eq!(self.ends[end].write(bytes), bytes, "there is room");
    }

    pub fn close(&mut self, end: usize) {
        self.ends[end].close(self.now);
    }

    /// A segment that appears from nowhere.
    pub fn inject(&mut self, to: usize, segment: Segment) {
        self.ends[to].handle_segment(self.now, &segment);
        self.let_both_send();
    }

    /// Runs until nothing is left to happen, or until `end`.
    pub fn run_until(&mut self, end: Instant) {
        for _ in 0..STEPS_MAX {
            self.let_both_send();
            let Some(next) = self.next_event().filter(|next| *next <= end) else {
                if end < Instant(u64::MAX) {
                    self.now = self.now.max(end);
                }
                return;
            };
            self.now = next;
            while let Some(arrival) = self.under_way.first_entry().filter(|entry| entry.key().0 <= next) {
                let (to, segment) = arrival.remove();
                self.under_way_to[to] -= 1;
                self.ends[to].handle_segment(next, &segment);
                self.let_both_send();
            }
            for end in &mut self.ends {
                end.handle_timeout(next);
            }
        }
        panic!("it does not come to rest: {:?}", self.sent.last());
    }

    pub fn run_for(&mut self, span: Nanos) {
        self.run_until(self.now + span);
    }

    /// Runs until nothing is left to happen.
    pub fn run(&mut self) {
        self.run_until(Instant(u64::MAX));
    }

    pub fn state(&self, end: usize) -> State {
        self.ends[end].state()
    }

    /// What end `from` has sent.
    pub fn sent_by(&self, from: usize) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(move |sent| sent.from == from)
    }

    /// What end `from` has sent with data.
    pub fn data_of(&self, from: usize) -> Vec<Sent> {
        self.sent_by(from).filter(|sent| sent.segment.length > 0).copied().collect()
    }

    /// Acknowledgements without data.
    pub fn acks_of(&self, from: usize) -> Vec<Sent> {
        let is_ack =
            |sent: &&Sent| sent.segment.sequence_length() == 0 && sent.segment.flags.contains(Flags::ACK);
        self.sent_by(from).filter(is_ack).copied().collect()
    }

    /// How many segments of `from` had data that it had sent before.
    pub fn retransmissions(&self, from: usize) -> usize {
        let mut highest = 0;
        let mut count = 0;
        for sent in self.sent_by(from).filter(|sent| sent.segment.sequence_length() > 0) {
            count += usize::from(sent.segment.end() <= highest);
            highest = highest.max(sent.segment.end());
        }
        count
    }

    /// When this event happened first.
    pub fn time_of(&self, end: usize, wanted: impl Fn(&Event) -> bool) -> Option<Instant> {
        self.events[end].iter().find(|(_, event)| wanted(event)).map(|(at, _)| *at)
    }

    pub fn has_event(&self, end: usize, wanted: Event) -> bool {
        self.time_of(end, |event| *event == wanted).is_some()
    }

    fn next_event(&self) -> Option<Instant> {
        let arrival = self.under_way.first_key_value().map(|((at, _), _)| *at);
        for (index, end) in self.ends.iter().enumerate() {
            // A timer in the past would never let time go on.
            let timeout = end.next_timeout();
            assert!(timeout.is_none_or(|at| at > self.now), "end {index} at {:?}: {timeout:?}", self.now);
            let is_waiting = end.state().is_synchronized() && end.info(self.now).unacked > 0;
            let hears = self.under_way_to[index] > 0 || timeout.is_some();
            assert!(
                !is_waiting || hears,
                "end {index}, {:?}, is silent with data outstanding: {:?}",
                end.state(),
                end.info(self.now)
            );
        }
        arrival.into_iter().chain(self.ends.iter().filter_map(Connection::next_timeout)).min()
    }

    pub fn let_both_send(&mut self) {
        for from in 0..2 {
            self.let_send(from);
            while let Some(event) = self.ends[from].poll_event() {
                self.events[from].push((self.now, event));
                match event {
                    Event::Delivered(bytes) => self.delivered[from] += bytes,
                    Event::PeerClosed if self.answers_close[from] => {
                        self.ends[from].close(self.now);
                        self.let_send(from);
                    }
                    _ => {}
                }
            }
        }
    }

    fn let_send(&mut self, from: usize) {
        while let Some(segment) = self.ends[from].poll_transmit(self.now) {
            for piece in segment.split(self.mss) {
                self.send(from, piece);
            }
        }
    }

    fn send(&mut self, from: usize, segment: Segment) {
        let mut sent = Sent { at: self.now, from, nth: self.counts[from], segment, fate: Fate::Arrives };
        self.counts[from] += 1;
        sent.fate = (self.faults)(&sent);
        self.sent.push(sent);
        let bytes = u64::from(segment.length) + OVERHEAD_BYTES;
        self.port_free[from] = self.port_free[from].max(self.now) + Nanos(bytes);
        let at = self.port_free[from] + self.delay;
        match sent.fate {
            Fate::Arrives => self.arrive(at, from, segment),
            Fate::IsLost => {}
            Fate::IsLate(by) => self.arrive(at + by, from, segment),
            Fate::ArrivesTwice => {
                self.arrive(at, from, segment);
                self.arrive(at, from, segment);
            }
            Fate::IsMarked => {
                let mark =
                    if segment.codepoint == Codepoint::Ect0 { Codepoint::Ce } else { segment.codepoint };
                self.arrive(at, from, Segment { codepoint: mark, ..segment });
            }
        }
    }

    fn arrive(&mut self, at: Instant, from: usize, segment: Segment) {
        self.order += 1;
        self.under_way_to[1 - from] += 1;
        self.under_way.insert((at, self.order), (1 - from, segment));
    }
}

/// A small generator of random numbers (SplitMix64), so that one seed is one run.
pub struct Draw(pub u64);

impl Draw {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Uniform from 0 to 1, excluded.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
