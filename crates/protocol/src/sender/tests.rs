//! Compares the sender with a naive model: a map from numbers to what is known about them.

use super::*;
use crate::frame::SequenceRange;
use crate::time::Tick;
use core::ops::Range;
use proptest::prelude::*;
use std::collections::BTreeMap;

const WINDOW: u32 = 16;
const BYTES: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Unknown,
    /// Reported missing, copies not out yet.
    Queued,
    /// To go out once more, on another path.
    Resent,
    /// Copies out: the next new number and the dummy stamp when they went.
    Sent {
        next: u64,
        stamp: u16,
    },
}

struct Model {
    frames: BTreeMap<u64, (Fate, u8)>,
    next: u64,
    max_rounds: u8,
}

impl Model {
    /// A report as plain facts: everything in `stretch` is received unless in `missing`, and it was written when the
    /// far end had seen everything before `seen`.
    fn report(&mut self, cumulative: u64, stretch: Range<u64>, seen: u64, missing: &[u64], stamp: u16) {
        let max_rounds = self.max_rounds;
        self.frames.retain(|&sequence, (fate, rounds)| {
            if sequence < cumulative {
                return false;
            }
            if !stretch.contains(&sequence) {
                return true;
            }
            if !missing.contains(&sequence) {
                return false;
            }
            match *fate {
                Fate::Unknown => *fate = Fate::Queued,
                Fate::Sent { next, stamp: sent } if seen > next || stamp > sent => {
                    *fate = Fate::Queued;
                    // After the last round nothing is left to try.
                    return *rounds < max_rounds;
                }
                _ => {}
            }
            true
        });
    }
}

#[derive(Debug, Clone)]
enum Step {
    Send,
    /// The far end reports after it has seen some more frames, of a stretch that leaves out so many at either end.
    Report {
        seen: u64,
        stamp_behind: u16,
        omits: (u64, u64),
    },
    /// Everything missing among the first few arrives.
    Recover(u64),
    Copies(u8),
    ChangePath,
    Dummy,
    Ack,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => Just(Step::Send),
        3 => (0u64..20, 0u16..2, (0u64..12, 0u64..12), any::<bool>()).prop_map(|(seen, stamp_behind, omits, part)| {
            Step::Report { seen, stamp_behind, omits: if part { omits } else { (0, 0) } }
        }),
        2 => (0u64..16).prop_map(Step::Recover),
        3 => (1u8..4).prop_map(Step::Copies),
        1 => Just(Step::ChangePath),
        1 => Just(Step::Dummy),
        1 => Just(Step::Ack),
    ]
}

/// What the far end has: an honest receiver whose frames are lost as `lost` says.
struct Far {
    first: u64,
    seen: u64,
    lost: Vec<u64>,
}

impl Far {
    fn cumulative(&self) -> u64 {
        self.lost.first().copied().unwrap_or(self.seen)
    }

    fn feedback(&self) -> LaneFeedback {
        self.report(self.cumulative()..self.seen)
    }

    fn report(&self, stretch: Range<u64>) -> LaneFeedback {
        let wire = SequenceNumber::from_absolute;
        let mut feedback =
            LaneFeedback::new(LongSequenceNumber::from_absolute(self.cumulative()), wire(stretch.end), false);
        (feedback.from, feedback.seen) = (wire(stretch.start), wire(self.seen));
        for &sequence in self.lost.iter().filter(|sequence| stretch.contains(sequence)) {
            assert!(feedback.push_missing(SequenceRange { first: wire(sequence), length: 1 }));
        }
        feedback
    }
}

