//! Compares the receiver with a naive model: ordered maps and sets instead of a ring of slots.

use super::*;
use crate::frame::{LaneFeedback, RANGES_MAX, SequenceRange};
use crate::time::Ticks;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::vec::Vec;

const WINDOW: u64 = 16;
const BUFFER_BYTES: u64 = 1_000;
const TIMEOUT: u64 = 50;
const BYTES: u32 = 100;

struct Model {
    mode: Mode,
    slides: bool,
    deliver: u64,
    highest: u64,
    missing: BTreeMap<u64, u64>,
    buffered: BTreeSet<u64>,
}

impl Model {
    /// Gives up what would lie more than a window before `next`; what was buffered behind it is delivered first.
    fn slide(&mut self, next: u64) {
        if !self.slides || next > self.highest + WINDOW {
            return;
        }
        while self.cumulative() + WINDOW < next {
            self.missing.pop_first();
        }
        if self.deliver + WINDOW < next {
            self.deliver = self.cumulative();
        }
    }

    fn reveal(&mut self, now: u64, next: u64) -> bool {
        self.slide(next);
        if next > self.deliver + WINDOW {
            return false;
        }
        for sequence in self.highest..next {
            self.missing.insert(sequence, now);
        }
        self.highest = self.highest.max(next);
        true
    }

    fn data(&mut self, now: u64, sequence: u64) -> Verdict {
        if !self.reveal(now, sequence + 1) {
            return Verdict::OutOfWindow;
        }
        if !self.missing.contains_key(&sequence) {
            return Verdict::Duplicate;
        }
        let waits_for_others = self.buffered.first().is_some_and(|&first| first < self.deliver);
        let turn = self.mode == Mode::NonBlocking || sequence == self.deliver && !waits_for_others;
        if !turn && (self.buffered.len() as u64 + 1) * u64::from(BYTES) > BUFFER_BYTES {
            return Verdict::Overflow;
        }
        self.missing.remove(&sequence);
        if !turn {
            self.buffered.insert(sequence);
            return Verdict::Buffered;
        }
        if self.mode == Mode::NonBlocking {
            self.deliver = self.cumulative();
        } else {
            self.deliver += 1;
        }
        Verdict::Deliver
    }

    fn timeout(&mut self, now: u64) {
        while let Some((&sequence, &since)) = self.missing.first_key_value() {
            if now < since + TIMEOUT {
                break;
            }
            self.missing.remove(&sequence);
        }
        if self.mode == Mode::NonBlocking {
            self.deliver = self.cumulative();
        }
    }

    fn poll(&mut self) -> Option<u64> {
        let cumulative = self.cumulative();
        let next = self.buffered.first().copied().filter(|&sequence| sequence < cumulative);
        match next {
            Some(sequence) => {
                self.buffered.remove(&sequence);
                self.deliver = self.deliver.max(sequence + 1);
            }
            None => self.deliver = cumulative,
        }
        next
    }

    fn cumulative(&self) -> u64 {
        self.missing.first_key_value().map_or(self.highest, |(&sequence, _)| sequence)
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// A frame this far from the highest number seen.
    Data(i64),
    Announce(i64),
    Wait(u64),
    Poll,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (-20i64..24).prop_map(Step::Data),
        4 => Just(Step::Data(0)),
        1 => (-4i64..20).prop_map(Step::Announce),
        1 => (1u64..60).prop_map(Step::Wait),
        2 => Just(Step::Poll),
    ]
}

fn missing_of(feedback: &LaneFeedback, reference: u64) -> Vec<u64> {
    let runs = feedback.missing().flat_map(|range| {
        let first = range.first.expand(reference).expect("near");
        first..first + u64::from(range.length)
    });
    runs.collect()
}

const LIMITS: ReceiverLimits = ReceiverLimits {
    buffer_bytes: BUFFER_BYTES,
    pause_bytes: 500,
    resume_bytes: 100,
    recovery_timeout: Ticks(TIMEOUT),
    by_clock: true,
    by_clock_alone: true,
    plausible_ahead: u64::MAX,
    slides: false,
    resends: false,
    clock_yields: false,
};

