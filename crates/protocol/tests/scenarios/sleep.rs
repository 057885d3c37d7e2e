//! Ends that do not run for a while, under load on a corrupting link: as on a machine that is short of processors.

use crate::common::{A, B, Loss, MICRO, MILLI, Pair, Random, Settings, Source, Wire};
use linkmend_protocol::{Config, Copies, Mode, Tick};

/// The defaults of a software link end.
fn config(max_rounds: u8) -> Config {
    let mut config = Config { max_rounds, ..Config::new(Tick::Nanosecond) };
    config.fallback.enabled = false;
    config
}

fn loaded(config: Config, ordered: f64, seed: u64) -> Pair {
    let settings = Settings { config, mbps: 1_000, delay_ns: 5 * MICRO, seed };
    let mut pair = Pair::new(settings);
    for end in [A, B] {
        pair.nodes[end].ring_ns = 50 * MICRO;
        pair.nodes[end].check_wire = false;
        pair.protect(end, Copies::Fixed(2));
    }
    pair.run_until(50 * MILLI, |pair| pair.is_active(A) && pair.is_active(B));
    for end in [A, B] {
        pair.links[end].loss = Loss::Iid(0.01);
        pair.nodes[end].source = Some(Source {
            next_at: pair.now,
            gap_max_ns: 400 * MICRO,
            burst_max: 4,
            bytes_max: 300,
            ordered,
            remaining: u64::MAX,
        });
    }
    pair
}

/// Puts either end, or both, to sleep `sleeps` times for 1 to 200 ms each. A sleeping end has frames on the wire,
/// copies in flight and timers due.
fn sleeps_and_wakes(ordered: f64, sleeps: u32, seed: u64) -> Pair {
    let mut pair = loaded(config(255), ordered, seed);
    pair.ledger.strict_order = true;
    let mut random = Random::new(seed);
    for _ in 0..sleeps {
        let who = random.below(4);
        for end in [A, B] {
            if who == end as u64 || who >= 2 {
                // Both: at the same moment, or overlapping.
                let delay = if who == 3 { random.below(20 * MILLI) } else { 0 };
                pair.run_for(delay);
                pair.starve(end, random.between(MILLI, 200 * MILLI), false);
            }
        }
        let until = [A, B].map(|end| pair.nodes[end].starved_until).into_iter().max().expect("two");
        let awake = random.log_between(10 * MICRO, 30 * MILLI);
        pair.run_for(until.saturating_sub(pair.now) + awake);
    }
    for end in [A, B] {
        pair.nodes[end].source = None;
    }
    pair.run_until_idle(2_000 * MILLI);
    pair
}

/// Receivers must not give up by the clock what a sleeping sender has not sent again, and sessions must survive sleeps
/// of 100 ms.
#[test]
fn ends_that_sleep_up_to_200_ms_lose_double_and_reorder_nothing() {
    let (mut frames, mut recovered) = (0, 0);
    for (ordered, seed) in [(1.0, 1), (0.0, 2), (0.5, 3)] {
        let pair = sleeps_and_wakes(ordered, 70, seed);
        for end in [A, B] {
            pair.assert_all_delivered(end);
            let stats = pair.stats(end);
            assert_eq!((stats.sessions_opened, stats.peers_lost, stats.given_up_frames()), (1, 0, 0));
            recovered += stats.recovered_frames;
        }
        frames += pair.ledger.frames.len();
    }
    assert!(frames > 200_000 && recovered > 2_000, "{frames} frames, {recovered} recovered");
}

/// The one clock that remains: the paper's, for those who ask for it.
#[test]
fn a_receiver_with_further_rounds_gives_up_only_frames_its_sender_has_withdrawn() {
    for mode in Mode::ALL {
        for (give_up_by_clock, timeouts, withdrawn) in [(false, 0, 1), (true, 1, 0)] {
            let config = Config { give_up_by_clock, max_rounds: 20, ..config(255) };
            let mut pair = loaded(config, 1.0, 4);
            for end in [A, B] {
                pair.nodes[end].source = None;
                pair.links[end].loss = Loss::None;
            }
            pair.run_until_idle(50 * MILLI);
            // Frame 3 never arrives. The sender sleeps between two rounds, for longer than the recovery timeout.
            let doomed = pair.ledger.frames.len() as u32 + 3;
            pair.links[A].loss =
                Loss::script(move |wire| matches!(wire, Wire::Data { frame, .. } if frame.0 == doomed));
            let frames = pair.offer(A, mode, 8, 200);
            pair.run_for(200 * MICRO);
            pair.starve(A, 100 * MILLI, false);
            pair.run_for(100 * MILLI);
            assert_eq!(pair.stats(B).given_up_frames(), timeouts, "{mode}");
            pair.run_until_idle(500 * MILLI);
            let stats = pair.stats(B);
            assert_eq!((stats.recovery_timeouts, stats.withdrawn_frames), (timeouts, withdrawn), "{mode}");
            assert_eq!(pair.stats(A).exhausted_frames, withdrawn);
            let arrived = frames.iter().filter(|frame| pair.ledger.record(**frame).delivered_at.is_some());
            assert_eq!(arrived.count(), 7);
            pair.assert_accounts();
        }
    }
}

/// With one round and one frame lost for good, the non-blocking lane must not stall until the recovery timeout.
#[test]
fn the_non_blocking_lane_moves_on_past_a_frame_that_is_lost_for_good() {
    let settings = Settings { config: config(1), mbps: 10_000, delay_ns: 2_000, seed: 5 };
    let mut pair = Pair::protected(settings, 1);
    pair.links[A].loss = Loss::script({
        let (mut seen, mut victim) = (0, None);
        move |wire| {
            let Wire::Data { frame, .. } = wire else { return false };
            seen += 1;
            victim = victim.or((seen == 50).then_some(*frame));
            victim == Some(*frame)
        }
    });
    pair.offer(A, Mode::NonBlocking, 60_000, 200);
    pair.run_until_idle(500 * MILLI);
    let mut delivered: Vec<_> = pair.ledger.frames.iter().filter_map(|record| record.delivered_at).collect();
    delivered.sort_unstable();
    assert_eq!(delivered.len(), 59_999);
    let longest = delivered.windows(2).map(|pair| pair[1] - pair[0]).max().expect("many");
    assert!(longest < 20 * MICRO, "no frame for {longest} ns");
    assert_eq!((pair.stats(B).given_up_frames(), pair.stats(A).exhausted_frames), (1, 1));
    pair.assert_accounts();
}
