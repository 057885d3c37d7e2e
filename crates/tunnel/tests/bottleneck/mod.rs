//! A path with a bottleneck that drops what does not fit, for a link over UDP and connections of TCP, in virtual time.

pub mod source;

use linkmend_transport::Instant;
use linkmend_transport::tcp::{Algorithm, Config, Connection, Event, Segment};
use linkmend_tunnel::wire::{HEADER_BYTES, RECORD_BYTES};
use linkmend_tunnel::{Allowance, Congestion, Endpoint, EndpointConfig, Identity, Reach, Role};
use source::Source;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;
pub const FRAME_BYTES: usize = 1_150;
const PACKET_BYTES: usize = 28;
const PATH_MTU: usize = 1_500;
/// The length of a segment of TCP is that of a datagram with one frame.
const SEGMENT_BYTES: u32 = (FRAME_BYTES + HEADER_BYTES + RECORD_BYTES + PACKET_BYTES - TCP_BYTES) as u32;
const TCP_BYTES: usize = 52;

/// The bottleneck, and what comes behind it.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    pub rate_bps: u64,
    /// The round trip without a queue.
    pub round_trip_ns: u64,
    /// The buffer of the bottleneck in parts of the product of rate and round trip.
    pub buffer: f64,
    /// The share of packets that is lost behind the bottleneck, and on the way back.
    pub loss: f64,
    /// Up to so much longer takes each packet.
    pub jitter_ns: u64,
    pub has_tunnel: bool,
    pub ecn: Ecn,
    /// How many copies of each datagram that is lost the protocol sends, a round trip later and before all else.
    pub copies: usize,
}

/// What the bottleneck does with datagrams that it may mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// It drops what does not fit, as it does with all others.
    Unknown,
    /// Marks those that find a longer queue than this, in milliseconds.
    Above(u64),
    Dropped,
    AllMarked,
}

pub const PATH: Path = Path {
    rate_bps: 20_000_000,
    round_trip_ns: 40 * MS,
    buffer: 1.0,
    loss: 0.0,
    jitter_ns: 50_000,
    has_tunnel: true,
    ecn: Ecn::Unknown,
    copies: 0,
};

enum Packet {
    /// With whether a queue has marked it.
    Datagram(Vec<u8>, bool),
    Segment(usize, Segment),
}

/// What was observed in a stretch of time.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Bytes of the tunnel's frames that arrived, and bytes that each connection has delivered.
    pub frames_bytes: u64,
    pub connection_bytes: Vec<u64>,
    /// The shortest queue of each 100 ms.
    pub standing_ns: Vec<u64>,
    /// Packets that the bottleneck took and dropped.
    pub passed: u64,
    pub dropped: u64,
    /// Datagrams that it has marked.
    pub marked: u64,
}

impl Observed {
    /// The share of the capacity that the tunnel's frames had.
    pub fn utilisation(&self, path: &Path, duration_ns: u64) -> f64 {
        self.frames_bytes as f64 * 8e9 / duration_ns as f64 / path.rate_bps as f64
    }

    /// The mean of the standing queue, in milliseconds.
    pub fn standing_ms(&self) -> f64 {
        self.standing_ns.iter().sum::<u64>() as f64 / self.standing_ns.len().max(1) as f64 / 1e6
    }

    /// The standing queue that only a hundredth of the time exceeds.
    pub fn standing_most_ms(&self) -> f64 {
        let mut all = self.standing_ns.clone();
        all.sort_unstable();
        all.get(all.len() * 99 / 100).map_or(0.0, |ns| *ns as f64 / 1e6)
    }
}

pub struct World {
    pub now: u64,
    pub path: Path,
    pub left: Endpoint,
    right: Endpoint,
    addresses: [SocketAddr; 2],
    connections: Vec<[Connection; 2]>,
    in_flight: BTreeMap<(u64, u64), (bool, Packet)>,
    place: u64,
    free_at: u64,
    random: u64,
    observed: Observed,
    interval_ends: u64,
    shortest: u64,
    /// What the frames of the tunnel come from.
    pub source: Source,
    /// When copies are due.
    copies: VecDeque<u64>,
}

fn end(session: u64, role: Role) -> Endpoint {
    let identity = Identity { session, secret: (session, !session) };
    Endpoint::new(
        0,
        &EndpointConfig { identity, role, reach: Reach::Near, is_controlled: true, seal_bytes: 0 },
    )
}

