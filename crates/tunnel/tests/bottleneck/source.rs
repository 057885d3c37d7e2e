//! Where the frames of the tunnel come from.

use super::{FRAME_BYTES, MS};
use std::collections::VecDeque;

/// A frame of the protocol without a host's data, and the time between two.
const DUMMY_BYTES: usize = 60;
const DUMMY_NS: u64 = 40 * MS;

/// The daemon's CoDel at a round trip of 100 ms, and when it begins.
const CODEL_TARGET_NS: u64 = 10 * MS;
const SETTLING_NS: u64 = 1_000 * MS;

/// What waits at most.
const QUEUE_BYTES: usize = 1 << 20;

pub enum Source {
    /// There is always a frame.
    Greedy,
    /// Hosts send at a rate of their own, whatever becomes of it.
    Fixed(Fixed),
}

/// Frames at a fixed rate, and where they wait.
pub struct Fixed {
    bytes: usize,
    interval_ns: u64,
    end_ns: u64,
    queue: VecDeque<u64>,
    pub offered: u64,
    pub dropped: u64,
    pub longest_wait_ns: u64,
    /// For how long at most frames had waited longer than CoDel lets them on a path of 100 ms, after the path was known for a
    /// second. Above 200 ms, it would drop some.
    pub longest_stand_ns: u64,
    standing_since: Option<u64>,
    known_at: u64,
    next_at: u64,
    dummy_at: u64,
}

impl Fixed {
    /// Frames from the first time to the second. Before and after, there are dummies.
    pub fn new(bytes: usize, interval_ns: u64, begin_ns: u64, end_ns: u64) -> Fixed {
        Fixed {
            bytes,
            interval_ns,
            end_ns,
            queue: VecDeque::new(),
            offered: 0,
            dropped: 0,
            longest_wait_ns: 0,
            longest_stand_ns: 0,
            standing_since: None,
            known_at: 0,
            next_at: begin_ns,
            dummy_at: 0,
        }
    }

    fn arrive(&mut self, now: u64) {
        while self.next_at <= now && self.next_at < self.end_ns {
            self.offered += 1;
            if (self.queue.len() + 1) * self.bytes <= QUEUE_BYTES {
                self.queue.push_back(self.next_at);
            } else {
                self.dropped += 1;
            }
            self.next_at += self.interval_ns;
        }
    }

    fn next(&mut self, now: u64, is_known: bool) -> Option<usize> {
        if !is_known {
            self.known_at = now + SETTLING_NS;
        }
        if let Some(arrived) = self.queue.pop_front() {
            self.longest_wait_ns = self.longest_wait_ns.max(now - arrived);
            let stands = now - arrived >= CODEL_TARGET_NS && now >= self.known_at;
            let since = stands.then(|| self.standing_since.unwrap_or(now));
            self.standing_since = since;
            self.longest_stand_ns = self.longest_stand_ns.max(since.map_or(0, |since| now - since));
            self.dummy_at = now + DUMMY_NS;
            return Some(self.bytes);
        }
        (now >= self.dummy_at).then(|| {
            self.dummy_at = now + DUMMY_NS;
            DUMMY_BYTES
        })
    }
}

impl Source {
    /// Takes what has come.
    pub fn arrive(&mut self, now: u64) {
        if let Source::Fixed(fixed) = self {
            fixed.arrive(now);
        }
    }

    /// The length of the next frame. `is_known`: what the path carries.
    pub fn next(&mut self, now: u64, is_known: bool) -> Option<usize> {
        match self {
            Source::Greedy => Some(FRAME_BYTES),
            Source::Fixed(fixed) => fixed.next(now, is_known),
        }
    }

    /// The length of a frame with a host's data.
    pub fn bytes(&self) -> usize {
        match self {
            Source::Greedy => FRAME_BYTES,
            Source::Fixed(fixed) => fixed.bytes,
        }
    }

    /// When the next one comes.
    pub fn next_arrival(&self, now: u64) -> u64 {
        let Source::Fixed(fixed) = self else { return u64::MAX };
        let dummy = if fixed.dummy_at > now { fixed.dummy_at } else { u64::MAX };
        if fixed.next_at < fixed.end_ns { fixed.next_at.min(dummy) } else { dummy }
    }

    /// What became of frames at a fixed rate.
    pub fn into_fixed(self) -> Fixed {
        match self {
            Source::Greedy => panic!("frames without end"),
            Source::Fixed(fixed) => fixed,
        }
    }
}
