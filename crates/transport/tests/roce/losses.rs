//! What follows a loss, for the paper's two flow sizes, counted by hand.
//!
//! A WRITE of 24,387 B is 24 packets: a first of 1,024 B (1,102 B as a frame, 1,122 ns on the wire), 22 in the middle
//! (1,106 ns each) and a last of 835 B (918 ns), together 26,372 ns. A response takes 86 ns, and the way 50,000 ns, so an
//! answer is there 100,086 ns after the last byte of what it answers. Packet 15 and packet 23 request an ACK. The timer
//! is 4.096 us x 2^8 = 1,048,576 ns.

use crate::pair::{Fate, Pair};
use linkmend_transport::roce::{Completion, Config, Failure, Nak, RequestId, Syndrome};
use linkmend_transport::{Instant, Nanos};

const ACK: Syndrome = Syndrome::Ack;
const NAK: Syndrome = Syndrome::Nak(Nak::SequenceError);
const TIMEOUT: u64 = 1_048_576;
const ANSWER: u64 = 100_086;
/// From the first byte of the first packet to the last of the last.
const ALL: u64 = 26_372;
/// When the ACK of packet 15 arrives, which restarts the timer.
const ACK_15: u64 = 1_122 + 15 * 1_106 + ANSWER;

fn config() -> Config {
    Config { timeout_exponent: 8, ..Config::default() }
}

/// Numbers of the packets sent when each round begins with one of these and goes on to the last of `count`.
fn rounds(count: u64, firsts: &[u64]) -> Vec<u64> {
    firsts.iter().flat_map(|first| *first..count).collect()
}

/// Writes 24,387 B while the requests and responses in these places are lost.
fn write(lost_requests: &[u64], lost_responses: &[u64]) -> Pair {
    let mut pair = Pair::losing(config(), lost_requests, lost_responses);
    pair.write(24_387);
    pair.run();
    assert_eq!(pair.completions[1].len(), 1, "the message arrives once");
    assert_eq!(pair.completions[0].len(), 1);
    let info = pair.ends[1].info();
    assert_eq!((info.received_messages, info.received_bytes), (1, 24_387));
    pair
}

#[test]
fn without_a_loss_two_acks_answer_24_packets() {
    let pair = write(&[], &[]);
    assert_eq!(pair.requests(), rounds(24, &[0]));
    assert_eq!(pair.responses(), [(ACK, 15), (ACK, 23)]);
    assert_eq!(pair.completed_at(), Some(Instant(ALL + ANSWER)));
    assert_eq!(pair.ends[0].next_timeout(), None, "nothing is outstanding, so no timer runs");
}

/// With 4,096 B a packet there are six: 4,194 ns, four of 4,178 ns and 3,990 ns, and only the last requests an ACK.
#[test]
fn with_a_larger_path_mtu_one_ack_answers_6_packets() {
    let mut pair = Pair::new(Config { path_mtu: 4_096, ..config() });
    pair.write(24_387);
    pair.run();
    assert_eq!(pair.requests(), rounds(6, &[0]));
    assert_eq!(pair.responses(), [(ACK, 5)]);
    assert_eq!(pair.completed_at(), Some(Instant(4_194 + 4 * 4_178 + 3_990 + ANSWER)));
}

/// Section 9.7.5.2: packet 1 shows that packet 0 is missing; by the time of the NAK all have been sent.
#[test]
fn after_the_loss_of_the_first_packet_all_are_sent_again() {
    let pair = write(&[0], &[]);
    assert_eq!(pair.requests(), rounds(24, &[0, 0]));
    assert_eq!(pair.responses(), [(NAK, 0), (ACK, 15), (ACK, 23)]);
    let nak = 1_122 + 1_106 + ANSWER;
    assert_eq!(pair.completed_at(), Some(Instant(nak + ALL + ANSWER)));
}

#[test]
fn after_the_loss_of_a_middle_packet_those_from_it_on_are_sent_again() {
    let pair = write(&[12], &[]);
    assert_eq!(pair.requests(), rounds(24, &[0, 12]));
    assert_eq!(pair.responses(), [(NAK, 12), (ACK, 15), (ACK, 23)]);
    let nak = 1_122 + 13 * 1_106 + ANSWER;
    assert_eq!(pair.completed_at(), Some(Instant(nak + 11 * 1_106 + 918 + ANSWER)));
    assert_eq!(pair.ends[1].info().out_of_order, 11);
}

/// Nothing follows the last packet, so nothing shows the loss but the timer, which the ACK of packet 15 restarted. The
/// requester goes back to packet 16; seven packets are duplicates, which are acknowledged again (section 9.7.5.1).
#[test]
fn the_loss_of_the_last_packet_costs_a_timeout() {
    let pair = write(&[23], &[]);
    assert_eq!(pair.requests(), rounds(24, &[0, 16]));
    let again = [(ACK, 22); 7];
    assert_eq!(pair.responses(), [vec![(ACK, 15)], again.to_vec(), vec![(ACK, 23)]].concat());
    assert_eq!(pair.completed_at(), Some(Instant(ACK_15 + TIMEOUT + 7 * 1_106 + 918 + ANSWER)));
    let info = pair.ends[0].info();
    assert_eq!((info.timeouts, info.requests_resent, info.sequence_naks), (1, 8, 0));
    assert_eq!(pair.ends[1].info().duplicates, 7);
}

