//! What the counters and histograms say. Their identities are checked after every step of every scenario.

use crate::common::{A, B, Loss, MICRO, MILLI, Pair, Settings, Wire, pair::quick_config};
use linkmend_protocol::{Config, Control, Copies, DataHeader, FrameHandle, Mode, Reception};
use std::cell::Cell;
use std::rc::Rc;

#[test]
fn counters_agree_with_what_happened() {
    let mut pair = Pair::protected(Settings::default(), 2);
    pair.links[A].loss = Loss::Iid(0.03);
    for mode in Mode::ALL {
        pair.offer(A, mode, 2_000, 300);
    }
    pair.run_until_idle(100 * MILLI);
    let (sender, receiver) = (pair.stats(A), pair.stats(B));
    let frames = &pair.ledger.frames;
    assert_eq!((sender.protected_frames, sender.protected_bytes), (4_000, 1_200_000));
    assert_eq!((receiver.delivered_frames, receiver.delivered_bytes), (4_000, 1_200_000));
    let lost_originals = frames.iter().filter(|record| record.corrupted > 0).count() as u64;
    assert_eq!(receiver.lost_frames, lost_originals);
    let copies: u64 = frames.iter().map(|record| u64::from(record.transmissions) - 1).sum();
    assert_eq!((sender.retransmitted_copies, sender.retransmitted_bytes), (copies, 300 * copies));
    let arrived: u64 = frames.iter().map(|record| u64::from(record.transmissions - record.corrupted)).sum();
    assert_eq!(receiver.received_frames, arrived);
}

#[test]
fn recovery_latency_is_the_time_from_noticing_to_arrival() {
    let mut pair = Pair::protected(Settings { delay_ns: 10 * MICRO, ..Settings::default() }, 1);
    pair.links[A].loss = Loss::originals(|position| position == 100);
    pair.offer(A, Mode::NonBlocking, 200, 1_000);
    pair.run_until_idle(10 * MILLI);
    let latency = &pair.stats(B).recovery_latency;
    assert_eq!(latency.count(), 1);
    // Two crossings of 10 us, two frames of 1 us and the notification.
    assert!((20 * MICRO..24 * MICRO).contains(&latency.max()), "{} ns", latency.max());
}

#[test]
fn hole_lengths_are_counted() {
    let mut pair = Pair::protected(Settings::default(), 1);
    pair.links[A].loss = Loss::originals(|position| matches!(position, 10 | 20..=22 | 40..=47));
    pair.offer(A, Mode::Ordered, 100, 500);
    pair.run_until_idle(10 * MILLI);
    let holes = &pair.stats(B).hole_length;
    assert_eq!((holes.count(), holes.sum(), holes.max()), (3, 12, 8));
    let counts: Vec<_> = holes.buckets().filter(|(_, count)| *count > 0).collect();
    assert_eq!(counts, [(1, 1), (3, 1), (15, 1)]);
}

#[test]
fn buffer_extremes_begin_anew_on_request() {
    let config = Config { window_frames: 256, ..quick_config() };
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    pair.offer(A, Mode::Ordered, 200, 1_000);
    pair.run_until_idle(10 * MILLI);
    assert!(pair.stats(A).tx_buffer[Mode::Ordered].max > 1_000);
    pair.nodes[A].end.reset_buffer_extremes();
    assert_eq!(pair.stats(A).tx_buffer[Mode::Ordered].max, 0);
}

#[test]
fn an_idle_protected_link_is_quiet() {
    let mut pair = Pair::protected(Settings::default(), 1);
    pair.run_for(10 * MILLI);
    let before = (pair.stats(A).dummies_sent, pair.stats(B).acks_sent);
    pair.run_for(100 * MILLI);
    // One keepalive a millisecond and its answer.
    assert!((90..=110).contains(&(pair.stats(A).dummies_sent - before.0)));
    assert!((90..=110).contains(&(pair.stats(B).acks_sent - before.1)));
}

