//! Selective repeat (IRN, SIGCOMM 2018, section 3.1), with the numbers of `losses`.

use crate::pair::{Fate, Pair};
use linkmend_transport::roce::{
    Body, Config, Nak, Opcode, Packet, Position, QueuePair, Recovery, Request, RequestPacket, Response,
    Selective, ShortTimeout, Syndrome,
};
use linkmend_transport::tcp::Codepoint;
use linkmend_transport::{Instant, Nanos};
use std::sync::Arc;

const NAK: Syndrome = Syndrome::Nak(Nak::SequenceError);
const TIMEOUT: u64 = 1_048_576;
const ANSWER: u64 = 100_086;
const ALL: u64 = 26_372;
/// One packet in the middle.
const MIDDLE: u64 = 1_106;
/// A NAK that says what has arrived is 12 B longer than another response.
const LONGER: u64 = 12;

fn selective(window_packets: u32) -> Config {
    let recovery = Recovery::SelectiveRepeat { window_packets, short_timeout: None };
    Config { timeout_exponent: 8, recovery, ..Config::default() }
}

/// When an answer to this packet of the first round arrives.
fn answered(psn: u64) -> u64 {
    1_122 + psn * MIDDLE + ANSWER
}

fn write(config: Config, lost_requests: &[u64], lost_responses: &[u64]) -> Pair {
    let mut pair = Pair::losing(config, lost_requests, lost_responses);
    pair.write(24_387);
    pair.run();
    assert_eq!(pair.completions[0].len(), 1);
    assert_eq!(pair.completions[1].len(), 1, "the message arrives once");
    assert_eq!(pair.ends[1].info().received_bytes, 24_387);
    pair
}

fn and_then(again: &[u64]) -> Vec<u64> {
    (0..24).chain(again.iter().copied()).collect()
}

#[test]
fn only_what_is_lost_is_sent_again() {
    let pair = write(selective(64), &[12], &[]);
    assert_eq!(pair.requests(), and_then(&[12]));
    assert_eq!(pair.responses(), [vec![(NAK, 12); 11], vec![(Syndrome::Ack, 23)]].concat());
    assert_eq!(pair.completed_at(), Some(Instant(answered(13) + LONGER + MIDDLE + ANSWER)));
}

/// The NAKs of packets 1, 13 and 21 show the three holes; each is filled when it is known.
#[test]
fn several_losses_are_each_repaired_once() {
    let pair = write(selective(64), &[0, 12, 20], &[]);
    assert_eq!(pair.requests(), and_then(&[0, 12, 20]));
    assert_eq!(pair.completed_at(), Some(Instant(answered(21) + LONGER + MIDDLE + ANSWER)));
    assert_eq!(pair.ends[0].info().timeouts, 0);
}

/// Each NAK names the 64 packets before the one that triggered it, so the last of eleven is enough.
#[test]
fn the_loss_of_naks_costs_nothing_while_one_arrives() {
    let pair = write(selective(64), &[12], &(0..10).collect::<Vec<_>>());
    assert_eq!(pair.requests(), and_then(&[12]));
    assert_eq!(pair.completed_at(), Some(Instant(ALL + ANSWER + LONGER + MIDDLE + ANSWER)));
}

/// IRN, section 3.1: a retransmission that is lost is found by the timer, which the NAK restarted because it acknowledged
/// twelve packets. The responder keeps what follows, so one packet is retransmitted.
#[test]
fn the_loss_of_a_retransmission_costs_a_timeout_and_one_packet() {
    let pair = write(selective(64), &[12, 24], &[]);
    assert_eq!(pair.requests(), and_then(&[12, 12]));
    assert_eq!(pair.completed_at(), Some(Instant(answered(13) + LONGER + TIMEOUT + MIDDLE + ANSWER)));
}

/// With an ACK for each packet, a timeout after the loss of the last packet costs one packet.
#[test]
fn the_loss_of_the_last_packet_costs_a_timeout() {
    let pair = write(Config { ack_interval: 1, ..selective(64) }, &[23], &[]);
    assert_eq!(pair.requests(), and_then(&[23]));
    assert_eq!(pair.completed_at(), Some(Instant(answered(22) + TIMEOUT + 918 + ANSWER)));
}

/// IRN's shorter timeout holds while fewer than three packets are outstanding.
#[test]
fn the_short_timeout_holds_while_little_is_outstanding() {
    let short_timeout = Some(ShortTimeout { below_packets: 3, timeout: Nanos(200_000) });
    let recovery = Recovery::SelectiveRepeat { window_packets: 64, short_timeout };
    let config = Config { recovery, ack_interval: 1, ..selective(64) };
    let pair = write(config, &[23], &[]);
    assert_eq!(pair.completed_at(), Some(Instant(answered(22) + 200_000 + 918 + ANSWER)));
    // Three are outstanding: the long one, and then all three again.
    let pair = write(config, &[21, 22, 23], &[]);
    assert_eq!(pair.requests(), and_then(&[21, 22, 23]));
    assert_eq!(pair.completed_at(), Some(Instant(answered(20) + TIMEOUT + 2 * MIDDLE + 918 + ANSWER)));
}

/// A packet that is late is retransmitted for nothing, and nothing waits for it: go-back-N sends 24 packets again here.
#[test]
fn a_packet_out_of_order_costs_one_packet_and_no_time() {
    let mut pair = Pair::with_faults(selective(64), |sent, _| {
        if sent.from == 0 && sent.nth == 12 { Fate::IsLate(Nanos(3_000)) } else { Fate::Arrives }
    });
    pair.write(24_387);
    pair.run();
    assert_eq!(pair.requests(), and_then(&[12]));
    assert_eq!(pair.completed_at(), Some(Instant(ALL + ANSWER)));
    assert_eq!((pair.ends[1].info().duplicates, pair.completions[1].len()), (1, 1));
}

