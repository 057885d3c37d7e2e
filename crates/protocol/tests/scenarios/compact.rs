//! The authors' 3-byte headers: notifications, dummies, ACKs, one lane at a time.

use crate::common::{A, B, FrameId, Loss, MICRO, MILLI, Pair, Settings, Wire, pair::quick_config};
use linkmend_protocol::{Admission, Config, Control, Copies, Format, Mode};
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
        pair.settle(MILLI);
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
    pair.settle(MILLI);
    assert!(*dummies.borrow() > 0);
    assert!(pair.ledger.frames[0].delivered_at.expect("recovered") - begun < 15 * MICRO);
}

#[test]
fn lost_copies_are_noticed_by_our_own_dummies() {
    // With equal intervals the compact dummies were once repeated for ever, and they carry no stamp.
    let config = Config { dummy_interval_max: quick_config().dummy_interval_min, ..settings().config };
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    let mut copies = 0;
    pair.links[A].loss = Loss::script(move |wire| {
        copies += u32::from(wire.is_copy());
        wire.is_original() || wire.is_copy() && copies < 3
    });
    pair.offer(A, Mode::Ordered, 1, 500);
    pair.settle(MILLI);
    pair.assert_all_delivered(A);
}

#[test]
fn one_lane_at_a_time() {
    let mut pair = Pair::protected(settings(), 1);
    pair.links[A].loss = Loss::Iid(0.05);
    pair.offer(A, Mode::Ordered, 100, 500);
    assert_eq!(pair.nodes[A].end.admission(Mode::NonBlocking, 100), Admission::Held);
    pair.offer(A, Mode::NonBlocking, 100, 500);
    pair.settle(20 * MILLI);
    pair.assert_all_delivered(A);
}

#[test]
fn both_directions_and_a_long_hole() {
    let mut pair = Pair::protected(settings(), 2);
    pair.protect(B, Copies::Fixed(2));
    pair.run_until(10 * MILLI, |pair| pair.is_active(B));
    pair.links[A].loss = Loss::originals(|position| (10..410).contains(&position));
    pair.links[B].loss = Loss::Iid(0.02);
    for end in [A, B] {
        pair.offer(end, Mode::Ordered, 900, 300);
    }
    pair.settle(50 * MILLI);
    for end in [A, B] {
        pair.assert_all_delivered(end);
    }
    pair.assert_accounts();
}

/// A class once stood aside for ever that waited for the other lane to drain, because the other class never stopped.
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
