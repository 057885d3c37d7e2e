//! Old decisions, and probes of ends that are gone.

use super::*;

/// What an end would send now on a path.
fn probe_of(ends: &mut Ends, end: usize, path: Path) -> Probe {
    ends.ends[end].watches[path as usize].probe_at = Instant(ends.now);
    ends.ends[end].poll_probe(Instant(ends.now), path).expect("it is due")
}

#[test]
fn frames_are_taken_of_a_path_once_a_newer_decision_has_arrived_there() {
    let mut ends = Ends::new();
    ends.run(50);
    let now = Instant(ends.now);
    let old = probe_of(&mut ends, 0, Path::Primary);
    assert!(ends.ends[0].prefer(now, Path::Backup));
    let on_primary = probe_of(&mut ends, 0, Path::Primary);
    assert_eq!(on_primary.decision.active, Path::Backup);
    ends.ends[1].handle_probe(now, Path::Primary, &on_primary);
    assert!(ends.ends[1].takes(Path::Primary), "what was sent before is still on its way there");
    assert!(!ends.ends[1].takes(Path::Backup));
    let on_backup = probe_of(&mut ends, 0, Path::Backup);
    ends.ends[1].handle_probe(now, Path::Backup, &on_backup);
    assert!(ends.ends[1].takes(Path::Backup) && !ends.ends[1].takes(Path::Primary));
    // The path that was left delivers what it has held.
    ends.ends[1].handle_probe(now, Path::Primary, &old);
    assert!(ends.ends[1].takes(Path::Backup) && !ends.ends[1].takes(Path::Primary));
    assert_eq!(ends.ends[1].stats().late_frames, 3);
}

#[test]
fn a_change_is_announced_three_times_at_once_on_each_path() {
    let mut ends = Ends::new();
    ends.run(50);
    let now = Instant(ends.now);
    assert!(ends.ends[0].prefer(now, Path::Backup));
    for path in Path::ALL {
        let probes: Vec<Probe> = std::iter::from_fn(|| ends.ends[0].poll_probe(now, path)).collect();
        assert_eq!(probes.len(), 3);
        assert!(probes[..2].iter().all(|probe| !probe.is_full), "frames wait behind them");
        assert!(probes.iter().all(|probe| probe.decision.active == Path::Backup));
    }
}

/// A regression: an end that has restarted took the frames of a path that had held them, together with the old probes there.
#[test]
fn an_end_that_restarts_takes_nothing_before_its_peer_has_answered_it() {
    let mut ends = Ends::new();
    ends.run(50);
    let held: Vec<Probe> = (0..10).map(|_| probe_of(&mut ends, 0, Path::Primary)).collect();
    ends.cut[0][0] = true;
    ends.run(50);
    assert_eq!(ends.active()[0], Path::Backup);
    ends.restart(1, 11);
    let now = Instant(ends.now);
    for probe in &held {
        ends.ends[1].heard(now, Path::Primary);
        assert!(Path::ALL.iter().all(|&path| !ends.ends[1].takes(path)), "before the probe");
        assert!(ends.ends[1].handle_probe(now, Path::Primary, probe));
        assert!(Path::ALL.iter().all(|&path| !ends.ends[1].takes(path)), "and behind it");
    }
    assert_eq!(ends.ends[1].stats().probes_unproven, 10);
    ends.run(405);
    assert!(ends.ends[1].takes(Path::Backup) && !ends.ends[1].takes(Path::Primary));
}

/// A regression: a probe of the writer before, which a path had held, was taken for a new end again.
#[test]
fn probes_of_an_end_that_was_replaced_are_not_believed_whenever_they_come() {
    for restarts in 1..4 {
        let mut ends = Ends::new();
        ends.run(50);
        let mut held = Vec::new();
        for restart in 0..restarts {
            held.extend((0..3).flat_map(|_| Path::ALL).map(|path| probe_of(&mut ends, 0, path)));
            ends.restart(0, 100 + restart);
            ends.run(500);
            held.extend(Path::ALL.map(|path| probe_of(&mut ends, 0, path)));
        }
        ends.restart(0, 1_000);
        ends.run(500);
        let now = Instant(ends.now);
        assert!(ends.ends[0].prefer(now, Path::Backup));
        ends.run(20);
        for probe in &held {
            ends.ends[1].handle_probe(Instant(ends.now), probe.path, probe);
            assert_eq!(ends.taken(), [Some(Path::Backup); 2], "{probe:?}");
            ends.run(1);
        }
        assert!(ends.ends[1].stats().probes_unproven >= held.len() as u64);
        assert_eq!(ends.active(), [Path::Backup; 2]);
    }
}

#[test]
fn many_old_probes_are_answered_few_times() {
    let mut ends = Ends::new();
    ends.run(50);
    let old = probe_of(&mut ends, 0, Path::Primary);
    ends.restart(0, 11);
    ends.run(500);
    let sent = ends.ends[1].stats().probes_sent;
    for _ in 0..1_000 {
        ends.now += MS / 100;
        let now = Instant(ends.now);
        ends.ends[1].handle_probe(now, Path::Primary, &old);
        for path in Path::ALL {
            while ends.ends[1].poll_probe(now, path).is_some() {}
        }
    }
    let answers = ends.ends[1].stats().probes_sent - sent;
    assert!(answers <= 2 * 17, "{answers} in a detection time");
}