/// Every sixteenth frame is lost: on a long link that makes more holes at a time than one feedback lists. If the first
/// feedbacks are lost as well, all of it is reported again in stretches, and what a feedback covers moves back and
/// forth. The sender's count of frames and losses is exact all the same: counted by what is covered, 6.25 % were
/// measured as 38.5 %.
#[test]
fn the_measured_loss_is_exact_beyond_what_a_feedback_can_list() {
    for mode in Mode::ALL {
        for (frames, window, deaf_ns) in
            [(4_000, 4_000, 0), (4_000, 4_000, 2 * MILLI), (8_000, 4_000, 0), (8_000, 4_000, 2 * MILLI)]
        {
            let config = Config { window_frames: 8_192, loss_window_frames: window, ..quick_config() };
            let settings = Settings { config, delay_ns: 500 * MICRO, ..Settings::default() };
            let mut pair = Pair::protected(settings, 1);
            pair.links[A].loss = Loss::originals(|position| position % 16 == 7);
            pair.links[B].loss = Loss::Iid(1.0);
            pair.offer(A, mode, frames - 1, 64);
            pair.run_for(deaf_ns);
            pair.links[B].loss = Loss::None;
            pair.run_until_idle(100 * MILLI);
            assert_eq!(pair.stats(B).lost_frames, frames / 16);
            let early = pair.nodes[A].end.status().measured_loss;
            assert_eq!(early.is_some(), frames > u64::from(window), "{early:?} before the window was full");
            pair.offer(A, mode, 1, 64);
            pair.run_until_idle(100 * MILLI);
            let measured = pair.nodes[A].end.status().measured_loss.expect("a full window");
            assert!((measured - 1.0 / 16.0).abs() < 0.005, "{mode}, {frames} frames: {measured}");
            if frames == u64::from(window) {
                assert_eq!(measured, 1.0 / 16.0);
            }
        }
    }
}

/// A frame whose number cannot be of the session is dropped and counted, and changes nothing else.
#[test]
fn frames_outside_the_window_are_counted() {
    let mut pair = Pair::protected(Settings::default(), 1);
    pair.offer(A, Mode::Ordered, 10, 500);
    pair.run_until_idle(MILLI);
    let before = pair.stats(B);
    let header = pair.ledger.frames[9].lane.expect("protected");
    for (times, ahead) in (1..).zip([1_025 + 9, 20_000, 40_000, 60_000]) {
        let header =
            DataHeader { sequence: header.1.plus(ahead), mode: header.0, retransmitted: false, ack: None };
        let now = pair.nodes[B].local(pair.now);
        let reception = pair.nodes[B].end.handle_data(now, &header, FrameHandle(77), 500);
        assert_eq!(reception, Reception::Drop);
        let after = pair.stats(B);
        assert_eq!(after.out_of_window_frames, times);
        assert_eq!(
            (after.lost_frames, after.delivered_frames, after.delivered_bytes),
            (before.lost_frames, before.delivered_frames, before.delivered_bytes)
        );
    }
}

/// Hellos of each end in 45 ms, and the interval between them.
fn hellos(pair: &mut Pair) -> [u32; 2] {
    let counts = [A, B].map(|end| {
        let count = Rc::new(Cell::new(0));
        let counted = Rc::clone(&count);
        pair.links[end].loss = Loss::script(move |wire| {
            let hello = matches!(wire, Wire::Control(control) if matches!(**control, Control::Hello { .. }));
            counted.set(counted.get() + u32::from(hello));
            false
        });
        count
    });
    pair.run_for(45 * MILLI);
    counts.map(|count| count.get())
}

/// A hello says that its sender speaks Linkmend; an end that sends anything else with the magic number need not send
/// one.
#[test]
fn only_an_end_with_nothing_else_to_send_sends_hellos() {
    let mut pair = Pair::default();
    pair.run_for(5 * MILLI);
    assert_eq!(hellos(&mut pair), [4, 4], "one in each hello interval of 10 ms");
    let mut pair = Pair::protected(Settings::default(), 1);
    pair.run_for(15 * MILLI);
    assert_eq!(hellos(&mut pair), [0, 0], "dummies and their answers are enough");
}

