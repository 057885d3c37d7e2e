//! RFC 9293, sections 3.6 and 3.10.7.4, and RFC 5961.

use crate::pair::{Fate, Pair};
use linkmend_transport::tcp::{Abort, Config, Event, Flags, Segment, State};
use linkmend_transport::{Instant, Nanos};

const MSS: u64 = 1_448;

fn pair() -> Pair {
    Pair::established(Config::default())
}

fn micros(micros: u64) -> Nanos {
    Nanos::from_micros(micros)
}

/// RFC 9293, section 3.6, figure 12.
#[test]
fn one_end_closes_and_then_the_other() {
    let mut pair = pair();
    pair.write(0, 10 * MSS);
    pair.close(0);
    assert_eq!(pair.state(0), State::FinWait1);
    pair.run_for(micros(200));
    assert_eq!((pair.state(0), pair.state(1)), (State::FinWait2, State::CloseWait));
    assert!(pair.has_event(1, Event::PeerClosed) && !pair.has_event(0, Event::Closed));
    pair.close(1);
    assert_eq!(pair.state(1), State::LastAck);
    pair.run_for(micros(200));
    assert_eq!((pair.state(0), pair.state(1)), (State::TimeWait, State::Closed));
    assert!(pair.has_event(0, Event::Closed) && pair.has_event(1, Event::Closed));
    let closed = pair.now;
    pair.run();
    assert_eq!(pair.state(0), State::Closed);
    assert!(pair.now.since(closed) > Nanos::from_secs(59), "TIME-WAIT lasts for 60 s");
}

/// RFC 9293, section 3.6, figure 13.
#[test]
fn both_ends_close_at_the_same_time() {
    let mut pair = pair();
    pair.write(0, 3 * MSS);
    pair.write(1, 5 * MSS);
    pair.close(0);
    pair.close(1);
    pair.run_for(micros(300));
    assert_eq!((pair.state(0), pair.state(1)), (State::TimeWait, State::TimeWait));
    assert_eq!(pair.delivered, [5 * MSS, 3 * MSS]);
}

#[test]
fn an_end_that_has_closed_still_receives() {
    let mut pair = pair();
    pair.close(0);
    pair.run_for(micros(200));
    pair.write(1, 100 * MSS);
    pair.close(1);
    pair.run_for(Nanos::from_secs(1));
    assert_eq!(pair.delivered[0], 100 * MSS);
    assert_eq!(pair.state(0), State::TimeWait);
    assert_eq!(pair.ends[0].write(1), 0);
}

#[test]
fn a_lost_fin_is_sent_again() {
    for lost in 0..2 {
        let mut pair = pair().losing(lost, &[0]);
        pair.answers_close[1] = true;
        pair.close(0);
        pair.run_for(Nanos::from_secs(5));
        assert_eq!((pair.state(0), pair.state(1)), (State::TimeWait, State::Closed), "lost by {lost}");
    }
}

/// RFC 9293, section 3.10.7.4: the peer's FIN again means that its acknowledgement was lost, and TIME-WAIT begins anew.
#[test]
fn time_wait_answers_a_fin_again() {
    let mut pair = pair().losing(0, &[1]);
    pair.answers_close[1] = true;
    pair.close(0);
    pair.run_for(Nanos::from_secs(30));
    assert_eq!((pair.state(0), pair.state(1)), (State::TimeWait, State::Closed));
    assert_eq!(pair.sent_by(0).count(), 3, "FIN, and two acknowledgements of the peer's FIN");
}

#[test]
fn an_aborted_connection_ends_at_both_ends() {
    let mut pair = pair();
    pair.write(0, 100 * MSS);
    pair.run_for(micros(60));
    pair.ends[0].abort();
    pair.run();
    assert_eq!((pair.state(0), pair.state(1)), (State::Closed, State::Closed));
    assert!(pair.has_event(0, Event::Aborted(Abort::Requested)));
    assert!(pair.has_event(1, Event::Aborted(Abort::Reset)));
}

