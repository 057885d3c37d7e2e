//! Rules of the specification, one by one, with packets made by hand.

use crate::pair::{Fate, Pair};
use linkmend_transport::roce::{
    Body, Completion, Config, Failure, Nak, Opcode, Packet, Position, PostError, QueuePair, Request,
    RequestId, RequestPacket, Response, State, Syndrome,
};
use linkmend_transport::tcp::Codepoint;
use linkmend_transport::{Instant, Nanos};
use std::sync::Arc;

const NOW: Instant = Instant(0);
const NAK: Syndrome = Syndrome::Nak(Nak::SequenceError);
const INVALID: Syndrome = Syndrome::Nak(Nak::InvalidRequest);

fn queue_pair(config: Config) -> QueuePair {
    QueuePair::new(Arc::new(config)).expect("a good configuration")
}

/// A packet of a SEND that requests an ACK.
fn send(psn: u64, position: Position, payload: u16) -> Packet {
    request(
        psn,
        RequestPacket { opcode: Opcode::Send, position, payload, ack_request: true, dma_length: None },
    )
}

fn request(psn: u64, request: RequestPacket) -> Packet {
    Packet { psn, codepoint: Codepoint::NotEct, body: Body::Request(request) }
}

fn response(psn: u64, syndrome: Syndrome) -> Packet {
    let body = Body::Response(Response { syndrome, messages: 0, selective: None });
    Packet { psn, codepoint: Codepoint::NotEct, body }
}

/// The responses that are due.
fn answers(end: &mut QueuePair) -> Vec<(Syndrome, u64)> {
    let packets = std::iter::from_fn(|| end.poll_transmit(NOW));
    packets.filter_map(|packet| answer(&packet).map(|response| (response.syndrome, packet.psn))).collect()
}

fn answer(packet: &Packet) -> Option<Response> {
    if let Body::Response(response) = packet.body { Some(response) } else { None }
}

/// The responses to these packets, each polled before the next packet arrives.
fn answers_to(config: Config, packets: &[Packet]) -> Vec<(Syndrome, u64)> {
    let mut end = queue_pair(config);
    let mut all = Vec::new();
    for packet in packets {
        end.handle_packet(NOW, packet);
        all.extend(answers(&mut end));
    }
    all
}

/// Numbers and requests for an ACK of what may be sent now.
fn sendable(end: &mut QueuePair) -> Vec<(u64, bool)> {
    let packets = std::iter::from_fn(|| end.poll_transmit(NOW));
    let flag = |packet: Packet| match packet.body {
        Body::Request(request) => Some((packet.psn, request.ack_request)),
        _ => None,
    };
    packets.filter_map(flag).collect()
}

fn write(bytes: u32) -> Request {
    Request { opcode: Opcode::Write, bytes }
}

/// Section 9.7.5.1: one NAK for an expected packet, however many follow. When it has come, the next gap has its own.
#[test]
fn there_is_one_nak_for_each_expected_packet() {
    let only = |psn| send(psn, Position::Only, 100);
    let packets = [only(0), only(2), only(3), only(4), only(1), only(3), only(4), only(2)];
    let wanted = [(Syndrome::Ack, 0), (NAK, 1), (Syndrome::Ack, 1), (NAK, 2), (Syndrome::Ack, 2)];
    assert_eq!(answers_to(Config::default(), &packets), wanted);
}

/// A NAK that has not left when the expected packet arrives would only do harm.
#[test]
fn the_expected_packet_takes_back_a_nak_that_has_not_left() {
    let mut end = queue_pair(Config::default());
    end.handle_packet(NOW, &send(1, Position::Only, 100));
    end.handle_packet(NOW, &send(0, Position::Only, 100));
    assert_eq!(answers(&mut end), [(Syndrome::Ack, 0)]);
}

