//! Paths that carry less than both ends take, which nobody tells them (RFC 4821).

use crate::pair::{Fate, Pair};
use linkmend_transport::Nanos;
use linkmend_transport::tcp::{Abort, Config, Event, LossDetection, PathProbing};

/// Two ends, the first of which opened the connection, over a path that loses what has more payload than `carried`, once
/// `from_nth` segments were sent.
fn over(config: Config, carried: u32, from_nth: u64) -> Pair {
    Pair::opening(config, config).with_faults(move |sent| {
        let vanishes = sent.segment.length > carried && sent.nth >= from_nth;
        if vanishes { Fate::IsLost } else { Fate::Arrives }
    })
}

fn probing(from_beginning: bool) -> Config {
    let probing = PathProbing { from_beginning, base_mss: 512, ..PathProbing::default() };
    Config { initial_window: 20, path_probing: Some(probing), ..Config::default() }
}

/// RFC 4821, section 7: binary search, whose failures cost neither the window nor a timeout, whatever detects them.
#[test]
fn a_search_ends_close_below_what_the_path_carries() {
    for (sack, loss_detection) in [
        (true, LossDetection::RackTlp),
        (true, LossDetection::AdaptiveDuplicateAcks),
        (false, LossDetection::DuplicateAcks),
    ] {
        let mut pair = over(Config { sack, loss_detection, ..probing(true) }, 1_200, 0);
        pair.run_for(Nanos::from_millis(1));
        pair.write(0, 3_000_000);
        pair.run();
        let info = pair.ends[0].info(pair.now);
        assert_eq!(pair.delivered[1], 3_000_000);
        assert!((1_193..=1_200).contains(&info.snd_mss), "{loss_detection:?}: {} bytes", info.snd_mss);
        let lost: Vec<u32> =
            pair.data_of(0).iter().filter(|s| s.fate == Fate::IsLost).map(|s| s.segment.length).collect();
        assert!(!lost.is_empty() && lost.is_sorted_by(|one, other| one > other), "{lost:?}");
        assert_eq!(info.timeouts, 0, "{loss_detection:?}");
        assert!(info.snd_cwnd > 20, "{loss_detection:?}: a window of {}", info.snd_cwnd);
    }
}

/// RFC 4821, section 7.7: the path comes to carry less. Without a search the connection is given up.
#[test]
fn a_black_hole_is_found_after_timeouts() {
    for (config, outcome) in [
        (probing(false), Some(20_000)),
        (probing(true), Some(20_000)),
        (Config { path_probing: None, ..probing(false) }, None),
    ] {
        let mut pair = over(config, 300, 2);
        pair.run_for(Nanos::from_millis(1));
        pair.write(0, 20_000);
        pair.run();
        let has_given_up = pair.has_event(0, Event::Aborted(Abort::TimedOut));
        assert_eq!((!has_given_up).then_some(pair.delivered[1]), outcome);
        if outcome.is_some() {
            let mss = pair.ends[0].info(pair.now).snd_mss;
            assert!(mss <= 300, "{mss} bytes");
        }
    }
}

/// Linux: `tcp_probe_interval`. A path that carries more than before is noticed when the search begins again.
#[test]
fn the_search_begins_again_after_a_time() {
    let mut pair = Pair::opening(probing(true), probing(true));
    pair = pair.with_faults(|sent| {
        let vanishes = sent.segment.length > 700 && sent.at.0 < 60_000_000_000;
        if vanishes { Fate::IsLost } else { Fate::Arrives }
    });
    pair.run_for(Nanos::from_millis(1));
    let mut sizes = Vec::new();
    for second in [0, 590, 601, 602] {
        pair.run_until(linkmend_transport::Instant(second * 1_000_000_000 + 2_000_000));
        pair.write(0, 1_000_000);
        pair.run_for(Nanos::from_millis(500));
        sizes.push(pair.ends[0].info(pair.now).snd_mss);
    }
    assert!((693..=700).contains(&sizes[0]) && sizes[1] == sizes[0], "{sizes:?}");
    assert!((1_441..=1_448).contains(&sizes[3]), "{sizes:?}");
}