/// RFC 9293, section 3.10.7.1: an end that has forgotten the connection says so.
#[test]
fn a_lost_reset_is_made_up_for() {
    let mut pair = pair().losing(0, &[0]);
    pair.ends[0].abort();
    pair.run_for(micros(10));
    pair.write(1, MSS);
    pair.run_for(micros(500));
    assert!(pair.has_event(1, Event::Aborted(Abort::Reset)));
}

/// RFC 5961, section 3.2: a RST counts only with the very next number, and is questioned in the window.
#[test]
fn a_reset_in_the_window_is_challenged() {
    let mut pair = pair();
    pair.write(1, 10 * MSS);
    pair.run_for(micros(300));
    let next = 1 + 10 * MSS;
    let reset = |sequence| Segment { sequence, flags: Flags::RST, ..Segment::default() };
    let answers = pair.sent_by(0).count();
    pair.inject(0, reset(next - 1));
    assert_eq!((pair.state(0), pair.sent_by(0).count()), (State::Established, answers), "ignored");
    pair.inject(0, reset(next + 1));
    assert_eq!((pair.state(0), pair.sent_by(0).count()), (State::Established, answers + 1), "questioned");
    pair.inject(0, reset(next));
    assert!(pair.has_event(0, Event::Aborted(Abort::Reset)));
}

/// RFC 5961, section 4.2, and no more often than each 500 ms (section 7).
#[test]
fn a_syn_within_a_connection_is_challenged() {
    let mut pair = pair();
    let syn = Segment { sequence: 5, flags: Flags::SYN, ..Segment::default() };
    for _ in 0..10 {
        pair.inject(0, syn);
    }
    assert_eq!((pair.state(0), pair.acks_of(0).len()), (State::Established, 1));
    pair.run_for(Nanos::from_millis(500));
    pair.inject(0, syn);
    assert_eq!(pair.acks_of(0).len(), 2);
}

/// RFC 5961, section 5.2: what acknowledges the future or the distant past is questioned, and its data is dropped.
#[test]
fn an_acknowledgement_that_cannot_be_is_challenged() {
    let mut pair = pair();
    let forged =
        Segment { sequence: 1, acknowledgement: 2, length: 100, flags: Flags::ACK, ..Segment::default() };
    pair.inject(0, forged);
    assert_eq!((pair.acks_of(0).len(), pair.delivered[0]), (1, 0));
    pair.run_for(Nanos::from_secs(1));
    pair.inject(0, Segment { acknowledgement: 0, ..forged });
    assert_eq!((pair.acks_of(0).len(), pair.delivered[0]), (2, 0));
}

/// RFC 7323, section 5.3: an old segment of the same connection is dropped and answered.
#[test]
fn a_segment_with_an_older_timestamp_is_dropped() {
    let mut pair = pair();
    pair.run_for(Nanos::from_millis(10));
    pair.write(1, MSS);
    pair.run_for(Nanos::from_millis(1));
    let mut old = pair.data_of(1)[0].segment;
    assert_eq!(pair.delivered[0], MSS);
    old.sequence += MSS;
    old.timestamps = old.timestamps.map(|mut timestamps| {
        timestamps.value -= 5;
        timestamps
    });
    let answers = pair.acks_of(0).len();
    pair.inject(0, old);
    assert_eq!((pair.delivered[0], pair.acks_of(0).len()), (MSS, answers + 1));
}

/// Linux: `tcp_retries2`.
#[test]
fn a_peer_that_has_vanished_is_given_up() {
    let mut pair = pair().with_faults(|_| Fate::IsLost);
    pair.write(0, MSS);
    pair.run();
    let timed_out = |event: &Event| *event == Event::Aborted(Abort::TimedOut);
    let at = pair.time_of(0, timed_out).expect("it gives up");
    assert!(at > Instant(600_000_000_000), "not before ten minutes, but after {} s", at.0 / 1_000_000_000);
}
