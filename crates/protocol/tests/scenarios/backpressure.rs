//! The reordering buffer and its backpressure (section 3.3, Algorithm 2), and the Tx buffer's bounds.

use crate::common::{A, B, FrameId, Loss, MICRO, MILLI, Pair, Settings, Wire, pair::quick_config};
use linkmend_protocol::{Admission, Config, Control, Format, Mode, Tick};

/// A link on which a frame stays missing until `release` copies of it were sent.
fn stuck(config: Config, lost_copies: u32) -> Pair {
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    let mut copies = 0;
    pair.links[A].loss = Loss::script(move |wire| {
        let first = matches!(wire, Wire::Data { frame: FrameId(0), .. });
        copies += u32::from(first && wire.is_copy());
        first && (wire.is_original() || copies <= lost_copies)
    });
    pair
}

fn small() -> Config {
    Config { pause_bytes: 20_000, resume_bytes: 5_000, ..quick_config() }
}

#[test]
fn pause_holds_only_the_normal_queue_of_the_ordered_lane() {
    let mut pair = stuck(small(), 8);
    pair.offer(A, Mode::Ordered, 500, 1_000);
    pair.run_until(MILLI, |pair| pair.nodes[A].end.status().paused);
    let copies = pair.stats(A).retransmitted_copies;
    assert_eq!(pair.nodes[A].end.admission(Mode::Ordered, 100), Admission::Held);
    assert_eq!(pair.nodes[A].end.admission(Mode::NonBlocking, 100), Admission::Protected);
    let other = pair.offer(A, Mode::NonBlocking, 3, 100);
    pair.run_for(6 * MICRO);
    assert!(pair.nodes[A].end.status().paused, "still paused");
    assert!(other.iter().all(|frame| pair.ledger.record(*frame).delivered_at.is_some()));
    pair.run_until_idle(20 * MILLI);
    assert!(pair.stats(A).retransmitted_copies > copies, "copies went out while paused");
    let (sender, receiver) = (pair.stats(A), pair.stats(B));
    assert!(receiver.pauses_sent >= 1 && sender.pauses_received >= 1 && sender.paused_ticks > 0);
    // What was in flight when the pause was decided: one crossing there and back, and little else.
    assert!(receiver.rx_buffer.max < 20_000 + 10_000, "{:?}", receiver.rx_buffer);
    assert_eq!(receiver.rx_buffer_overflows, 0);
    pair.assert_all_delivered(A);
}

fn feedback_paused(wire: &Wire) -> Option<bool> {
    match wire {
        Wire::Control(control) => match &**control {
            Control::Feedback(feedback) => Some(feedback.lanes[Mode::Ordered].paused),
            _ => None,
        },
        _ => None,
    }
}

#[test]
fn a_lost_pause_heals() {
    let mut pair = stuck(small(), 30);
    let mut lost = 0;
    pair.links[B].loss = Loss::script(move |wire| {
        let hit = feedback_paused(wire) == Some(true) && lost < 3;
        lost += u32::from(hit);
        hit
    });
    pair.offer(A, Mode::Ordered, 800, 1_000);
    pair.run_until(2 * MILLI, |pair| pair.nodes[A].end.status().paused);
    pair.run_until_idle(20 * MILLI);
    pair.assert_all_delivered(A);
}

#[test]
fn a_lost_resume_heals_even_if_all_its_repeats_are_lost() {
    let mut pair = stuck(small(), 8);
    let (mut was_paused, mut lost) = (false, 0);
    pair.links[B].loss = Loss::script(move |wire| {
        let Some(paused) = feedback_paused(wire) else { return false };
        was_paused |= paused;
        let hit = was_paused && !paused && lost < 6;
        lost += u32::from(hit);
        hit
    });
    pair.offer(A, Mode::Ordered, 300, 1_000);
    pair.run_until_idle(20 * MILLI);
    pair.assert_all_delivered(A);
    assert!(!pair.nodes[A].end.status().paused);
}

