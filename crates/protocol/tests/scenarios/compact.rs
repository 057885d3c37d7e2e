//! The authors' 3-byte headers: notifications, dummies, ACKs, one lane at a time.

use crate::common::{
    A, B, FrameId, Loss, LossCause, MICRO, MILLI, Node, Pair, Settings, Wire, pair::quick_config,
};
use linkmend_protocol::{
    Admission, Config, Control, Copies, Format, Instant, LinkEnd, Mode, Protection, SequenceNumber,
    SequenceRange, Ticks,
};
use std::cell::RefCell;
use std::rc::Rc;

fn settings() -> Settings {
    Settings { config: Config { format: Format::Compact, ..quick_config() }, ..Settings::default() }
}

fn kind(control: &Control) -> &'static str {
    match control {
        Control::CompactAck { .. } => "ack",
        Control::CompactNotification { .. } => "notification",
        Control::CompactDummy { .. } => "dummy",
        _ => "own",
    }
}

#[test]
fn a_loss_travels_in_the_authors_headers() {
    for mode in Mode::ALL {
        let mut pair = Pair::protected(settings(), 1);
        pair.links[A].loss = Loss::originals(|position| (5..8).contains(&position));
        let seen = Rc::new(RefCell::new(Vec::new()));
        let log = Rc::clone(&seen);
        pair.links[B].loss = Loss::script(move |wire| {
            if let Wire::Control(control) = wire {
                log.borrow_mut().push(kind(control));
            }
            false
        });
        pair.offer(A, mode, 20, 500);
        pair.run_until_idle(MILLI);
        pair.assert_all_delivered(A);
        assert!(seen.borrow().contains(&"notification") && seen.borrow().contains(&"ack"), "{seen:?}");
        assert_eq!(pair.stats(B).duplicates_dropped, 0);
    }
}

#[test]
fn a_tail_loss_is_revealed_by_the_authors_dummy() {
    let mut pair = Pair::protected(settings(), 1);
    let dummies = Rc::new(RefCell::new(0));
    let count = Rc::clone(&dummies);
    let mut first = true;
    pair.links[A].loss = Loss::script(move |wire| {
        if let Wire::Control(control) = wire {
            *count.borrow_mut() += u32::from(kind(control) == "dummy");
        }
        wire.is_original() && std::mem::take(&mut first)
    });
    let begun = pair.now;
    pair.offer(A, Mode::Ordered, 1, 500);
    pair.run_until_idle(MILLI);
    assert!(*dummies.borrow() > 0);
    assert!(pair.ledger.frames[0].delivered_at.expect("recovered") - begun < 15 * MICRO);
}

#[test]
fn lost_copies_are_noticed_by_our_own_dummies() {
    // With equal intervals the compact dummies, which carry no stamp, must not be repeated forever.
    let config = Config { dummy_interval_max: quick_config().dummy_interval_min, ..settings().config };
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    let mut copies = 0;
    pair.links[A].loss = Loss::script(move |wire| {
        copies += u32::from(wire.is_copy());
        wire.is_original() || wire.is_copy() && copies < 3
    });
    pair.offer(A, Mode::Ordered, 1, 500);
    pair.run_until_idle(MILLI);
    pair.assert_all_delivered(A);
}

#[test]
fn the_compact_format_protects_one_lane_at_a_time() {
    let mut pair = Pair::protected(settings(), 1);
    pair.links[A].loss = Loss::Iid(0.05);
    pair.offer(A, Mode::Ordered, 100, 500);
    assert_eq!(pair.nodes[A].end.admission(Mode::NonBlocking, 100), Admission::Held);
    pair.offer(A, Mode::NonBlocking, 100, 500);
    pair.run_until_idle(20 * MILLI);
    pair.assert_all_delivered(A);
}

#[test]
fn both_directions_and_a_long_hole_are_recovered() {
    let mut pair = Pair::protected(settings(), 2);
    pair.protect(B, Copies::Fixed(2));
    pair.run_until(10 * MILLI, |pair| pair.is_active(B));
    pair.links[A].loss = Loss::originals(|position| (10..410).contains(&position));
    pair.links[B].loss = Loss::Iid(0.02);
    for end in [A, B] {
        pair.offer(end, Mode::Ordered, 900, 300);
    }
    pair.run_until_idle(50 * MILLI);
    for end in [A, B] {
        pair.assert_all_delivered(end);
    }
    pair.assert_accounts();
}