fn run(mode: Mode, slides: bool, first: u64, steps: &[Step]) {
    let mut stats = Stats::default();
    let mut receiver = Receiver::new(mode, WINDOW as u32, ReceiverLimits { slides, ..LIMITS });
    receiver.start(first, &mut stats);
    let mut model = Model {
        mode,
        slides,
        deliver: first,
        highest: first,
        missing: BTreeMap::new(),
        buffered: BTreeSet::new(),
    };
    let mut now = 0;
    for step in steps {
        match *step {
            Step::Data(offset) => {
                let sequence = model.highest.saturating_add_signed(offset);
                let wire = SequenceNumber::from_absolute(sequence);
                let verdict = if receiver.accept_next(wire) {
                    Verdict::Deliver
                } else {
                    receiver.handle_data(Instant(now), wire, FrameHandle(sequence as u32), BYTES, &mut stats)
                };
                assert_eq!(verdict, model.data(now, sequence), "{step:?}");
            }
            Step::Announce(offset) => {
                let next = model.highest.saturating_add_signed(offset);
                let wire = SequenceNumber::from_absolute(next);
                let fits = receiver.handle_announcement(Instant(now), wire, &mut stats);
                assert_eq!(fits, next <= model.highest || model.reveal(now, next), "{step:?}");
            }
            Step::Wait(span) => {
                now += span;
                receiver.handle_timeout(Instant(now), &mut stats);
                model.timeout(now);
            }
            Step::Poll => {
                let polled = receiver.poll_deliver().map(|(frame, _)| frame.0);
                assert_eq!(polled, model.poll().map(|sequence| sequence as u32));
            }
        }
        // A window holds few runs, so that everything fits.
        let feedback = receiver.report_new_losses(Instant(now));
        assert_eq!(feedback.cumulative, LongSequenceNumber::from_absolute(model.cumulative()));
        assert_eq!(feedback.covered, SequenceNumber::from_absolute(model.highest));
        assert_eq!(missing_of(&feedback, first), model.missing.keys().copied().collect::<Vec<_>>());
        assert_eq!(receiver.missing(), model.missing.len() as u64);
        assert_eq!(receiver.buffer().frames, model.buffered.len() as u64);
        let due = model.missing.first_key_value().map(|(_, &since)| Instant(since + TIMEOUT));
        assert_eq!(receiver.next_timeout(), due);
    }
    let identity = stats.recovered_frames + stats.recovery_timeouts + receiver.missing();
    assert!(stats.lost_frames <= identity, "overflows make up the rest");
}

proptest! {
    #[test]
    fn receiver_agrees_with_the_model(
        ordered in any::<bool>(),
        slides in any::<bool>(),
        first in FIRST_ABSOLUTE..FIRST_ABSOLUTE * 3,
        steps in proptest::collection::vec(step(), 0..200),
    ) {
        run(if ordered { Mode::Ordered } else { Mode::NonBlocking }, slides, first, &steps);
    }

    #[test]
    fn receiver_agrees_with_the_model_near_the_wrap(
        ordered in any::<bool>(),
        slides in any::<bool>(),
        steps in proptest::collection::vec(step(), 0..100),
    ) {
        run(if ordered { Mode::Ordered } else { Mode::NonBlocking }, slides, FIRST_ABSOLUTE * 2 - 20, &steps);
    }
}

/// Every second of `frames` frames is missing.
fn with_holes(frames: u64) -> (Receiver, Stats) {
    let limits = ReceiverLimits { buffer_bytes: u64::MAX, pause_bytes: u64::MAX, resume_bytes: 0, ..LIMITS };
    let mut stats = Stats::default();
    let mut receiver = Receiver::new(Mode::Ordered, 4096, limits);
    lose_every_second(&mut receiver, 0..frames, &mut stats);
    (receiver, stats)
}

fn lose_every_second(receiver: &mut Receiver, frames: core::ops::Range<u64>, stats: &mut Stats) {
    for frame in frames.filter(|frame| frame % 2 == 1) {
        let sequence = SequenceNumber::from_absolute(FIRST_ABSOLUTE + frame);
        receiver.handle_data(Instant(0), sequence, FrameHandle(0), 1, stats);
    }
}

fn numbers(feedback: &LaneFeedback) -> [u64; 4] {
    [feedback.cumulative.short(), feedback.from, feedback.covered, feedback.seen]
        .map(|number| number.expand(FIRST_ABSOLUTE).expect("near") - FIRST_ABSOLUTE)
}

#[test]
fn more_holes_than_one_feedback_lists_are_reported_in_several_without_a_gap() {
    let (mut receiver, mut stats) = with_holes(200);
    let step = 2 * RANGES_MAX as u64;
    for part in 0..3 {
        let feedback = receiver.report_new_losses(Instant(0));
        assert_eq!(numbers(&feedback), [0, part * step, (part + 1) * step, 200]);
        assert_eq!(feedback.missing().len(), RANGES_MAX);
    }
    assert_eq!(numbers(&receiver.report_new_losses(Instant(0))), [0, 192, 200, 200]);
    assert_eq!(numbers(&receiver.report_new_losses(Instant(0))), [0, 200, 200, 200], "nothing more");
    lose_every_second(&mut receiver, 200..204, &mut stats);
    assert_eq!(numbers(&receiver.report_new_losses(Instant(0))), [0, 200, 204, 204], "only what is new");
}

