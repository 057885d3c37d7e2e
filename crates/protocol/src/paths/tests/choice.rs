//! The rules by themselves: what makes a path worse than the other, whose wish holds, and how long a decision stands.

use super::*;

#[test]
fn a_path_is_worse_by_full_size_frames_before_loss_and_by_loss_before_delay() {
    let good = PathReport::default();
    let of = |loses_full, lost, later_us| PathReport { loses_full, lost, later_us, ..good };
    for (here, there, reason) in [
        (good, good, None),
        (of(true, 0, 0), good, Some(ChangeReason::FullSize)),
        (of(true, 128, 0), of(true, 0, 0), Some(ChangeReason::Loss)),
        (of(false, 128, 200_000), of(true, 0, 0), None),
        (of(false, 5, 0), good, None),
        (of(false, 6, 0), of(false, 2, 0), Some(ChangeReason::Loss)),
        (of(false, 6, 0), of(false, 3, 0), None),
        (of(false, 0, 99_999), good, None),
        (of(false, 0, 100_000), good, Some(ChangeReason::Delay)),
        (of(false, 0, 100_000), of(false, 5, 0), Some(ChangeReason::Delay)),
        (of(false, 6, 100_000), of(false, 6, 0), None),
    ] {
        assert_eq!(here.is_worse_than(&there), reason, "{here:?} {there:?}");
    }
}

#[test]
fn the_later_wish_holds_and_of_two_at_once_that_of_the_greater_end() {
    let wish = |number, by| Preference { number, by, path: Path::Backup };
    for (newer, older) in
        [(wish(2, 7), wish(1, 9)), (wish(0, 7), wish(u32::MAX, 9)), (wish(1, 9), wish(1, 7))]
    {
        assert!(newer.is_newer(&older) && !older.is_newer(&newer), "{newer:?} {older:?}");
    }
    assert!(!wish(1, 7).is_newer(&wish(1, 7)));
}

/// A path that is not there is wished for all the same, and used once it is.
#[test]
fn a_wish_that_cannot_be_met_yet_is_kept() {
    let mut ends = Ends::new();
    ends.run(50);
    ends.cut = [[false, true]; 2];
    ends.run(30);
    assert!(!ends.ends[0].prefer(Instant(ends.now), Path::Backup));
    assert_eq!((ends.ends[0].preferred(), ends.active()), (Path::Backup, [Path::Primary; 2]));
    ends.cut = [[false; 2]; 2];
    // What it has lost must leave the history first: 128 probes.
    ends.run(1_400);
    assert_eq!(ends.active(), [Path::Backup; 2]);
}

/// What is known of the other path right after a change was known before it, and was not enough.
#[test]
fn a_path_that_fails_right_after_a_change_is_left_a_detection_time_later() {
    let mut ends = Ends::new();
    ends.run(50);
    ends.cut[0][1] = true;
    ends.run(8);
    ends.ends[0].handle_carrier(Instant(ends.now), Path::Primary, false);
    assert_eq!(ends.ends[0].active(), Path::Backup);
    ends.run(1);
    ends.ends[0].handle_carrier(Instant(ends.now), Path::Primary, true);
    ends.run(8);
    assert!(ends.ends[0].sees(Path::Backup).fails && !ends.ends[0].sees(Path::Primary).fails);
    assert_eq!(ends.changes[0].len(), 1, "{:?}", ends.changes[0]);
    ends.run(2);
    assert_eq!(ends.ends[0].active(), Path::Primary);
}

#[test]
fn frames_that_go_out_again_are_counted_in_all_and_for_the_last_change() {
    let mut ends = Ends::new();
    ends.run(50);
    let (end, now) = (&mut ends.ends[0], Instant(ends.now));
    for resent in [1, 2] {
        end.handle_carrier(now, Path::Backup, resent != 2);
        end.handle_carrier(now, Path::Primary, resent != 1);
        end.note_resent(3);
        end.note_resent(resent);
        assert_eq!(end.last_failover().expect("one").resent_frames, 3 + resent);
    }
    assert_eq!(end.stats().resent_frames, 9);
}

/// The largest value stands for a path on which the peer was never heard.
#[test]
fn a_silence_of_hours_is_not_reported_as_that_of_a_path_without_a_peer() {
    let config = PathsConfig { detection: Ticks(150 * MS), ..PathsConfig::new(Tick::Nanosecond) };
    let mut ends = Ends::with([config; 2]);
    ends.run(1_000);
    let end = &mut ends.ends[0];
    // In steps for which it need not excuse itself.
    for step in 0..2 * 3_600 * 20 {
        end.handle_timeout(Instant(ends.now + step * 50 * MS));
    }
    assert_eq!(end.report(Path::Primary).silent_us, u32::MAX - 1);
    let never = Paths::new(config, 1).expect("within bounds");
    assert_eq!(never.report(Path::Primary).silent_us, u32::MAX);
}
