//! Frames that their sender has withdrawn: how soon the receiver knows that it waits in vain.

use crate::common::{A, B, FrameId, Loss, MICRO, MILLI, Pair, Settings, Wire, pair::quick_config};
use linkmend_protocol::{Config, Mode, Tick};

/// The delay of the pair's links.
const DELAY: u64 = 2 * MICRO;

/// Loses a frame with all its copies, and the first dummies that announce its withdrawal.
fn lose(pair: &mut Pair, victim: FrameId, mut withdrawals: u32) {
    pair.links[A].loss = Loss::script(move |wire| {
        let lost = wire.is_dummy() && withdrawals > 0;
        withdrawals -= u32::from(lost);
        lost || matches!(wire, Wire::Data { frame, .. } if *frame == victim)
    });
}

/// Time from the withdrawal of the frame to the moment when the receiver stops waiting.
fn waited_in_vain_ns(pair: &mut Pair) -> u64 {
    pair.run_until(20 * MILLI, |pair| pair.stats(A).exhausted_frames == 1);
    let begun = pair.now;
    pair.run_until(20 * MILLI, |pair| pair.stats(B).missing_frames == 0);
    pair.now - begun
}

/// While the lane is busy, no other dummy follows. The lane must not wait until its window or the Rx buffer is full.
#[test]
fn a_lost_withdrawal_is_repeated_while_the_lane_is_busy() {
    for mode in Mode::ALL {
        for lost in [0, 1, 2, 3] {
            let config = Config { max_rounds: 3, window_frames: 4096, ..quick_config() };
            let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
            let first = pair.ledger.frames.len() as u32;
            lose(&mut pair, FrameId(first + 50), lost);
            pair.offer(A, mode, 3_000, 1_000);
            let waited = waited_in_vain_ns(&mut pair);
            assert!(pair.nodes[A].queued() > 0, "the lane is busy until then");
            // The way there and, for each one that is lost, back with the next report and there again.
            let bound = u64::from(lost + 1) * (DELAY + MICRO)
                + u64::from(lost) * (config.ack_interval.0 + DELAY + 2 * MICRO);
            assert!(waited <= bound, "{mode}, {lost} withdrawals lost: {waited} ns, bound {bound} ns");
            assert_eq!(pair.stats(B).withdrawn_frames, 1);
            let dummies = pair.stats(A).dummies_sent;
            assert!(dummies <= 2 * u64::from(lost) + 2, "{dummies} dummies");
            pair.run_until_idle(20 * MILLI);
        }
    }
}

/// The longest time between two deliveries of the non-blocking lane, one of whose first frames is lost for good.
fn standstill_ns(config: Config, peer_window: u32, rest_after: Option<u64>) -> u64 {
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    let peer = Config { window_frames: peer_window, ..config };
    pair.nodes[B] = crate::common::node::Node::new(B, peer, 99);
    pair.run_until(100 * MILLI, |pair| pair.stats(A).sessions_opened == 2 && pair.is_active(A));
    let first = pair.ledger.frames.len() as u32;
    lose(&mut pair, FrameId(first + 5), 0);
    if let Some(frames) = rest_after {
        // Dummies of an idle lane announce the withdrawal before the window is half full.
        pair.offer(A, Mode::NonBlocking, frames, 500);
        pair.run_until(MILLI, |pair| pair.stats(A).exhausted_frames == 1);
        pair.run_for(100 * MICRO);
    }
    pair.offer(A, Mode::NonBlocking, 4_000, 500);
    pair.run_until(20 * MILLI, |pair| pair.nodes[A].queued() == 0);
    let begun = if rest_after.is_some() { first as usize + 30 } else { first as usize };
    let mut times: Vec<_> =
        pair.ledger.frames[begun..].iter().filter_map(|record| record.delivered_at).collect();
    times.sort_unstable();
    times.windows(2).map(|pair| pair[1] - pair[0]).max().expect("deliveries")
}

/// The paper's mode gives up by its clock. A window full of later frames must not stall until then.
#[test]
fn with_one_round_no_timeout_stalls_the_non_blocking_lane_whatever_the_windows() {
    let config = Config { max_rounds: 1, window_frames: 64, ..quick_config() };
    for (own, peer) in [(64, 64), (64, 1024), (1024, 64), (16, 4096)] {
        for rest_after in [None, Some(30)] {
            let config = Config { window_frames: own, ..config };
            if rest_after.is_some() && own < 64 {
                continue;
            }
            let took = standstill_ns(config, peer, rest_after);
            assert!(took < 40 * MICRO, "windows of {own} and {peer}, {rest_after:?}: {took} ns");
        }
    }
}

/// A receiver with a recovery timeout must heed the withdrawal, and not wait for the timeout, 10 ms here.
#[test]
fn a_recovery_timeout_does_not_delay_a_withdrawal() {
    for mode in Mode::ALL {
        let recovery_timeout = quick_config().recovery_timeout * 5;
        let config = Config { max_rounds: 3, give_up_by_clock: true, recovery_timeout, ..quick_config() };
        let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
        let first = pair.ledger.frames.len() as u32;
        lose(&mut pair, FrameId(first + 5), 0);
        pair.offer(A, mode, 20, 1_000);
        let waited = waited_in_vain_ns(&mut pair);
        assert!(waited <= DELAY + MICRO, "{mode}: {waited} ns");
        assert_eq!((pair.stats(B).withdrawn_frames, pair.stats(B).recovery_timeouts), (1, 0), "{mode}");
        pair.run_until_idle(20 * MILLI);
    }
}

/// The timeout remains the bound for a sender that never withdraws.
#[test]
fn a_recovery_timeout_is_a_bound_for_senders_of_many_rounds() {
    for mode in Mode::ALL {
        // 255 rounds take more than a millisecond.
        let recovery_timeout = Tick::Nanosecond.micros(500);
        let config = Config { max_rounds: 255, give_up_by_clock: true, recovery_timeout, ..quick_config() };
        let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
        let first = pair.ledger.frames.len() as u32;
        let begun = pair.now;
        lose(&mut pair, FrameId(first + 5), 0);
        pair.offer(A, mode, 20, 1_000);
        pair.run_until(20 * MILLI, |pair| pair.stats(B).recovery_timeouts == 1);
        let took = pair.now - begun;
        assert!(took < config.recovery_timeout.0 + 60 * MICRO, "{mode}: {took} ns");
        assert_eq!(pair.stats(B).withdrawn_frames, 0, "{mode}");
    }
}
