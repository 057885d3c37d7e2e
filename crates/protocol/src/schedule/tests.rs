//! The policy against link ends that say what the test wants.

use super::*;
use crate::config::Config;
use crate::mode::PerMode;
use crate::stats::BufferStats;
use crate::time::Tick;
use crate::trace::Record;
use crate::{Copies, Protection};
use std::vec::Vec;

const ORDERED_HELD: PerMode<bool> = PerMode([true, false]);
const LIMITS: QueueLimits = QueueLimits { class_frames: 1_536, frames: 2_048, ..QueueLimits::UNLIMITED };

fn ordered(bytes: u32) -> Waiting<u32> {
    Waiting { frame: 0, bytes, mode: Mode::Ordered }
}

fn frame(frame: u32, mode: Mode) -> Waiting<u32> {
    Waiting { frame, bytes: 100, mode }
}

/// A transmitter with this many urgent and idle frames, which holds the modes that it is told to.
#[derive(Default)]
struct Script {
    urgent: u32,
    idle: u32,
    held: PerMode<bool>,
    /// Whether a class that is held waits for its lane.
    one_lane: bool,
    asked_urgent: u32,
}

impl Transmitter for Script {
    type Transmit = u32;

    fn poll_urgent(&mut self, _: Instant) -> Option<u32> {
        self.asked_urgent += 1;
        self.urgent = self.urgent.checked_sub(1)?;
        Some(self.urgent)
    }

    fn admission(&self, mode: Mode, bytes: u32) -> Admission {
        match self.held[mode] {
            true => Admission::Held,
            false if bytes > 1_000 => Admission::Unprotected,
            false => Admission::Protected,
        }
    }

    fn poll_idle(&mut self, _: Instant) -> Option<u32> {
        self.idle = self.idle.checked_sub(1)?;
        Some(self.idle)
    }

    fn waits_for_lane(&self, mode: Mode) -> bool {
        self.one_lane && self.held[mode]
    }
}

fn sent(end: &mut Script, queues: &mut ClassQueues<u32>, room: PortRoom) -> Vec<Next<u32, u32>> {
    let mut round = Round::new(Instant(0));
    core::iter::from_fn(|| round.next(end, queues, room)).collect()
}

#[test]
fn marks_above_the_threshold_and_drops_at_the_limit() {
    let limits = QueueLimits { class_bytes: 4_000, ecn_bytes: 2_000, ..LIMITS };
    let mut queues = ClassQueues::new(limits);
    assert_eq!(queues.arrival(Mode::Ordered, 1_500), Arrival::Queue);
    queues.push(ordered(1_500));
    queues.push(ordered(500));
    assert_eq!(queues.arrival(Mode::Ordered, 1_500), Arrival::Queue, "at the threshold is not above it");
    queues.push(ordered(1));
    assert_eq!(queues.arrival(Mode::Ordered, 1_500), Arrival::Mark);
    queues.push(ordered(499));
    assert_eq!(queues.arrival(Mode::Ordered, 1_500), Arrival::Mark, "exactly full is not too full");
    assert_eq!(queues.arrival(Mode::Ordered, 1_501), Arrival::Drop);
    queues.pop(Mode::Ordered);
    let BufferStats { now, frames, min, max } = *queues.buffer();
    assert_eq!((now, frames, min, max), (1_000, 3, 0, 2_500));
    assert_eq!((queues.bytes_max(Mode::Ordered), queues.bytes_max(Mode::NonBlocking)), (2_500, 0));
    queues.reset_extremes();
    assert_eq!((queues.buffer().min, queues.buffer().max), (1_000, 1_000));
    assert_eq!(queues.arrival(Mode::Ordered, 3_000), Arrival::Queue, "what has left takes no room");
    queues.push(ordered(1));
    assert_eq!(queues.bytes_max(Mode::Ordered), 2_500, "that was more");
}

#[test]
fn a_single_frame_above_the_limit_still_passes() {
    let mut queues = ClassQueues::new(QueueLimits { class_bytes: 1_000, ..LIMITS });
    assert_eq!(queues.arrival(Mode::Ordered, 9_000), Arrival::Queue);
    queues.push(ordered(9_000));
    assert_eq!(queues.arrival(Mode::Ordered, 1), Arrival::Drop);
    assert_eq!(queues.arrival(Mode::NonBlocking, 9_000), Arrival::Queue);
}

/// A regression: one queue for both classes let a paused ordered frame hold everything behind it.
#[test]
fn a_class_that_is_held_neither_holds_the_other_nor_takes_its_places() {
    let mut queues = ClassQueues::new(QueueLimits { class_bytes: 1 << 20, ecn_bytes: 100_000, ..LIMITS });
    while queues.arrival(Mode::Ordered, 600) != Arrival::Drop {
        queues.push(ordered(600));
    }
    assert_eq!(queues.arrival(Mode::NonBlocking, 600), Arrival::Queue, "neither dropped nor marked");
    queues.push(frame(1, Mode::NonBlocking));
    queues.push(frame(2, Mode::NonBlocking));
    let mut end = Script { held: ORDERED_HELD, idle: 1, ..Script::default() };
    let next = sent(&mut end, &mut queues, PortRoom::All);
    let [Next::Normal(first, _), Next::Normal(second, _), Next::Idle(_)] = next[..] else {
        panic!("two frames, and then the port is idle: {next:?}")
    };
    assert_eq!([first.frame, second.frame], [1, 2]);
    assert!(!has_next(&end, &queues) && !queues.is_empty());
}

