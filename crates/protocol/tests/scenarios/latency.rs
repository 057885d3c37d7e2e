//! How long a lost copy goes unnoticed: until something that was sent after it has been seen (the sender's marks). On a
//! quiet link that is a dummy, whose stamp the receiver echoes; no timer takes part.

use crate::common::{A, B, Loss, MICRO, MILLI, Pair, Settings, Wire, pair::quick_config};
use linkmend_protocol::{Config, Copies, Format, Mode, Tick, Ticks};

const DELAY: u64 = 2 * MICRO;

/// Whatever repeats by the clock does so after a millisecond, and would show in every figure here.
fn settings() -> Settings {
    let config = Config {
        ack_interval: Tick::Nanosecond.millis(1),
        dummy_interval_min: Tick::Nanosecond.millis(1),
        dummy_interval_max: Tick::Nanosecond.millis(1),
        ..quick_config()
    };
    Settings { config, delay_ns: DELAY, ..Settings::default() }
}

/// The first frame is lost, and its copies in as many rounds as `rounds` says.
fn lose_copies(pair: &mut Pair, copies: u32, rounds: u32) {
    let mut seen = 0;
    pair.links[A].loss = Loss::script(move |wire| {
        let first = matches!(wire, Wire::Data { frame, .. } if frame.0 == 0);
        seen += u32::from(first && wire.is_copy());
        first && (wire.is_original() || seen <= copies * rounds)
    });
}

/// Time from the offer of a lonely frame to its delivery.
fn recovery_ns(pair: &mut Pair, mode: Mode) -> u64 {
    let begun = pair.now;
    let frame = pair.offer(A, mode, 1, 500)[0];
    pair.run_until_idle(20 * MILLI);
    pair.ledger.record(frame).delivered_at.expect("recovered") - begun
}

#[test]
fn each_round_of_lost_copies_costs_one_round_trip_and_one_dummy() {
    let dummy_delay = settings().config.dummy_delay.0;
    for mode in Mode::ALL {
        for copies in [1, 3] {
            let took = [0, 1, 2, 5].map(|rounds| {
                let mut pair = Pair::protected(settings(), copies as u8);
                lose_copies(&mut pair, copies, rounds);
                let took = recovery_ns(&mut pair, mode);
                assert_eq!(pair.stats(A).retransmitted_copies, u64::from(copies * (rounds + 1)));
                (u64::from(rounds), took)
            });
            for (rounds, took) in took {
                // There, back, the dummy's wait and frames of 0.42 us and less; then the same for each round.
                let round = 2 * DELAY + dummy_delay + u64::from(copies) * 420 + 400;
                let least = (rounds + 1) * (2 * DELAY + dummy_delay) + DELAY;
                let bound = (rounds + 1) * round + DELAY + 900;
                assert!(
                    (least..bound).contains(&took),
                    "{mode}, {copies} copies, {rounds} rounds: {took} ns"
                );
            }
        }
    }
}

/// In the compact format the dummy behind a copy must carry a stamp. If only the next one did, a frame whose copy was
/// lost would come after 611 us instead of 411, with these times, which are the daemon's.
#[test]
fn the_first_dummy_reveals_a_lost_copy_in_the_compact_format_too() {
    let times = Config::new(Tick::Nanosecond);
    let config = Config {
        format: Format::Compact,
        dummy_delay: Tick::Nanosecond.micros(200),
        dummy_interval_min: times.dummy_interval_min,
        ack_interval: times.ack_interval,
        ..quick_config()
    };
    for mode in Mode::ALL {
        let took = [0, 1, 2, 4].map(|rounds| {
            let mut pair = Pair::protected(Settings { config, delay_ns: DELAY, ..Settings::default() }, 1);
            lose_copies(&mut pair, 1, rounds);
            recovery_ns(&mut pair, mode)
        });
        for (rounds, pair) in [1, 1, 2].into_iter().zip(took.windows(2)) {
            let round = (pair[1] - pair[0]) / rounds;
            let bound = config.dummy_delay.0 + 2 * DELAY + 2 * MICRO;
            assert!(round <= bound, "{mode}: {round} ns a round of lost copies, bound {bound} ns: {took:?}");
        }
    }
}

const INTERVAL: u64 = 30 * MICRO;

/// The receiver's port is never idle: its ACKs ride on frames that leave without a gap.
fn busy_receiver() -> Pair {
    let config = Config {
        ack_interval: Ticks(INTERVAL),
        keepalive: Tick::Nanosecond.micros(300),
        ..settings().config
    };
    let mut pair = Pair::protected(Settings { config, ..settings() }, 1);
    pair.protect(B, Copies::Fixed(1));
    pair.run_until(10 * MILLI, |pair| pair.is_active(B));
    pair.offer(B, Mode::Ordered, 5_000, 1_500);
    pair.run_for(50 * MICRO);
    pair
}