/// Section 9.7.5.1.2: one ACK for all that has arrived until the port is free; section 9.7.7.1: its MSN counts messages.
#[test]
fn acks_are_coalesced_and_count_messages() {
    let mut end = queue_pair(Config::default());
    end.handle_packet(NOW, &send(0, Position::Only, 0));
    end.handle_packet(NOW, &send(1, Position::First, 1_024));
    end.handle_packet(NOW, &send(2, Position::Middle, 1_024));
    let ack = end.poll_transmit(NOW).expect("an ACK");
    assert_eq!((ack.psn, answer(&ack).map(|ack| ack.messages)), (2, Some(1)));
    assert_eq!(end.poll_transmit(NOW), None);
    end.handle_packet(NOW, &send(3, Position::Last, 1));
    let ack = end.poll_transmit(NOW).expect("an ACK");
    assert_eq!((ack.psn, answer(&ack).map(|ack| ack.messages)), (3, Some(2)));
    let received = |number, bytes| Completion::Received { number, opcode: Opcode::Send, bytes };
    let completions: Vec<_> = std::iter::from_fn(|| end.poll_completion()).collect();
    assert_eq!(completions, [received(0, 0), received(1, 2_049)]);
}

/// Section 9.7.5.1: who does not ask gets no ACK, but a duplicate is acknowledged again in any case, with the latest
/// number.
#[test]
fn duplicates_are_acknowledged_again_without_effect() {
    let silent = |psn, position| {
        let packet = RequestPacket {
            opcode: Opcode::Write,
            position,
            payload: 1_024,
            ack_request: false,
            dma_length: (position == Position::First).then_some(1_000_000),
        };
        request(psn, packet)
    };
    let packets = [
        silent(0, Position::First),
        silent(1, Position::Middle),
        silent(2, Position::Middle),
        silent(0, Position::First),
        silent(1, Position::Middle),
    ];
    let mut end = queue_pair(Config::default());
    let mut all = Vec::new();
    for packet in &packets {
        end.handle_packet(NOW, packet);
        all.push(answers(&mut end));
    }
    let none = || vec![];
    let again = || vec![(Syndrome::Ack, 2)];
    assert_eq!(all, [none(), none(), none(), again(), again()]);
    assert_eq!((end.info().received_bytes, end.info().duplicates), (3 * 1_024, 2));
}

/// Section 9.7.4.1: places and lengths that do not fit are refused, and the queue pair is in the error state.
#[test]
fn requests_that_do_not_fit_are_refused() {
    let write = |psn, position, payload, dma_length| {
        request(
            psn,
            RequestPacket { opcode: Opcode::Write, position, payload, ack_request: false, dma_length },
        )
    };
    let first = || write(0, Position::First, 1_024, Some(2_000));
    let cases = [
        ("a middle without a first", vec![send(0, Position::Middle, 1_024)]),
        ("a last without a first", vec![send(0, Position::Last, 1)]),
        ("a first of less than the path MTU", vec![send(0, Position::First, 1_023)]),
        ("more than the path MTU", vec![send(0, Position::Only, 1_025)]),
        ("a last without payload", vec![send(0, Position::First, 1_024), send(1, Position::Last, 0)]),
        ("a first in a message", vec![send(0, Position::First, 1_024), send(1, Position::First, 1_024)]),
        ("a WRITE without its RETH", vec![write(0, Position::Only, 10, None)]),
        ("a WRITE of another length", vec![write(0, Position::Only, 10, Some(11))]),
        ("a WRITE that goes on too long", vec![first(), write(1, Position::Middle, 1_024, None)]),
        ("a WRITE that ends too soon", vec![first(), write(1, Position::Last, 975, None)]),
        ("a RETH in the middle", vec![first(), write(1, Position::Last, 976, Some(976))]),
        ("another operation in the middle", vec![first(), send(1, Position::Last, 976)]),
        ("a WRITE beyond 2^31 bytes", vec![write(0, Position::First, 1_024, Some((1 << 31) + 1))]),
        (
            "a RETH in a SEND",
            vec![request(
                0,
                RequestPacket {
                    opcode: Opcode::Send,
                    position: Position::Only,
                    payload: 9,
                    ack_request: true,
                    dma_length: Some(9),
                },
            )],
        ),
    ];
    for (case, packets) in cases {
        let mut end = queue_pair(Config::default());
        end.post(Request { opcode: Opcode::Send, bytes: 5 }).expect("room");
        packets.iter().for_each(|packet| end.handle_packet(NOW, packet));
        let psn = packets.len() as u64 - 1;
        assert_eq!(answers(&mut end), [(INVALID, psn)], "{case}");
        assert_eq!(end.info().state, State::Error, "{case}");
        let flushed = Completion::Failed { id: RequestId(0), failure: Failure::Flushed };
        assert_eq!(end.poll_completion(), Some(flushed), "{case}");
        assert_eq!(end.post(Request { opcode: Opcode::Send, bytes: 5 }), Err(PostError::Failed), "{case}");
        end.handle_packet(NOW, &send(psn, Position::Only, 1));
        assert_eq!((answers(&mut end), end.next_timeout()), (vec![], None), "{case}");
    }
    // The one that fits.
    let good = [first(), write(1, Position::Last, 976, None)];
    assert_eq!(answers_to(Config::default(), &good), []);
}