fn packet(psn: u64, position: Position, payload: u16) -> Packet {
    let request =
        RequestPacket { opcode: Opcode::Send, position, payload, ack_request: false, dma_length: None };
    Packet { psn, codepoint: Codepoint::NotEct, body: Body::Request(request) }
}

/// The NAK to a packet, with what it says has arrived.
fn nak_to(end: &mut QueuePair, packet: &Packet) -> Option<(u64, Option<Selective>)> {
    end.handle_packet(Instant(0), packet);
    let answer = end.poll_transmit(Instant(0))?;
    let Body::Response(Response { syndrome, selective, .. }) = answer.body else { return None };
    (syndrome == NAK).then_some((answer.psn, selective))
}

/// What lies beyond the window is dropped, and the NAK does not name it.
#[test]
fn the_responder_keeps_no_more_than_its_window() {
    let mut end = QueuePair::new(Arc::new(selective(4))).expect("good");
    let only = |psn| packet(psn, Position::Only, 9);
    let selective = |highest, arrived| Some(Selective { highest, arrived });
    assert_eq!(nak_to(&mut end, &only(4)), Some((0, None)));
    assert_eq!(nak_to(&mut end, &only(3)), Some((0, selective(3, 0b1))));
    assert_eq!(nak_to(&mut end, &only(u64::MAX)), Some((0, selective(3, 0b1))));
    assert_eq!(nak_to(&mut end, &only(1)), Some((0, selective(1, 0b1))));
    assert_eq!(nak_to(&mut end, &only(3)), Some((0, selective(3, 0b101))));
    // Packet 0 fills a hole; the NAK of the next names what is kept above it.
    assert_eq!(nak_to(&mut end, &only(0)), Some((2, selective(3, 0b1))));
    assert_eq!(nak_to(&mut end, &only(5)), Some((2, selective(5, 0b101))));
    assert_eq!(nak_to(&mut end, &only(2)), Some((4, selective(5, 0b1))));
    assert_eq!(end.info().received_messages, 4);
}

/// Two packets arrive out of order before the port is free: one NAK names both.
#[test]
fn naks_that_have_not_left_are_made_one() {
    for order in [[3, 1], [1, 3]] {
        let mut end = QueuePair::new(Arc::new(selective(64))).expect("good");
        end.handle_packet(Instant(0), &packet(order[0], Position::Only, 9));
        let nak = nak_to(&mut end, &packet(order[1], Position::Only, 9));
        assert_eq!(nak, Some((0, Some(Selective { highest: 3, arrived: 0b101 }))));
        assert_eq!(end.poll_transmit(Instant(0)), None);
    }
}

/// What was kept is acknowledged when the hole below it is filled, whether or not a packet asks for it.
#[test]
fn kept_packets_are_acknowledged_when_the_hole_is_filled() {
    let mut end = QueuePair::new(Arc::new(selective(64))).expect("good");
    assert!(nak_to(&mut end, &packet(1, Position::Only, 9)).is_some());
    end.handle_packet(Instant(0), &packet(0, Position::Only, 9));
    let ack = end.poll_transmit(Instant(0)).expect("an ACK");
    let Body::Response(response) = ack.body else { panic!("{ack:?}") };
    assert_eq!((ack.psn, response.syndrome, response.messages), (1, Syndrome::Ack, 2));
}

/// Go-back-N and a requester that keeps to its window need no agreement, selective repeat does: a requester never has
/// more outstanding than the responder keeps.
#[test]
fn the_window_of_selective_repeat_limits_the_requester() {
    let mut end = QueuePair::new(Arc::new(selective(4))).expect("good");
    end.post(Request { opcode: Opcode::Write, bytes: 24_387 }).expect("room");
    assert_eq!(std::iter::from_fn(|| end.poll_transmit(Instant(0))).count(), 4);
}

/// What is kept is looked at in order: a kept packet with an invalid place is refused when its turn comes.
#[test]
fn kept_packets_are_checked_when_they_are_next() {
    let mut end = QueuePair::new(Arc::new(selective(4))).expect("good");
    assert!(nak_to(&mut end, &packet(1, Position::Middle, 1_024)).is_some());
    end.handle_packet(Instant(0), &packet(0, Position::Only, 9));
    let refusal = end.poll_transmit(Instant(0)).expect("a NAK");
    let Body::Response(response) = refusal.body else { panic!("{refusal:?}") };
    assert_eq!((refusal.psn, response.syndrome), (1, Syndrome::Nak(Nak::InvalidRequest)));
    assert_eq!(response.messages, 1);
}

/// The first of three SENDs is lost, and there is one buffer. The second, which is kept, finds none and must be sent
/// again; the third stays kept.
#[test]
fn a_kept_send_without_a_buffer_is_sent_again_after_the_wait() {
    let config = Config { receives: Some(1), ..selective(64) };
    let mut pair = Pair::losing(config, &[0], &[]);
    for _ in 0..3 {
        pair.ends[0].post(Request { opcode: Opcode::Send, bytes: 143 }).expect("room");
    }
    pair.run_until(Instant(400_000));
    pair.ends[1].post_receives(2);
    pair.run();
    assert_eq!(pair.requests(), [0, 1, 2, 0, 1]);
    assert_eq!((pair.completions[0].len(), pair.completions[1].len()), (3, 3));
    assert_eq!((pair.ends[0].info().rnr_naks, pair.ends[0].info().timeouts), (1, 0));
}
