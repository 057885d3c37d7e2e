//! RDMA READs, counted by hand.
//!
//! A READ of 24,387 B has the numbers 0 to 23. Its request is a frame of 78 B (98 ns on the wire); its response a first
//! packet of 1,024 B with an AETH (1,110 ns), 22 in the middle (1,106 ns each) and a last one of 835 B with an AETH
//! (922 ns). The way takes 50,000 ns, and the timer 4.096 us x 2^8 = 1,048,576 ns.

use crate::pair::{Pair, Sent};
use linkmend_transport::roce::{
    Body, Completion, Config, Opcode, Position, PostError, QueuePair, Recovery, Request, RequestId,
};
use linkmend_transport::{Instant, Nanos};
use std::sync::Arc;

const TIMEOUT: u64 = 1_048_576;
/// From a request to the last byte of a packet that follows it at once.
const ROUND: u64 = 98 + 50_000 + 50_000;
const FIRST: u64 = 1_110;
const MIDDLE: u64 = 1_106;
const ALL: u64 = ROUND + FIRST + 22 * MIDDLE + 922;

fn config() -> Config {
    Config { timeout_exponent: 8, ..Config::default() }
}

/// Reads 24,387 B and then `dummies` times nothing, while the requests and responses in these places are lost.
fn read(dummies: usize, lost_requests: &[u64], lost_responses: &[u64]) -> Pair {
    let mut pair = Pair::losing(config(), lost_requests, lost_responses);
    for bytes in std::iter::once(24_387).chain(std::iter::repeat_n(0, dummies)) {
        pair.ends[0].post(Request { opcode: Opcode::Read, bytes }).expect("there is room");
    }
    pair.run();
    let sent = Completion::Sent { id: RequestId(0), opcode: Opcode::Read, bytes: 24_387 };
    assert_eq!(pair.completions[0][0].1, sent);
    assert_eq!(pair.completions[0].len(), 1 + dummies);
    assert!(pair.completions[1].is_empty(), "the other host learns nothing of it");
    assert_eq!(pair.ends[1].info().received_messages, 1 + dummies as u64);
    pair
}

fn read_at(pair: &Pair) -> Instant {
    pair.completions[0][0].0
}

/// Numbers of the packets of responses, and where they stand.
fn responses(pair: &Pair) -> Vec<(u64, Position)> {
    let response = |sent: &Sent| match sent.packet.body {
        Body::ReadResponse(response) => Some((sent.packet.psn, response.position)),
        _ => None,
    };
    pair.sent.iter().filter_map(response).collect()
}

#[test]
fn without_a_loss_one_request_brings_24_packets_and_no_ack() {
    let pair = read(0, &[], &[]);
    assert_eq!(pair.requests(), [0]);
    let positions = responses(&pair);
    assert_eq!(positions.len(), 24);
    assert_eq!(positions[0], (0, Position::First));
    assert_eq!((positions[1], positions[22]), ((1, Position::Middle), (22, Position::Middle)));
    assert_eq!(positions[23], (23, Position::Last));
    assert_eq!(read_at(&pair), Instant(ALL));
    assert_eq!(pair.sent.len(), 25, "neither ACKs nor NAKs");
    assert_eq!(pair.ends[0].next_timeout(), None);
}

/// Packet 10 is lost, so that packet 11 tells of it: what is left is asked for at once, and all from 10 on comes again.
/// The responses that were under way do not make it ask again.
#[test]
fn a_gap_in_what_is_read_is_asked_for_again_once() {
    let pair = read(0, &[], &[10]);
    assert_eq!(pair.requests(), [0, 10]);
    let info = pair.ends[0].info();
    assert_eq!((info.implied_naks, info.timeouts, info.requests_resent), (1, 0, 1));
    let noticed = ROUND + FIRST + 11 * MIDDLE;
    // What comes again begins behind what is still being sent.
    let again = noticed + ROUND + FIRST + 12 * MIDDLE + 922;
    assert_eq!(read_at(&pair), Instant(again));
    let places: Vec<u64> = responses(&pair).iter().map(|(psn, _)| *psn).collect();
    assert_eq!(places, (0..24).chain(10..24).collect::<Vec<_>>());
}

