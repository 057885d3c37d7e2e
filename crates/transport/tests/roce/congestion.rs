//! DCQCN (SIGCOMM 2015) over the virtual link: marks, CNPs, and the rate that follows.

use crate::pair::{DELAY, Fate, Pair};
use linkmend_transport::roce::{Body, Config, Dcqcn, Opcode, Packet, QueuePair, Request};
use linkmend_transport::tcp::Codepoint;
use linkmend_transport::{Instant, Nanos};
use std::sync::Arc;

/// The link of `pair`: a byte takes a nanosecond.
const LINE_RATE: u64 = 8_000_000_000;

fn config() -> Config {
    Config { dcqcn: Some(Dcqcn::of_paper(LINE_RATE)), ..Config::default() }
}

/// A transfer of which the packets sent before `end` are marked.
fn marked_until(end: Instant, bytes: u32) -> Pair {
    let mut pair = Pair::with_faults(
        config(),
        move |sent, _| {
            if sent.at < end { Fate::IsMarked } else { Fate::Arrives }
        },
    );
    pair.write(bytes);
    pair
}

fn times_of(pair: &Pair, from: usize, is_wanted: fn(&Body) -> bool) -> Vec<Instant> {
    let sent = pair.sent.iter().filter(|sent| sent.from == from && is_wanted(&sent.packet.body));
    sent.map(|sent| sent.at).collect()
}

fn cnps(pair: &Pair) -> Vec<Instant> {
    times_of(pair, 1, |body| matches!(body, Body::CongestionNotification))
}

/// Section 3.1 and annex A17.9: requests are ECN-capable, answers and CNPs are not; without congestion control nothing
/// is.
#[test]
fn only_requests_are_ecn_capable() {
    let mut pair = marked_until(Instant(1), 24_387);
    pair.run();
    for sent in &pair.sent {
        let is_request = matches!(sent.packet.body, Body::Request(_));
        let codepoint = if is_request { Codepoint::Ect0 } else { Codepoint::NotEct };
        assert_eq!(sent.packet.codepoint, codepoint);
    }
    assert_eq!(cnps(&pair).len(), 1);
    let mut pair = Pair::with_faults(Config::default(), |_, _| Fate::IsMarked);
    pair.write(24_387);
    pair.run();
    assert!(pair.sent.iter().all(|sent| sent.packet.codepoint == Codepoint::NotEct));
    assert_eq!(cnps(&pair).len(), 0);
}

/// One CNP for marks within 50 us. The first mark arrives with the first packet, after 1,122 ns and the delay.
#[test]
fn cnps_are_fifty_microseconds_apart() {
    let mut pair = marked_until(Instant(180_000), 1_000_000);
    pair.run();
    let cnps = cnps(&pair);
    assert_eq!(cnps.first(), Some(&(Instant(1_122) + DELAY)));
    assert!(cnps.windows(2).all(|pair| pair[1].since(pair[0]) >= Nanos(50_000)), "{cnps:?}");
    // Marks arrive for 180 us.
    assert_eq!(cnps.len(), 4);
    assert_eq!(pair.ends[0].info().cnps_received, 4);
}

/// At the first CNP the rate falls from 8 to 4 Gb/s: a packet of 1,086 B leaves each 2,172 ns instead of 1,106.
#[test]
fn requests_leave_at_half_the_rate_after_the_first_cnp() {
    let mut pair = marked_until(Instant(1), 1_000_000);
    let cnp = Instant(1_122) + DELAY + Nanos(98) + DELAY;
    // Until the timer raises the rate.
    pair.run_until(cnp + Nanos(55_000));
    let requests = times_of(&pair, 0, |body| matches!(body, Body::Request(_)));
    let gaps = |from: Instant, to: Instant| -> Vec<u64> {
        let pairs = requests.windows(2).filter(|pair| pair[0] > from && pair[1] < to);
        pairs.map(|pair| pair[1].since(pair[0]).0).collect()
    };
    let (before, after) = (gaps(Instant(0), cnp), gaps(cnp, cnp + Nanos(55_000)));
    assert!(before.len() > 80 && before.iter().all(|gap| *gap == 1_106), "{before:?}");
    // The first of them waited for the port, and the next one makes up for that.
    assert!(after.len() > 20 && after[0] <= 2_172, "{after:?}");
    assert!(after[1..].iter().all(|gap| *gap == 2_172), "{after:?}");
    assert_eq!(pair.ends[0].info().rate, Some(LINE_RATE / 2));
}

/// The rate returns to the line rate within a thousandth: 4 Gb/s halve nine times, each 55 us.
#[test]
fn the_rate_recovers_when_marks_end() {
    let mut pair = marked_until(Instant(1), 3_000_000);
    pair.run();
    assert_eq!(pair.ends[0].info().rate, Some(LINE_RATE));
    assert_eq!(pair.completions[1].len(), 1);
    let requests = times_of(&pair, 0, |body| matches!(body, Body::Request(_)));
    let recovered = Instant(1_122) + DELAY + Nanos(98) + DELAY + Nanos(9 * 55_000);
    let late = requests.windows(2).filter(|pair| pair[0] > recovered + Nanos(2_200));
    let gaps: Vec<u64> = late.map(|pair| pair[1].since(pair[0]).0).collect();
    assert!(gaps.len() > 100 && gaps.iter().all(|gap| *gap == 1_106), "{gaps:?}");
}

/// A requester that is held back says when it goes on, and goes on then.
#[test]
fn a_paced_requester_says_when_it_goes_on() {
    let mut pair = marked_until(Instant(20_000_000), 1_000_000);
    pair.run_until(Instant(10_000_000));
    let rate = pair.ends[0].info().rate.expect("DCQCN is on");
    assert!(rate < LINE_RATE / 100, "{rate}");
    let held_until = pair.ends[0].next_timeout().expect("it is held back");
    let sent = pair.requests().len();
    pair.run_until(held_until - Nanos(1));
    assert_eq!(pair.requests().len(), sent);
    pair.run_until(held_until);
    assert_eq!(pair.requests().len(), sent + 1);
}

/// A port may be busy at the instant that a requester was held back to: that instant is then past, and not asked for
/// again until the driver has polled.
#[test]
fn a_busy_port_is_not_told_to_come_back_at_once() {
    let mut end = QueuePair::new(Arc::new(config())).expect("a good configuration");
    end.post(Request { opcode: Opcode::Write, bytes: 24_387 }).expect("room");
    let body = Body::CongestionNotification;
    end.handle_packet(Instant(0), &Packet { psn: 0, codepoint: Codepoint::NotEct, body });
    assert!(end.poll_transmit(Instant(0)).is_some());
    assert_eq!(end.poll_transmit(Instant(0)), None);
    let held_until = Instant(1_102 * 2);
    assert_eq!(end.next_timeout(), Some(held_until));
    end.handle_timeout(held_until);
    assert!(end.next_timeout() > Some(held_until));
    assert!(end.poll_transmit(held_until + Nanos(500)).is_some());
}
