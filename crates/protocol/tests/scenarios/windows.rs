//! The largest window: 32,768 frames, half the sequence space. The first and the last frame outstanding are as far
//! apart as two numbers can be and still be compared.

use crate::common::{A, B, Loss, MILLI, Pair, Settings, pair::quick_config};
use linkmend_protocol::{Admission, Config, Mode, Tick, WINDOW_MAX};

const WINDOW: u64 = WINDOW_MAX as u64;

/// A link whose round trip is longer than the window, so that all of it is outstanding before the first answer.
fn largest(delay_ns: u64) -> Pair {
    let config = Config {
        window_frames: WINDOW_MAX,
        window_bytes: 64 << 20,
        rx_buffer_bytes: 64 << 20,
        pause_bytes: 64 << 20,
        recovery_timeout: Tick::Nanosecond.millis(200),
        peer_timeout: Tick::Nanosecond.millis(60),
        session_expiry: Tick::Nanosecond.millis(100),
        ..quick_config()
    };
    Pair::protected(Settings { config, delay_ns, ..Settings::default() }, 1)
}

/// Frames of 84 bytes with all that surrounds them: 67 ns each, 2.2 ms for a window.
const BYTES: u32 = 64;
const LONG: u64 = 2 * MILLI;

fn lossy(mode: Mode, lost: impl Fn(u64) -> bool + Clone + 'static) {
    let count = (0..WINDOW + 10).filter(|&position| lost(position)).count() as u64;
    let mut pair = largest(LONG);
    pair.links[A].loss = Loss::originals(lost);
    pair.offer(A, mode, WINDOW + 10, BYTES);
    pair.run_until_idle(150 * MILLI);
    pair.assert_all_delivered(A);
    let (sender, receiver) = (pair.stats(A), pair.stats(B));
    assert_eq!((receiver.lost_frames, receiver.recovered_frames), (count, count));
    assert_eq!((receiver.out_of_window_frames, receiver.duplicates_dropped), (0, 0));
    assert_eq!(sender.retransmitted_copies, count);
    assert_eq!((sender.control_rejected, receiver.control_rejected), (0, 0));
    pair.assert_accounts();
}

#[test]
fn the_largest_window_fills_and_empties() {
    let mut pair = largest(LONG);
    pair.offer(A, Mode::Ordered, 3 * WINDOW, BYTES);
    pair.run_until(10 * MILLI, |pair| pair.nodes[A].end.status().outstanding_frames == WINDOW);
    assert_eq!(pair.nodes[A].end.admission(Mode::Ordered, BYTES), Admission::Held);
    pair.run_until_idle(60 * MILLI);
    pair.assert_all_delivered(A);
    let sender = pair.stats(A);
    assert_eq!((sender.control_rejected, sender.retransmitted_copies), (0, 0));
}

#[test]
fn the_oldest_frame_of_the_largest_window_is_recovered() {
    for mode in Mode::ALL {
        lossy(mode, |position| position == 0);
    }
}

#[test]
fn the_newest_frame_of_the_largest_window_is_recovered() {
    for mode in Mode::ALL {
        lossy(mode, |position| position == WINDOW - 1);
    }
}

#[test]
fn all_of_the_largest_window_is_recovered() {
    for mode in Mode::ALL {
        lossy(mode, |position| position < WINDOW);
    }
}

#[test]
fn both_ends_of_the_largest_window_are_recovered() {
    for mode in Mode::ALL {
        lossy(mode, |position| position == 0 || (WINDOW - 3..WINDOW).contains(&position));
    }
}