/// Section 9.2: AckReq is on the last packet of a message, on every n-th, and on the one that fills the window.
#[test]
fn an_ack_is_requested_where_one_is_needed() {
    let requested = |config: Config| {
        let mut end = queue_pair(config);
        end.post(write(10 * 1_024)).expect("room");
        end.post(write(2 * 1_024)).expect("room");
        let sent = sendable(&mut end);
        (sent.len(), sent.iter().filter(|(_, ack)| *ack).map(|(psn, _)| *psn).collect::<Vec<_>>())
    };
    let config = Config::default();
    assert_eq!(requested(Config { ack_interval: 4, ..config }), (12, vec![3, 7, 9, 11]));
    assert_eq!(requested(Config { ack_interval: 0, ..config }), (12, vec![9, 11]));
    assert_eq!(requested(Config { ack_interval: 1, ..config }), (12, (0..12).collect()));
    assert_eq!(requested(Config { ack_interval: 0, window_packets: 6, ..config }), (6, vec![5]));
}

/// Section 9.7.1, and IRN's BDP-FC: no more than the window is outstanding.
#[test]
fn the_window_limits_what_is_outstanding() {
    let mut end = queue_pair(Config { window_packets: 4, ..Config::default() });
    end.post(write(10 * 1_024)).expect("room");
    assert_eq!(sendable(&mut end).len(), 4);
    end.handle_packet(NOW, &response(1, Syndrome::Ack));
    assert_eq!(sendable(&mut end), [(4, false), (5, true)]);
    end.handle_packet(NOW, &response(5, Syndrome::Ack));
    assert_eq!(sendable(&mut end).len(), 4);
    assert_eq!(end.info().unacknowledged, 6);
}

/// Section 9.7.6.1: answers to what was never sent, or was acknowledged long ago, are dropped.
#[test]
fn ghost_and_stale_answers_are_ignored() {
    let mut end = queue_pair(Config::default());
    end.post(write(10 * 1_024)).expect("room");
    end.handle_packet(NOW, &response(0, Syndrome::Ack));
    assert_eq!(end.info().unacknowledged, 0, "nothing was sent yet");
    assert_eq!(sendable(&mut end).len(), 10);
    end.handle_packet(NOW, &response(4, Syndrome::Ack));
    for (psn, syndrome) in [(10, Syndrome::Ack), (u64::MAX, NAK), (2, Syndrome::Ack), (3, NAK), (3, INVALID)]
    {
        end.handle_packet(NOW, &response(psn, syndrome));
        assert_eq!((end.info().unacknowledged, end.info().state), (5, State::ReadyToSend));
        assert_eq!(sendable(&mut end), []);
    }
    // The NAK of the first that is not acknowledged is neither.
    end.handle_packet(NOW, &response(5, NAK));
    assert_eq!(sendable(&mut end).iter().map(|(psn, _)| *psn).collect::<Vec<_>>(), [5, 6, 7, 8, 9]);
}

