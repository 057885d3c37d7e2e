//! Loss, notification, retransmission (sections 3.1, 3.2, 3.4, A).

use crate::common::{A, B, FrameId, Loss, LossCause, MICRO, MILLI, Pair, Settings, Wire, pair::quick_config};
use linkmend_protocol::{Config, Copies, Mode, Tick};

fn protected(copies: u8) -> Pair {
    Pair::protected(Settings::default(), copies)
}

fn send(pair: &mut Pair, mode: Mode, count: u64) -> Vec<FrameId> {
    pair.offer(A, mode, count, 1_000)
}

#[test]
fn a_single_loss_is_recovered_in_order() {
    let mut pair = protected(1);
    pair.links[A].loss = Loss::originals(|position| position == 5);
    let frames = send(&mut pair, Mode::Ordered, 20);
    pair.run_until_idle(MILLI);
    assert_eq!(pair.ledger.deliveries[A], frames, "in the order of sending");
    let (sender, receiver) = (pair.stats(A), pair.stats(B));
    assert_eq!((receiver.lost_frames, receiver.recovered_frames), (1, 1));
    assert_eq!((receiver.duplicates_dropped, sender.retransmitted_copies), (0, 1));
    pair.assert_accounts();
}

#[test]
fn the_non_blocking_lane_delivers_a_recovered_frame_when_it_arrives() {
    let mut pair = protected(1);
    pair.links[A].loss = Loss::originals(|position| position == 5);
    let frames = send(&mut pair, Mode::NonBlocking, 20);
    pair.run_until_idle(MILLI);
    let delivered = &pair.ledger.deliveries[A];
    assert_eq!(delivered[..5], frames[..5]);
    assert_eq!(delivered[5], frames[6], "what follows does not wait");
    assert!(delivered.contains(&frames[5]));
    assert_eq!(pair.stats(B).rx_buffer.max, 0);
}

#[test]
fn a_tail_loss_is_revealed_by_a_dummy_without_a_timeout() {
    let mut pair = protected(1);
    pair.links[A].loss = Loss::originals(|position| position == 0);
    let begun = pair.now;
    send(&mut pair, Mode::Ordered, 1);
    pair.run_until_idle(MILLI);
    let delivered_at = pair.ledger.frames[0].delivered_at.expect("recovered");
    // Three crossings of the link, the dummy's wait, and little else.
    assert!(delivered_at - begun < 15 * MICRO, "took {} ns", delivered_at - begun);
    assert!(pair.stats(A).dummies_sent > 0);
}

#[test]
fn a_lost_dummy_is_followed_by_its_copy() {
    let mut pair = protected(1);
    let mut dummies = 0;
    pair.links[A].loss = Loss::script(move |wire| {
        dummies += u32::from(wire.is_dummy());
        wire.is_original() || wire.is_dummy() && dummies == 1
    });
    let begun = pair.now;
    send(&mut pair, Mode::Ordered, 1);
    pair.run_until_idle(MILLI);
    let delivered_at = pair.ledger.frames[0].delivered_at.expect("recovered");
    assert!(delivered_at - begun < 15 * MICRO, "took {} ns", delivered_at - begun);
}

#[test]
fn a_lost_burst_of_dummies_costs_one_repeat_interval() {
    let mut pair = protected(1);
    let mut dummies = 0;
    pair.links[A].loss = Loss::script(move |wire| {
        dummies += u32::from(wire.is_dummy());
        wire.is_original() || wire.is_dummy() && dummies <= 2
    });
    let begun = pair.now;
    send(&mut pair, Mode::Ordered, 1);
    pair.run_until_idle(MILLI);
    let delivered_at = pair.ledger.frames[0].delivered_at.expect("recovered");
    assert!((20 * MICRO..40 * MICRO).contains(&(delivered_at - begun)), "took {} ns", delivered_at - begun);
}