/// The ACK of packet 23 is lost: all is there, and the first duplicate brings the ACK again.
#[test]
fn the_loss_of_the_last_ack_costs_a_timeout() {
    let pair = write(&[], &[1]);
    assert_eq!(pair.requests(), rounds(24, &[0, 16]));
    assert_eq!(pair.responses(), [vec![(ACK, 15)], vec![(ACK, 23); 9]].concat());
    assert_eq!(pair.completed_at(), Some(Instant(ACK_15 + TIMEOUT + 1_106 + ANSWER)));
    assert_eq!(pair.completions[1][0].0, Instant(ALL + 50_000), "the message arrived in time");
    assert_eq!(pair.ends[1].info().duplicates, 8);
}

/// The next ACK makes up for one that is lost (section 9.7.5.1.2).
#[test]
fn the_loss_of_another_ack_costs_nothing() {
    let pair = write(&[], &[0]);
    assert_eq!(pair.requests(), rounds(24, &[0]));
    assert_eq!(pair.completed_at(), Some(Instant(ALL + ANSWER)));
}

/// The responder does not repeat a NAK, so the requester goes back to the first packet after a timeout: it knows of
/// none that arrived.
#[test]
fn the_loss_of_the_nak_costs_a_timeout() {
    let pair = write(&[12], &[0]);
    assert_eq!(pair.requests(), rounds(24, &[0, 0]));
    let again = [(ACK, 11); 12];
    assert_eq!(pair.responses(), [vec![(NAK, 12)], again.to_vec(), vec![(ACK, 15), (ACK, 23)]].concat());
    assert_eq!(pair.completed_at(), Some(Instant(TIMEOUT + ALL + ANSWER)));
}

/// Packet 12 is lost twice; it is the 25th that the requester sends. The responder has sent its NAK for it.
#[test]
fn the_loss_of_a_packet_and_of_its_retransmission_costs_a_timeout() {
    let pair = write(&[12, 24], &[]);
    assert_eq!(pair.requests(), rounds(24, &[0, 12, 12]));
    assert_eq!(pair.responses(), [(NAK, 12), (ACK, 15), (ACK, 23)]);
    let nak = 1_122 + 13 * 1_106 + ANSWER;
    assert_eq!(pair.completed_at(), Some(Instant(nak + TIMEOUT + 11 * 1_106 + 918 + ANSWER)));
}

/// One packet of 222 B: 242 ns. There is no NAK to help it, whatever is lost.
#[test]
fn a_flow_of_one_packet_is_saved_by_the_timer_only() {
    let write = |lost_requests: &[u64], lost_responses: &[u64]| {
        let mut pair = Pair::losing(config(), lost_requests, lost_responses);
        pair.write(143);
        pair.run();
        assert_eq!(pair.completions[1].len(), 1);
        (pair.requests().len(), pair.responses().len(), pair.completed_at())
    };
    let alone = 242 + ANSWER;
    assert_eq!(write(&[], &[]), (1, 1, Some(Instant(alone))));
    assert_eq!(write(&[0], &[]), (2, 1, Some(Instant(TIMEOUT + alone))));
    assert_eq!(write(&[], &[0]), (2, 2, Some(Instant(TIMEOUT + alone))));
    assert_eq!(write(&[0, 1, 2], &[]), (4, 1, Some(Instant(3 * TIMEOUT + alone))));
}

/// The first packet is lost twice. Its NAK acknowledges nothing, but the timer begins anew, as all is retransmitted.
#[test]
fn a_nak_restarts_the_timer_even_without_progress() {
    let pair = write(&[0, 24], &[]);
    assert_eq!(pair.requests(), rounds(24, &[0, 0, 0]));
    let nak = 1_122 + 1_106 + ANSWER;
    assert_eq!(pair.completed_at(), Some(Instant(nak + TIMEOUT + ALL + ANSWER)));
}

/// Section 9.7.6.1.3: a card may take up to four times the timer.
#[test]
fn a_slower_card_notices_after_four_times_the_timer() {
    let mut pair = Pair::losing(Config { timeout_factor: 4, ..config() }, &[0], &[]);
    pair.write(143);
    pair.run();
    assert_eq!(pair.completed_at(), Some(Instant(4 * TIMEOUT + 242 + ANSWER)));
}

