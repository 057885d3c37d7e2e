//! SQR's multi-queue ring, without its queues: copies of the frames that recently left a port. They pass through the
//! egress pipeline again and again until they are old enough to be dropped or, if the link has failed, are sent on
//! another path in their original order (Algorithms 1 to 3 of the paper).
//!
//! For the paper's claims to hold, three details must differ from its algorithms; each has a test:
//! - An age of 0 ticks is 0. Algorithm 1 mistakes every difference that is not above 0 for a wrapped clock.
//! - The next expected number never decreases. Algorithm 3 resets it when copies leave in a different order than they
//!   arrived, and would then wait for one that is gone.
//! - A copy with a number below the expected one is dropped: a younger copy was dropped because of its age, so this one
//!   has arrived. Algorithm 3 does not mention this case, and Algorithm 2 would send the copy after the younger one.

use super::config::SqrConfig;
use crate::link::{Frame, PortId};
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A copy, or an original whose link had failed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Kept {
    pub(super) frame: Frame,
    /// When it first left or would have left.
    pub(super) left_at: Time,
    /// When the other end's port has all of it, unless it is lost.
    pub(super) arrives_at: Time,
    /// Whether the other end does not receive it over the failed link.
    pub(super) is_lost: bool,
    /// Whether it was never sent, because it arrived after the failure was detected.
    pub(super) is_held: bool,
}

/// What the egress pipeline does with a copy that passes through it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Pass {
    /// It is not old enough, and goes to the caching queue of the least loaded port.
    Again,
    /// It goes to the caching queue of the port from which it will leave, where copies that arrived in order stay in
    /// order.
    Waits,
    /// It is old enough, or known to have arrived.
    Dropped(Kept),
    /// It is sent on the other path.
    Released(Kept),
}

/// What the copies' switch knows about the primary port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Primary {
    Up,
    /// It has failed; whether there is another path yet.
    Down {
        has_way: bool,
    },
}

/// The copies of the frames of one port.
#[derive(Debug)]
pub(super) struct Ring {
    /// The delay time δ.
    delay: u64,
    clock_mask: u64,
    buffer_bytes: u64,
    /// By number, from `first_tag` on: the copies that are still here, each with its stamp.
    entries: VecDeque<Option<(Kept, u64)>>,
    first_tag: u64,
    /// The paper's NextPktTag.
    expected_tag: u64,
    /// Copies on their way to a caching queue: when they reach it, and which port it belongs to. Simultaneous ones are
    /// in the order of their numbers.
    on_the_way: BinaryHeap<Reverse<(Time, u64, PortId)>>,
    bytes: u64,
}

impl Ring {
    pub(super) fn new(config: &SqrConfig, delay: Time) -> Ring {
        let clock_mask = if config.clock_bits >= 64 { u64::MAX } else { (1 << config.clock_bits) - 1 };
        Ring {
            delay: ticks(delay),
            clock_mask,
            buffer_bytes: config.buffer_bytes,
            entries: VecDeque::new(),
            first_tag: 0,
            expected_tag: 0,
            on_the_way: BinaryHeap::new(),
            bytes: 0,
        }
    }

    /// Changes the delay time, also for existing copies.
    pub(super) fn set_delay(&mut self, delay: Time) {
        self.delay = ticks(delay);
    }

    /// Total length of the frames that are here.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Length of the frame with this number.
    pub(super) fn bytes_of(&self, tag: u64) -> u16 {
        let entry = tag.checked_sub(self.first_tag).and_then(|index| self.entries.get(index as usize));
        entry.and_then(|entry| *entry).map_or(0, |(kept, _)| kept.frame.bytes)
    }

    /// Whether there is room for another frame.
    pub(super) fn has_room(&self, bytes: u16) -> bool {
        self.bytes + u64::from(bytes) <= self.buffer_bytes
    }

    /// Accepts a frame, which reaches the caching queue of this port at `at`.
    pub(super) fn insert(&mut self, kept: Kept, at: Time, port: PortId) {
        let tag = self.first_tag + self.entries.len() as u64;
        let stamp = ticks(kept.left_at) & self.clock_mask;
        self.bytes += u64::from(kept.frame.bytes);
        self.entries.push_back(Some((kept, stamp)));
        self.on_the_way.push(Reverse((at, tag, port)));
    }

    /// When the next copy reaches a caching queue.
    pub(super) fn next_at(&self) -> Time {
        self.on_the_way.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    /// The next copy that has reached a caching queue: its number, and the port.
    pub(super) fn poll_queued(&mut self, now: Time) -> Option<(u64, PortId)> {
        if self.next_at() > now {
            return None;
        }
        let Reverse((_, tag, port)) = self.on_the_way.pop()?;
        Some((tag, port))
    }

    /// Passes the copy with this number. If it stays, [`Ring::send_back`] must be called next.
    pub(super) fn pass(&mut self, now: Time, tag: u64, primary: Primary) -> Option<Pass> {
        let index = (tag - self.first_tag) as usize;
        let (kept, stamp) = (*self.entries.get(index)?)?;
        // Algorithm 1.
        let age = (ticks(now) & self.clock_mask).wrapping_sub(stamp) & self.clock_mask;
        let is_delayed_enough = age >= self.delay;
        // Algorithms 2 and 3.
        let pass = match primary {
            Primary::Up if is_delayed_enough && !kept.is_held => {
                self.expected_tag = self.expected_tag.max(tag + 1);
                Pass::Dropped(kept)
            }
            Primary::Up => Pass::Again,
            Primary::Down { .. } if tag < self.expected_tag => Pass::Dropped(kept),
            Primary::Down { has_way: true }
                if tag == self.expected_tag && (is_delayed_enough || kept.is_held) =>
            {
                self.expected_tag += 1;
                Pass::Released(kept)
            }
            Primary::Down { .. } if is_delayed_enough || kept.is_held => Pass::Waits,
            Primary::Down { .. } => Pass::Again,
        };
        if !matches!(pass, Pass::Again | Pass::Waits) {
            self.bytes -= u64::from(kept.frame.bytes);
            self.entries[index] = None;
            while let Some(None) = self.entries.front() {
                self.entries.pop_front();
                self.first_tag += 1;
            }
        }
        Some(pass)
    }

    /// Sends the copy with this number to the caching queue of a port, which it reaches at `at`.
    pub(super) fn send_back(&mut self, tag: u64, at: Time, port: PortId) {
        self.on_the_way.push(Reverse((at, tag, port)));
    }

    /// All copies that are here.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Kept> {
        self.entries.iter_mut().flatten().map(|(kept, _)| kept)
    }
}