#[test]
fn the_first_hole_ends_at_the_next_arrival_and_is_gone_when_it_is_filled() {
    let (mut receiver, mut stats) = with_holes(0);
    let wire = |frame| SequenceNumber::from_absolute(FIRST_ABSOLUTE + frame);
    let mut arrive = |receiver: &mut Receiver, frame| {
        receiver.handle_data(Instant(0), wire(frame), FrameHandle(0), 1, &mut stats);
    };
    assert_eq!(receiver.first_hole(), None);
    for frame in [0, 3, 5] {
        arrive(&mut receiver, frame);
    }
    assert_eq!(receiver.first_hole(), Some(SequenceRange { first: wire(1), length: 2 }));
    for frame in [1, 2, 4] {
        arrive(&mut receiver, frame);
    }
    assert_eq!(receiver.first_hole(), None);
}

/// What is found missing in the meantime does not keep the cycle from beginning anew.
#[test]
fn a_repetition_reports_everything_missing_from_the_beginning() {
    let (mut receiver, mut stats) = with_holes(100);
    for cycle in 0..3 {
        let end = 100 + cycle * 10;
        receiver.begin_repetition();
        assert_eq!(numbers(&receiver.report_repetition(Instant(0))), [0, 0, 64, end]);
        assert!(receiver.has_more_repetition());
        receiver.begin_repetition();
        assert_eq!(numbers(&receiver.report_repetition(Instant(0)))[1], 64, "it goes on");
        assert!(!receiver.has_more_repetition());
        lose_every_second(&mut receiver, end..end + 10, &mut stats);
    }
}

#[test]
fn the_recovery_timeout_counts_from_the_first_report() {
    let (mut receiver, mut stats) = with_holes(100);
    assert_eq!(receiver.next_timeout(), None, "the sender cannot know yet");
    receiver.report_new_losses(Instant(30));
    receiver.handle_timeout(Instant(30 + TIMEOUT - 1), &mut stats);
    assert_eq!(stats.recovery_timeouts, 0);
    receiver.handle_timeout(Instant(30 + TIMEOUT), &mut stats);
    assert_eq!(stats.recovery_timeouts, 32, "those that were listed");
    assert_eq!(receiver.next_timeout(), None);
}

/// What the sender no longer holds is counted as given up after a timeout only while the window had room to wait for
/// it.
#[test]
fn a_withdrawal_in_an_emptier_window_counts_as_the_clocks() {
    for (highest, by_clock) in [(7, true), (8, false)] {
        let mut stats = Stats::default();
        let mut receiver = Receiver::new(Mode::NonBlocking, WINDOW as u32, LIMITS);
        receiver.start(FIRST_ABSOLUTE, &mut stats);
        let long = |ahead| LongSequenceNumber::from_absolute(FIRST_ABSOLUTE + ahead);
        assert!(receiver.handle_dummy(Instant(0), long(highest), long(0), &mut stats));
        assert!(receiver.handle_dummy(Instant(1), long(highest), long(3), &mut stats));
        let counts = (stats.recovery_timeouts, stats.withdrawn_frames);
        assert_eq!(counts, if by_clock { (3, 0) } else { (0, 3) }, "{highest} of {WINDOW}");
    }
}

/// As if so many frames had been received and delivered: numbers move, what waits for delivery stays in order, wherever
/// it lies in the ring.
#[test]
fn a_receiver_moved_ahead_keeps_frames_that_wait_for_delivery() {
    for frames in 0..3 * WINDOW {
        let mut stats = Stats::default();
        let mut receiver = Receiver::new(Mode::Ordered, WINDOW as u32, LIMITS);
        let first = FIRST_ABSOLUTE + 5;
        receiver.start(first, &mut stats);
        let wire = SequenceNumber::from_absolute;
        // The first comes last, so that those behind it wait.
        for sequence in [1, 2, 3, 0] {
            let frame = FrameHandle(sequence as u32);
            let verdict = receiver.handle_data(Instant(0), wire(first + sequence), frame, BYTES, &mut stats);
            assert_eq!(verdict, if sequence == 0 { Verdict::Deliver } else { Verdict::Buffered });
        }
        let before = receiver.steady_state();
        assert_eq!(before, (3, 3 * u64::from(BYTES)));
        receiver.fast_forward(frames);
        assert_eq!(receiver.steady_state(), before);
        assert_eq!(receiver.cumulative(), wire(first + 4 + frames));
        let late =
            receiver.handle_data(Instant(0), wire(first + 2 + frames), FrameHandle(9), BYTES, &mut stats);
        assert_eq!(late, Verdict::Duplicate);
        for frame in 1..4 {
            assert_eq!(receiver.next_delivery(), Some(FrameHandle(frame)));
            assert_eq!(receiver.poll_deliver(), Some((FrameHandle(frame), BYTES)));
        }
        assert_eq!((receiver.poll_deliver(), receiver.buffer().now), (None, 0));
        assert!(receiver.is_drained());
        assert!(receiver.accept_next(wire(first + 4 + frames)), "the next one is its turn");
    }
}