/// Takes frames until none may go, and returns their classes and lengths.
fn order(end: &mut Script, queues: &mut ClassQueues<u32>) -> Vec<(Mode, u32)> {
    let class = |next| match next {
        Next::Normal(waiting, _) => (waiting.mode, waiting.bytes),
        other => panic!("only normal frames wait: {other:?}"),
    };
    sent(end, queues, PortRoom::All).into_iter().map(class).collect()
}

/// Frames of both classes wait, and those of one are four times as long.
#[test]
fn classes_that_may_both_go_share_the_port_by_bytes() {
    let mut queues = ClassQueues::new(LIMITS);
    (0..100).for_each(|_| queues.push(Waiting { frame: 0, bytes: 800, mode: Mode::NonBlocking }));
    (0..400).for_each(|_| queues.push(Waiting { frame: 0, bytes: 200, mode: Mode::Ordered }));
    let order = order(&mut Script::default(), &mut queues);
    assert_eq!(order.len(), 500);
    let (mut ordered, mut non_blocking) = (0, 0);
    for (mode, bytes) in &order[..495] {
        *(if *mode == Mode::Ordered { &mut ordered } else { &mut non_blocking }) += i64::from(*bytes);
        assert!((ordered - non_blocking).abs() <= 800, "{ordered} and {non_blocking} bytes");
    }
}

#[test]
fn a_frame_that_leaves_none_behind_takes_no_turn() {
    for alone in Mode::ALL {
        let mut queues = ClassQueues::new(LIMITS);
        let before = *queues.turns();
        queues.push(frame(0, alone));
        assert_eq!(order(&mut Script::default(), &mut queues), [(alone, 100)]);
        assert_eq!(*queues.turns(), before);
    }
}

#[test]
fn a_rarely_used_class_does_not_wait_behind_the_backlog_of_the_other() {
    for rare in Mode::ALL {
        let mut queues = ClassQueues::new(LIMITS);
        (0..1_000).for_each(|number| queues.push(frame(number, rare.other())));
        let mut end = Script::default();
        for _ in 0..50 {
            queues.push(frame(0, rare));
            let mut round = Round::new(Instant(0));
            let mut next = || match round.next(&mut end, &mut queues, PortRoom::All) {
                Some(Next::Normal(waiting, _)) => waiting.mode,
                other => panic!("frames wait: {other:?}"),
            };
            let modes = [next(), next()];
            assert!(modes.contains(&rare), "{rare}: {modes:?}");
            (0..7).for_each(|_| assert_eq!(next(), rare.other()));
        }
    }
}

/// While a class is held, the other one uses the port alone. Afterwards they share it again immediately.
#[test]
fn a_class_that_was_held_may_catch_up_by_one_frame_at_most() {
    for (held, holds) in [(Mode::Ordered, ORDERED_HELD), (Mode::NonBlocking, PerMode([false, true]))] {
        let mut queues = ClassQueues::new(LIMITS);
        (0..1_000).for_each(|number| queues.push(frame(number, held.other())));
        let mut end = Script { held: holds, ..Script::default() };
        (0..100).for_each(|number| queues.push(frame(number, held)));
        let mut round = Round::new(Instant(0));
        for _ in 0..500 {
            let next = round.next(&mut end, &mut queues, PortRoom::All);
            let Some(Next::Normal(waiting, _)) = next else { panic!("frames wait: {next:?}") };
            assert_eq!(waiting.mode, held.other());
        }
        end.held = PerMode::default();
        let order = order(&mut end, &mut queues);
        for three in order[..200].windows(3) {
            assert!(three.iter().any(|(mode, _)| *mode == held.other()), "{held}: {order:?}");
        }
    }
}

/// The authors' headers use one lane at a time.
#[test]
fn a_class_that_waits_for_its_lane_lets_32_frames_pass() {
    let mut queues = ClassQueues::new(LIMITS);
    (0..100).for_each(|number| queues.push(frame(number, Mode::NonBlocking)));
    let mut end = Script { held: ORDERED_HELD, one_lane: true, ..Script::default() };
    assert!(has_next(&end, &queues));
    let mut round = Round::new(Instant(0));
    let passed = |queues: &mut ClassQueues<u32>, round: &mut Round, end: &mut Script| {
        core::iter::from_fn(|| round.next(end, queues, PortRoom::All)).count()
    };
    (0..10).for_each(|_| assert!(round.next(&mut end, &mut queues, PortRoom::All).is_some()));
    queues.push(frame(0, Mode::Ordered));
    (0..16).for_each(|_| assert!(round.next(&mut end, &mut queues, PortRoom::All).is_some()));
    queues.push(frame(1, Mode::Ordered));
    let left = passed(&mut queues, &mut round, &mut end);
    assert_eq!(left, 32 - 16, "neither those that left before count, nor those that wait behind it");
    // Its lane is free now, and the other class waits for its own.
    end.held = PerMode([false, true]);
    (0..100).for_each(|number| queues.push(frame(number, Mode::Ordered)));
    let mut round = Round::new(Instant(0));
    assert_eq!(passed(&mut queues, &mut round, &mut end), 32);
    // What waits next is overtaken by as many again.
    end.held = ORDERED_HELD;
    let mut round = Round::new(Instant(0));
    assert_eq!(passed(&mut queues, &mut round, &mut end), 32);
}

