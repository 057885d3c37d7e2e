//! RFC 9293, section 3.5, and the options of the SYNs.

use crate::pair::{DELAY, Fate, Pair};
use linkmend_transport::tcp::{
    Abort, Config, Connection, Ecn, Event, Flags, Segment, State, SynOptions, Timestamps,
};
use linkmend_transport::{Instant, Nanos};

const SECOND: u64 = 1_000_000_000;

fn config() -> Config {
    Config::default()
}

/// Times of the segments of `from` that carry SYN.
fn syns(pair: &Pair, from: usize) -> Vec<u64> {
    pair.sent_by(from).filter(|sent| sent.segment.flags.contains(Flags::SYN)).map(|sent| sent.at.0).collect()
}

/// A segment takes 78 ns and 50 us on the way.
#[test]
fn three_segments_open_a_connection() {
    let mut pair = Pair::opening(config(), config());
    pair.run();
    let flags: Vec<(usize, Flags)> = pair.sent.iter().map(|sent| (sent.from, sent.segment.flags)).collect();
    let syn_ack = Flags::SYN.with(Flags::ACK);
    assert_eq!(flags, [(0, Flags::SYN), (1, syn_ack), (0, Flags::ACK)]);
    let one_way = DELAY.0 + 78;
    let established = |event: &Event| *event == Event::Established;
    assert_eq!(pair.time_of(0, established), Some(Instant(2 * one_way)));
    assert_eq!(pair.time_of(1, established), Some(Instant(3 * one_way)));
    assert_eq!((pair.state(0), pair.state(1)), (State::Established, State::Established));
    let rtt = pair.ends[0].info(pair.now).rtt;
    assert_eq!(rtt, Some(Nanos(2 * one_way)), "the handshake is a sample");
}

/// RFC 6298, section 2.1: 1 s at first, doubled each time.
#[test]
fn a_lost_syn_is_sent_again_after_1_and_3_seconds() {
    let mut pair = Pair::opening(config(), config()).losing(0, &[0, 1]);
    pair.run();
    assert_eq!(syns(&pair, 0), [0, SECOND, 3 * SECOND]);
    assert_eq!(pair.state(1), State::Established);
    assert_eq!(pair.ends[0].info(pair.now).rtt, None, "which of them was answered is unknown (Karn)");
    assert_eq!(pair.ends[0].info(pair.now).snd_cwnd, 1, "RFC 6928, section 2");
}

#[test]
fn a_lost_syn_ack_is_sent_again() {
    let mut pair = Pair::opening(config(), config()).losing(1, &[0]);
    pair.run();
    assert_eq!(syns(&pair, 0), [0, SECOND]);
    assert_eq!((pair.state(0), pair.state(1)), (State::Established, State::Established));
}

/// RFC 9293, section 3.10.7.4: each SYN is answered; only the timer of the SYN-ACK itself counts its attempts, so that the
/// server goes on trying when it is the answers that were lost.
#[test]
fn a_syn_that_is_repeated_neither_delays_the_next_syn_ack_nor_uses_up_attempts() {
    // The client's SYNs leave at 0, 1, 3 and 7 s, and the network doubles them. All answers to them are lost but the last,
    // and the client's ACK of that is lost, too.
    let mut pair = Pair::opening(config(), config()).with_faults(|sent| {
        let is_syn = sent.segment.flags.contains(Flags::SYN);
        match sent.from {
            0 if is_syn => Fate::ArrivesTwice,
            0 if sent.at < Instant(10 * SECOND) => Fate::IsLost,
            1 if sent.at < Instant(7 * SECOND) => Fate::IsLost,
            _ => Fate::Arrives,
        }
    });
    pair.run_until(Instant(60 * SECOND));
    let server_gave_up = pair.has_event(1, Event::Aborted(Abort::TimedOut));
    assert!(!server_gave_up, "SYN-ACKs at {:?}", syns(&pair, 1));
    assert_eq!((pair.state(0), pair.state(1)), (State::Established, State::Established));
}

/// The SYN-ACK is repeated, and answered again.
#[test]
fn a_lost_ack_of_a_syn_ack_is_made_up_for() {
    let mut pair = Pair::opening(config(), config()).losing(0, &[1]);
    pair.run();
    assert_eq!(pair.state(1), State::Established);
    assert_eq!(syns(&pair, 1).len(), 2);
}

#[test]
fn data_opens_a_server_whose_syn_ack_was_answered_in_vain() {
    let mut pair = Pair::opening(config(), config()).losing(0, &[1]);
    pair.run_until(Instant(200_000));
    pair.write(0, 5_000);
    pair.run_until(Instant(400_000));
    assert_eq!((pair.state(1), pair.delivered[1]), (State::Established, 5_000));
}

/// Linux: `tcp_syn_retries` and `tcp_synack_retries`.
#[test]
fn an_end_without_answer_gives_up() {
    let mut pair = Pair::opening(config(), config()).with_faults(|_| Fate::IsLost);
    pair.run();
    assert_eq!(syns(&pair, 0), [0, 1, 3, 7, 15, 31, 63].map(|seconds| seconds * SECOND));
    let timed_out = |event: &Event| *event == Event::Aborted(Abort::TimedOut);
    assert_eq!(pair.time_of(0, timed_out), Some(Instant(127 * SECOND)));
    let mut pair = Pair::opening(config(), config())
        .with_faults(|sent| if sent.from == 1 { Fate::IsLost } else { Fate::Arrives });
    pair.run();
    assert!(pair.time_of(1, timed_out).is_some());
}

