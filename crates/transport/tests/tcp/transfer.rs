//! Transfers with and without loss, counted by hand.

use crate::pair::{DELAY, Draw, Fate, Pair};
use linkmend_transport::tcp::{Algorithm, Config, Ecn, Event, LossDetection};
use linkmend_transport::{Instant, Nanos};

const MSS: u64 = 1_448;
/// A full segment on the link, and an acknowledgement.
const SEGMENT: u64 = MSS + 78;
const ACK: u64 = 78;

fn config() -> Config {
    Config::default()
}

/// When end 0 heard that all is acknowledged.
fn completed(pair: &Pair) -> Instant {
    let all = |event: &Event| matches!(event, Event::Acknowledged { all: true, .. });
    pair.time_of(0, all).expect("all is acknowledged")
}

#[test]
fn a_message_of_one_segment_takes_a_round_trip() {
    let mut pair = Pair::established(config());
    pair.write(0, 143);
    pair.run();
    assert_eq!(completed(&pair), Instant(143 + 78 + DELAY.0 + ACK + DELAY.0));
}

/// RFC 5681, section 3.1, and RFC 6928: 10, 20, 40 segments in successive round trips.
#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    let mut pair = Pair::established(Config { algorithm: Algorithm::Reno, ..config() });
    pair.delay = Nanos::from_millis(5);
    pair.write(0, 70 * MSS);
    pair.run();
    let rounds = [0, 1, 2].map(|round: u64| {
        let bounds = round * 10_000_000..(round + 1) * 10_000_000;
        pair.data_of(0).iter().filter(|sent| bounds.contains(&sent.at.0)).count()
    });
    assert_eq!(rounds, [10, 20, 40]);
    assert_eq!(pair.delivered[1], 70 * MSS);
}

#[test]
fn both_ends_send_at_the_same_time() {
    let mut pair = Pair::established(config());
    pair.write(0, 1_000_000);
    pair.write(1, 2_000_000);
    pair.run();
    assert_eq!(pair.delivered, [2_000_000, 1_000_000]);
    assert_eq!(pair.retransmissions(0) + pair.retransmissions(1), 0);
}

/// RFC 8985, section 7.2: a lost tail is found by a probe after two round trips, and not by a timeout of 200 ms.
#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    for lost in [vec![8, 9], vec![7, 8, 9], vec![5, 6, 7, 8, 9]] {
        let mut pair = Pair::established(config()).losing(0, &lost);
        pair.write(0, 10 * MSS);
        pair.run();
        assert_eq!(pair.delivered[1], 10 * MSS);
        let info = pair.ends[0].info(pair.now);
        assert_eq!((info.timeouts, info.loss_probes), (0, 1), "{lost:?}");
        assert!(completed(&pair) < Instant(1_000_000), "{lost:?}: {:?}", completed(&pair));
    }
}

/// The SACK of the probe echoes the timestamp of the segment before the gap, which is older than the probe. As Linux, the sender
/// takes it for the probe's all the same, and finds the other segment lost.
#[test]
fn a_probe_that_is_sacked_reveals_the_loss_before_it() {
    let config = Config { timer_slack: Config::LINUX_TIMER_SLACK, ..config() };
    assert!(config.timestamps);
    let mut pair = Pair::established(config).losing(0, &[8, 9]);
    pair.write(0, 10 * MSS);
    pair.run();
    let info = pair.ends[0].info(pair.now);
    assert_eq!((pair.delivered[1], info.timeouts, info.loss_probes), (10 * MSS, 0, 1));
    assert!(completed(&pair) < Instant(3_000_000), "{:?}", completed(&pair));
}

/// RFC 8985, section 7.2: the acknowledgement of a segment on its own may be delayed, so the probe waits for that, too.
#[test]
fn one_lost_segment_at_the_end_is_probed_after_a_delayed_acknowledgement() {
    let mut pair = Pair::established(config()).losing(0, &[9]);
    pair.write(0, 10 * MSS);
    pair.run();
    let info = pair.ends[0].info(pair.now);
    assert_eq!((pair.delivered[1], info.timeouts, info.loss_probes), (10 * MSS, 0, 1));
    assert!(completed(&pair) > Instant(200_000_000) && completed(&pair) < Instant(201_000_000));
}

/// RFC 6298, without probes.
#[test]
fn without_probes_a_lost_tail_takes_a_timeout() {
    let mut pair = Pair::established(Config { loss_detection: LossDetection::DuplicateAcks, ..config() })
        .losing(0, &[9]);
    pair.write(0, 10 * MSS);
    pair.run();
    assert_eq!(pair.ends[0].info(pair.now).timeouts, 1);
    assert!(completed(&pair) > Instant(200_000_000) && completed(&pair) < Instant(210_000_000));
}