#[test]
fn an_rx_buffer_that_overflows_loses_nothing() {
    // The pause comes too late on purpose: the link is long and the buffer small.
    let config = Config {
        rx_buffer_bytes: 64 * 1024,
        pause_bytes: 64 * 1024,
        resume_bytes: 1_000,
        recovery_timeout: Tick::Nanosecond.millis(50),
        ..quick_config()
    };
    let settings = Settings { config, delay_ns: 100 * MICRO, ..Settings::default() };
    let mut pair = Pair::protected(settings, 1);
    pair.links[A].loss = Loss::originals(|position| position == 0);
    pair.offer(A, Mode::Ordered, 600, 1_000);
    pair.run_until_idle(50 * MILLI);
    let stats = pair.stats(B);
    assert!(stats.rx_buffer_overflows > 50 && stats.rx_buffer.max <= 64 * 1024);
    assert_eq!((stats.lost_frames, stats.recovery_timeouts), (1, 0));
    pair.assert_all_delivered(A);
}

/// A frame that found no room is requested again; its copies may find none either, and are requested again, too.
#[test]
fn copies_that_find_no_room_in_the_rx_buffer_are_counted_and_lose_nothing() {
    let config = Config {
        rx_buffer_bytes: 64 * 1024,
        pause_bytes: 64 * 1024,
        resume_bytes: 1_000,
        recovery_timeout: Tick::Nanosecond.millis(50),
        ..quick_config()
    };
    let settings = Settings { config, delay_ns: 100 * MICRO, ..Settings::default() };
    let mut pair = Pair::protected(settings, 2);
    let mut copies = 0;
    pair.links[A].loss = Loss::script(move |wire| {
        let first = matches!(wire, Wire::Data { frame: FrameId(0), .. });
        copies += u32::from(first && wire.is_copy());
        first && (wire.is_original() || copies <= 8)
    });
    pair.offer(A, Mode::Ordered, 300, 1_000);
    pair.run_until_idle(50 * MILLI);
    let stats = pair.stats(B);
    assert!(stats.rx_buffer_overflows > 50, "{stats:?}");
    assert!(stats.overflowed_copies > stats.rx_buffer_overflows, "{stats:?}");
    assert_eq!((stats.lost_frames, stats.recovery_timeouts), (1, 0));
    assert_eq!(stats.recovered_frames, 1 + stats.rx_buffer_overflows);
    pair.assert_all_delivered(A);
}

/// The first frame stays lost for so long that everything behind it overflows, several times over.
fn overflowed(config: Config, span_ns: u64) -> Pair {
    let mut pair = overflowing(config, span_ns);
    let began = pair.now;
    pair.run_until_idle(began + 200 * MILLI);
    assert!(pair.stats(B).rx_buffer_overflows > 50, "{:?}", pair.stats(B));
    pair
}

fn overflowing(config: Config, span_ns: u64) -> Pair {
    let config = Config { rx_buffer_bytes: 64 * 1024, pause_bytes: 64 * 1024, resume_bytes: 1_000, ..config };
    let settings = Settings { config, delay_ns: 100 * MICRO, ..Settings::default() };
    let mut pair = Pair::protected(settings, 1);
    let mut transmissions = 0;
    pair.links[A].loss = Loss::script(move |wire| {
        let first = matches!(wire, Wire::Data { frame: FrameId(0), .. });
        transmissions += u32::from(first);
        first && transmissions <= (span_ns / (200 * MICRO)) as u32
    });
    pair.offer(A, Mode::Ordered, 600, 1_000);
    pair
}

/// With one round, the sender must send a frame that only found no room as often as it takes. Rounds are for what the
/// link loses.
#[test]
fn an_rx_overflow_loses_no_frame_that_was_not_corrupted_whatever_the_rounds() {
    for format in [Format::Transparent, Format::Compact] {
        for max_rounds in [1, 2, 3, 255] {
            for span_ms in [1, 5, 30] {
                let config = Config { format, max_rounds, ..quick_config() };
                let pair = overflowed(config, span_ms * MILLI);
                let case = format!("{format}, {max_rounds} rounds, {span_ms} ms: {:?}", pair.stats(B));
                let lost = pair.ledger.frames.iter().filter(|frame| frame.delivered_at.is_none());
                assert_eq!(lost.clone().filter(|frame| frame.corrupted == 0).count(), 0, "{case}");
                assert!(lost.count() <= usize::from(max_rounds < 255), "{case}");
                pair.assert_accounts();
            }
        }
    }
}