/// A class that waits for the other lane to drain must not wait forever when the other class never stops.
#[test]
fn two_busy_classes_take_turns_in_the_compact_format() {
    let config = Config { format: Format::Compact, ..quick_config() };
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    let mut frames = [Vec::new(), Vec::new()];
    for _ in 0..20_000 {
        for mode in Mode::ALL {
            frames[mode as usize].extend(pair.offer(A, mode, 1, 1_000));
        }
    }
    pair.run_for(20 * MILLI);
    let is_delivered = |frame: &&FrameId| pair.ledger.frames[frame.0 as usize].delivered_at.is_some();
    let [ordered, non_blocking] = frames.map(|frames| frames.iter().filter(is_delivered).count());
    println!("{ordered} ordered and {non_blocking} non-blocking frames in 20 ms");
    assert!(ordered > 100 && non_blocking > 100, "{ordered} and {non_blocking}");
    assert!(ordered.abs_diff(non_blocking) < 100, "{ordered} and {non_blocking}");
}

/// The lanes' first numbers follow from the session's, which follows from the seed. In the session of this seed, a few
/// frames into the ordered lane is also a few frames into the other one.
fn seed_with_near_lanes(config: Config) -> u64 {
    let position =
        |sequence: SequenceNumber| i64::from(sequence.number()) + (i64::from(sequence.era()) << 16);
    let is_near = |seed: &u64| {
        let mut end = LinkEnd::new(Config { window_frames: 16, ..config }, *seed).expect("valid");
        end.protect(Instant(1), Protection { copies: Copies::Fixed(1) });
        let Some(Control::Init { session, .. }) = end.poll_urgent(Instant(1)) else {
            panic!("an Init comes first")
        };
        let [ordered, non_blocking] = Mode::ALL.map(|mode| position(session.first(mode)));
        (3..40).contains(&(ordered - non_blocking))
    };
    (0..).find(is_near).expect("there are some")
}

/// Sends three ordered frames and, after `wait_ns`, sixty of the other lane, each of which is lost once.
fn change_lanes(wait_ns: u64) -> Pair {
    // Each frame is acknowledged several times.
    let config =
        Config { dummy_copies: 8, ack_gap: Ticks::ZERO, dummy_delay: Ticks::ZERO, ..settings().config };
    let mut pair = Pair::new(Settings { config, ..Settings::default() });
    pair.nodes[A] = Node::new(A, config, seed_with_near_lanes(config));
    pair.protect(A, Copies::Fixed(1));
    pair.run_until(10 * MILLI, |pair| pair.is_active(A));
    pair.offer(A, Mode::Ordered, 3, 100);
    pair.run_until(MILLI, |pair| pair.nodes[A].end.outstanding() == 0);
    pair.run_for(wait_ns);
    pair.links[A].loss = Loss::script(
        |wire| matches!(wire, Wire::Data { header, .. } if !header.retransmitted && header.mode == Mode::NonBlocking),
    );
    pair.offer(A, Mode::NonBlocking, 60, 100);
    pair.run_until_idle(20 * MILLI);
    pair
}

/// Such an ACK must not be taken for one of the new lane, where it would release frames that have not arrived.
#[test]
fn an_ack_under_way_while_lanes_change_releases_no_frame_of_the_new_lane() {
    let pair = change_lanes(0);
    assert_eq!(pair.ledger.count(A, LossCause::GivenUp), 0);
    pair.assert_all_delivered(A);
}

/// What the receiver wrote before the change may arrive after all frames of the new lane have left: an ACK, a
/// notification, and a feedback, which has seen nothing of the new lane and therefore does not confirm it.
#[test]
fn no_ack_written_before_a_change_of_lanes_releases_a_frame_of_the_new_lane() {
    let mut pair = Pair::new(settings());
    pair.nodes[A] = Node::new(A, settings().config, seed_with_near_lanes(settings().config));
    let latest = Rc::new(RefCell::new(None));
    let log = Rc::clone(&latest);
    pair.links[B].loss = Loss::script(move |wire| {
        if let Wire::Control(control) = wire
            && let Control::Feedback(feedback) = **control
        {
            *log.borrow_mut() = Some(feedback);
        }
        false
    });
    pair.protect(A, Copies::Fixed(1));
    pair.run_until(10 * MILLI, |pair| pair.is_active(A));
    pair.offer(A, Mode::Ordered, 3, 100);
    pair.run_until_idle(MILLI);
    pair.run_for(3 * MILLI);
    pair.links[A].loss = Loss::script(|_| true);
    pair.offer(A, Mode::NonBlocking, 60, 100);
    pair.run_for(20 * MICRO);
    let feedback = latest.borrow_mut().take().expect("a keepalive was answered");
    let next = feedback.session.first(Mode::Ordered).plus(3);
    let hole = SequenceRange { first: next, length: 1 };
    let now = pair.nodes[A].local(pair.now);
    let end = &mut pair.nodes[A].end;
    for late in [
        Control::Feedback(feedback),
        Control::CompactAck { next },
        Control::CompactNotification { next, hole },
    ] {
        assert!(end.handle_control(now, &late), "{late:?}");
        assert_eq!(end.outstanding(), 60, "{late:?}");
    }
    pair.links[A].loss = Loss::None;
    pair.run_until_idle(20 * MILLI);
    pair.assert_all_delivered(A);
}