fn burst(mode: Mode, first: u64, length: u64) {
    // Nothing comes through while the burst lasts, 4 ms and more.
    let config = Config {
        window_frames: 8192,
        window_bytes: 64 << 20,
        rx_buffer_bytes: 64 << 20,
        recovery_timeout: Tick::Nanosecond.millis(40),
        peer_timeout: Tick::Nanosecond.millis(20),
        ..quick_config()
    };
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    pair.links[A].loss = Loss::originals(move |position| (first..first + length).contains(&position));
    send(&mut pair, mode, first + length + 100);
    pair.run_until_idle(50 * MILLI);
    pair.assert_all_delivered(A);
    let stats = pair.stats(B);
    // Behind a hole of more than 512 frames, the first frame alone is not believed, and is retransmitted.
    let missing = if length > 512 { length + 1 } else { length };
    assert_eq!((stats.lost_frames, stats.recovered_frames), (missing, missing));
    assert_eq!((stats.hole_length.count(), stats.hole_length.max()), (1, missing));
    assert_eq!(stats.out_of_window_frames, missing - length);
}

#[test]
fn a_burst_of_50_lost_frames_is_recovered() {
    burst(Mode::Ordered, 10, 50);
    burst(Mode::NonBlocking, 10, 50);
}

#[test]
fn a_burst_of_5000_lost_frames_is_recovered() {
    burst(Mode::Ordered, 10, 5_000);
    burst(Mode::NonBlocking, 10, 5_000);
}

#[test]
fn a_whole_lost_window_is_recovered() {
    burst(Mode::Ordered, 0, 8_092);
}

#[test]
fn more_holes_than_a_feedback_can_list_are_recovered() {
    for mode in Mode::ALL {
        let mut pair = protected(1);
        pair.links[A].loss = Loss::originals(|position| position % 2 == 0 && position < 400);
        send(&mut pair, mode, 500);
        pair.run_until_idle(5 * MILLI);
        pair.assert_all_delivered(A);
        assert_eq!(pair.stats(B).lost_frames, 200);
        assert_eq!(pair.stats(B).duplicates_dropped, 0, "no copy was sent without need");
    }
}

#[test]
fn a_lost_notification_costs_at_most_one_ack_interval() {
    let mut pair = protected(1);
    pair.links[A].loss = Loss::originals(|position| position == 3);
    let mut armed = true;
    pair.links[B].loss = Loss::script(move |wire| {
        let names_a_hole = matches!(wire, Wire::Control(control)
            if matches!(&**control, linkmend_protocol::Control::Feedback(feedback)
                if feedback.lanes[Mode::Ordered].missing().len() > 0));
        names_a_hole && std::mem::take(&mut armed)
    });
    send(&mut pair, Mode::Ordered, 10);
    pair.run_until_idle(MILLI);
    let waited = pair.stats(B).recovery_latency.max();
    let interval = quick_config().ack_interval.0;
    assert!((5 * MICRO..interval + 10 * MICRO).contains(&waited), "waited {waited} ns");
}

#[test]
fn lost_copies_start_another_round_when_something_later_was_seen() {
    let mut pair = protected(2);
    let mut copies = 0;
    pair.links[A].loss = Loss::script(move |wire| {
        copies += u32::from(wire.is_copy());
        let first = matches!(wire, Wire::Data { frame, .. } if *frame == FrameId(0));
        first && (wire.is_original() || copies <= 2)
    });
    send(&mut pair, Mode::Ordered, 5);
    pair.run_until_idle(MILLI);
    let stats = pair.stats(A);
    assert_eq!(stats.retransmitted_copies, 4, "two rounds of two copies");
    assert!(pair.stats(B).recovery_latency.max() < 40 * MICRO, "no timeout");
    pair.assert_all_delivered(A);
}

#[test]
fn repeated_reports_do_not_repeat_the_copies() {
    // The report is repeated every ack interval, and the link is so long that many repeats come before the copy.
    let config = Config { ack_interval: Tick::Nanosecond.micros(2), ..quick_config() };
    let mut pair = Pair::protected(Settings { config, delay_ns: 100 * MICRO, ..Settings::default() }, 1);
    pair.links[A].loss = Loss::originals(|position| position == 0);
    send(&mut pair, Mode::Ordered, 5);
    pair.run_until_idle(5 * MILLI);
    assert_eq!(pair.stats(A).retransmitted_copies, 1);
    assert!(pair.stats(A).feedbacks_received > 20, "the report was repeated");
}

