//! One queue out of two: every loss pattern and every interleaving of a few frames, and what a link end is given.

use super::{Arrival, Merge, MergeConfig, Merged};
use crate::frame::{DataHeader, FrameHandle};
use crate::link_end::Control;
use crate::mode::{Mode, PerMode};
use crate::paths::Path;
use crate::sequence::{LongSequenceNumber, SequenceNumber};
use crate::session::SessionNumber;
use crate::time::{Instant, Ticks};
use std::vec::Vec;

const SESSION: SessionNumber = SessionNumber(7);
const WAIT: Ticks = Ticks(1_000);
const BYTES: u32 = 100;

fn first() -> u64 {
    SESSION.first_sequence(Mode::Ordered)
}

fn start() -> Control {
    Control::Start { session: SESSION, nonce: 1 }
}

fn dummy(stamp: u16, frames: u64) -> Control {
    let long = |mode: Mode, ahead| LongSequenceNumber::from_absolute(SESSION.first_sequence(mode) + ahead);
    Control::Dummy {
        session: SESSION,
        stamp,
        next: PerMode([long(Mode::Ordered, frames), long(Mode::NonBlocking, 0)]),
        held_from: PerMode([long(Mode::Ordered, 0), long(Mode::NonBlocking, 0)]),
    }
}

/// What a link end is given, in the order in which it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    Frame(u64),
    Dummy(u16),
}

/// A merge in a session, and what it has given to the link end.
struct World {
    merge: Merge,
    given: Vec<Given>,
    /// The first number that the link end lacks, from the first of the session.
    lacking: u64,
    released: usize,
}

impl World {
    fn new(joined: &[Path]) -> World {
        World::with(
            MergeConfig { is_shared: false, detection: WAIT, wait_max: WAIT, held_bytes_max: 10_000 },
            joined,
        )
    }

    fn with(config: MergeConfig, joined: &[Path]) -> World {
        let merge = Merge::new(config);
        let mut world = World { merge, given: Vec::new(), lacking: 0, released: 0 };
        world.merge.follow(Some(SESSION));
        joined.iter().for_each(|&path| world.merge.joins(path, &start()));
        world
    }

    fn give(&mut self, given: Given) {
        // While the link end knows of a hole, it finds later copies itself.
        if self.given.contains(&given) {
            return;
        }
        if let Given::Frame(number) = given {
            while self.lacking == number || self.given.contains(&Given::Frame(self.lacking)) {
                self.lacking += 1;
            }
        }
        self.given.push(given);
    }

    fn frame(&mut self, now: u64, path: Path, number: u64) -> Merged {
        let sequence = SequenceNumber::from_absolute(first() + number);
        let header = DataHeader { sequence, mode: Mode::Ordered, retransmitted: false, ack: None };
        let handle = FrameHandle(number as u32);
        let lacking = first() + self.lacking;
        let merged = self.merge.handle_data(Instant(now), path, &header, handle, BYTES, lacking);
        if merged == Merged::Pass {
            self.give(Given::Frame(number));
        }
        self.drain();
        merged
    }

    fn control(&mut self, now: u64, path: Path, control: Control) {
        if self.merge.handle_control(Instant(now), path, &control) {
            self.merge.joins(path, &control);
        }
        self.drain();
    }

    fn timeout(&mut self, now: u64) {
        self.merge.handle_timeout(Instant(now));
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(arrival) = self.merge.poll() {
            match arrival {
                Arrival::Frame { frame, .. } => self.give(Given::Frame(frame.0.into())),
                Arrival::Control { control: Control::Dummy { stamp, .. }, .. } => {
                    self.give(Given::Dummy(stamp));
                }
                Arrival::Control { .. } => {}
            }
        }
        while self.merge.poll_release().is_some() {
            self.released += 1;
        }
    }

    fn frames(&self) -> Vec<u64> {
        let number = |given: &Given| match given {
            Given::Frame(number) => Some(*number),
            Given::Dummy(_) => None,
        };
        self.given.iter().filter_map(number).collect()
    }
}

const BOTH: [Path; 2] = Path::ALL;
const FRAMES: u64 = 4;