/// RFC 6675 and RFC 8985: a lost segment in the middle takes no timeout, with any loss detection.
#[test]
fn a_lost_segment_in_the_middle_is_sent_again_once() {
    for loss_detection in
        [LossDetection::DuplicateAcks, LossDetection::AdaptiveDuplicateAcks, LossDetection::RackTlp]
    {
        for sack in [true, false] {
            let mut pair = Pair::established(Config { loss_detection, sack, ..config() }).losing(0, &[3]);
            pair.write(0, 10 * MSS);
            pair.run();
            assert_eq!(pair.delivered[1], 10 * MSS);
            assert_eq!(pair.retransmissions(0), 1, "{loss_detection:?}, SACK {sack}");
            assert_eq!(pair.ends[0].info(pair.now).timeouts, 0);
            assert!(completed(&pair) < Instant(1_000_000));
        }
    }
}

/// RFC 8985, section 6.2: a segment that arrives a little late is not taken for lost.
#[test]
fn a_little_reordering_sends_nothing_again() {
    let mut pair = Pair::established(config()).with_faults(|sent| {
        let is_late = sent.from == 0 && sent.nth == 15;
        if is_late { Fate::IsLate(Nanos(2 * SEGMENT)) } else { Fate::Arrives }
    });
    pair.write(0, 100 * MSS);
    pair.run();
    assert_eq!((pair.delivered[1], pair.retransmissions(0)), (100 * MSS, 0));
}

#[test]
fn lost_acknowledgements_are_made_up_for_by_later_ones() {
    let mut pair = Pair::established(config()).losing(1, &[0, 1, 2, 4, 5, 6]);
    pair.write(0, 20 * MSS);
    pair.run();
    assert_eq!((pair.delivered[1], pair.retransmissions(0)), (20 * MSS, 0));
}

/// A retransmission that is lost, too, is found by RACK (RFC 8985, section 6.2) while other segments arrive.
#[test]
fn a_lost_retransmission_is_sent_again_without_a_timeout() {
    let mut lost = 0;
    let mut pair = Pair::established(config()).with_faults(move |sent| {
        let is_it = sent.from == 0 && sent.segment.length > 0 && sent.segment.sequence == 1 + 3 * MSS;
        lost += u32::from(is_it);
        if is_it && lost <= 2 { Fate::IsLost } else { Fate::Arrives }
    });
    pair.write(0, 100 * MSS);
    pair.run();
    assert_eq!((pair.delivered[1], pair.retransmissions(0)), (100 * MSS, 2));
    assert_eq!(pair.ends[0].info(pair.now).timeouts, 0);
}

/// Every algorithm delivers a megabyte over a link that loses 1 % of all segments, both ways.
#[test]
fn every_algorithm_survives_loss() {
    for &algorithm in Algorithm::ALL {
        let mut draw = Draw(1);
        let config = Config { algorithm, ecn: Ecn::Dctcp, ..config() };
        let mut pair = Pair::established(config)
            .with_faults(move |_| if draw.uniform() < 0.01 { Fate::IsLost } else { Fate::Arrives });
        pair.answers_close[1] = true;
        pair.write(0, 1_000_000);
        pair.close(0);
        pair.run();
        assert_eq!(pair.delivered[1], 1_000_000, "{algorithm}");
        assert!(completed(&pair) < Instant(3_000_000_000), "{algorithm}: {:?}", completed(&pair));
    }
}

#[test]
fn every_algorithm_survives_a_silence_of_three_seconds() {
    for &algorithm in Algorithm::ALL {
        let silence = 1_000_000..3_000_000_000;
        let mut pair = Pair::established(Config { algorithm, ..config() })
            .with_faults(move |sent| if silence.contains(&sent.at.0) { Fate::IsLost } else { Fate::Arrives });
        pair.write(0, 20_000_000);
        pair.run();
        assert_eq!(pair.delivered[1], 20_000_000, "{algorithm}");
    }
}

/// RFC 5682, section 3.1: without SACK, what is acknowledged beside the retransmission may have arrived before the timeout, so
/// it does not make the timeout spurious. Segments 0 and 5 are lost, and 0 twice.
#[test]
fn what_arrived_before_a_timeout_does_not_make_it_spurious() {
    let mut times = [0; 2];
    let config =
        Config { sack: false, timestamps: false, loss_detection: LossDetection::DuplicateAcks, ..config() };
    let mut pair = Pair::established(config).with_faults(move |sent| {
        let place = match sent.segment.sequence {
            1 if sent.segment.length > 0 => 0,
            sequence if sequence == 1 + 5 * MSS && sent.from == 0 => 1,
            _ => return Fate::Arrives,
        };
        times[place] += 1;
        if times[place] <= [2, 1][place] { Fate::IsLost } else { Fate::Arrives }
    });
    pair.write(0, 10 * MSS);
    pair.run();
    assert_eq!((pair.delivered[1], pair.ends[0].info(pair.now).timeouts), (10 * MSS, 1));
    assert!(completed(&pair) < Instant(1_001_000_000), "the first timeout is 1 s: {:?}", completed(&pair));
}

/// A network has thousands of connections, most of which need no more than the algorithm, the timers and what is outstanding.
#[test]
fn a_connection_takes_1_736_bytes() {
    let bytes = size_of::<linkmend_transport::tcp::Connection>();
    assert!(bytes <= 1_736, "{bytes} bytes");
}