/// Section 9.7.5.2: a NAK acknowledges what is before it, and a refusal fails the message it names.
#[test]
fn a_refusal_completes_what_was_before_it_and_fails_the_rest() {
    for nak in [Nak::InvalidRequest, Nak::RemoteAccessError, Nak::RemoteOperationalError] {
        let mut end = queue_pair(Config::default());
        for _ in 0..3 {
            end.post(write(1)).expect("room");
        }
        assert_eq!(sendable(&mut end).len(), 3);
        end.handle_packet(NOW, &response(1, Syndrome::Nak(nak)));
        let completions: Vec<_> = std::iter::from_fn(|| end.poll_completion()).collect();
        let failed = |id, failure| Completion::Failed { id: RequestId(id), failure };
        let sent = Completion::Sent { id: RequestId(0), opcode: Opcode::Write, bytes: 1 };
        assert_eq!(completions, [sent, failed(1, Failure::Refused(nak)), failed(2, Failure::Flushed)]);
        assert_eq!((sendable(&mut end), end.next_timeout()), (vec![], None));
    }
}

/// A SEND of 143 B is 206 B as a frame, 226 ns on the wire; a response takes 86 ns and the way 50,000 ns.
fn sends_without_a_buffer(rnr_retries: u8, posted_at: Option<Instant>) -> Pair {
    let config = Config { receives: Some(0), rnr_retries, rnr_timer: 12, ..Config::default() };
    let mut pair = Pair::new(config);
    pair.ends[0].post(Request { opcode: Opcode::Send, bytes: 143 }).expect("room");
    if let Some(at) = posted_at {
        pair.run_until(at);
        pair.ends[1].post_receives(1);
    }
    pair.run();
    pair
}

/// Section 9.7.5.2.8: the requester waits as long as the RNR NAK says (code 12 is 0.64 ms) and tries again.
#[test]
fn a_receiver_that_is_not_ready_is_tried_again_after_the_time_it_asks_for() {
    let pair = sends_without_a_buffer(7, Some(Instant(800_000)));
    let round = 226 + 50_000 + 86 + 50_000;
    assert_eq!(pair.requests(), [0, 0, 0]);
    let not_ready = (Syndrome::ReceiverNotReady { timer: 12 }, 0);
    assert_eq!(pair.responses(), [not_ready, not_ready, (Syndrome::Ack, 0)]);
    assert_eq!(pair.completed_at(), Some(Instant(3 * round + 2 * 640_000)));
    assert_eq!(pair.completions[1].len(), 1);
}

/// Section 9.7.5.2.8: two retries, so the third RNR NAK is an error. At 7 there is no end.
#[test]
fn the_rnr_retry_counter_ends_the_waiting_unless_it_is_seven() {
    let pair = sends_without_a_buffer(2, None);
    let round = 226 + 50_000 + 86 + 50_000;
    let failed = Completion::Failed { id: RequestId(0), failure: Failure::RnrRetriesExceeded };
    assert_eq!(pair.completions[0], [(Instant(3 * round + 2 * 640_000), failed)]);
    let pair = sends_without_a_buffer(7, Some(Instant(50_000_000)));
    assert!(pair.ends[0].info().rnr_naks > 60);
    assert_eq!(pair.completions[1].len(), 1);
}

/// An ACK for the packet that was refused shows that there was a buffer for a duplicate of it: the wait is over.
#[test]
fn progress_ends_the_wait_for_a_receiver() {
    let mut end = queue_pair(Config::default());
    end.post(Request { opcode: Opcode::Send, bytes: 143 }).expect("room");
    assert_eq!(sendable(&mut end).len(), 1);
    end.handle_packet(NOW, &response(0, Syndrome::ReceiverNotReady { timer: 12 }));
    end.post(write(1)).expect("room");
    assert_eq!((sendable(&mut end), end.next_timeout()), (vec![], Some(Instant(640_000))));
    end.handle_packet(NOW, &response(0, Syndrome::Ack));
    assert_eq!(sendable(&mut end), [(1, true)]);
}

