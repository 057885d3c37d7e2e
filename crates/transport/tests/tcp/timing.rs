//! When losses are found, to the nanosecond: RACK and tail loss probes (RFC 8985).

use crate::pair::{DELAY, Fate, Pair, Sent};
use linkmend_transport::tcp::Config;
use linkmend_transport::{Instant, Nanos};

const MSS: u64 = 1_448;
/// A full segment on the link.
const SEGMENT: u64 = MSS + 78;
const ACK: u64 = 78;

/// The retransmissions of end 0.
fn again(pair: &Pair) -> Vec<Sent> {
    let data = pair.data_of(0);
    let is_again = |place: &usize| {
        let sequence = data[*place].segment.sequence;
        data[..*place].iter().any(|earlier| earlier.segment.sequence == sequence)
    };
    (0..data.len()).filter(is_again).map(|place| data[place]).collect()
}

/// Section 6.2, steps 4 and 5: with two segments SACKed behind it, a segment is lost when the round-trip time of the latest
/// and a quarter of the shortest have passed since it was sent.
#[test]
fn rack_finds_a_loss_a_quarter_of_a_round_trip_after_the_segments_behind_it() {
    let mut pair = Pair::established(Config::default()).losing(0, &[7]);
    pair.write(0, 10 * MSS);
    pair.run();
    let (sent, resent) = (pair.data_of(0), again(&pair));
    assert_eq!(resent.len(), 1);
    // All ten leave at once, and follow each other on the link.
    let heard = |nth: u64| (nth + 1) * SEGMENT + DELAY.0 + ACK + DELAY.0;
    let (latest, shortest) = (heard(9), heard(0));
    assert_eq!(sent[7].at, Instant(0));
    let expected = latest + shortest / 4;
    assert_eq!(resent[0].at, Instant(expected));
}

/// Linux adds 2 ms to the reordering window (`tcp_rack_mark_lost()`), and looks again after a timeout at the
/// latest.
#[test]
fn the_reordering_timer_of_linux_waits_2_ms_longer_and_at_most_a_timeout() {
    let found_at = |timer_slack| {
        let config = Config { timer_slack, rto_min: Nanos::from_millis(1), ..Config::default() };
        let mut pair = Pair::established(config).losing(0, &[7]);
        pair.write(0, 10 * MSS);
        pair.run();
        assert_eq!(pair.ends[0].info(pair.now).timeouts, 0);
        again(&pair)[0].at
    };
    let exact = found_at(Nanos::ZERO);
    assert_eq!(found_at(Nanos::from_micros(400)), exact + Nanos::from_micros(400));
    let heard_at = Instant(10 * SEGMENT + DELAY.0 + ACK + DELAY.0);
    let longest = found_at(Nanos::from_secs(1)).since(heard_at);
    assert!(
        (1_000_000..1_200_000).contains(&longest.0),
        "{longest:?} instead of a timeout of 1 ms and a round trip"
    );
}

/// Section 7.2: the tail is probed two smoothed round trips after the last acknowledgement that advanced.
#[test]
fn a_tail_is_probed_two_smoothed_round_trips_after_the_last_acknowledgement() {
    let mut pair = Pair::established(Config::default()).losing(0, &[8, 9]);
    pair.write(0, 10 * MSS);
    let (mut smoothed, mut heard_at) = (Nanos(0), Instant(0));
    let mut acknowledged = 0;
    while again(&pair).is_empty() {
        pair.run_for(Nanos(10));
        let info = pair.ends[0].info(pair.now);
        let last = pair.acks_of(1).last().map_or(0, |ack| ack.segment.acknowledgement);
        if let Some(rtt) = info.rtt
            && rtt != smoothed
        {
            (smoothed, heard_at, acknowledged) = (rtt, pair.now, last);
        }
        assert!(pair.now < Instant(10_000_000), "nothing is probed");
    }
    assert_eq!(acknowledged, 1 + 8 * MSS, "the last acknowledgement that advanced");
    let probe = again(&pair)[0];
    let expected = heard_at + smoothed * 2;
    assert!(probe.at.0.abs_diff(expected.0) < 50, "{:?} instead of {expected:?}", probe.at);
}

/// How many segments of each of six flights are retransmitted if one of each arrives 35 us late, which is more than a quarter of
/// the round trip and less than a half.
fn spurious_retransmissions(config: Config) -> Vec<usize> {
    let mut highest = 0;
    let mut pair = Pair::established(config).with_faults(move |sent| {
        let is_new = sent.from == 0 && sent.segment.sequence > highest;
        highest = highest.max(if sent.from == 0 { sent.segment.sequence } else { 0 });
        let is_late = is_new && sent.segment.length > 0 && (sent.segment.sequence / MSS) % 10 == 7;
        if is_late { Fate::IsLate(Nanos(35_000)) } else { Fate::Arrives }
    });
    let mut counted = 0;
    let flight = |_| {
        pair.write(0, 10 * MSS);
        pair.run();
        let before = std::mem::replace(&mut counted, again(&pair).len());
        counted - before
    };
    (0..6).map(flight).collect()
}

/// Section 6.2, step 4: a DSACK widens the reordering window by a quarter of the shortest round trip, and what is as late
/// again is waited for. Only two segments are behind the late one: with three, there is no window before reordering was seen.
#[test]
fn a_dsack_widens_the_reordering_window_and_a_window_that_is_fixed_stays() {
    let adapting = spurious_retransmissions(Config::default());
    assert!(adapting[..2].iter().sum::<usize>() > 0, "{adapting:?}");
    assert!(adapting[2..].iter().all(|count| *count == 0), "{adapting:?}");
    let fixed = spurious_retransmissions(Config { adapt_reordering_window: false, ..Config::default() });
    assert!(fixed[2..].iter().sum::<usize>() >= 3, "{fixed:?}");
}