#[test]
fn the_time_of_a_pause_is_counted_while_it_lasts() {
    let config = Config { pause_bytes: 20_000, resume_bytes: 5_000, max_rounds: 255, ..quick_config() };
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    pair.links[A].loss = Loss::script(|wire| matches!(wire, Wire::Data { frame, .. } if frame.0 == 0));
    pair.offer(A, Mode::Ordered, 100, 1_000);
    pair.run_until(MILLI, |pair| pair.nodes[A].end.is_paused());
    let begun = pair.now;
    for _ in 0..4 {
        pair.run_for(100 * MICRO);
        let (counted, passed) = (pair.stats(A).paused_ticks, pair.now - begun);
        // The counters stand at the latest call, which the dummies of a paused lane bring every 20 us and less often.
        assert!(counted <= passed && counted + 85 * MICRO > passed, "{counted} of {passed} ns");
    }
    pair.links[A].loss = Loss::None;
    pair.run_until_idle(5 * MILLI);
    let ended = pair.stats(A);
    pair.run_for(5 * MILLI);
    assert_eq!((pair.stats(A).paused_ticks, ended.pauses_received), (ended.paused_ticks, 1));
    assert!(ended.paused_ticks >= 400 * MICRO);
}

/// The sender's counts of reported losses and overflows belong to the session: the next one begins with none.
#[test]
fn losses_and_overflows_are_counted_from_the_beginning_of_the_session() {
    let config =
        Config { rx_buffer_bytes: 65_536, pause_bytes: 65_536, resume_bytes: 1_000, ..quick_config() };
    let settings = Settings { config, delay_ns: 100 * MICRO, ..Settings::default() };
    let mut pair = Pair::protected(settings, 1);
    let reported = Rc::new(Cell::new((0, 0)));
    let latest = Rc::clone(&reported);
    pair.links[B].loss = Loss::script(move |wire| {
        if let Wire::Control(control) = wire
            && let Control::Feedback(feedback) = &**control
        {
            latest.set((feedback.lost_total, feedback.rx_overflow_total));
        }
        false
    });
    let mut lost = 0;
    for session in 1..4u64 {
        let first = pair.ledger.frames.len();
        pair.links[A].loss = Loss::script(move |wire| {
            wire.is_original()
                && matches!(wire, Wire::Data { frame, .. } if frame.0 as usize - first < session as usize)
        });
        pair.offer(A, Mode::Ordered, 400, 1_000);
        pair.run_until_idle(50 * MILLI);
        lost += session;
        let stats = pair.stats(B);
        assert_eq!((stats.lost_frames, reported.get().0), (lost, session as u32), "session {session}");
        assert!(reported.get().1 > 50, "{reported:?}");
        assert!(
            session == 1 || u64::from(reported.get().1) < stats.rx_buffer_overflows,
            "those before do not count"
        );
        pair.unprotect(A);
        pair.run_until(50 * MILLI, |pair| pair.is_dormant(A));
        pair.protect(A, Copies::Fixed(1));
        pair.run_until(50 * MILLI, |pair| pair.is_active(A));
        pair.run_for(2 * MILLI);
        assert_eq!(reported.get(), (0, 0), "of a session without frames");
    }
}

/// Every feedback is counted once: as a loss notification if something in it is urgent, as an ACK if not.
#[test]
fn every_feedback_is_a_notification_or_an_ack() {
    let mut pair = Pair::protected(Settings::default(), 1);
    let before = pair.stats(B);
    pair.links[A].loss = Loss::originals(|position| position % 50 == 7);
    let sent = Rc::new(Cell::new(0));
    let counted = Rc::clone(&sent);
    pair.links[B].loss = Loss::script(move |wire| {
        counted.set(counted.get() + u64::from(wire.is_feedback()));
        false
    });
    pair.offer(A, Mode::Ordered, 500, 500);
    pair.run_until_idle(10 * MILLI);
    let after = pair.stats(B);
    let notifications = after.notifications_sent - before.notifications_sent;
    assert!(notifications >= 10, "one for each of ten losses: {notifications}");
    assert_eq!(notifications + after.acks_sent - before.acks_sent, sent.get());
}