/// The clock that one round implies is for losses on the link: a sender that stops for longer costs no frame that only
/// found no room.
#[test]
fn a_sender_that_sleeps_beyond_the_clock_loses_no_frame_that_found_no_room() {
    let config = Config { max_rounds: 1, peer_timeout: Tick::Nanosecond.millis(40), ..quick_config() };
    let config = Config { session_expiry: Tick::Nanosecond.millis(60), ..config };
    let mut pair = overflowing(config, MILLI);
    pair.run_until(20 * MILLI, |pair| pair.stats(B).rx_buffer_overflows > 50);
    pair.starve(A, 15 * MILLI, false);
    pair.run_until_idle(200 * MILLI);
    let lost = pair.ledger.frames.iter().filter(|frame| frame.delivered_at.is_none());
    assert_eq!(lost.clone().filter(|frame| frame.corrupted == 0).count(), 0, "{:?}", pair.stats(B));
    pair.assert_accounts();
}

/// With a clock in spite of more rounds, each arrival shows that the sender still holds the frame.
#[test]
fn the_clock_of_a_frame_that_found_no_room_begins_anew_with_each_arrival() {
    let config =
        Config { give_up_by_clock: true, recovery_timeout: Tick::Nanosecond.millis(1), ..quick_config() };
    let pair = overflowed(config, 30 * MILLI);
    let lost = pair.ledger.frames.iter().filter(|frame| frame.delivered_at.is_none()).count();
    assert_eq!((lost, pair.stats(B).recovery_timeouts), (1, 1), "{:?}", pair.stats(B));
    pair.assert_accounts();
}

#[test]
fn the_window_bounds_what_is_outstanding() {
    let config = Config { window_frames: 16, ..quick_config() };
    let mut pair = Pair::protected(Settings { config, delay_ns: 50 * MICRO, ..Settings::default() }, 1);
    pair.offer(A, Mode::Ordered, 200, 100);
    pair.run_for(20 * MICRO);
    assert_eq!(pair.nodes[A].end.status().outstanding_frames, 16);
    assert_eq!(pair.nodes[A].end.admission(Mode::Ordered, 100), Admission::Held);
    pair.run_until_idle(20 * MILLI);
    pair.assert_all_delivered(A);
}

#[test]
fn the_smaller_window_of_the_two_ends_holds() {
    let mut pair = Pair::default();
    let config = Config { window_frames: 16, ..quick_config() };
    pair.nodes[B] = crate::common::Node::new(B, config, 5);
    pair.protect(A, linkmend_protocol::Copies::Fixed(1));
    pair.run_until(MILLI, |pair| pair.is_active(A));
    pair.offer(A, Mode::Ordered, 500, 100);
    while pair.now < MILLI {
        assert!(pair.nodes[A].end.status().outstanding_frames <= 16);
        if !pair.step(MILLI) {
            break;
        }
    }
    assert_eq!(pair.stats(B).out_of_window_frames, 0);
    pair.assert_all_delivered(A);
}

#[test]
fn the_byte_bound_holds() {
    let config = Config { window_bytes: 64 * 1024, ..quick_config() };
    let mut pair = Pair::protected(Settings { config, delay_ns: 200 * MICRO, ..Settings::default() }, 1);
    pair.offer(A, Mode::NonBlocking, 200, 1_500);
    pair.run_until_idle(20 * MILLI);
    let used = pair.stats(A).tx_buffer[Mode::NonBlocking].max;
    assert!((60_000..=64 * 1024).contains(&used), "{used}");
    pair.assert_all_delivered(A);
}
