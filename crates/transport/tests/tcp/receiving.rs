//! What a receiver answers, on the wire: delayed and quick acknowledgements, duplicates, marks, windows.

use crate::pair::{DELAY, Fate, Pair, Sent};
use linkmend_transport::tcp::{Codepoint, Config, Ecn, Event, Flags};
use linkmend_transport::{Instant, Nanos};

const MSS: u64 = 1_448;

/// Acknowledgements are delayed from the first segment on.
fn config() -> Config {
    Config { quick_acks: 0, ..Config::default() }
}

fn has_ece(sent: &&Sent) -> bool {
    sent.segment.flags.contains(Flags::ECE)
}

/// RFC 5681, section 4.2.
#[test]
fn every_second_segment_is_acknowledged() {
    let mut pair = Pair::established(config());
    pair.write(0, 10 * MSS);
    pair.run();
    let numbers: Vec<u64> = pair.acks_of(1).iter().map(|sent| sent.segment.acknowledgement).collect();
    assert_eq!(numbers, [2, 4, 6, 8, 10].map(|segments| 1 + segments * MSS));
}

/// RFC 1122, section 4.2.3.2; Linux: 40 ms. The last segment of a write is pushed, and read, so it is not delayed.
#[test]
fn a_segment_on_its_own_is_acknowledged_after_40_ms_unless_it_is_read() {
    for reads_at_once in [false, true] {
        let mut pair = Pair::established(config());
        pair.ends[1].set_reads_at_once(reads_at_once);
        pair.write(0, MSS);
        pair.run_until(Instant(39_000_000));
        assert_eq!(pair.acks_of(1).len(), usize::from(reads_at_once));
        pair.run();
        assert_eq!(pair.acks_of(1).len(), 1 + usize::from(!reads_at_once && pair.data_of(0).len() > 1));
        let arrived = DELAY.0 + MSS + 78;
        if !reads_at_once && pair.data_of(0).len() == 1 {
            assert_eq!(pair.acks_of(1)[0].at, Instant(arrived + 40_000_000));
        }
    }
}

/// Linux: the first 16 segments are acknowledged one by one.
#[test]
fn a_young_connection_acknowledges_each_segment() {
    let mut pair = Pair::established(Config::default());
    pair.write(0, 10 * MSS);
    pair.run();
    assert_eq!(pair.acks_of(1).len(), 10);
}

/// An answer carries the acknowledgement.
#[test]
fn an_answer_carries_the_acknowledgement() {
    let mut pair = Pair::established(config());
    pair.ends[1].set_reads_at_once(false);
    pair.write(0, 100);
    pair.run_for(Nanos::from_micros(60));
    pair.ends[1].read(u64::MAX);
    pair.write(1, 100);
    pair.run_for(Nanos::from_micros(60));
    let answers = pair.data_of(1);
    assert_eq!((answers.len(), answers[0].segment.acknowledgement), (1, 101));
}

/// RFC 2883, section 4.1: on the wire.
#[test]
fn a_segment_that_the_network_doubles_is_reported() {
    let mut pair = Pair::established(config())
        .with_faults(|sent| if sent.from == 0 && sent.nth == 3 { Fate::ArrivesTwice } else { Fate::Arrives });
    pair.write(0, 6 * MSS);
    pair.run();
    let reports: Vec<_> = pair.acks_of(1).into_iter().filter(|sent| !sent.segment.sack.is_empty()).collect();
    assert_eq!(reports.len(), 1);
    let block = reports[0].segment.sack.iter().next().expect("a block");
    assert_eq!(block, 1 + 3 * MSS..1 + 4 * MSS);
    assert_eq!(pair.ends[0].info(pair.now).dsack_dups, 1);
}

/// RFC 2018, section 4, on the wire: segments 1 and 3 of 0 to 5 are lost.
#[test]
fn two_gaps_are_two_blocks_the_latest_first() {
    let mut pair = Pair::established(config()).losing(0, &[1, 3]);
    pair.write(0, 6 * MSS);
    pair.run();
    let at = |segment: u64| 1 + segment * MSS;
    let blocks = |ack: usize| -> Vec<_> { pair.acks_of(1)[ack].segment.sack.iter().collect() };
    let above_first = at(2)..at(3);
    assert_eq!(blocks(0), std::slice::from_ref(&above_first));
    assert_eq!(blocks(1), [at(4)..at(5), above_first.clone()]);
    assert_eq!(blocks(2), [at(4)..at(6), above_first]);
    assert_eq!(pair.delivered[1], 6 * MSS);
}

/// RFC 3168, section 6.1: from the mark to CWR.
#[test]
fn a_mark_is_echoed_until_the_window_is_reduced() {
    let config = Config { ecn: Ecn::Classic, ..config() };
    let mut pair = Pair::established(config)
        .with_faults(|sent| if sent.from == 0 && sent.nth == 2 { Fate::IsMarked } else { Fate::Arrives });
    pair.write(0, 40 * MSS);
    pair.run();
    let acks = pair.acks_of(1);
    assert!(acks.iter().filter(has_ece).count() >= 2);
    assert!(!acks.last().is_some_and(|sent| has_ece(&sent)), "CWR ends it");
    let cwr = pair.sent_by(0).filter(|sent| sent.segment.flags.contains(Flags::CWR)).count();
    assert_eq!(cwr, 1);
    assert!(pair.data_of(0).iter().all(|sent| sent.segment.codepoint == Codepoint::Ect0));
    assert!(acks.iter().all(|sent| sent.segment.codepoint == Codepoint::NotEct));
}