fn run(first: u64, max_rounds: u8, steps: &[(Step, bool)]) {
    let config =
        Config { window_frames: WINDOW, window_bytes: 1_200, max_rounds, ..Config::new(Tick::Nanosecond) };
    let mut sender = Sender::new(Mode::Ordered, &config);
    sender.start(first);
    let mut model = Model { frames: BTreeMap::new(), next: first, max_rounds };
    let mut far = Far { first, seen: first, lost: Vec::new() };
    let (mut released, mut stats, mut stamp) = (VecDeque::new(), Stats::default(), 0u16);
    let mut losses = BTreeMap::new();
    for (step, lost) in steps {
        match *step {
            Step::Send => {
                let bytes = model.frames.len() as u64 * u64::from(BYTES);
                let oldest = far_known(&model, &sender);
                let room = model.next - oldest < u64::from(WINDOW) && bytes + u64::from(BYTES) <= 1_200;
                assert_eq!(sender.has_room(BYTES), room);
                if room {
                    sender.send(FrameHandle(model.next as u32), BYTES);
                    model.frames.insert(model.next, (Fate::Unknown, 0));
                    losses.insert(model.next, *lost);
                    model.next += 1;
                }
            }
            Step::Report { seen, stamp_behind, omits } => {
                for sequence in far.seen..(far.seen + seen).min(model.next) {
                    if losses[&sequence] {
                        far.lost.push(sequence);
                    }
                    far.seen = sequence + 1;
                }
                let stamp = stamp.saturating_sub(stamp_behind);
                let from = (far.cumulative() + omits.0).min(far.seen);
                let stretch = from..(far.seen - omits.1.min(far.seen - from));
                let report = far.report(stretch.clone());
                assert!(sender.handle_feedback(&report, stamp, &mut released, &mut stats));
                model.report(far.cumulative(), stretch, far.seen, &far.lost, stamp);
            }
            Step::Recover(count) => {
                far.lost.drain(..(count as usize).min(far.lost.len()));
            }
            Step::Copies(copies) => model.expect_copies(&mut sender, copies, stamp),
            Step::ChangePath => {
                assert_eq!(sender.resend_all(), model.frames.len() as u64);
                model.frames.values_mut().for_each(|frame| *frame = (Fate::Resent, 0));
            }
            Step::Dummy => stamp += 1,
            Step::Ack => {
                assert!(sender.handle_ack(SequenceNumber::from_absolute(far.cumulative()), &mut released));
                model.report(far.cumulative(), 0..0, 0, &[], 0);
            }
        }
        model.check(&mut sender, far.first, &released);
    }
    let left = model.frames.len() as u64;
    assert_eq!(sender.abandon(&mut released), left);
    assert_eq!(released.len() as u64, model.next - far.first);
}

impl Model {
    /// Every copy that is due leaves: `copies` of what was reported missing, and once what a change of path resends.
    fn expect_copies(&mut self, sender: &mut Sender, copies: u8, stamp: u16) {
        let mut due: BTreeMap<u64, u8> = BTreeMap::new();
        for (&sequence, (fate, rounds)) in &mut self.frames {
            let number = match fate {
                Fate::Queued => copies,
                Fate::Resent => 1,
                Fate::Unknown | Fate::Sent { .. } => continue,
            };
            // Only copies that were asked for are a round.
            *rounds = if *fate == Fate::Queued { *rounds + 1 } else { 0 };
            *fate = Fate::Sent { next: self.next, stamp };
            due.insert(sequence, number);
        }
        let mut stats = Stats::default();
        while let Some((frame, _)) = sender.poll_retransmission(copies, stamp, &mut stats) {
            let left = due.get_mut(&u64::from(frame.0)).expect("a copy that is due");
            *left = left.checked_sub(1).expect("no more copies than are due");
        }
        assert!(due.values().all(|&left| left == 0), "copies that did not leave: {due:?}");
    }

    /// The sender holds what the model holds, and has released all else, once.
    fn check(&self, sender: &mut Sender, first: u64, released: &VecDeque<FrameHandle>) {
        let held = self.frames.first_key_value().map_or(self.next, |(&sequence, _)| sequence);
        assert_eq!(sender.held_from(), held);
        let frames = self.frames.len() as u64;
        assert_eq!((sender.buffer().frames, sender.buffer().now), (frames, frames * u64::from(BYTES)));
        let all: std::collections::BTreeSet<_> = released.iter().map(|frame| frame.0).collect();
        assert_eq!(all.len(), released.len(), "released twice");
        assert_eq!(released.len() as u64 + frames, self.next - first);
        assert!(released.iter().all(|frame| !self.frames.contains_key(&u64::from(frame.0))));
    }
}

/// Cumulative number that the sender knows: what it has outstanding says.
fn far_known(model: &Model, sender: &Sender) -> u64 {
    model.next - sender.outstanding()
}

proptest! {
    #[test]
    fn sender_agrees_with_the_model(
        first in FIRST_ABSOLUTE..FIRST_ABSOLUTE * 3,
        max_rounds in prop_oneof![Just(1u8), Just(2), Just(255)],
        steps in proptest::collection::vec((step(), proptest::bool::weighted(0.3)), 0..200),
    ) {
        run(first, max_rounds, &steps);
    }
}

