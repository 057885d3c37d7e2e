//! Two ends and a path between them, in virtual time.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use linkmend_tunnel::wire;
use linkmend_tunnel::{Endpoint, EndpointConfig, Handled, Identity, Reach, Role};
use std::net::SocketAddr;

pub const MS: u64 = 1_000_000;

/// What the path does to the datagrams from left to right. Those of the other direction are only delayed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    pub delay_ns: u64,
    pub loss_percent: u64,
    pub duplicate_percent: u64,
    pub reorder_percent: u64,
    /// How much later than others a datagram arrives that is overtaken.
    pub reorder_ns: u64,
}

#[derive(Debug)]
struct InFlight {
    at_ns: u64,
    place: u64,
    to_right: bool,
    from: SocketAddr,
    bytes: Vec<u8>,
}

pub struct World {
    pub now: u64,
    pub left: Endpoint,
    pub right: Endpoint,
    pub left_address: SocketAddr,
    pub right_address: SocketAddr,
    pub path: Path,
    pub delivered: Vec<Vec<u8>>,
    pub events: Vec<Handled>,
    in_flight: Vec<InFlight>,
    place: u64,
    random: u64,
    newest_frames: Vec<u8>,
    sent_at: Vec<u64>,
    longest_stay: u64,
}

/// A frame that says its number.
pub fn frame(number: u64, bytes: usize) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..bytes).map(|place| (place as u64 ^ number) as u8).collect();
    frame[14..22].copy_from_slice(&number.to_be_bytes());
    frame
}

pub fn number_of(frame: &[u8]) -> u64 {
    u64::from_be_bytes(*frame[14..].first_chunk().expect("a whole number"))
}

pub fn end(session: u64, now: u64, role: Role, reach: Reach) -> Endpoint {
    let identity = Identity { session, secret: (session, !session) };
    Endpoint::new(now, &EndpointConfig { identity, role, reach, is_controlled: true, seal_bytes: 0 })
}

impl World {
    /// The left end calls, and the right one listens.
    pub fn new(path: Path, seed: u64) -> World {
        let [left_address, right_address] = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 34997)));
        let mut left = end(11, 0, Role::Calls, Reach::Near);
        left.expect_at(0, [right_address]);
        World {
            now: 0,
            left,
            right: end(22, 0, Role::Listens, Reach::Near),
            left_address,
            right_address,
            path,
            delivered: Vec::new(),
            events: Vec::new(),
            in_flight: Vec::new(),
            place: 0,
            random: seed | 1,
            newest_frames: Vec::new(),
            sent_at: Vec::new(),
            longest_stay: 0,
        }
    }

    /// The ends have met, on a path that was good meanwhile.
    pub fn connected(path: Path, seed: u64) -> World {
        let mut world = World::new(Path { delay_ns: path.delay_ns, ..Path::default() }, seed);
        world.run(1_000 * MS);
        assert_eq!(world.left.peer(), Some(world.right_address));
        assert_eq!(world.right.peer(), Some(world.left_address));
        world.path = path;
        world
    }

    fn draw(&mut self, percent: u64) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % 100 < percent
    }

    /// Adds a frame to the datagrams of the left end.
    pub fn add(&mut self, frame: &[u8]) -> bool {
        let taken = self.left.push(frame.len(), [frame]);
        self.sent_at.push(self.now);
        taken == Ok(true)
    }

    pub fn send(&mut self, frame: &[u8]) {
        assert!(self.add(frame), "there is room");
        self.flush();
    }

    pub fn flush(&mut self) {
        self.left.close();
        let datagrams: Vec<Vec<u8>> = self.left.datagrams().map(<[u8]>::to_vec).collect();
        self.left.handle_sent(self.now, datagrams.len());
        for datagram in datagrams {
            self.newest_frames.clone_from(&datagram);
            self.carry(datagram);
        }
    }

    fn carry(&mut self, datagram: Vec<u8>) {
        let Path { loss_percent, duplicate_percent, reorder_percent, reorder_ns, .. } = self.path;
        if self.draw(loss_percent) {
            return;
        }
        for copy in 0..=u64::from(self.draw(duplicate_percent)) {
            let late = if self.draw(reorder_percent) { reorder_ns } else { 0 };
            self.put(self.path.delay_ns + late + copy, true, self.left_address, datagram.clone());
        }
    }

    fn put(&mut self, delay: u64, to_right: bool, from: SocketAddr, bytes: Vec<u8>) {
        self.place += 1;
        let at_ns = self.now + delay;
        self.in_flight.push(InFlight { at_ns, place: self.place, to_right, from, bytes });
    }

    /// The right end hears these bytes now.
    pub fn inject(&mut self, bytes: &[u8]) {
        self.put(0, true, self.left_address, bytes.to_vec());
    }

    /// The newest datagram with frames, again, from any address.
    pub fn replay(&mut self, from: SocketAddr) {
        self.put(0, true, from, self.newest_frames.clone());
    }

    /// What the right end has granted the left one.
    pub fn token_of_left(&mut self) -> u64 {
        self.send(&frame(0, 30));
        let datagram = self.newest_frames.clone();
        self.run(100 * MS);
        self.delivered.clear();
        wire::parse(&datagram).expect("it was written here").token
    }

    fn control(&mut self) {
        let mut left = Vec::new();
        while let Some((to, bytes)) = self.left.poll_control() {
            if to == self.right_address {
                left.push(bytes.to_vec());
            }
        }
        left.into_iter().for_each(|datagram| self.carry(datagram));
        let mut right = Vec::new();
        while let Some((to, bytes)) = self.right.poll_control() {
            if to == self.left_address {
                right.push(bytes.to_vec());
            }
        }
        let (delay, from) = (self.path.delay_ns, self.right_address);
        right.into_iter().for_each(|datagram| self.put(delay, false, from, datagram));
    }

    /// Lets time pass.
    pub fn run(&mut self, duration: u64) {
        let until = self.now + duration;
        loop {
            self.control();
            let next = self
                .in_flight
                .iter()
                .enumerate()
                .min_by_key(|(_, datagram)| (datagram.at_ns, datagram.place));
            let next = next.map(|(place, datagram)| (datagram.at_ns, place));
            let timer = self.left.next_timeout().min(self.right.next_timeout()).max(self.now + 1);
            let at = next.map_or(u64::MAX, |(at, _)| at).min(timer);
            if at > until {
                self.now = until;
                return;
            }
            self.now = at;
            let arrived =
                next.filter(|(arrives, _)| *arrives <= at).map(|(_, place)| self.in_flight.remove(place));
            self.turn(arrived);
        }
    }

    fn turn(&mut self, arrived: Option<InFlight>) {
        let World { now, left, right, delivered, events, sent_at, longest_stay, .. } = self;
        let mut deliver = |frame: &[u8]| {
            if let Some(sent) = frame.get(14..22).and_then(|_| sent_at.get(number_of(frame) as usize)) {
                *longest_stay = (*longest_stay).max(now.saturating_sub(*sent));
            }
            delivered.push(frame.to_vec());
        };
        match arrived {
            Some(InFlight { to_right: true, from, bytes, .. }) => {
                events.push(right.handle_datagram(*now, from, &bytes, false, &mut deliver));
            }
            Some(InFlight { from, bytes, .. }) => {
                left.handle_datagram(*now, from, &bytes, false, &mut |_| {});
            }
            None => {
                left.handle_timeout(*now, &mut |_| {});
                right.handle_timeout(*now, &mut deliver);
            }
        }
    }

    /// The longest time that a frame took.
    pub fn longest_stay_ns(&self) -> u64 {
        self.longest_stay
    }
}
