//! Paths that carry frames, and badly.

use super::*;

/// Loses probes of end 0 with a probability of this many in a thousand.
fn lossy(mut in_a_thousand: impl FnMut(&Probe) -> u32 + 'static) -> Loses {
    let mut noise: u32 = 1;
    Box::new(move |end, probe| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        end == 0 && noise >> 8 < ((1 << 24) / 1_000) * in_a_thousand(probe)
    })
}

/// Runs until end 0 changes; returns the time that took, in ms.
fn runs_until_change(ends: &mut Ends, most_ms: u64) -> u64 {
    let (before, began) = (ends.changes[0].len(), ends.now);
    while ends.changes[0].len() == before {
        assert!(ends.now < began + most_ms * MS, "no change in {most_ms} ms");
        ends.run(1);
    }
    (ends.now - began) / MS
}

/// A regression: a path that lost 35 % of all frames stayed in use, and the fallback went dormant on it.
#[test]
fn a_path_that_loses_frames_is_left_for_one_that_does_not_and_used_again_when_it_is_clean() {
    for percent in [10, 35, 50] {
        let mut ends = Ends::new();
        ends.run(500);
        assert!(ends.ends[0].has_clean_other());
        ends.traffic = true;
        ends.loses = lossy(move |probe| if probe.path == Path::Primary { 10 * percent } else { 0 });
        runs_until_change(&mut ends, if percent < 20 { 1_000 } else { 100 });
        assert_eq!(ends.changes[0][0].reason, ChangeReason::Loss);
        assert_eq!(ends.active(), [Path::Backup, Path::Primary], "the other direction is clean");
        assert!(!ends.ends[0].has_clean_other(), "the one that was left");
        ends.run(20_000);
        assert_eq!(ends.changes[0].len(), 1, "{percent} %: {:?}", ends.changes);
        ends.loses = lossy(|_| 0);
        // 128 probes, and the time to prove itself.
        let ms = runs_until_change(&mut ends, 1_500);
        assert!(ms > 1_000, "{ms} ms");
        assert_eq!(ends.changes[0][1].reason, ChangeReason::Return);
        assert_eq!(ends.ends[0].stats().quality_changes, 1);
    }
}

/// Nothing was lost on the dead one, because nothing has arrived that would show it.
#[test]
fn a_path_that_loses_frames_is_not_left_for_one_on_which_the_peer_hears_nothing() {
    let mut ends = Ends::new();
    ends.run(500);
    ends.traffic = true;
    ends.cut[0][1] = true;
    ends.run(50);
    ends.loses = lossy(|probe| if probe.path == Path::Primary { 350 } else { 0 });
    ends.run(5_000);
    assert_eq!((ends.ends[0].sees(Path::Backup).lost, ends.changes[0].len()), (0, 0), "{:?}", ends.changes);
    assert!(!ends.ends[0].has_clean_other());
    ends.cut[0][1] = false;
    runs_until_change(&mut ends, 1_500);
    assert_eq!(ends.changes[0][0].reason, ChangeReason::Loss);
}

#[test]
fn a_little_loss_and_loss_on_both_paths_are_borne() {
    for rates in [[5, 0], [100, 100], [300, 250]] {
        let mut ends = Ends::new();
        ends.run(500);
        ends.traffic = true;
        ends.loses = lossy(move |probe| rates[probe.path as usize]);
        ends.run(20_000);
        // Paths that lose the same may seem different for once.
        assert!(ends.ends[0].stats().quality_changes <= 2, "{rates:?}");
        assert_eq!(ends.ends[0].has_clean_other(), rates[1] == 0);
    }
}

/// A regression: a run of three losses or more, which chance makes often, was excused as an interruption of the path.
#[test]
fn the_reported_loss_is_the_share_of_probes_that_are_lost() {
    for percent in [1, 10, 20, 35, 50, 70] {
        let mut ends = Ends::new();
        ends.loses = lossy(move |probe| if probe.path == Path::Backup { 10 * percent } else { 0 });
        ends.run(1_000);
        // Windows of 128 probes that do not overlap.
        let (rounds, mut lost) = (100, 0);
        for _ in 0..rounds {
            ends.run(320);
            lost += u32::from(ends.ends[0].sees(Path::Backup).lost);
        }
        let (probes, share) = (f64::from(128 * rounds), f64::from(percent) / 100.0);
        let measured = f64::from(lost) / probes;
        // Four standard deviations, and what the last probe, which has always arrived, takes of a window.
        let bound = 4.0 * (share * (1.0 - share) / probes).sqrt() + 2.0 * share / 128.0;
        assert!((measured - share).abs() <= bound, "{share}: {measured}, within {bound}");
    }
}

