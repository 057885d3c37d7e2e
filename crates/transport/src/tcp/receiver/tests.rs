//! The receiving half, segment by segment.

use super::*;
use crate::tcp::segment::{Codepoint, SackBlocks};
use std::ops::Range;

const MSS: u32 = 1_000;
const RTT: RoundTrip = RoundTrip { smoothed: None, timeout: Nanos::from_secs(1) };

fn config() -> Config {
    Config { mss: MSS, quick_acks: 0, receive_buffer: 50_000, ..Config::default() }
}

fn receiver(config: &Config, ecn: Ecn) -> Receiver {
    let mut receiver = Receiver::new(config, 1);
    receiver.agree(Options { sack: true, timestamps: false, ecn, scaling: true });
    receiver.open_without_handshake();
    receiver
}

/// Segment `index` of the stream, from 0 on.
fn segment(index: u64) -> Segment {
    let sequence = 1 + index * u64::from(MSS);
    Segment { sequence, length: MSS, flags: Flags::ACK, acknowledgement: 1, ..Segment::default() }
}

fn range(first: u64, last: u64) -> Range<u64> {
    segment(first).sequence..segment(last).end()
}

fn take(receiver: &mut Receiver, segment: &Segment) -> Option<Segment> {
    let now = Instant(1_000);
    if receiver.accepts(segment) && receiver.wants(segment) {
        receiver.handle_data(now, segment, RTT);
    } else {
        receiver.handle_unacceptable(now, segment);
    }
    receiver.ack_due().then(|| {
        let mut answer = Segment::default();
        receiver.fill(now, &mut answer);
        answer
    })
}

fn blocks(sack: &SackBlocks) -> Vec<Range<u64>> {
    sack.iter().collect()
}

/// RFC 5681, section 4.2: every second full segment; immediately above a gap, and when it is filled.
#[test]
fn a_gap_is_reported_with_every_segment_until_it_is_filled() {
    let mut receiver = receiver(&config(), Ecn::Off);
    assert_eq!(take(&mut receiver, &segment(0)), None);
    let second = take(&mut receiver, &segment(1)).expect("every second segment");
    assert_eq!((second.acknowledgement, second.sack.len()), (segment(2).sequence, 0));
    for index in [3, 4] {
        let above = take(&mut receiver, &segment(index)).expect("above a gap");
        assert_eq!(above.acknowledgement, segment(2).sequence);
        assert_eq!(blocks(&above.sack), vec![range(3, index)]);
    }
    let filled = take(&mut receiver, &segment(2)).expect("the gap is filled");
    assert_eq!((filled.acknowledgement, filled.sack.len()), (segment(5).sequence, 0));
}

/// RFC 2018, section 5, case 3 (Figure): every other segment is lost.
#[test]
fn the_block_of_the_latest_segment_comes_first() {
    let mut receiver = receiver(&config(), Ecn::Off);
    take(&mut receiver, &segment(1));
    take(&mut receiver, &segment(3));
    let third = take(&mut receiver, &segment(5)).expect("above gaps");
    assert_eq!(blocks(&third.sack), [range(5, 5), range(3, 3), range(1, 1)]);
    let fourth = take(&mut receiver, &segment(2)).expect("fills one gap of several");
    assert_eq!(blocks(&fourth.sack), [range(1, 3), range(5, 5)]);
}

/// RFC 2883, section 4.1.1: a full segment twice.
#[test]
fn a_segment_that_arrives_twice_is_reported_as_duplicate() {
    let mut receiver = receiver(&config(), Ecn::Off);
    take(&mut receiver, &segment(0));
    take(&mut receiver, &segment(1));
    let answer = take(&mut receiver, &segment(1)).expect("at once");
    assert_eq!(answer.acknowledgement, segment(2).sequence);
    assert_eq!(blocks(&answer.sack), vec![range(1, 1)]);
}

/// RFC 2883, section 4.1.2: above a gap, a duplicate is followed by the block that has it.
#[test]
fn a_duplicate_above_a_gap_is_followed_by_its_block() {
    let mut receiver = receiver(&config(), Ecn::Off);
    for index in [2, 3, 5] {
        take(&mut receiver, &segment(index));
    }
    let answer = take(&mut receiver, &segment(3)).expect("at once");
    assert_eq!(blocks(&answer.sack), [range(3, 3), range(2, 3), range(5, 5)]);
}

/// RFC 2883, section 4.2.1: part of a segment twice.
#[test]
fn part_of_a_segment_twice_is_reported() {
    let mut receiver = receiver(&config(), Ecn::Off);
    take(&mut receiver, &segment(0));
    let longer = Segment { length: 2 * MSS, ..segment(0) };
    let answer = take(&mut receiver, &longer).expect("at once");
    assert_eq!(answer.acknowledgement, segment(2).sequence);
    assert_eq!(blocks(&answer.sack), vec![range(0, 0)]);
}