/// The receiver must learn from dummies, too, which lane is in use. While all data of that lane is lost, it would
/// otherwise answer dummies with ACKs of the previous lane.
#[test]
fn a_lane_known_only_from_a_dummy_is_the_one_acknowledged() {
    let pair = change_lanes(MILLI / 2);
    assert_eq!(pair.ledger.count(A, LossCause::GivenUp), 0);
    pair.assert_all_delivered(A);
}

/// ACKs do not count until a feedback names the new lane, so this feedback must come soon.
#[test]
fn a_new_lane_is_confirmed_within_a_round_trip_and_after_a_lost_feedback_within_an_ack_interval() {
    for lost in [0, 1] {
        let mut pair = Pair::protected(settings(), 1);
        pair.offer(A, Mode::Ordered, 3, 500);
        pair.run_until_idle(MILLI);
        pair.run_for(MILLI);
        let mut left = lost;
        pair.links[B].loss = Loss::script(move |wire| {
            let hit = wire.is_feedback() && left > 0;
            left -= u32::from(hit);
            hit
        });
        let begun = pair.now;
        pair.offer(A, Mode::NonBlocking, 1, 500);
        pair.run_until(10 * MILLI, |pair| pair.nodes[A].end.outstanding() == 0);
        let bound = 5 * MICRO + u64::from(lost) * (settings().config.ack_interval.0 + 5 * MICRO);
        assert!(pair.now - begun <= bound, "{lost} lost: {} ns", pair.now - begun);
    }
}

/// Offers more frames of the other lane than a round trip holds, and returns the time until the first `released` of
/// them are released.
fn release_on_a_busy_lane_ns(pair: &mut Pair, released: u64) -> u64 {
    const FRAMES: u64 = 600;
    let begun = pair.now;
    pair.offer(A, Mode::NonBlocking, FRAMES, 500);
    let unreleased = |pair: &Pair| pair.nodes[A].end.outstanding() + pair.nodes[A].queued() as u64;
    pair.run_until(10 * MILLI, |pair| unreleased(pair) <= FRAMES - released);
    pair.now - begun
}

/// A busy lane sends no dummies, whose answer would confirm it. A keepalive is not due either.
#[test]
fn a_new_lane_that_is_busy_is_confirmed_within_an_ack_interval_of_a_lost_feedback() {
    for lost in [0, 1] {
        let mut pair = Pair::protected(settings(), 1);
        pair.offer(A, Mode::Ordered, 3, 500);
        pair.run_until_idle(MILLI);
        pair.run_for(MILLI / 4);
        let mut left = lost;
        pair.links[B].loss = Loss::script(move |wire| {
            let hit = wire.is_feedback() && left > 0;
            left -= u32::from(hit);
            hit
        });
        let waited = release_on_a_busy_lane_ns(&mut pair, 1);
        let bound = 5 * MICRO + u64::from(lost) * (settings().config.ack_interval.0 + 5 * MICRO);
        assert!(waited <= bound, "{lost} lost: {waited} ns");
    }
}

/// A session that ends before its new lane was confirmed must not leave the next one waiting for that, by numbers that
/// are not its own.
#[test]
fn a_lane_that_was_never_confirmed_does_not_delay_the_acks_of_the_next_session() {
    for seed in 1..9 {
        let mut pair = Pair::protected(Settings { seed, ..settings() }, 1);
        pair.offer(A, Mode::Ordered, 3, 500);
        pair.run_until_idle(MILLI);
        pair.links[B].loss = Loss::script(|_| true);
        pair.offer(A, Mode::NonBlocking, 1, 500);
        pair.run_until(20 * MILLI, |pair| pair.stats(A).peers_lost == 1);
        pair.links[B].loss = Loss::None;
        pair.run_until(20 * MILLI, |pair| pair.is_active(A));
        pair.run_for(MILLI / 10);
        // The first feedback releases one frame; ACKs must release the others. Fifty take the link some 20 us.
        let waited = release_on_a_busy_lane_ns(&mut pair, 50);
        assert!(waited <= 40 * MICRO, "seed {seed}: {waited} ns");
    }
}