/// A sender of `frames` frames that are all reported missing, each as a separate hole, so that each gets its copies.
fn all_missing(frames: u64) -> (Sender, VecDeque<FrameHandle>) {
    let config = Config { window_frames: WINDOW, window_bytes: 10_000, ..Config::new(Tick::Nanosecond) };
    let mut sender = Sender::new(Mode::Ordered, &config);
    let mut released = VecDeque::new();
    for frame in 0..frames {
        sender.send(FrameHandle(frame as u32), BYTES);
    }
    let far = Far {
        first: FIRST_ABSOLUTE,
        seen: FIRST_ABSOLUTE + frames,
        lost: (FIRST_ABSOLUTE..FIRST_ABSOLUTE + frames).collect(),
    };
    assert!(sender.handle_feedback(&far.feedback(), 0, &mut released, &mut Stats::default()));
    (sender, released)
}

fn copies(sender: &mut Sender, number: u8, most: usize) -> std::vec::Vec<u32> {
    let mut stats = Stats::default();
    let next = || sender.poll_retransmission(number, 0, &mut stats).map(|(frame, _)| frame.0);
    core::iter::from_fn(next).take(most).collect()
}

/// An acknowledgement between two copies of a frame does not reduce the copies of the next one.
#[test]
fn a_frame_acknowledged_between_its_copies_takes_none_from_the_next() {
    let (mut sender, mut released) = all_missing(3);
    assert_eq!(copies(&mut sender, 3, 2), [0, 0]);
    let far = Far {
        first: FIRST_ABSOLUTE,
        seen: FIRST_ABSOLUTE + 3,
        lost: [FIRST_ABSOLUTE + 1, FIRST_ABSOLUTE + 2].to_vec(),
    };
    assert!(sender.handle_feedback(&far.feedback(), 0, &mut released, &mut Stats::default()));
    assert_eq!(copies(&mut sender, 3, 99), [1, 1, 1, 2, 2, 2]);
}

/// The copies of a round may be lost with the path that was left. The frame has its whole round on the new one, where
/// its first copy may be corrupted as well.
#[test]
fn a_round_on_a_path_that_was_left_does_not_count() {
    let config = Config { window_frames: WINDOW, max_rounds: 1, ..Config::new(Tick::Nanosecond) };
    let (mut released, mut stats) = (VecDeque::new(), Stats::default());
    let mut sender = Sender::new(Mode::Ordered, &config);
    sender.send(FrameHandle(0), BYTES);
    let mut far = Far { first: FIRST_ABSOLUTE, seen: FIRST_ABSOLUTE + 1, lost: [FIRST_ABSOLUTE].to_vec() };
    assert!(sender.handle_feedback(&far.feedback(), 0, &mut released, &mut stats));
    assert_eq!(copies(&mut sender, 3, 99), [0, 0, 0], "its round on the old path");
    assert_eq!(sender.resend_all(), 1);
    assert_eq!(copies(&mut sender, 3, 99), [0]);
    for (round, given_up) in [([0, 0, 0].as_slice(), 0), (&[], 1)] {
        // What is sent behind the copies arrives without them.
        sender.send(FrameHandle(1), BYTES);
        far.seen += 1;
        assert!(sender.handle_feedback(&far.feedback(), 0, &mut released, &mut stats));
        assert_eq!((copies(&mut sender, 3, 99).as_slice(), stats.exhausted_frames), (round, given_up));
    }
}

/// A receiver that gives up by timeout needs no word about a frame that was given up, until the frame keeps the
/// non-blocking lane from using more than half of its window.
#[test]
fn a_receiver_with_a_clock_is_told_only_when_the_non_blocking_lane_is_about_to_stall() {
    let config = Config { window_frames: WINDOW, max_rounds: 1, ..Config::new(Tick::Nanosecond) };
    for (mode, by_clock) in [(Mode::NonBlocking, true), (Mode::NonBlocking, false), (Mode::Ordered, true)] {
        let (mut released, mut stats) = (VecDeque::new(), Stats::default());
        let mut sender = Sender::new(mode, &config);
        sender.by_clock = by_clock;
        let mut far = Far { first: FIRST_ABSOLUTE, seen: FIRST_ABSOLUTE, lost: [FIRST_ABSOLUTE].to_vec() };
        // The first frame is lost, and behind the second its copy.
        for _ in 0..2 {
            sender.send(FrameHandle(0), BYTES);
            far.seen += 1;
            assert!(sender.handle_feedback(&far.feedback(), 0, &mut released, &mut stats));
            copies(&mut sender, 1, 99);
        }
        assert_eq!(stats.exhausted_frames, 1);
        for outstanding in 2..=u64::from(WINDOW) {
            let half_full = outstanding > u64::from(WINDOW) / 2;
            let told = !by_clock || mode == Mode::NonBlocking && half_full;
            assert_eq!(
                sender.has_withdrawal(),
                told,
                "{mode}, by clock {by_clock}, {outstanding} outstanding"
            );
            if outstanding < u64::from(WINDOW) {
                sender.send(FrameHandle(0), BYTES);
            }
        }
    }
}