/// Nothing tells of the last packet but the timer, which runs from the progress before it; with a READ of nothing behind it
/// (JCST paper, section 5.2), its response does.
#[test]
fn the_last_packet_is_found_by_the_timer_or_by_a_dummy() {
    let pair = read(0, &[], &[23]);
    assert_eq!(pair.requests(), [0, 23]);
    assert_eq!((pair.ends[0].info().timeouts, pair.ends[0].info().implied_naks), (1, 0));
    let expired = ROUND + FIRST + 22 * MIDDLE + TIMEOUT;
    assert_eq!(read_at(&pair), Instant(expired + ROUND + 922));
    let pair = read(1, &[], &[23]);
    assert_eq!((pair.ends[0].info().timeouts, pair.ends[0].info().implied_naks), (0, 1));
    assert_eq!(pair.requests(), [0, 24, 23, 24]);
    // The dummy's response has 66 B.
    assert_eq!(read_at(&pair), Instant(ALL + 86 + ROUND + 922));
}

/// A request that is lost is found by the timer, or by a NAK that the next one causes.
#[test]
fn a_lost_request_is_found_like_any_other() {
    let pair = read(0, &[0], &[]);
    assert_eq!(read_at(&pair), Instant(TIMEOUT + ALL));
    let pair = read(1, &[0], &[]);
    assert_eq!((pair.ends[0].info().timeouts, pair.ends[0].info().sequence_naks), (0, 1));
}

/// The request for what is missing is lost: it was made once, so that only the timer makes another.
#[test]
fn a_request_made_again_is_lost() {
    let pair = read(0, &[1], &[10]);
    let info = pair.ends[0].info();
    assert_eq!((info.implied_naks, info.timeouts), (1, 1));
    assert_eq!(pair.requests(), [0, 10, 10]);
}

#[test]
fn writes_and_reads_end_in_the_order_in_which_they_were_posted() {
    for lost in 0..70 {
        for lost_requests in [vec![], vec![lost]] {
            let mut pair = Pair::losing(config(), &lost_requests, &[lost]);
            let order =
                [(Opcode::Write, 9_000), (Opcode::Read, 20_000), (Opcode::Write, 9_000), (Opcode::Read, 1)];
            for (opcode, bytes) in order {
                pair.ends[0].post(Request { opcode, bytes }).expect("there is room");
                pair.ends[1].post(Request { opcode, bytes }).expect("there is room");
            }
            pair.run();
            for end in 0..2 {
                let sent = pair.completions[end].iter().filter_map(|(_, done)| match done {
                    Completion::Sent { opcode, bytes, .. } => Some((*opcode, *bytes)),
                    _ => None,
                });
                assert_eq!(sent.collect::<Vec<_>>(), order);
                assert_eq!(pair.ends[end].info().received_bytes, 18_000);
            }
        }
    }
}

#[test]
fn no_more_reads_are_outstanding_than_the_responder_has_room_for() {
    let mut pair = Pair::new(Config { reads: 2, ..config() });
    for _ in 0..5 {
        pair.ends[0].post(Request { opcode: Opcode::Read, bytes: 3_000 }).expect("there is room");
    }
    pair.run();
    assert_eq!(pair.completions[0].len(), 5);
    let sent_at: Vec<Instant> = pair.sent.iter().filter(|sent| sent.from == 0).map(|sent| sent.at).collect();
    assert_eq!(sent_at[1], Instant(0) + Nanos(98));
    let first_read = Instant(ROUND + FIRST + MIDDLE + 952 + 86);
    assert!(sent_at[2] >= first_read - Nanos(200) && sent_at[2] < first_read + Nanos(200), "{sent_at:?}");
}

/// The request for what is missing finds the responder busy with as many READs as it has room for: it takes their place.
#[test]
fn a_responder_without_room_reads_again_what_it_reads() {
    for reads in [1, 2, 16] {
        let mut pair = Pair::losing(Config { reads, ..config() }, &[], &[10]);
        for _ in 0..20 {
            pair.ends[0].post(Request { opcode: Opcode::Read, bytes: 24_387 }).expect("there is room");
        }
        pair.run();
        let info = pair.ends[0].info();
        assert_eq!((info.completed, info.timeouts, info.implied_naks), (20, 0, 1), "{reads} READs");
        assert!(pair.ends[1].has_read_again(10), "{reads} READs");
        assert!(!pair.ends[1].has_read_again(9), "{reads} READs");
    }
}

#[test]
fn selective_repeat_refuses_reads() {
    let recovery = Recovery::SelectiveRepeat { window_packets: 8, short_timeout: None };
    let mut end = QueuePair::new(Arc::new(Config { recovery, ..config() })).expect("a good configuration");
    let refused = end.post(Request { opcode: Opcode::Read, bytes: 1 });
    assert_eq!(refused, Err(PostError::ReadNeedsGoBackN));
}
