//! The lanes are independent: nothing that happens on one may delay the dummies or the ACKs of the other.

use crate::common::{A, B, FrameId, Loss, MICRO, MILLI, Pair, Settings, Source, Wire, pair::quick_config};
use linkmend_protocol::{Config, Copies, Mode, Tick};

/// What the other lane does meanwhile.
#[derive(Debug, Clone, Copy)]
enum Load {
    Idle,
    /// A frame now and then, at most this many nanoseconds apart.
    Trickle(u64),
    Saturated,
    /// Saturated, and every fifth frame lost.
    InRepair,
    /// Full of frames that the receiver has asked to hold back; for the ordered lane only.
    Paused,
}

fn is_of(wire: &Wire, lane: Mode) -> bool {
    matches!(wire, Wire::Data { header, .. } if header.mode == lane)
}

fn source(pair: &Pair, mode: Mode, gap_max_ns: u64, burst_max: u64, bytes_max: u64) -> Source {
    let ordered = if mode == Mode::Ordered { 1.0 } else { 0.0 };
    Source { next_at: pair.now, gap_max_ns, burst_max, bytes_max, ordered, remaining: 1_000_000 }
}

/// A pair whose lane `busy` is under `load`, and whose other lane loses its first `lost` transmissions.
fn pair_under(load: Load, busy: Mode, lost: u32) -> Pair {
    let config = Config { pause_bytes: 20_000, resume_bytes: 10_000, ..quick_config() };
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    let mut left = lost;
    let mut random = crate::common::Random::new(7);
    let quiet = busy.other();
    let (in_repair, stuck) = (matches!(load, Load::InRepair), matches!(load, Load::Paused));
    let mut originals = 0;
    pair.links[A].loss = Loss::script(move |wire| {
        if is_of(wire, quiet) {
            let hit = left > 0;
            left = left.saturating_sub(1);
            return hit;
        }
        originals += u32::from(wire.is_original());
        // With the first frame missing for good, the rest fills the Rx buffer.
        stuck && (originals == 1 || wire.is_copy()) || in_repair && is_of(wire, busy) && random.chance(0.2)
    });
    pair.nodes[A].source = match load {
        Load::Idle => None,
        Load::Trickle(gap_ns) => Some(source(&pair, busy, 2 * gap_ns, 1, 200)),
        Load::Saturated | Load::InRepair | Load::Paused => Some(source(&pair, busy, 1_000, 3, 1_500)),
    };
    if stuck {
        pair.run_until(MILLI, |pair| pair.nodes[A].end.is_paused());
    } else {
        pair.run_for(300 * MICRO);
    }
    pair
}

/// How long one announcement may take: the dummy's delay, its lateness, and the frames ahead of it.
fn announcement_ns(config: &Config) -> u64 {
    config.dummy_delay.0 + config.dummy_interval_min.0 + 3 * MICRO
}

const ROUND_TRIP_NS: u64 = 4 * MICRO + 4 * MICRO;

/// Loads that matter: gaps around each of the dummy's times, and more.
fn loads() -> Vec<Load> {
    let gaps = [200, 400, 500, 700, 1_000, 2_000, 5_000, 10_000, 19_000, 21_000, 50_000, 200_000];
    let trickles = gaps.map(Load::Trickle);
    [&[Load::Idle, Load::Saturated, Load::InRepair, Load::Paused][..], &trickles[..]].concat()
}

/// A single frame of one lane, of which the first transmissions are lost, arrives within the bound.
fn lost_tail(lost: u32, least_rounds: u64) {
    for load in loads() {
        for busy in Mode::ALL {
            if matches!(load, Load::Paused) && busy == Mode::NonBlocking {
                continue;
            }
            let mut pair = pair_under(load, busy, lost);
            let frame = pair.offer(A, busy.other(), 1, 143)[0];
            // Frames of the other lane that came before it go first.
            pair.run_until(100 * MILLI, |pair| pair.ledger.frames[frame.0 as usize].sent);
            let (begun, config) = (pair.now, *pair.nodes[A].end.config());
            let bound = least_rounds * (announcement_ns(&config) + ROUND_TRIP_NS) + 3 * MICRO;
            pair.run_for(2 * MILLI);
            let record = pair.ledger.record(frame);
            let took = record.delivered_at.map(|at| at - begun);
            assert!(
                took.is_some_and(|took| took < bound),
                "{load:?} on the {busy} lane: took {took:?} ns, bound {bound} ns, {record:?}"
            );
            assert_eq!(record.corrupted, lost, "the test lost what it wanted to");
        }
    }
}