/// Section 9.9.2: seven retries, and the eighth expiry of the timer is an error. The second message is flushed.
#[test]
fn the_eighth_timeout_in_a_row_is_an_error() {
    let mut pair =
        Pair::with_faults(config(), |sent, _| if sent.from == 0 { Fate::IsLost } else { Fate::Arrives });
    pair.write(143);
    pair.write(143);
    pair.run();
    assert_eq!(pair.requests(), rounds(2, &[0; 8]));
    let at = Instant(8 * TIMEOUT);
    let failed = |id, failure| (at, Completion::Failed { id: RequestId(id), failure });
    let wanted = [failed(0, Failure::RetriesExceeded), failed(1, Failure::Flushed)];
    assert_eq!(pair.completions[0], wanted);
    assert_eq!(pair.ends[0].next_timeout(), None);
}

/// A switch may copy NAKs, as the mechanisms of JCST 2022 do, more often than a connection has retries. The copies tell of one
/// loss, and what they ask for is retransmitted at once.
#[test]
fn fifteen_copies_of_a_nak_are_one_loss_and_do_not_end_the_connection() {
    let mut pair = Pair::with_faults(config(), |sent, _| match (sent.from, sent.nth) {
        (0, 3) => Fate::IsLost,
        (1, 0) => Fate::ArrivesWithCopies(15),
        _ => Fate::Arrives,
    });
    pair.write(24_387);
    pair.run();
    assert_eq!(pair.responses()[0], (NAK, 3));
    assert_eq!(pair.completions[1].len(), 1, "the message arrives");
    assert!(matches!(pair.completions[0][..], [(_, Completion::Sent { .. })]), "{:?}", pair.completions[0]);
    let info = pair.ends[0].info();
    assert_eq!((info.sequence_naks, info.timeouts), (16, 0));
}

/// Copies that never end do not keep the timer from expiring, so the connection ends as it would without them.
#[test]
fn copies_of_a_nak_without_end_end_with_the_eighth_timeout() {
    let mut pair = Pair::with_faults(config(), |sent, _| match (sent.from, sent.nth) {
        (0, nth) if nth != 1 => Fate::IsLost,
        (1, 0) => Fate::ArrivesWithCopies(15),
        _ => Fate::Arrives,
    });
    pair.write(24_387);
    pair.run();
    let (at, last) = pair.completions[0][0];
    assert!(matches!(last, Completion::Failed { failure: Failure::RetriesExceeded, .. }), "{last:?}");
    // One retry for the NAK, six for timers, and the timer that finds none left.
    let nak = 1_122 + 1_106 + ANSWER;
    assert_eq!(at, Instant(nak + 7 * TIMEOUT));
}

/// Section 9.9.2: the retry counter is filled again by progress. Each of 24 packets is lost four times, 96 times in all.
#[test]
fn progress_fills_the_retry_counter() {
    let one_at_a_time = Config { window_packets: 1, ..config() };
    // In fives: four losses, then the packet arrives.
    let mut pair = Pair::with_faults(one_at_a_time, |sent, _| {
        let is_lost = sent.from == 0 && sent.nth % 5 != 4;
        if is_lost { Fate::IsLost } else { Fate::Arrives }
    });
    pair.write(24_387);
    pair.run();
    let each_five_times: Vec<u64> = (0..24).flat_map(|psn| [psn; 5]).collect();
    assert_eq!(pair.requests(), each_five_times);
    assert_eq!(pair.ends[0].info().timeouts, 96);
    let on_the_wire = ALL + 24 * ANSWER;
    assert_eq!(pair.completed_at(), Some(Instant(96 * TIMEOUT + on_the_wire)));
}

/// A disabled timer (t = 0) waits forever.
#[test]
fn without_a_timer_a_lost_packet_is_never_sent_again() {
    let mut pair = Pair::losing(Config { timeout_exponent: 0, ..config() }, &[0], &[]);
    pair.write(143);
    pair.run();
    assert_eq!((pair.requests(), pair.completed_at()), (vec![0], None));
    assert_eq!(pair.ends[0].next_timeout(), None);
}

/// A packet that is late by 3 us comes behind the two after it. The responder drops these two, and go-back-N sends
/// everything from the late packet on again: once for packet 12, and once for packet 13, whose copies the responder
/// misses when packet 12 has arrived.
#[test]
fn a_packet_out_of_order_costs_go_back_n_as_much_as_a_loss() {
    let mut pair = Pair::with_faults(config(), |sent, _| {
        let is_late = sent.from == 0 && sent.nth == 12;
        if is_late { Fate::IsLate(Nanos(3_000)) } else { Fate::Arrives }
    });
    pair.write(24_387);
    pair.run();
    // Packet 12 comes between packets 14 and 15. The NAK of 13 comes 2,212 ns after that of 12, when two packets have
    // been sent again.
    assert_eq!(pair.requests(), [rounds(24, &[0]), vec![12, 13], rounds(24, &[13])].concat());
    let nak = |psn| (NAK, psn);
    assert_eq!(&pair.responses()[..2], [nak(12), nak(13)]);
    assert_eq!(pair.ends[0].info().timeouts, 0);
    assert_eq!(pair.completions[1].len(), 1);
}