/// Drivers that can reach a frame only at certain times ask for it.
#[test]
fn a_requested_frame_goes_before_the_others() {
    let (mut sender, _) = all_missing(4);
    assert_eq!(sender.next_retransmission(), Some(FrameHandle(0)));
    assert!(sender.prefer_retransmission(FrameHandle(2)));
    assert_eq!(sender.next_retransmission(), Some(FrameHandle(2)));
    assert_eq!(copies(&mut sender, 2, 2), [2, 2]);
    assert!(!sender.prefer_retransmission(FrameHandle(2)), "its copies are out");
    assert!(!sender.prefer_retransmission(FrameHandle(9)), "never sent");
    assert_eq!(sender.next_retransmission(), Some(FrameHandle(0)));
    assert_eq!(copies(&mut sender, 1, 99), [0, 1, 3]);
    assert_eq!((sender.next_retransmission(), sender.has_retransmissions()), (None, false));
}

/// A frame that was acknowledged while its copies waited is skipped, requested or not.
#[test]
fn an_acknowledged_frame_is_not_retransmitted() {
    let (mut sender, mut released) = all_missing(4);
    let far = Far { first: FIRST_ABSOLUTE, seen: FIRST_ABSOLUTE + 4, lost: [FIRST_ABSOLUTE + 3].to_vec() };
    assert!(sender.handle_feedback(&far.feedback(), 0, &mut released, &mut Stats::default()));
    assert!(!sender.prefer_retransmission(FrameHandle(1)));
    assert_eq!((sender.next_retransmission(), sender.has_retransmissions()), (Some(FrameHandle(3)), true));
    assert_eq!(copies(&mut sender, 2, 99), [3, 3]);
    let far = Far { lost: std::vec::Vec::new(), ..far };
    assert!(sender.handle_feedback(&far.feedback(), 0, &mut released, &mut Stats::default()));
    assert!(!sender.is_repairing() && sender.is_drained());
    assert_eq!(released.len(), 4);
}

/// A driver that reaches frames only when their circulation brings them back may never ask for the copies of frames
/// that are acknowledged first. If these were kept, each search for a copy would take longer than the previous one.
#[test]
fn frames_acknowledged_before_their_copies_were_sent_are_not_kept() {
    let config = Config {
        window_frames: WINDOW,
        window_bytes: u64::MAX,
        max_rounds: 1,
        ..Config::new(Tick::Nanosecond)
    };
    let mut sender = Sender::new(Mode::Ordered, &config);
    let mut stats = Stats::default();
    sender.start(FIRST_ABSOLUTE);
    let (mut released, mut longest) = (VecDeque::new(), 0);
    for round in 0..1_000_u64 {
        let first = FIRST_ABSOLUTE + round * 4;
        (0..4).for_each(|frame| {
            sender.send(FrameHandle((first + frame) as u32), BYTES);
        });
        // The second of four is lost. A later feedback reports it again, and then it is given up.
        for (lost, seen) in [(vec![first + 1], first + 3), (vec![first + 1], first + 4), (vec![], first + 4)]
        {
            let far = Far { first, seen, lost };
            assert!(sender.handle_feedback(&far.feedback(), 0, &mut released, &mut stats));
            longest = longest.max(sender.retransmit_queue.len());
        }
        assert!(!sender.prefer_retransmission(FrameHandle(0)) && !sender.has_retransmissions());
    }
    assert_eq!(longest, 1, "only the frame that may still be retransmitted is kept");
    assert!(!sender.is_repairing(), "nothing is left to repair");
}