/// What follows a SEND that finds no buffer is dropped without a NAK of its own, and comes again after the wait.
#[test]
fn packets_behind_a_receiver_that_is_not_ready_are_dropped_silently() {
    let config = Config { receives: Some(1), rnr_timer: 12, ..Config::default() };
    let mut pair = Pair::new(config);
    for opcode in [Opcode::Send, Opcode::Send, Opcode::Write, Opcode::Write] {
        pair.ends[0].post(Request { opcode, bytes: 143 }).expect("room");
    }
    pair.run_until(Instant(400_000));
    pair.ends[1].post_receives(1);
    pair.run();
    assert_eq!(pair.requests(), [0, 1, 2, 3, 1, 2, 3]);
    let not_ready = (Syndrome::ReceiverNotReady { timer: 12 }, 1);
    let ack = |psn| (Syndrome::Ack, psn);
    assert_eq!(pair.responses(), [ack(0), not_ready, ack(1), ack(2), ack(3)]);
    assert_eq!(pair.completions[1].len(), 4);
}

#[test]
fn posting_is_refused_with_the_reason() {
    let mut end = queue_pair(Config { send_queue: 2, ..Config::default() });
    let bytes = (1 << 31) + 1;
    assert_eq!(end.post(write(bytes)), Err(PostError::TooLong { bytes }));
    assert_eq!(end.post(write(1 << 31)), Ok(RequestId(0)));
    assert_eq!(end.post(write(0)), Ok(RequestId(1)));
    assert_eq!(end.post(write(0)), Err(PostError::QueueFull { messages: 2 }));
    let config = Arc::new(Config { path_mtu: 9_000, ..Config::default() });
    assert_eq!(QueuePair::new(config).expect_err("it is too large").parameter, "path_mtu");
}

/// A message of 2^31 bytes, to its last packet.
#[test]
fn the_longest_message_arrives() {
    let config = Config { path_mtu: 4_096, ..Config::default() };
    let (mut requester, mut responder) = (queue_pair(config), queue_pair(config));
    requester.post(write(1 << 31)).expect("room");
    while let Some(packet) = requester.poll_transmit(NOW) {
        responder.handle_packet(NOW, &packet);
        while let Some(packet) = responder.poll_transmit(NOW) {
            requester.handle_packet(NOW, &packet);
        }
    }
    let received = Completion::Received { number: 0, opcode: Opcode::Write, bytes: 1 << 31 };
    assert_eq!(responder.poll_completion(), Some(received));
    let sent = Completion::Sent { id: RequestId(0), opcode: Opcode::Write, bytes: 1 << 31 };
    assert_eq!((requester.poll_completion(), requester.info().requests_sent), (Some(sent), 1 << 19));
}

/// A link that sends everything twice: nothing arrives twice, and nothing is retransmitted.
#[test]
fn a_link_that_doubles_packets_does_no_harm() {
    let mut pair = Pair::with_faults(Config::default(), |_, _| Fate::ArrivesTwice);
    pair.write(24_387);
    pair.write(143);
    pair.run();
    assert_eq!(pair.requests(), (0..25).collect::<Vec<_>>());
    assert_eq!((pair.completions[0].len(), pair.completions[1].len()), (2, 2));
}

/// An early call of `handle_timeout` does nothing.
#[test]
fn the_timer_does_not_expire_before_its_time() {
    let mut end = queue_pair(Config { timeout_exponent: 8, ..Config::default() });
    end.post(write(1)).expect("room");
    assert_eq!(sendable(&mut end).len(), 1);
    let deadline = end.next_timeout().expect("something is outstanding");
    assert_eq!(deadline, Instant(1_048_576));
    end.handle_timeout(deadline - Nanos(1));
    assert_eq!((end.info().timeouts, end.next_timeout()), (0, Some(deadline)));
    end.handle_timeout(deadline);
    assert_eq!((end.info().timeouts, sendable(&mut end).len()), (1, 1));
}