/// RFC 9293, section 3.10.7.1: nobody listens.
#[test]
fn a_closed_peer_refuses() {
    let mut pair = Pair::opening(config(), config());
    pair.ends[1] = Connection::new_client(config()).expect("a good configuration");
    pair.run();
    assert!(pair.has_event(0, Event::Aborted(Abort::Refused)));
    assert_eq!(pair.state(0), State::Closed);
}

/// RFC 9293, section 3.5, figure 7.
#[test]
fn both_ends_may_open_it_at_the_same_time() {
    let mut pair = Pair::opening(config(), config());
    pair.ends[1] = Connection::new_client(config()).expect("a good configuration");
    pair.ends[1].open();
    pair.run_until(Instant(SECOND / 2));
    assert_eq!((pair.state(0), pair.state(1)), (State::Established, State::Established));
    pair.write(0, 10_000);
    pair.write(1, 20_000);
    pair.run();
    assert_eq!(pair.delivered, [20_000, 10_000]);
}

#[test]
fn what_is_written_early_is_sent_when_the_connection_is_open() {
    let mut pair = Pair::opening(config(), config());
    pair.write(0, 3_000);
    pair.close(0);
    pair.answers_close[1] = true;
    pair.run();
    assert_eq!(pair.delivered[1], 3_000);
    assert!(pair.has_event(0, Event::Closed) && pair.has_event(1, Event::Closed));
}

/// An option counts if both SYNs have it (RFC 2018, section 2; RFC 7323, sections 2.2 and 3.2; RFC 3168, section 6.1.1).
#[test]
fn options_need_both_ends() {
    let bare = Config { sack: false, timestamps: false, ecn: Ecn::Off, mss: 1_460, ..config() };
    let full = Config { ecn: Ecn::Classic, ..config() };
    for (client, server) in [(bare, full), (full, bare)] {
        let mut pair = Pair::opening(client, server);
        pair.write(0, 20_000);
        pair.run();
        assert_eq!(pair.delivered[1], 20_000);
        let others = pair.sent.iter().filter(|sent| !sent.segment.flags.contains(Flags::SYN));
        for sent in others {
            assert_eq!(sent.segment.timestamps, None);
            assert!(sent.segment.sack.is_empty() && !sent.segment.flags.contains(Flags::ECE));
        }
    }
    let mut pair = Pair::opening(full, full);
    pair.run();
    let syn_options = pair.sent[1].segment.syn.expect("a SYN-ACK");
    assert_eq!(syn_options, SynOptions { mss: Some(1_460), sack_permitted: true, window_scale: Some(11) });
    assert!(pair.sent[2].segment.timestamps.is_some());
}

/// RFC 3168, section 6.1.1.1: the network may have dropped it for asking.
#[test]
fn a_syn_that_is_sent_again_asks_for_no_ecn() {
    let config = Config { ecn: Ecn::Classic, ..config() };
    let mut pair = Pair::opening(config, config).losing(0, &[0]);
    pair.run();
    let asks = |nth: usize| pair.sent_by(0).nth(nth).map(|sent| sent.segment.flags.contains(Flags::ECE));
    assert_eq!((asks(0), asks(1)), (Some(true), Some(false)));
}

/// RFC 7323, section 2.2: windows are scaled only if both ends said so.
#[test]
fn a_peer_without_scaling_gets_windows_of_16_bits() {
    let mut server = Connection::new_server(config()).expect("a good configuration");
    let syn = SynOptions { mss: Some(1_460), sack_permitted: false, window_scale: None };
    let now = Instant(0);
    let first = Segment { flags: Flags::SYN, window: 65_535, syn: Some(syn), ..Segment::default() };
    server.handle_segment(now, &first);
    let answer = server.poll_transmit(now).expect("a SYN-ACK");
    assert_eq!(answer.syn.and_then(|options| options.window_scale), None);
    let ack =
        Segment { sequence: 1, acknowledgement: 1, flags: Flags::ACK, window: 65_535, ..Segment::default() };
    server.handle_segment(now, &ack);
    server.handle_segment(now, &Segment { length: 3_000, ..ack });
    let answer = server.poll_transmit(now).expect("an acknowledgement");
    assert!(answer.window <= 65_535 && answer.window > 60_000);
}

/// RFC 9293, section 3.10.7.3: an acknowledgement of what was not sent is answered by a RST.
#[test]
fn a_syn_ack_of_another_connection_is_reset() {
    let mut client = Connection::new_client(config()).expect("a good configuration");
    client.open();
    client.poll_transmit(Instant(0));
    let stray = Segment { flags: Flags::SYN.with(Flags::ACK), acknowledgement: 77, ..Segment::default() };
    client.handle_segment(Instant(1), &stray);
    let reset = client.poll_transmit(Instant(1)).expect("a RST");
    assert_eq!((reset.flags, reset.sequence), (Flags::RST, 77));
    assert_eq!(client.state(), State::SynSent);
}

/// RFC 7323, section 3.2: the SYN carries the clock, and the SYN-ACK echoes it.
#[test]
fn a_syn_ack_echoes_the_timestamp_of_the_syn() {
    let mut server = Connection::new_server(config()).expect("a good configuration");
    let timestamps = Some(Timestamps { value: 77, echo: 0 });
    let syn = Some(SynOptions { mss: Some(1_460), sack_permitted: true, window_scale: Some(7) });
    server.handle_segment(Instant(0), &Segment { flags: Flags::SYN, timestamps, syn, ..Segment::default() });
    let answer = server.poll_transmit(Instant(5_000_000)).expect("a SYN-ACK");
    assert_eq!(answer.timestamps, Some(Timestamps { value: 5, echo: 77 }));
}