/// Reports that cannot be true change nothing: of another time, or forged.
#[test]
fn reports_that_contradict_themselves_are_refused() {
    let config = Config { window_frames: WINDOW, window_bytes: 10_000, ..Config::new(Tick::Nanosecond) };
    let mut sender = Sender::new(Mode::Ordered, &config);
    let mut released = VecDeque::new();
    for frame in 0..10 {
        sender.send(FrameHandle(frame), BYTES);
    }
    let wire = |at: u64| SequenceNumber::from_absolute(FIRST_ABSOLUTE + at);
    let report = |cumulative: u64, covered: u64, runs: &[(u64, u16)]| {
        let long = LongSequenceNumber::from_absolute(FIRST_ABSOLUTE + cumulative);
        let mut lane = LaneFeedback::new(long, wire(covered), false);
        for &(first, length) in runs {
            assert!(lane.push_missing(SequenceRange { first: wire(first), length }));
        }
        lane
    };
    let refused = [
        report(0, 11, &[]),
        report(11, 11, &[]),
        report(5, 4, &[]),
        report(2, 6, &[(1, 1)]),
        report(0, 6, &[(4, 3)]),
        report(0, 6, &[(6, 1)]),
        report(0, 6, &[(3, 2), (4, 1)]),
        report(0, 6, &[(3, 1), (1, 1)]),
        report(40_000, 6, &[]),
        report(0, 6, &[(40_000, 1)]),
    ];
    for lane in refused {
        assert!(!sender.handle_feedback(&lane, 0, &mut released, &mut Stats::default()), "{lane:?}");
        assert_eq!((sender.outstanding(), released.len()), (10, 0));
        assert!(!sender.is_repairing());
    }
    assert!(!sender.handle_ack(wire(11), &mut released) && !sender.handle_ack(wire(40_000), &mut released));
    assert!(sender.handle_ack(wire(0), &mut released) && released.is_empty());
    // What just fits is taken.
    assert!(sender.handle_feedback(
        &report(0, 10, &[(3, 1), (4, 2), (9, 1)]),
        0,
        &mut released,
        &mut Stats::default()
    ));
    assert_eq!(copies(&mut sender, 1, 99), [3, 4, 5, 9]);
    assert_eq!(released.iter().map(|frame| frame.0).collect::<std::vec::Vec<_>>(), [0, 1, 2, 6, 7, 8]);
    assert!(sender.handle_ack(wire(10), &mut released) && sender.is_drained());
    assert_eq!(released.len(), 10);
}

/// As if so many frames had been sent and acknowledged: numbers move, what is outstanding stays, wherever it lies in
/// the ring.
#[test]
fn a_sender_moved_ahead_keeps_outstanding_frames() {
    for frames in 0..3 * u64::from(WINDOW) {
        let config = Config { window_frames: WINDOW, window_bytes: 10_000, ..Config::new(Tick::Nanosecond) };
        let mut sender = Sender::new(Mode::Ordered, &config);
        let mut released = VecDeque::new();
        let wire = SequenceNumber::from_absolute;
        for frame in 0..7 {
            sender.send(FrameHandle(frame), BYTES + frame);
        }
        // Two are acknowledged, one more is covered.
        let far = Far { first: FIRST_ABSOLUTE, seen: FIRST_ABSOLUTE + 2, lost: std::vec::Vec::new() };
        assert!(sender.handle_feedback(&far.feedback(), 0, &mut released, &mut Stats::default()));
        let before = sender.steady_state();
        assert_eq!(before, (5, 5, 5 * u64::from(BYTES) + 2 + 3 + 4 + 5 + 6));
        sender.fast_forward(frames);
        assert_eq!(sender.steady_state(), before);
        assert_eq!(sender.next_sequence(), wire(FIRST_ABSOLUTE + 7 + frames));
        released.clear();
        assert!(!sender.handle_ack(wire(FIRST_ABSOLUTE + 8 + frames), &mut released), "never sent");
        assert_eq!(sender.send(FrameHandle(7), BYTES), wire(FIRST_ABSOLUTE + 7 + frames));
        assert!(sender.handle_ack(wire(FIRST_ABSOLUTE + 4 + frames), &mut released));
        assert!(sender.handle_ack(wire(FIRST_ABSOLUTE + 8 + frames), &mut released));
        assert_eq!(released.iter().map(|frame| frame.0).collect::<std::vec::Vec<_>>(), [2, 3, 4, 5, 6, 7]);
        assert!(sender.is_drained() && sender.buffer().now == 0);
    }
}

/// From the first report of a loss until it is acknowledged.
#[test]
fn a_sender_repairs_until_nothing_is_missing() {
    let (mut sender, mut released) = all_missing(2);
    assert!(sender.is_repairing(), "its copies wait");
    assert_eq!(copies(&mut sender, 2, 1), [0]);
    assert!(sender.is_repairing(), "between two copies");
    assert_eq!(copies(&mut sender, 2, 99), [0, 1, 1]);
    assert!(sender.is_repairing(), "its copies are on the way");
    let far = Far { first: FIRST_ABSOLUTE, seen: FIRST_ABSOLUTE + 2, lost: std::vec::Vec::new() };
    assert!(sender.handle_feedback(&far.feedback(), 0, &mut released, &mut Stats::default()));
    assert!(!sender.is_repairing());
    assert_eq!(sender.send(FrameHandle(2), BYTES), SequenceNumber::from_absolute(FIRST_ABSOLUTE + 2));
    assert!(!sender.is_repairing(), "what is not reported on is not missing");
}