fn connection(algorithm: Algorithm, seed: u64) -> [Connection; 2] {
    let config = Config {
        mss: SEGMENT_BYTES,
        algorithm,
        seed,
        receive_buffer: 1 << 28,
        send_buffer: 1 << 40,
        ..Config::default()
    };
    [0, 1].map(|_| Connection::established(Instant(0), config).expect("a good configuration"))
}

impl World {
    pub fn new(path: Path, seed: u64, algorithms: &[Algorithm]) -> World {
        let addresses = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 34997)));
        let mut left = end(11, Role::Calls);
        left.expect_at(0, [addresses[1]]);
        World {
            now: 0,
            path,
            left,
            right: end(22, Role::Listens),
            addresses,
            connections: (seed..)
                .zip(algorithms)
                .map(|(seed, algorithm)| connection(*algorithm, seed))
                .collect(),
            in_flight: BTreeMap::new(),
            place: 0,
            free_at: 0,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            observed: Observed::default(),
            interval_ends: 0,
            shortest: u64::MAX,
            source: Source::Greedy,
            copies: VecDeque::new(),
        }
    }

    fn draw(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn queue_ns(&self) -> u64 {
        self.free_at.saturating_sub(self.now)
    }

    /// Returns whether it arrives.
    fn forward(&mut self, packet: Packet, bytes: usize) -> bool {
        let time_of = |bytes: f64| (bytes * 8e9 / self.path.rate_bps as f64) as u64;
        let buffer_ns = (self.path.buffer * self.path.round_trip_ns as f64) as u64;
        let took = time_of(bytes as f64);
        if self.queue_ns() + took > buffer_ns || bytes > PATH_MTU {
            self.observed.dropped += 1;
            return false;
        }
        self.observed.passed += 1;
        self.free_at = self.free_at.max(self.now) + took;
        if self.draw() < self.path.loss {
            return false;
        }
        let jitter = (self.draw() * self.path.jitter_ns as f64) as u64;
        let at = self.free_at + self.path.round_trip_ns / 2 + jitter;
        self.put(at, true, packet);
        true
    }

    fn backward(&mut self, packet: Packet) {
        if self.draw() >= self.path.loss {
            self.put(self.now + self.path.round_trip_ns / 2, false, packet);
        }
    }

    fn put(&mut self, at: u64, is_forward: bool, packet: Packet) {
        self.place += 1;
        // A queue does not reorder.
        let last = self.in_flight.range(..).next_back().map_or(0, |((at, _), _)| *at);
        let at = if is_forward { at.max(self.now).max(last.min(at)) } else { at };
        self.in_flight.insert((at, self.place), (is_forward, packet));
    }

    /// Lets time pass, in which there is always something to send, and returns what was observed.
    pub fn run(&mut self, duration: u64) -> Observed {
        let until = self.now + duration;
        self.observed = Observed { connection_bytes: vec![0; self.connections.len()], ..Observed::default() };
        while self.now < until {
            self.send();
            let arrival = self.in_flight.first_key_value().map(|((at, _), _)| *at);
            let mut next = arrival.unwrap_or(u64::MAX).min(until);
            if self.path.has_tunnel {
                next = next.min(self.left.next_timeout()).min(self.right.next_timeout());
                next = next
                    .min(self.left.opens_at().unwrap_or(u64::MAX))
                    .min(self.source.next_arrival(self.now))
                    .min(self.copies.front().copied().filter(|due| *due > self.now).unwrap_or(u64::MAX));
            }
            let ends = self.connections.iter().flatten();
            let timer = ends.filter_map(Connection::next_timeout).map(|at| at.0).min();
            self.now = next.min(timer.unwrap_or(u64::MAX)).max(self.now + 1);
            self.note();
            self.turn();
        }
        std::mem::take(&mut self.observed)
    }

    fn note(&mut self) {
        self.shortest = self.shortest.min(self.queue_ns());
        if self.now >= self.interval_ends {
            self.observed.standing_ns.push(self.shortest);
            (self.shortest, self.interval_ends) = (u64::MAX, self.now + 100 * MS);
        }
    }

    fn turn(&mut self) {
        while let Some(entry) = self.in_flight.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (is_forward, packet) = entry.remove();
            let World { now, left, right, addresses, observed, connections, .. } = self;
            match packet {
                Packet::Datagram(bytes, is_marked) if is_forward => {
                    let mut deliver = |frame: &[u8]| observed.frames_bytes += frame.len() as u64;
                    right.handle_datagram(*now, addresses[0], &bytes, is_marked, &mut deliver);
                }
                Packet::Datagram(bytes, _) => {
                    left.handle_datagram(*now, addresses[1], &bytes, false, &mut |_| {});
                }
                Packet::Segment(nth, segment) => {
                    connections[nth][usize::from(is_forward)].handle_segment(Instant(*now), &segment);
                }
            }
        }
        let World { now, left, right, observed, .. } = self;
        left.handle_timeout(*now, &mut |_| {});
        right.handle_timeout(*now, &mut |frame| observed.frames_bytes += frame.len() as u64);
        for end in self.connections.iter_mut().flatten() {
            end.handle_timeout(Instant(self.now));
        }
    }

    fn send(&mut self) {
        if self.path.has_tunnel {
            self.send_datagrams();
        }
        for nth in 0..self.connections.len() {
            self.connections[nth][0].write(1 << 20);
            for from in 0..2 {
                while let Some(segment) = self.connections[nth][from].poll_transmit(Instant(self.now)) {
                    for piece in segment.split(SEGMENT_BYTES) {
                        let bytes = piece.length as usize + TCP_BYTES;
                        match from {
                            0 => drop(self.forward(Packet::Segment(nth, piece), bytes)),
                            _ => self.backward(Packet::Segment(nth, piece)),
                        }
                    }
                }
                while let Some(event) = self.connections[nth][from].poll_event() {
                    if let Event::Delivered(bytes) = event {
                        self.observed.connection_bytes[nth] += bytes;
                    }
                }
            }
        }
    }

    /// Lets the protocol send so many frames again.
    pub fn resend(&mut self, frames: usize) {
        self.copies.extend(std::iter::repeat_n(self.now, frames));
    }

    /// Adds copies and then frames to the datagrams, each of which carries one. Returns how many are copies.
    fn fill_datagrams(&mut self) -> usize {
        self.source.arrive(self.now);
        let mut copies = 0;
        let is_known = self.left.congestion().is_some_and(Congestion::is_settled);
        while self.left.peer().is_some() && self.left.room(FRAME_BYTES) > 0 {
            let allowance = self.left.allowance();
            let has_copy = self.copies.front().is_some_and(|due| *due <= self.now);
            let bytes = if has_copy && allowance >= Allowance::Urgent {
                self.copies.pop_front();
                copies += 1;
                Some(self.source.bytes())
            } else if !has_copy && allowance == Allowance::Everything {
                self.source.next(self.now, is_known)
            } else {
                None
            };
            let Some(bytes) = bytes else { break };
            self.left.push(bytes, [&*vec![1; bytes]]).expect("there is room");
            self.left.close();
        }
        copies
    }

    fn send_datagrams(&mut self) {
        let copies = self.fill_datagrams();
        let datagrams: Vec<Vec<u8>> = self.left.datagrams().map(<[u8]>::to_vec).collect();
        let is_markable = self.left.is_markable();
        self.left.handle_sent(self.now, datagrams.len());
        let mut control = Vec::new();
        while let Some((_, bytes)) = self.left.poll_control() {
            control.push(bytes.to_vec());
        }
        for (place, datagram) in datagrams.into_iter().enumerate() {
            let bytes = datagram.len() + PACKET_BYTES;
            let is_marked = match self.path.ecn {
                _ if !is_markable => false,
                Ecn::Unknown => false,
                Ecn::Above(ms) => self.queue_ns() > ms * MS,
                Ecn::AllMarked => true,
                Ecn::Dropped => continue,
            };
            self.observed.marked += u64::from(is_marked);
            let arrives = self.forward(Packet::Datagram(datagram, is_marked), bytes);
            // Dummies are not sent again.
            if !arrives && place >= copies && bytes > self.source.bytes() {
                let due = self.now + self.path.round_trip_ns + self.queue_ns();
                self.copies.extend(std::iter::repeat_n(due, self.path.copies));
            }
        }
        for datagram in control {
            let bytes = datagram.len() + PACKET_BYTES;
            self.forward(Packet::Datagram(datagram, false), bytes);
        }
        let mut back = Vec::new();
        while let Some((_, bytes)) = self.right.poll_control() {
            back.push(bytes.to_vec());
        }
        back.into_iter().for_each(|datagram| self.backward(Packet::Datagram(datagram, false)));
    }
}