/// A peer that knows of one path only never sends a probe, and changes no path.
#[test]
fn frames_of_a_peer_without_probes_are_taken_after_a_while() {
    let mut paths = Paths::new(PathsConfig::new(Tick::Nanosecond), 7).expect("the defaults");
    for ms in 0..2_000 {
        paths.heard(Instant(ms * MS), Path::Primary);
        assert!(!paths.takes(Path::Primary), "{ms} ms");
    }
    paths.heard(Instant(2_000 * MS), Path::Primary);
    assert!(paths.takes(Path::Primary));
    // One that is replaced by such a peer.
    let mut ends = Ends::new();
    ends.run(50);
    assert_eq!(ends.taken(), [Some(Path::Primary); 2]);
    for _ in 0..2_100 {
        ends.now += MS;
        ends.ends[0].heard(Instant(ends.now), Path::Backup);
    }
    assert!(ends.ends[0].takes(Path::Backup));
}

#[test]
fn reports_of_the_longer_path_do_not_revert_newer_ones() {
    let mut ends = Ends::new();
    ends.run(50);
    let old = probe_of(&mut ends, 1, Path::Backup);
    ends.cut[0][0] = true;
    ends.run(9);
    ends.now += 5 * MS;
    ends.step([true; 2]);
    assert!(ends.ends[0].sees(Path::Primary).fails);
    ends.ends[0].handle_probe(Instant(ends.now), Path::Backup, &old);
    assert!(ends.ends[0].sees(Path::Primary).fails);
}

/// A regression: with one cable of two pairs exchanged, each end took the stranger for the peer by turns, and lost what was sent.
#[test]
fn another_pair_on_one_of_the_paths_changes_nothing_but_that_the_path_is_of_no_use() {
    for exchanged in Path::ALL {
        let config = PathsConfig::new(Tick::Nanosecond);
        // The pairs are 0 and 1, and 2 and 3.
        let mut ends = [7, 9, 11, 13].map(|own| Paths::new(config, own).expect("the defaults"));
        ends.iter_mut().for_each(|end| end.set_dormant(Instant(0), false));
        let mut changes = 0;
        for step in 1..600_000_u64 {
            let (now, is_exchanged) = (Instant(step * MS / 4), step > 2_000);
            for end in 0..4 {
                ends[end].handle_timeout(now);
                changes += usize::from(ends[end].poll_change().is_some());
                for path in Path::ALL {
                    let to = if is_exchanged && path == exchanged { 3 - end } else { end ^ 1 };
                    ends[to].heard(now, path);
                    while let Some(probe) = ends[end].poll_probe(now, path) {
                        assert_eq!(ends[to].handle_probe(now, path, &probe), to == end ^ 1);
                    }
                }
            }
            if step > 2_200 {
                for end in &mut ends {
                    assert!(end.is_foreign(exchanged) && !end.is_foreign(exchanged.other()), "{step}");
                    assert!(end.sees(exchanged).fails && !end.has_clean_other());
                    assert_eq!((end.active(), end.taken()), (exchanged.other(), Some(exchanged.other())));
                    assert!(!end.takes(exchanged) && !end.prefer(now, exchanged));
                }
            }
        }
        assert_eq!(changes, if exchanged == Path::Primary { 4 } else { 0 });
        // Without a carrier there is still nowhere to go.
        let now = Instant(600_000 * MS / 4);
        ends[0].handle_carrier(now, exchanged.other(), false);
        assert_eq!(ends[0].active(), exchanged.other());
    }
}

#[test]
fn another_end_takes_the_peers_place_once_that_is_silent_on_both_paths() {
    let mut ends = Ends::new();
    ends.run(50);
    ends.restart(1, 11);
    ends.run(390);
    assert!(!ends.ends[0].peer_watches(), "{:?}", ends.ends[0].stats());
    ends.run(20);
    assert!(ends.ends.iter().all(Paths::peer_watches));
    assert!(Path::ALL.iter().all(|&path| !ends.ends[0].is_foreign(path)));
}

/// A regression: a third end on the link that is not in use suspended protection on the one that is.
#[test]
fn a_path_with_a_third_end_is_used_only_where_no_other_is_without() {
    let mut ends = Ends::new();
    ends.run(50);
    let share = |ends: &mut Ends, path, is_shared| {
        for end in &mut ends.ends {
            end.set_shared(Instant(ends.now), path, is_shared);
        }
    };
    share(&mut ends, Path::Backup, true);
    ends.run(50);
    let is_foreign = |ends: &Ends| Path::ALL.map(|path| ends.ends[0].is_foreign(path));
    assert_eq!((ends.active(), is_foreign(&ends)), ([Path::Primary; 2], [false, true]));
    assert!(!ends.ends[0].has_clean_other() && !ends.ends[0].prefer(Instant(ends.now), Path::Backup));
    ends.carrier(Path::Primary, false);
    ends.run(50);
    assert_eq!((ends.active(), is_foreign(&ends)), ([Path::Backup; 2], [false; 2]), "there is no other");
    ends.carrier(Path::Primary, true);
    ends.run(50);
    assert_eq!((ends.active(), is_foreign(&ends)), ([Path::Primary; 2], [false, true]));
    share(&mut ends, Path::Primary, true);
    assert_eq!((ends.active(), is_foreign(&ends)), ([Path::Primary; 2], [false; 2]), "both have one");
    share(&mut ends, Path::Backup, false);
    ends.run(50);
    assert_eq!((ends.active(), is_foreign(&ends)), ([Path::Backup; 2], [true, false]));
}