/// RFC 8257, section 3.2: each mark is echoed once, and what came before is acknowledged at once.
#[test]
fn dctcp_echoes_exactly_the_bytes_that_are_marked() {
    let config = Config { ecn: Ecn::Dctcp, ..config() };
    for marked in [vec![2], vec![3], vec![2, 3], vec![1, 3, 4, 7]] {
        let places = marked.clone();
        let mut pair = Pair::established(config).with_faults(move |sent| {
            if sent.from == 0 && places.contains(&sent.nth) { Fate::IsMarked } else { Fate::Arrives }
        });
        pair.write(0, 10 * MSS);
        pair.run();
        let (mut before, mut echoed) = (1, 0);
        for ack in pair.acks_of(1) {
            let bytes = ack.segment.acknowledgement - before;
            before = ack.segment.acknowledgement;
            echoed += if has_ece(&&ack) { bytes } else { 0 };
        }
        assert_eq!(echoed, MSS * marked.len() as u64, "{marked:?}");
    }
}

/// RFC 7323, section 2: more than 64 KiB outstanding.
#[test]
fn a_scaled_window_takes_a_megabyte() {
    let config = Config { initial_window: 1_000, receive_buffer: 1 << 20, ..config() };
    let mut pair = Pair::established(config);
    pair.write(0, 2 << 20);
    pair.run_for(Nanos::from_micros(1));
    let outstanding = u64::from(pair.ends[0].info(pair.now).unacked) * MSS;
    assert!(outstanding <= 1 << 20 && outstanding > 1_000_000);
    pair.run();
    assert_eq!(pair.delivered[1], 2 << 20);
}

/// RFC 9293, section 3.8.6.1: a sender probes a closed window, and goes on when it opens.
#[test]
fn a_closed_window_is_probed_until_it_opens() {
    let config = Config { receive_buffer: 20_000, ..config() };
    let mut pair = Pair::established(config);
    pair.ends[1].set_reads_at_once(false);
    pair.write(0, 50_000);
    pair.run_for(Nanos::from_secs(10));
    assert_eq!(pair.ends[0].info(pair.now).snd_wnd, 0);
    let probes: Vec<Sent> = pair.sent_by(0).filter(|sent| sent.segment.length == 0).copied().collect();
    let gaps: Vec<u64> = probes.windows(2).map(|two| two[1].at.since(two[0].at).0).collect();
    assert!(gaps.len() >= 3, "{gaps:?}");
    assert!(gaps.windows(2).all(|two| two[1] >= 2 * two[0] - 1_000_000), "the time doubles: {gaps:?}");
    assert_eq!(pair.delivered[1], 20_000);
    assert_eq!(pair.ends[1].read(u64::MAX), 20_000);
    pair.ends[1].set_reads_at_once(true);
    pair.run_for(Nanos::from_millis(10));
    assert_eq!(pair.delivered[1], 50_000);
}

/// Without the probe, a lost window update would be the end.
#[test]
fn a_lost_window_update_is_made_up_for_by_a_probe() {
    let config = Config { receive_buffer: 20_000, ..config() };
    let mut pair = Pair::established(config).with_faults(|sent| {
        let is_update = sent.from == 1 && sent.at > Instant(99_000_000) && sent.at < Instant(101_000_000);
        if is_update { Fate::IsLost } else { Fate::Arrives }
    });
    pair.ends[1].set_reads_at_once(false);
    pair.write(0, 50_000);
    pair.run_until(Instant(100_000_000));
    pair.ends[1].set_reads_at_once(true);
    pair.run();
    assert_eq!(pair.delivered[1], 50_000);
}

/// RFC 9293, section 3.8.6.2.1: room for less than a segment is used after the persist timer.
#[test]
fn a_window_smaller_than_a_segment_is_used_after_a_time() {
    let config = Config { mss: 1_448, receive_buffer: 1_448 + 700, ..config() };
    let mut pair = Pair::established(config);
    pair.ends[1].set_reads_at_once(false);
    pair.write(0, 4_000);
    pair.run_for(Nanos::from_millis(100));
    assert_eq!(pair.delivered[1], 1_448);
    pair.run_for(Nanos::from_secs(3));
    assert_eq!(pair.delivered[1], 2_148);
}

/// Receive offload joins segments; the whole is one segment here, and counts by its bytes.
#[test]
fn a_joined_segment_is_acknowledged_once() {
    let mut pair = Pair::established(config());
    pair.mss = 65_160;
    pair.write(0, 10 * MSS);
    pair.run();
    assert_eq!(pair.acks_of(1).len(), 1);
    assert!(pair.has_event(1, Event::Delivered(10 * MSS)));
}
