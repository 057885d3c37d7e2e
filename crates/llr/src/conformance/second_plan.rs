//! Cases of the second plan: the wrap of the numbers, a burst of losses, initialisation, and the timer.

use super::bench::{DELAY, config, counters, delivers_in_order, finish, running, states};
use super::case::CaseResult;
use crate::config::Config;
use crate::link::{A, B, Feedback, Link, OnWire};
use crate::sequence::SEQUENCE_SPACE;
use crate::time::Span;

pub(super) fn wrap() -> CaseResult {
    let stimulus = "1,000 frames from number 1,048,076 on, number 1,048,575 lost";
    let mut result = CaseResult::new("TP2-05", stimulus);
    let mut link = running(Config { first_sequence: SEQUENCE_SPACE - 500, ..config() }, DELAY);
    link.faults_mut(A).lose.extend([500]);
    link.offer_many(1, 1_000, 64);
    finish(&mut link);
    let (a, b) = counters(&link);
    let numbers: Vec<u32> = numbers(&link).collect();
    let wraps = numbers.windows(2).any(|pair| pair == [SEQUENCE_SPACE - 1, 0]);
    result.exactly("", "0 follows 1,048,575", true, wraps);
    result.exactly("", "next number", 500, link.port(A).transmitter().next_sequence().0);
    result.exactly("", "TX_REPLAY", 1, a.transmit.tx_replay);
    result.exactly("", "RX_ACK_NACK_SEQ_ERROR", 0, a.transmit.rx_ack_nack_seq_error);
    result.exactly("", "RX_EXPECTED_SEQ_GOOD", 1_000, b.receive.rx_expected_seq_good);
    result.exactly("", "delivered once, in order", true, delivers_in_order(&link, 1_000));
    result.note(
        "the plan expects numbers to wrap after 524,287; 524,288 is the maximum that may be outstanding",
    )
}

fn numbers(link: &Link) -> impl Iterator<Item = u32> {
    link.trace().iter().filter_map(|traced| match traced.what {
        OnWire::Numbered { sequence, .. } => Some(sequence.0),
        _ => None,
    })
}

/// The longest time without a delivery if these frames are lost, and the number of frames seen after the gap.
fn gap(first: u64, frames: u64) -> (Span, u64) {
    let mut link = running(config(), DELAY);
    link.faults_mut(A).lose.extend(first..first + frames);
    link.offer_many(1, 2_000, 64);
    finish(&mut link);
    let delivered = link.delivered(B);
    let gaps = delivered.windows(2).map(|pair| pair[1].at.since(pair[0].at));
    let longest = gaps.max().unwrap_or(Span::ZERO);
    let complete = delivers_in_order(&link, 2_000);
    (if complete { longest } else { Span(u64::MAX) }, counters(&link).1.receive.rx_missing_seq)
}

pub(super) fn burst() -> CaseResult {
    let mut result = CaseResult::new("TP2-16", "2,000 frames, 100 in a row lost, or only one");
    let ((single, _), (burst, missing)) = (gap(500, 1), gap(500, 100));
    let ratio = burst.0 as f64 / single.0 as f64;
    result.within("", "recovery, compared with one loss", 1.0..=2.0, "", ratio);
    result.above("", "RX_MISSING_SEQ", 100, missing);
    result.note(
        "the plan expects RX_MISSING_SEQ to match the burst, but it counts the frames that arrive after the gap",
    )
}

pub(super) fn initialisation() -> CaseResult {
    let mut result =
        CaseResult::new("TP2-init", "both ports are enabled; then one end answers with wrong echoes");
    let link = running(config(), DELAY);
    result.exactly("enabled", "states", "Advance, SendAcks".to_owned(), states(&link));
    let round_trip = link.port(A).testers(link.now()).round_trip.unwrap_or(Span::ZERO);
    // Twice the delay, and the time of three eight-octet sets: INIT, the peer's INIT and the echo.
    result.within("enabled", "INIT to echo", 500.0..=501.0, " ns", round_trip.as_nanos_f64());
    let mut link = link;
    link.faults_mut(B).wrong_echoes = true;
    let now = link.now();
    link.port_mut(A).transmitter_mut().reinitialise(now);
    link.run_for(Span::from_nanos(95_000));
    result.exactly("wrong echoes", "states", "Init, SendAcks".to_owned(), states(&link));
    let mismatches = link.port(A).testers(link.now()).init_echo_mismatches;
    result.exactly("wrong echoes", "mismatches", 10, mismatches);
    result.note("the plan allows 10 s for all ports of a switch")
}

/// Time from sending a frame to its first replay, without ACKs.
fn measured_timer(replay_timer_ns: u32) -> f64 {
    let mut link = running(Config { replay_timer_ns, ..config() }, DELAY);
    link.faults_mut(B).feedback = Feedback::Suppressed;
    link.offer_many(1, 1, 64);
    finish(&mut link);
    let sent = |traced: &&crate::link::Traced| matches!(traced.what, OnWire::Numbered { .. });
    let mut times = link.trace().iter().filter(sent).map(|traced| traced.at);
    let pair = times.next().zip(times.next());
    pair.map_or(0.0, |(first, second)| second.since(first).as_nanos_f64())
}

pub(super) fn timer() -> CaseResult {
    let mut result =
        CaseResult::new("TP2-timer", "one frame, no ACKs, replay timers of 1, 5, 10 and 65.535 us");
    for timer_ns in [1_000, 5_000, 10_000, 65_535] {
        let found = measured_timer(timer_ns);
        let nominal = f64::from(timer_ns);
        result.within("", "frame to replay", 0.9 * nominal..=1.1 * nominal, " ns", found);
    }
    result
}