/// A regression: the loss of the path that was not in use looked smaller than it was, the more it lost.
#[test]
fn a_path_that_loses_frames_is_not_left_for_one_that_loses_more() {
    let mut ends = Ends::new();
    ends.run(500);
    ends.traffic = true;
    ends.loses = lossy(|probe| [700, 200][probe.path as usize]);
    ends.run(60_000);
    let to_primary = ends.changes[0].iter().filter(|change| change.to == Path::Primary).count();
    assert_eq!((ends.active()[0], to_primary), (Path::Backup, 0), "{:?}", ends.changes[0]);
}

/// A regression: six lost in a row were taken for it, which chance makes every few seconds of a path that loses every third.
#[test]
fn losses_by_chance_are_not_taken_for_those_of_a_size() {
    for percent in [5, 10, 20, 35, 50, 70] {
        let mut ends = Ends::new();
        ends.run(500);
        ends.loses = lossy(move |_| 10 * percent);
        for ms in 0..100_000 {
            ends.run(1);
            let sees = Path::ALL.map(|path| ends.ends[0].sees(path).loses_full);
            assert_eq!(sees, [false; 2], "{percent} %, after {ms} ms");
        }
    }
}

/// Short ones arrive clearly more often then.
#[test]
fn a_size_that_does_not_pass_is_noticed_on_a_path_that_loses_short_probes_too() {
    for percent in [5, 10, 20, 35, 50] {
        let mut ends = Ends::new();
        ends.run(500);
        let mut chance = lossy(move |_| 10 * percent);
        ends.loses = Box::new(move |end, probe| chance(end, probe) || (end == 0 && probe.is_full));
        ends.run(1_000);
        assert!(ends.ends[0].sees(Path::Backup).loses_full, "{percent} %");
    }
}

/// What is lost because there is too much of it is lost on either path.
#[test]
fn a_loss_that_follows_the_traffic_is_followed_ever_less_often() {
    let mut ends = Ends::new();
    ends.run(500);
    ends.traffic = true;
    ends.loses = lossy(|probe| if probe.path == probe.decision.active { 350 } else { 0 });
    ends.run(120_000);
    let changes = ends.changes[0].len();
    assert!((3..=12).contains(&changes), "{changes} in two minutes");
    assert!(!ends.ends[0].has_clean_other(), "and the fallback may act in the meantime");
}

#[test]
fn what_is_measured_of_numbered_frames_counts_as_well() {
    let mut ends = Ends::new();
    ends.run(500);
    let now = Instant(ends.now);
    ends.ends[0].set_measured_loss(now, Some(0.046));
    assert_eq!(ends.active()[0], Path::Primary);
    ends.ends[0].set_measured_loss(now, Some(0.05));
    assert_eq!(ends.active()[0], Path::Backup);
    assert_eq!(ends.ends[0].sees(Path::Backup).lost, 0, "it says nothing of the other");
}

/// A regression: the path took 60 bytes and not 1,000, and its backup stood by.
#[test]
fn a_path_that_loses_full_size_frames_is_left_within_four_detection_times() {
    let mut ends = Ends::new();
    ends.run(500);
    ends.loses = Box::new(|end, probe| end == 0 && probe.is_full && probe.path == Path::Primary);
    let ms = runs_until_change(&mut ends, 40);
    assert!(ms >= 15, "{ms} ms: one lost probe proves nothing");
    assert_eq!(ends.changes[0][0].reason, ChangeReason::FullSize);
    assert!(ends.ends[0].sees(Path::Primary).loses_full && !ends.ends[0].sees(Path::Backup).loses_full);
    ends.run(5_000);
    assert_eq!(ends.active(), [Path::Backup, Path::Primary]);
    assert!(!ends.ends[0].prefer(Instant(ends.now), Path::Primary), "not even on request");
    assert_eq!(ends.active()[0], Path::Backup);
    ends.loses = lossy(|_| 0);
    ends.run(1_500);
    assert_eq!(ends.active(), [Path::Primary; 2]);
}