/// Plain ACKs echo no stamp: the complete feedback, which does, goes ahead of normal frames within an ACK interval.
#[test]
fn the_echo_of_a_stamp_does_not_wait_for_an_idle_port() {
    let mut pair = busy_receiver();
    for round in 1..4 {
        let first = pair.ledger.frames.len();
        let mut seen = 0;
        pair.links[A].loss = Loss::script(move |wire| {
            let ours = matches!(wire, Wire::Data { frame, .. } if frame.0 as usize == first);
            seen += u32::from(ours);
            ours && seen <= 3
        });
        pair.offer(A, Mode::Ordered, 1, 500);
        let begun = pair.now;
        pair.run_until(2 * MILLI, |pair| pair.ledger.frames[first].delivered_at.is_some());
        let took = pair.now - begun;
        // The notification is urgent; each of the rounds of lost copies may wait for an interval.
        let bound = 3 * (INTERVAL + 2 * DELAY + 3 * MICRO) + 2 * DELAY;
        assert!(took < bound, "round {round} took {took} ns, bound {bound}");
    }
    // The same with nothing missing: round trips do not become longer.
    pair.run_for(2 * MILLI);
    assert!(pair.nodes[B].queues.frames(Mode::Ordered) > 0, "no longer busy");
    let measured = pair.nodes[A].end.round_trips();
    let bound = INTERVAL + 2 * DELAY + 3 * MICRO;
    assert!(measured.samples > 5 && measured.max.0 < bound, "{measured:?}, bound {bound}");
}

/// A report that was written before the copies left says nothing about them, however late it comes.
#[test]
fn a_report_from_before_the_copies_requests_none() {
    let config = Config { ack_interval: Tick::Nanosecond.micros(1), ..settings().config };
    let mut pair = Pair::protected(Settings { config, delay_ns: 50 * MICRO, ..Settings::default() }, 1);
    pair.links[A].loss = Loss::originals(|position| position == 3);
    pair.offer(A, Mode::Ordered, 40, 500);
    pair.run_until_idle(5 * MILLI);
    assert!(pair.stats(A).feedbacks_received > 50, "the report was repeated");
    assert_eq!((pair.stats(A).retransmitted_copies, pair.stats(B).duplicates_dropped), (1, 0));
}

/// Round trips are measured from a dummy to the feedback that echoes its stamp.
#[test]
fn round_trips_are_those_of_dummies_and_their_echoes() {
    let mut pair = Pair::protected(settings(), 1);
    assert_eq!(pair.nodes[A].end.round_trips().samples, 0);
    for _ in 0..10 {
        pair.offer(A, Mode::Ordered, 5, 1_000);
        pair.run_for(3 * MILLI);
    }
    let measured = pair.nodes[A].end.round_trips();
    assert!(measured.samples >= 10, "{measured:?}");
    // Two crossings, two control frames of 67 ns, and the gap between ACKs.
    let bound = 2 * DELAY + 2 * 67 + quick_config().ack_gap.0 + 10;
    assert!(measured.min.0 >= 2 * DELAY && measured.max.0 <= bound, "{measured:?}, bound {bound}");
    assert!(measured.min <= measured.max);
    // A feedback that echoes no new stamp is no sample.
    let mut echoes = 0;
    pair.links[B].loss = Loss::script(move |wire| {
        echoes += u32::from(wire.is_feedback());
        wire.is_feedback() && echoes <= 3
    });
    pair.offer(A, Mode::Ordered, 5, 1_000);
    pair.run_for(3 * MILLI);
    let later = pair.nodes[A].end.round_trips();
    assert!(later.samples > measured.samples && later.max.0 < 1_100 * MICRO, "{later:?}");
}

/// Not only the latest dummy counts. On a link longer than a keepalive (10 ms) the next one has always left before the
/// answer comes, and no round trip would be measured.
#[test]
fn round_trips_longer_than_a_keepalive_are_measured() {
    let delay_ns = 5 * MILLI;
    let patient = Tick::Nanosecond.millis(100);
    let config = Config {
        keepalive: Tick::Nanosecond.millis(1),
        peer_timeout: patient,
        session_expiry: patient * 2,
        hello_interval: Tick::Nanosecond.millis(10),
        ..settings().config
    };
    let mut pair = Pair::new(Settings { config, delay_ns, ..Settings::default() });
    pair.protect(A, Copies::Fixed(1));
    pair.run_until(200 * MILLI, |pair| pair.is_active(A));
    pair.offer(A, Mode::Ordered, 5, 1_000);
    pair.run_for(200 * MILLI);
    let measured = pair.nodes[A].end.round_trips();
    assert!(measured.samples >= 8, "{measured:?}");
    let least = 2 * delay_ns;
    assert!(measured.min.0 >= least && measured.min.0 < least + MILLI, "{measured:?}");
    assert!(measured.max.0 < least + 2 * MILLI, "{measured:?}");
}