/// A trickle of 0.2 % of the link must not hide a lost tail of the other lane.
#[test]
fn no_load_of_one_lane_hides_a_lost_tail_of_the_other() {
    lost_tail(1, 1);
}

#[test]
fn no_load_of_one_lane_hides_lost_copies_of_the_other() {
    lost_tail(2, 2);
    lost_tail(4, 4);
}

/// The other lane must not delay the dummies of a paused lane, which needs them as much as an idle one.
#[test]
fn a_pause_does_not_silence_the_lane_that_is_paused() {
    // All but the first reach the Rx buffer, which is then beyond the pause threshold.
    const ARRIVE: u32 = 7;
    for gap_ns in [300, 600, 3_000, 30_000] {
        let config = Config { pause_bytes: 8_000, resume_bytes: 4_000, ..quick_config() };
        let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
        // The first frame stays missing, so that the lane is paused; from then on none of its frames arrives.
        let mut originals = 0;
        pair.links[A].loss = Loss::script(move |wire| {
            originals += u32::from(wire.is_original() && is_of(wire, Mode::Ordered));
            is_of(wire, Mode::Ordered) && (originals == 1 || originals > ARRIVE || wire.is_copy())
        });
        pair.offer(A, Mode::Ordered, 40, 1_400);
        pair.nodes[A].source = Some(source(&pair, Mode::NonBlocking, gap_ns, 1, 200));
        pair.run_until(MILLI, |pair| pair.nodes[A].end.is_paused());
        let ordered_sent =
            |pair: &Pair| pair.ledger.frames[..40].iter().filter(|record| record.sent).count() as u64;
        assert!(ordered_sent(&pair) < 40, "frames are left behind the pause");
        pair.run_for(announcement_ns(&config) + ROUND_TRIP_NS);
        let stats = pair.stats(B);
        let ordered_sent = ordered_sent(&pair);
        assert!(ordered_sent > u64::from(ARRIVE), "a tail was lost: {ordered_sent}");
        assert_eq!(
            stats.lost_frames,
            1 + ordered_sent - u64::from(ARRIVE),
            "gap {gap_ns} ns: the tail is known to be missing"
        );
    }
}

/// The dummies of a lane restart with its own frames, so a lane that is never idle needs none.
#[test]
fn a_saturated_lane_alone_sends_no_dummies_ahead_of_its_frames() {
    let mut pair = pair_under(Load::Saturated, Mode::Ordered, 0);
    let before = pair.stats(A).dummies_sent;
    pair.run_for(MILLI);
    assert_eq!(pair.stats(A).dummies_sent - before, 0);
}

/// Counts non-blocking frames from A acknowledged by B, whose own ordered frames fill the other direction.
fn delivered_in_20_ms(window_frames: u32, reverse: bool, ordered_too: bool) -> u64 {
    let mut config = Config { window_frames, ..Config::new(Tick::Nanosecond) };
    config.fallback.enabled = false;
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    pair.protect(B, Copies::Fixed(1));
    pair.run_until(100 * MILLI, |pair| pair.is_active(B));
    if reverse {
        // Long frames: few ACKs can travel.
        pair.offer(B, Mode::Ordered, 20_000, 1_500);
    }
    if ordered_too {
        pair.nodes[A].source = Some(source(&pair, Mode::Ordered, 600, 1, 64));
    }
    let first = pair.offer(A, Mode::NonBlocking, 120_000, 200)[0];
    pair.run_for(20 * MILLI);
    let FrameId(first) = first;
    let frames = &pair.ledger.frames[first as usize..first as usize + 120_000];
    frames.iter().filter(|record| record.delivered_at.is_some()).count() as u64
}

/// When ACKs of both lanes are owed, frames must carry both by turns, and must not delay the complete feedback.
/// Otherwise the non-blocking lane falls to a fifth of its speed, and with a small window to a fortieth.
#[test]
fn acks_of_one_lane_do_not_starve_behind_those_of_the_other() {
    for window_frames in [1_024, 8_192] {
        let alone = delivered_in_20_ms(window_frames, false, true);
        let against = delivered_in_20_ms(window_frames, true, true);
        assert!(
            against * 100 >= alone * 95,
            "window {window_frames}: {against} frames against reverse traffic, {alone} without"
        );
    }
}