/// The switch's clock counts nanoseconds.
fn ticks(time: Time) -> u64 {
    time.0 / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::FlowId;
    use linkmend_protocol::Mode;

    const DELAY: Time = Time::from_nanos(30_000);
    const DOWN: Primary = Primary::Down { has_way: true };

    fn kept(id: u64, left_at: Time) -> Kept {
        let frame = Frame { id, flow: FlowId(0), bytes: 1_000, mode: Mode::Ordered, marked: false };
        Kept { frame, left_at, arrives_at: left_at, is_lost: false, is_held: false }
    }

    fn us(us: u64) -> Time {
        Time::from_nanos(us * 1_000)
    }

    fn ring(clock_bits: u32) -> Ring {
        Ring::new(&SqrConfig { clock_bits, ..SqrConfig::published() }, DELAY)
    }

    fn port() -> PortId {
        PortId::at(0)
    }

    /// Passes the next one, at its own time.
    fn pass(ring: &mut Ring, at: Time, primary: Primary) -> Option<(u64, Pass)> {
        let (tag, port) = ring.poll_queued(at)?;
        let pass = ring.pass(at, tag, primary)?;
        if matches!(pass, Pass::Again | Pass::Waits) {
            ring.send_back(tag, at + us(1), port);
        }
        Some((tag, pass))
    }

    #[test]
    fn copies_are_dropped_when_they_are_old_enough_even_where_the_clock_wraps() {
        for begin in [us(0), us(50), Time::from_nanos(65_535), us(1_000_000)] {
            let mut ring = ring(16);
            ring.insert(kept(7, begin), begin, port());
            let ages: Vec<u64> = (0..=30).map(|age| age * 1_000).collect();
            for age in ages {
                let (_, outcome) =
                    pass(&mut ring, begin + Time::from_nanos(age), Primary::Up).expect("one is here");
                assert_eq!(outcome == Pass::Again, age < 30_000, "{age} ns after {begin:?}");
            }
            assert!(ring.is_empty());
        }
    }

    #[test]
    fn what_leaves_out_of_order_does_not_stop_what_follows() {
        let mut ring = ring(32);
        for id in 0..3 {
            ring.insert(kept(id, us(id)), us(40 - id), port());
        }
        // Numbers 2 and 1 pass before 0, which a younger copy has overtaken; then the link fails.
        assert!(matches!(pass(&mut ring, us(38), Primary::Up), Some((2, Pass::Dropped(_)))));
        assert!(matches!(pass(&mut ring, us(39), Primary::Up), Some((1, Pass::Dropped(_)))));
        ring.set_delay(us(760));
        ring.insert(kept(3, us(40)), us(41), port());
        assert!(matches!(pass(&mut ring, us(40), DOWN), Some((0, Pass::Dropped(_)))), "it has arrived");
        assert!(matches!(pass(&mut ring, us(41), DOWN), Some((3, Pass::Again))), "it is not old enough");
        assert!(matches!(pass(&mut ring, us(800), DOWN), Some((3, Pass::Released(_)))));
        assert!(ring.is_empty());
    }

    #[test]
    fn released_frames_are_in_order_whatever_the_order_of_their_passes() {
        let mut ring = ring(32);
        for id in 0..10 {
            ring.insert(Kept { is_held: id >= 5, ..kept(id, us(id)) }, us(100 - 7 * (id % 3)), port());
        }
        let (mut at, mut released) = (us(100), Vec::new());
        while !ring.is_empty() {
            assert!(ring.next_at() <= at);
            if let Some((_, Pass::Released(kept))) = pass(&mut ring, at, DOWN) {
                released.push(kept.frame.id);
            }
            at += us(1);
        }
        assert_eq!(released, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_is_released_before_there_is_a_way_and_nothing_is_cached_without_room() {
        let mut ring = Ring::new(&SqrConfig { buffer_bytes: 2_500, ..SqrConfig::published() }, DELAY);
        ring.insert(kept(0, us(0)), us(1), port());
        assert!(ring.has_room(1_000));
        ring.insert(kept(1, us(0)), us(1), port());
        assert!(!ring.has_room(1_000));
        for at in 1..1_000 {
            let (_, outcome) =
                pass(&mut ring, us(at), Primary::Down { has_way: false }).expect("two are here");
            assert!(matches!(outcome, Pass::Again | Pass::Waits));
        }
        assert_eq!(ring.bytes(), 2_000);
    }
}