#[test]
fn when_all_copies_are_lost_the_ordered_lane_moves_on_and_counts_the_loss() {
    let config = Config { max_rounds: 1, ..quick_config() };
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 2);
    pair.links[A].loss = Loss::script(|wire| matches!(wire, Wire::Data { frame: FrameId(1), .. }));
    let frames = send(&mut pair, Mode::Ordered, 4);
    pair.run_for(MILLI);
    assert_eq!(pair.ledger.deliveries[A], frames[..1], "the lane waits for the recovery timeout");
    pair.run_until_idle(5 * MILLI);
    assert_eq!(pair.ledger.deliveries[A], [frames[0], frames[2], frames[3]]);
    assert_eq!((pair.stats(B).recovery_timeouts, pair.ledger.count(A, LossCause::GivenUp)), (1, 1));
    pair.assert_accounts();
}

#[test]
fn extra_copies_are_delivered_once() {
    for mode in Mode::ALL {
        let mut pair = protected(4);
        pair.links[A].loss = Loss::originals(|position| position == 2);
        send(&mut pair, mode, 6);
        pair.run_until_idle(MILLI);
        assert_eq!(pair.stats(A).retransmitted_copies, 4);
        pair.run_for(MILLI);
        assert_eq!(pair.stats(B).duplicates_dropped, 3);
        assert_eq!(pair.ledger.deliveries[A].len(), 6);
    }
}

#[test]
fn both_directions_recover_at_once_with_piggybacked_acks() {
    let mut pair = protected(2);
    pair.protect(B, Copies::Fixed(2));
    pair.run_until(MILLI, |pair| pair.is_active(B));
    pair.ledger.strict_order = true;
    for end in [A, B] {
        pair.links[end].loss = Loss::Iid(0.02);
        pair.offer(end, Mode::Ordered, 3_000, 800);
    }
    pair.run_until_idle(100 * MILLI);
    for end in [A, B] {
        assert!(pair.stats(end).piggybacked_acks_sent > 500, "{:?}", pair.stats(end));
        assert!(pair.stats(end).recovered_frames > 20);
        pair.assert_all_delivered(end);
    }
    pair.assert_accounts();
}

#[test]
fn both_modes_run_at_once_each_with_its_own_order() {
    let mut pair = protected(2);
    pair.links[A].loss = Loss::Iid(0.05);
    pair.offer(A, Mode::NonBlocking, 1_000, 500);
    pair.offer(A, Mode::Ordered, 1_000, 500);
    pair.ledger.strict_order = true;
    pair.run_until_idle(100 * MILLI);
    pair.assert_all_delivered(A);
    let non_blocking: Vec<_> = pair.ledger.deliveries[A].iter().filter(|frame| frame.0 < 1_000).collect();
    assert!(!non_blocking.is_sorted(), "a recovered frame comes out of order in this lane");
}

#[test]
fn the_era_wraps_under_loss() {
    let mut pair = protected(2);
    pair.links[A].loss = Loss::Iid(0.01);
    for mode in Mode::ALL {
        for _ in 0..140 {
            pair.offer(A, mode, 1_000, 100);
            pair.run_until_idle(50 * MILLI);
        }
    }
    pair.assert_all_delivered(A);
    assert!(pair.stats(B).recovered_frames > 2_000);
    pair.assert_accounts();
}

/// Paper mode: one round of N copies leaves `loss^(N+1)` (Equation 1).
fn equation_one(loss: f64, copies: u8, frames: u64, seed: u64) {
    let config = Config { max_rounds: 1, window_frames: 1024, ..quick_config() };
    let mut pair = Pair::protected(Settings { config, seed, ..Settings::default() }, copies);
    pair.links[A].loss = Loss::Iid(loss);
    for _ in 0..frames / 1_000 {
        pair.offer(A, Mode::NonBlocking, 1_000, 100);
        pair.run_until_idle(50 * MILLI);
    }
    let expected = linkmend_protocol::effective_loss(loss, copies) * frames as f64;
    let lost = pair.stats(B).given_up_frames() as f64;
    // Four standard deviations of the binomial.
    let margin = 4.0 * expected.sqrt();
    assert!((lost - expected).abs() < margin, "{lost} lost, {expected:.1} +- {margin:.1} expected");
    let actual = pair.stats(B).lost_frames as f64 / frames as f64;
    let margin = 4.0 * (loss / frames as f64).sqrt();
    assert!((actual - loss).abs() < margin, "actual loss {actual}");
    pair.assert_accounts();
}

#[test]
fn paper_mode_satisfies_equation_1() {
    equation_one(0.1, 1, 60_000, 11);
    equation_one(0.1, 2, 60_000, 12);
    equation_one(0.3, 3, 40_000, 13);
}