/// Runs one order of arrivals: bit `n` of `order` says on which path the next of the 2 (FRAMES + 1) events happens. Every path
/// carries the frames and then a dummy; bits of `lost` say which of the frames it loses.
fn explore(lost: [u64; 2], order: u32) {
    let mut world = World::new(&BOTH);
    let mut sent = [0; 2];
    let mut passed = [0; 2];
    for event in 0..2 * (FRAMES + 1) {
        let path = BOTH[(order >> event & 1) as usize];
        let index = path as usize;
        let number = sent[index];
        sent[index] += 1;
        if number == FRAMES {
            world.control(event, path, dummy(1, FRAMES));
            passed[index] = FRAMES;
        } else if lost[index] >> number & 1 == 0 {
            world.frame(event, path, number);
            passed[index] = number + 1;
        }
        // A hole that the link end can see is one on both paths.
        let frames = world.frames();
        assert!(frames.is_sorted_by(|one, other| one < other), "{lost:?} {order:b}: {frames:?}");
        for number in (0..frames.last().copied().unwrap_or(0)).filter(|number| !frames.contains(number)) {
            let is_lost = (lost[0] & lost[1]) >> number & 1 == 1 && passed.iter().all(|&upto| upto > number);
            assert!(is_lost, "{lost:?} {order:b}: {number} seems lost in {frames:?}");
        }
        if world.given.iter().any(|given| matches!(given, Given::Dummy(_))) {
            assert_eq!(passed, [FRAMES; 2], "{lost:?} {order:b}: a dummy ahead of frames");
        }
    }
    let expected: Vec<u64> = (0..FRAMES).filter(|number| (lost[0] & lost[1]) >> number & 1 == 0).collect();
    assert_eq!(world.frames(), expected, "{lost:?} {order:b}");
    assert!(world.given.contains(&Given::Dummy(1)), "{lost:?} {order:b}");
    assert_eq!((world.merge.held_frames(), world.merge.next_timeout()), (0, None), "{lost:?} {order:b}");
}

#[test]
fn every_loss_pattern_in_every_order_is_one_queue() {
    let events = 2 * (FRAMES as u32 + 1);
    let orders: Vec<u32> = (0..1 << events).filter(|order: &u32| order.count_ones() == events / 2).collect();
    assert_eq!(orders.len(), 252);
    for lost in 0..1 << (2 * FRAMES) {
        let lost = [lost & ((1 << FRAMES) - 1), lost >> FRAMES];
        orders.iter().for_each(|&order| explore(lost, order));
    }
}

#[test]
fn a_hole_waits_for_the_other_path_and_not_longer_than_the_longest_wait() {
    let mut world = World::new(&BOTH);
    world.frame(0, Path::Primary, 0);
    assert_eq!(world.frame(10, Path::Primary, 2), Merged::Held);
    assert_eq!(world.merge.next_timeout(), Some(Instant(10 + WAIT.0)));
    world.timeout(10 + WAIT.0 - 1);
    assert_eq!(world.frames(), [0]);
    world.timeout(10 + WAIT.0);
    assert_eq!(world.frames(), [0, 2], "the link end sees the hole");
    assert!(world.merge.is_behind(Path::Backup));
    assert_eq!(world.frame(20 + WAIT.0, Path::Primary, 4), Merged::Held);
    assert_eq!(world.frames(), [0, 2, 4], "nothing waits for a path that is behind");
    assert_eq!(world.frame(30 + WAIT.0, Path::Backup, 1), Merged::Pass, "it fills the hole all the same");
}

#[test]
fn the_wait_is_what_the_path_has_taken() {
    let mut world = World::new(&BOTH);
    for number in 0..4 {
        world.frame(1_000 * number, Path::Primary, number);
        world.frame(1_000 * number + 100, Path::Backup, number);
    }
    assert_eq!(world.merge.longest_lag(Path::Backup), Ticks(100));
    world.frame(5_000, Path::Primary, 5);
    let wait = 100 + 100 / 4 + WAIT.0 / 16;
    assert_eq!(world.merge.next_timeout(), Some(Instant(5_000 + wait)));
    world.timeout(5_000 + wait);
    assert!(world.merge.is_behind(Path::Backup));
    // It is back in time.
    world.frame(6_000, Path::Primary, 6);
    world.frame(6_100, Path::Backup, 6);
    world.frame(7_000, Path::Primary, 7);
    world.frame(7_100, Path::Backup, 7);
    assert!(!world.merge.is_behind(Path::Backup));
}

#[test]
fn a_lost_carrier_ends_every_wait() {
    let mut world = World::new(&BOTH);
    world.frame(0, Path::Primary, 1);
    world.control(1, Path::Primary, dummy(1, 3));
    assert!(world.given.is_empty());
    world.merge.handle_failure(Path::Backup);
    world.drain();
    assert_eq!(world.given, [Given::Frame(1), Given::Dummy(1)]);
}

#[test]
fn a_path_that_has_not_joined_the_session_is_neither_believed_nor_waited_for() {
    let mut world = World::new(&[Path::Primary]);
    assert_eq!(world.frame(0, Path::Backup, 0), Merged::Drop);
    world.frame(1, Path::Primary, 1);
    assert_eq!(world.frames(), [1], "nothing waits");
    world.control(2, Path::Backup, dummy(1, 2));
    assert!(world.merge.has_joined(Path::Backup), "a dummy names the session");
    assert_eq!(world.frame(3, Path::Backup, 2), Merged::Pass);
}

