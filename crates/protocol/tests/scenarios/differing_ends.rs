//! Two ends that are configured differently: each says what the other needs to know.

use crate::common::{A, B, FrameId, Loss, MICRO, MILLI, Node, Pair, Settings, Wire, pair::quick_config};
use linkmend_protocol::{Config, Copies, Mode, Tick};

/// Far enough from the first that a stalled lane shows as a gap between two deliveries.
const LOST: FrameId = FrameId(20);

/// A sends to B; one frame is lost, with as many transmissions as `lost` says.
fn pair(configs: [Config; 2], lost: u32) -> Pair {
    let mut pair = Pair::new(Settings { config: configs[A], ..Settings::default() });
    pair.nodes[B] = Node::new(B, configs[B], 7);
    pair.protect(A, Copies::Fixed(1));
    pair.run_until(MILLI, |pair| pair.is_active(A));
    let mut transmissions = 0;
    pair.links[A].loss = Loss::script(move |wire| {
        let hit = matches!(wire, Wire::Data { frame: LOST, .. });
        transmissions += u32::from(hit);
        hit && transmissions <= lost
    });
    pair
}

/// Longest time between two deliveries.
fn longest_gap(pair: &Pair) -> u64 {
    let mut times: Vec<_> = pair.ledger.frames.iter().filter_map(|frame| frame.delivered_at).collect();
    times.sort_unstable();
    times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
}

fn patient() -> Config {
    // A dummy that is not due comes late.
    Config {
        recovery_timeout: Tick::Nanosecond.millis(4),
        dummy_interval_min: Tick::Nanosecond.millis(1),
        dummy_interval_max: Tick::Nanosecond.millis(2),
        ..quick_config()
    }
}

fn by_clock() -> Config {
    Config { max_rounds: 1, ..patient() }
}

/// A sender with one round must not assume that its peer gives up by the clock, too, but tell it when it waits in vain.
/// Otherwise the lane stalls until the next dummy.
#[test]
fn a_receiver_that_relies_on_withdrawals_gets_them_at_once_whatever_the_senders_rounds() {
    let mut pair = pair([by_clock(), patient()], 2);
    pair.offer(A, Mode::Ordered, 400, 1_000);
    pair.run_until_idle(20 * MILLI);
    let stats = pair.stats(B);
    assert_eq!((stats.withdrawn_frames, stats.given_up_frames(), stats.delivered_frames), (1, 1, 399));
    assert!(longest_gap(&pair) < 60 * MICRO, "{} ns", longest_gap(&pair));
}

/// The same when it changes while the session runs: the next feedback says so.
#[test]
fn a_receiver_that_changes_to_relying_on_withdrawals_gets_them_at_once() {
    let mut pair = pair([by_clock(), by_clock()], 2);
    pair.nodes[B].end.reconfigure(patient()).expect("valid");
    pair.offer(A, Mode::Ordered, 400, 1_000);
    pair.run_until_idle(20 * MILLI);
    assert_eq!((pair.stats(B).withdrawn_frames, pair.stats(B).delivered_frames), (1, 399));
    assert!(longest_gap(&pair) < 60 * MICRO, "{} ns", longest_gap(&pair));
}

/// A receiver whose window is the larger one does not see the sender's fill.
#[test]
fn a_small_sending_window_does_not_stall_the_non_blocking_lane_to_a_receiver_with_a_large_one() {
    for rounds in [[1, 1], [1, 255], [255, 1]] {
        let config = |max_rounds, window_frames| Config { max_rounds, window_frames, ..patient() };
        let lost = if rounds[A] == 1 { 2 } else { 20 };
        let mut pair = pair([config(rounds[A], 64), config(rounds[B], 1024)], lost);
        pair.offer(A, Mode::NonBlocking, 400, 1_000);
        pair.run_until_idle(20 * MILLI);
        let stats = pair.stats(B);
        let expected = if rounds[A] == 1 { 399 } else { 400 };
        let accounts = (stats.delivered_frames, stats.given_up_frames());
        assert_eq!(accounts, (expected, 400 - expected), "{rounds:?}");
        assert!(rounds[A] > 1 || longest_gap(&pair) < 60 * MICRO, "{rounds:?}: {} ns", longest_gap(&pair));
    }
}

/// Every combination of rounds and clocks at either end, in both modes: what is not corrupted arrives, and nothing
/// waits longer than the longest recovery timeout.
#[test]
fn ends_that_give_up_differently_lose_nothing_uncorrupted_and_do_not_stall() {
    let kinds = [patient(), by_clock(), Config { give_up_by_clock: true, ..patient() }];
    for (ours, theirs) in kinds.iter().flat_map(|ours| kinds.iter().map(move |theirs| (*ours, *theirs))) {
        for mode in Mode::ALL {
            for lost in [2, 3, 5, 1_000] {
                // A frame that can never pass is given up by the end that has a bound for it.
                if lost == 1_000 && !theirs.gives_up_by_clock() && ours.max_rounds > 1 {
                    continue;
                }
                let mut pair = pair([ours, theirs], lost);
                pair.offer(A, mode, 1_500, 1_000);
                pair.run_until_idle(40 * MILLI);
                let missing = pair.ledger.frames.iter().filter(|frame| frame.delivered_at.is_none());
                assert!(
                    missing.clone().all(|frame| frame.corrupted >= 2),
                    "{ours:?} {theirs:?} {mode} {lost}"
                );
                assert_eq!(missing.count() as u64, pair.stats(B).given_up_frames());
                let bound = theirs.recovery_timeout.0 + 200 * MICRO;
                assert!(longest_gap(&pair) < bound, "{} ns {ours:?} {theirs:?} {mode}", longest_gap(&pair));
                pair.assert_accounts();
            }
        }
    }
}