/// RFC 8257, section 3.2: the acknowledgement of what came before the change carries the old echo.
#[test]
fn a_changed_mark_acknowledges_what_came_before() {
    let mut receiver = receiver(&config(), Ecn::Dctcp);
    let with = |index, codepoint| Segment { codepoint, ..segment(index) };
    let now = Instant(1_000);
    receiver.handle_data(now, &with(0, Codepoint::Ect0), RTT);
    assert!(!receiver.ack_due());
    receiver.handle_data(now, &with(1, Codepoint::Ce), RTT);
    assert!(receiver.has_prior_ack());
    let mut prior = Segment::default();
    receiver.fill_prior(now, &mut prior);
    assert_eq!((prior.acknowledgement, prior.flags.contains(Flags::ECE)), (segment(1).sequence, false));
    assert!(receiver.ack_due());
    let mut last = Segment::default();
    receiver.fill(now, &mut last);
    assert_eq!((last.acknowledgement, last.flags.contains(Flags::ECE)), (segment(2).sequence, true));
}

#[test]
fn data_beyond_the_window_is_cut_off_unless_it_is_next_and_all_before_it_was_read() {
    let long = |place| Segment { length: 60_000, ..segment(place) };
    let mut receiver = receiver(&config(), Ecn::Off);
    receiver.set_reads_at_once(false);
    let alone = take(&mut receiver, &long(0)).expect("at once");
    assert_eq!((alone.acknowledgement, alone.window), (long(0).end(), 0));

    receiver = self::receiver(&config(), Ecn::Off);
    receiver.set_reads_at_once(false);
    let edge = receiver.edge();
    take(&mut receiver, &segment(0));
    let behind = take(&mut receiver, &long(1)).expect("at once");
    assert_eq!((behind.acknowledgement, behind.window), (edge, 0));
}

#[test]
fn a_closed_window_takes_the_end_of_the_stream_alone() {
    let mut receiver = receiver(&config(), Ecn::Off);
    receiver.set_reads_at_once(false);
    let full = take(&mut receiver, &Segment { length: 60_000, ..segment(0) }).expect("at once");
    let fin = Flags::ACK.with(Flags::FIN);
    let end = Segment { flags: fin, sequence: full.acknowledgement, length: 0, ..segment(0) };
    let with_data = Segment { length: 1, ..end };
    assert_eq!(take(&mut receiver, &with_data).map(|answer| answer.acknowledgement), Some(end.sequence));
    let answer = take(&mut receiver, &end).expect("at once");
    assert_eq!((answer.acknowledgement, answer.window), (end.sequence + 1, 0));
    assert!(receiver.is_finished());
}

#[test]
fn a_closed_window_takes_no_data_but_answers() {
    let mut receiver = receiver(&config(), Ecn::Off);
    receiver.set_reads_at_once(false);
    let full = take(&mut receiver, &Segment { length: 50_000, ..segment(0) }).expect("at once");
    assert_eq!(full.window, 0);
    let probe = Segment { length: 1, ..segment(50) };
    let answer = take(&mut receiver, &probe).expect("a probe is answered");
    assert_eq!((answer.acknowledgement, answer.window), (segment(50).sequence, 0));
    assert_eq!(receiver.read(30_000), 30_000);
    assert!(receiver.ack_due(), "the peer hears that the window is open");
}

#[test]
fn the_end_of_the_stream_is_heard_once_all_of_it_has_arrived() {
    let mut receiver = receiver(&config(), Ecn::Off);
    let last = Segment { flags: Flags::ACK.with(Flags::FIN), ..segment(1) };
    assert!(receiver.wants(&last));
    assert!(!receiver.handle_data(Instant(1), &last, RTT).is_finished);
    let received = receiver.handle_data(Instant(1), &segment(0), RTT);
    assert_eq!(received, Received { bytes: 2 * u64::from(MSS), is_finished: true });
    assert_eq!(receiver.next(), last.end());
    assert!(!receiver.wants(&segment(1)));
}

/// Hostile: data behind the end, and a second end elsewhere.
#[test]
fn nothing_counts_behind_the_end_of_the_stream() {
    let mut receiver = receiver(&config(), Ecn::Off);
    let fin = Flags::ACK.with(Flags::FIN);
    receiver.handle_data(Instant(1), &Segment { flags: fin, ..segment(0) }, RTT);
    let end = receiver.next();
    receiver.handle_data(Instant(1), &Segment { flags: fin, ..segment(2) }, RTT);
    receiver.handle_data(Instant(1), &segment(1), RTT);
    assert_eq!(receiver.next(), end);
}

/// RFC 7323, section 4.3.
#[test]
fn a_delayed_acknowledgement_echoes_the_first_timestamp() {
    let mut receiver = Receiver::new(&config(), 1);
    receiver.agree(Options { sack: true, timestamps: true, ecn: Ecn::Off, scaling: true });
    receiver.open_without_handshake();
    for index in 0..2 {
        let timestamps = Some(Timestamps { value: 100 + index as u32, echo: 0 });
        let segment = Segment { timestamps, ..segment(index) };
        receiver.handle_timestamps(Instant(1), &segment);
        receiver.handle_data(Instant(1), &segment, RTT);
    }
    let mut answer = Segment::default();
    receiver.fill(Instant(7_000_000), &mut answer);
    assert_eq!(answer.timestamps, Some(Timestamps { value: 7, echo: 100 }));
}