#[test]
fn when_neither_path_takes_full_size_frames_it_is_said_and_nothing_changes() {
    let mut ends = Ends::new();
    ends.run(500);
    ends.loses = Box::new(|_, probe| probe.is_full);
    ends.run(5_000);
    for end in &ends.ends {
        assert!(Path::ALL.iter().all(|&path| end.sees(path).loses_full));
        assert!(!end.has_clean_other());
    }
    // The one path is found out before the other.
    assert!(ends.changes.iter().all(|changes| changes.len() <= 2), "{:?}", ends.changes);
    // One of them does again.
    ends.loses = Box::new(|_, probe| probe.is_full && probe.path == Path::Primary);
    ends.run(5_000);
    assert_eq!(ends.active(), [Path::Backup; 2]);
}

/// A regression: the backup, on which it was long known that they are lost, was tried once more.
#[test]
fn a_path_known_to_lose_full_size_frames_is_not_tried_when_the_other_one_begins_to() {
    let mut ends = Ends::new();
    ends.loses = Box::new(|_, probe| probe.is_full && probe.path == Path::Backup);
    ends.run(5_000);
    ends.loses = Box::new(|_, probe| probe.is_full);
    for ms in 0..5_000 {
        ends.ends[0].set_measured_loss(Instant(ends.now), Some(if ms < 40 { 0.9 } else { 0.0 }));
        ends.run(1);
    }
    assert!(Path::ALL.iter().all(|&path| ends.ends[0].sees(path).loses_full));
    assert!(ends.changes.iter().all(Vec::is_empty), "{:?}", ends.changes);
}

/// Probes that a port has no room for are not lost on the path.
#[test]
fn a_probe_that_was_not_sent_is_not_missed() {
    let mut ends = Ends::new();
    ends.run(50);
    for round in 0..400 {
        ends.now += MS;
        let now = Instant(ends.now);
        for end in 0..2 {
            ends.ends[end].handle_timeout(now);
            for path in Path::ALL {
                while let Some(probe) = ends.ends[end].poll_probe(now, path) {
                    if round % 3 == 0 {
                        ends.ends[end].probe_dropped(&probe);
                    } else {
                        ends.ends[1 - end].handle_probe(now, path, &probe);
                    }
                }
            }
        }
    }
    for end in &ends.ends {
        assert_eq!((end.stats().probes_lost, end.sees(Path::Primary).lost), ([0; 2], 0));
        assert!(!end.sees(Path::Primary).loses_full && !end.sees(Path::Backup).loses_full);
    }
}

/// An end that did not listen does not blame the path for what it has not heard.
#[test]
fn what_is_missed_in_a_standstill_is_no_loss() {
    let mut ends = Ends::new();
    ends.run(500);
    for _ in 0..10 {
        ends.run_only([true, false], 60);
        ends.run(100);
    }
    assert_eq!(ends.ends[0].sees(Path::Primary).lost, 0);
    assert!(ends.changes.iter().all(Vec::is_empty), "{:?}", ends.changes);
}

/// Lets both ends begin dormant, wakes end 0, and demands that `end` misses no probe of full size of the other one.
fn wakes(end: usize) {
    for dormant_ms in [1, 100, 260, 400, 510, 900] {
        let mut ends = Ends::new();
        ends.ends.iter_mut().for_each(|end| end.set_dormant(Instant(0), true));
        ends.run(dormant_ms);
        ends.ends[0].set_dormant(Instant(ends.now), false);
        for _ in 0..400 {
            ends.run(1);
            assert!(!ends.ends[end].report(Path::Primary).loses_full, "{dormant_ms} ms, at {}", ends.now);
        }
        assert!(ends.changes.iter().all(Vec::is_empty), "{:?}", ends.changes);
    }
}

/// A regression: an end that woke sent short probes until the next of full size was due by the turn of a dormant one.
#[test]
fn an_end_that_wakes_sends_full_size_probes_as_often_as_its_peer_expects() {
    wakes(1);
}

/// A regression: the same at an end whose peer came to need a shorter detection time.
#[test]
fn an_end_whose_peer_needs_more_probes_sends_full_size_ones_as_often_as_that_expects() {
    wakes(0);
}