/// Holds ordered frames, and has lanes that do not wait for each other.
struct Lanes;

impl Transmitter for Lanes {
    type Transmit = u32;

    fn poll_urgent(&mut self, _: Instant) -> Option<u32> {
        None
    }

    fn admission(&self, mode: Mode, _: u32) -> Admission {
        if mode == Mode::Ordered { Admission::Held } else { Admission::Protected }
    }

    fn poll_idle(&mut self, _: Instant) -> Option<u32> {
        None
    }
}

#[test]
fn a_class_that_waits_for_no_lane_lets_any_number_of_frames_pass() {
    let mut queues = ClassQueues::new(LIMITS);
    queues.push(frame(0, Mode::Ordered));
    (0..100).for_each(|number| queues.push(frame(number, Mode::NonBlocking)));
    let mut round = Round::new(Instant(0));
    let passed = core::iter::from_fn(|| round.next(&mut Lanes, &mut queues, PortRoom::All)).count();
    assert_eq!(passed, 100);
}

#[test]
fn both_classes_together_stay_within_their_frames() {
    let mut queues = ClassQueues::new(LIMITS);
    for mode in Mode::ALL {
        while queues.arrival(mode, 64) != Arrival::Drop {
            queues.push(frame(0, mode));
        }
    }
    assert_eq!(queues.buffer().frames, 2_048);
    assert_eq!(queues.frames(Mode::Ordered), 1_536);
}

#[test]
fn urgent_frames_go_first_and_idle_ones_only_when_no_normal_one_may() {
    let mut queues = ClassQueues::new(LIMITS);
    queues.push(frame(7, Mode::Ordered));
    queues.push(Waiting { frame: 8, bytes: 1_500, mode: Mode::NonBlocking });
    let mut end = Script { urgent: 2, idle: 2, ..Script::default() };
    assert_eq!(sent(&mut end, &mut queues, PortRoom::None), []);
    assert_eq!(sent(&mut end, &mut queues, PortRoom::Urgent), [Next::Urgent(1), Next::Urgent(0)]);
    end.urgent = 1;
    let expected = [
        Next::Urgent(0),
        Next::Normal(frame(7, Mode::Ordered), Admission::Protected),
        Next::Normal(Waiting { frame: 8, bytes: 1_500, mode: Mode::NonBlocking }, Admission::Unprotected),
        Next::Idle(1),
        Next::Idle(0),
    ];
    end.asked_urgent = 0;
    assert_eq!(sent(&mut end, &mut queues, PortRoom::All), expected);
    assert_eq!(end.asked_urgent, 2, "once more than it had something, whatever followed");
}

/// A port that has room only for urgent frames is a busy link: dummies and ACKs would take the place of frames that
/// wait.
#[test]
fn frames_for_an_idle_port_do_not_go_to_a_nearly_full_one() {
    let mut queues = ClassQueues::new(LIMITS);
    let mut end = Script { idle: 1, ..Script::default() };
    assert_eq!(sent(&mut end, &mut queues, PortRoom::Urgent), []);
    assert_eq!(sent(&mut end, &mut queues, PortRoom::All), [Next::Idle(0)]);
}

/// A driver may write down what happens: the policy asks the recorded link end for the same frames.
#[test]
fn a_recorded_link_end_sends_what_one_by_itself_does() {
    fn transmits(end: &mut impl Schedulable) -> usize {
        let mut transmits = 0;
        let mut queues = ClassQueues::<u32>::new(LIMITS);
        let mut round = Round::new(Instant(1));
        while let Some(next) = round.next(end, &mut queues, PortRoom::All) {
            transmits += usize::from(matches!(next, Next::Urgent(_) | Next::Idle(_)));
        }
        transmits
    }
    let end = || {
        let mut end = LinkEnd::new(Config::new(Tick::Nanosecond), 7).expect("valid");
        end.protect(Instant(1), Protection { copies: Copies::Fixed(1) });
        end
    };
    let mut recorded = TracedLinkEnd::new(end(), Some(Vec::<Record>::new()));
    let alone = transmits(&mut end());
    assert!(alone > 0, "it has something to say");
    assert_eq!(transmits(&mut recorded), alone);
    assert!(recorded.sink_mut().expect("given").len() >= alone);
}