/// The other path has carried nothing for more than an era: its numbers seem old until a dummy names the whole number.
#[test]
fn numbers_of_a_path_that_is_eras_behind_are_never_too_high() {
    for frames in [131_072, 140_000, 1_000_000] {
        let mut world = World::new(&BOTH);
        for number in 0..frames {
            let lacking = first() + number;
            let sequence = SequenceNumber::from_absolute(lacking);
            let header = DataHeader { sequence, mode: Mode::Ordered, retransmitted: false, ack: None };
            let merged = world.merge.handle_data(
                Instant(number),
                Path::Primary,
                &header,
                FrameHandle(0),
                BYTES,
                lacking,
            );
            assert_eq!(merged, Merged::Pass);
        }
        world.lacking = frames;
        let late = world.frame(frames, Path::Backup, frames);
        assert_eq!(late, Merged::Drop, "taken for an old one");
        world.control(frames, Path::Backup, dummy(1, frames));
        assert_eq!(world.frame(frames, Path::Backup, frames), Merged::Pass);
        assert_eq!(world.frame(frames, Path::Primary, frames), Merged::Drop);
    }
}

#[test]
fn a_single_number_far_ahead_is_not_believed() {
    let mut world = World::new(&BOTH);
    world.frame(0, Path::Primary, 0);
    assert_eq!(world.frame(1, Path::Primary, 3_000), Merged::Drop);
    assert_eq!(world.frame(2, Path::Primary, 1), Merged::Pass);
    assert_eq!(world.frame(3, Path::Primary, 3_001), Merged::Held, "the next one confirms it");
    assert_eq!(world.frame(4, Path::Primary, 40_000), Merged::Drop, "beyond the window");
}

#[test]
fn too_many_bytes_do_not_wait() {
    let mut world = World::new(&BOTH);
    for number in 1..=100 {
        world.frame(number, Path::Primary, number);
    }
    assert!(world.frames().is_empty());
    world.frame(101, Path::Primary, 101);
    assert_eq!(world.frames().len(), 101);
    assert_eq!(world.merge.stats().waits_given_up, [0, 1]);
}

#[test]
fn the_end_of_a_session_hands_on_what_waits_and_a_new_one_begins_without_it() {
    let mut world = World::new(&BOTH);
    world.frame(0, Path::Primary, 1);
    world.control(1, Path::Primary, Control::Fin { session: SESSION });
    assert_eq!(world.frames(), [1]);
    world.frame(2, Path::Primary, 3);
    world.merge.follow(None);
    world.drain();
    assert_eq!((world.frames(), world.released), (Vec::from([1]), 1));
    world.merge.follow(Some(SessionNumber(8)));
    world.merge.joins(Path::Primary, &start());
    assert!(!world.merge.has_joined(Path::Primary), "a start of the session before");
}

/// With frames on either path, a hole is one only when both have passed it, and a path is waited for until it fails.
#[test]
fn a_shared_path_is_waited_for_until_it_passes_or_fails() {
    let config =
        MergeConfig { is_shared: true, detection: WAIT, wait_max: WAIT * 100, held_bytes_max: 10_000 };
    let mut world = World::with(config, &BOTH);
    world.frame(0, Path::Primary, 1);
    assert_eq!(world.frames(), [1], "nothing has come on the other path yet");
    world.frame(1, Path::Backup, 2);
    world.frame(2, Path::Primary, 4);
    world.timeout(50 * WAIT.0);
    assert_eq!(world.frames(), [1, 2], "3 may be in flight");
    world.control(50 * WAIT.0, Path::Backup, dummy(0, 4));
    assert_eq!(world.frames(), [1, 2, 4], "the other path has passed it");
    world.frame(51 * WAIT.0, Path::Primary, 6);
    world.merge.handle_failure(Path::Backup);
    world.merge.handle_timeout(Instant(51 * WAIT.0));
    world.drain();
    assert_eq!(world.frames(), [1, 2, 4, 6]);
}

/// Only the path in use carries dummies at the beginning of a session.
#[test]
fn a_dummy_on_one_of_two_shared_paths_waits_a_detection_time() {
    let config =
        MergeConfig { is_shared: true, detection: WAIT, wait_max: WAIT * 100, held_bytes_max: 10_000 };
    let mut world = World::with(config, &BOTH);
    world.control(0, Path::Primary, dummy(1, 0));
    assert_eq!(world.given, [Given::Dummy(1)], "nothing has come on the other path yet");
    world.frame(1, Path::Backup, 0);
    world.control(2, Path::Primary, dummy(2, 1));
    assert_eq!(world.merge.next_timeout(), Some(Instant(2 + WAIT.0)));
    world.timeout(2 + WAIT.0);
    assert_eq!(world.given.last(), Some(&Given::Dummy(2)));
    assert!(!world.merge.is_behind(Path::Backup), "it may be as fast as ever");
}
