//! Two ends that watch two paths: who decides what, and when.

mod both;
mod choice;
mod identity;
mod quality;

use super::*;
use crate::time::Tick;
use std::boxed::Box;
use std::vec::Vec;

const MS: u64 = 1_000_000;

/// Which probes are lost, by the sending end.
type Loses = Box<dyn FnMut(usize, &Probe) -> bool>;

/// Two ends, and two paths between them without delay, of which each direction may be cut.
struct Ends {
    now: u64,
    ends: [Paths; 2],
    /// By sending end and path.
    cut: [[bool; 2]; 2],
    /// What is lost besides.
    loses: Loses,
    /// Whether other frames arrive all the time, so that losses are no silence.
    traffic: bool,
    /// Whether an end has been replaced, of which the other one believes nothing at first.
    has_restarted: bool,
    changes: [Vec<PathChange>; 2],
}

impl Ends {
    fn new() -> Ends {
        Ends::with([PathsConfig::new(Tick::Nanosecond); 2])
    }

    fn with(configs: [PathsConfig; 2]) -> Ends {
        let mut ends =
            [(configs[0], 7), (configs[1], 9)].map(|(config, own)| Paths::new(config, own).expect("valid"));
        ends.iter_mut().for_each(|end| end.set_dormant(Instant(0), false));
        let loses = Box::new(|_: usize, _: &Probe| false);
        Ends {
            now: 1,
            ends,
            cut: [[false; 2]; 2],
            loses,
            traffic: false,
            has_restarted: false,
            changes: [Vec::new(), Vec::new()],
        }
    }

    /// Replaces an end by one that has just begun.
    fn restart(&mut self, end: usize, own: u32) {
        let config = self.ends[end].config;
        self.ends[end] = Paths::new(config, own).expect("valid");
        self.has_restarted = true;
    }

    /// Runs both ends, or one of them, every 100 us.
    fn run_only(&mut self, running: [bool; 2], ms: u64) {
        let until = self.now + ms * MS;
        while self.now < until {
            self.now += MS / 10;
            self.step(running);
        }
    }

    fn step(&mut self, running: [bool; 2]) {
        let now = Instant(self.now);
        for end in (0..2).filter(|&end| running[end]) {
            self.ends[end].handle_timeout(now);
            while let Some(change) = self.ends[end].poll_change() {
                self.changes[end].push(change);
            }
            for path in Path::ALL {
                if self.traffic && running[1 - end] && !self.cut[end][path as usize] {
                    self.ends[1 - end].heard(now, path);
                }
                while let Some(probe) = self.ends[end].poll_probe(now, path) {
                    let arrives = !self.cut[end][path as usize] && running[1 - end];
                    if arrives && !(self.loses)(end, &probe) && self.ends[1 - end].has_carrier(path) {
                        let taken = self.ends[1 - end].handle_probe(now, path, &probe);
                        assert!(taken || self.has_restarted);
                    }
                }
            }
        }
    }

    fn run(&mut self, ms: u64) {
        self.run_only([true; 2], ms);
    }

    fn active(&self) -> [Path; 2] {
        [self.ends[0].active(), self.ends[1].active()]
    }

    /// The paths of which the ends take numbered frames.
    fn taken(&self) -> [Option<Path>; 2] {
        [self.ends[0].taken(), self.ends[1].taken()]
    }

    fn carrier(&mut self, path: Path, has_carrier: bool) {
        for end in &mut self.ends {
            end.handle_carrier(Instant(self.now), path, has_carrier);
        }
    }
}

#[test]
fn a_silent_path_is_left_by_whoever_is_not_heard_after_the_detection_time() {
    for cut in [[true, false], [false, true], [true; 2]] {
        let mut ends = Ends::new();
        ends.run(50);
        assert_eq!(ends.active(), [Path::Primary; 2]);
        ends.cut = cut.map(|cut| [cut, false]);
        // The last probe before may be a quarter of the time old.
        ends.run(7);
        assert!(ends.changes.iter().all(Vec::is_empty), "{:?}", ends.changes);
        ends.run(6);
        let expected = cut.map(|cut| if cut { Path::Backup } else { Path::Primary });
        assert_eq!(ends.active(), expected);
        assert_eq!(ends.taken(), [Some(expected[1]), Some(expected[0])]);
        for end in (0..2).filter(|&end| cut[end]) {
            let [change] = ends.changes[end][..] else { panic!("{:?}", ends.changes) };
            assert_eq!(change.reason, ChangeReason::Silence);
            assert!((10 * MS..=13 * MS).contains(&change.silence.0), "{change:?}");
            let stats = ends.ends[end].stats();
            assert_eq!((stats.failovers, stats.moves, stats.quality_changes), (1, 0, 0));
            let gap = ends.ends[end].last_failover().expect("one").gap.expect("the peer takes its frames");
            assert!((10 * MS..=13 * MS).contains(&gap.0), "{gap:?}");
        }
    }
}

/// A regression: each end took the word of the other for both directions, and they changed 95,000 times a second.
#[test]
fn crossed_failures_leave_each_end_on_the_path_that_carries_its_frames() {
    for (dead, expected) in [
        ([[true, false], [false, true]], [Path::Backup, Path::Primary]),
        ([[false, true], [true, false]], [Path::Primary, Path::Backup]),
    ] {
        let mut ends = Ends::new();
        ends.run(50);
        ends.cut = dead;
        ends.run(5_000);
        assert_eq!(ends.active(), expected);
        assert_eq!(ends.taken(), [Some(expected[1]), Some(expected[0])]);
        assert_eq!(ends.changes.iter().map(Vec::len).sum::<usize>(), 1, "{:?}", ends.changes);
        ends.cut = [[false; 2]; 2];
        ends.run(1_100);
        assert_eq!(ends.active(), [Path::Primary; 2]);
    }
}

/// A regression: an end that sent probes for its own detection time only was silent for a peer with a shorter one.
#[test]
fn ends_with_different_detection_times_tell_each_other_what_they_need() {
    for (ms, other_ms) in [(10, 10), (10, 40), (10, 50), (1, 10), (1, 150), (150, 1)] {
        for end in 0..2 {
            let config = |ms| PathsConfig { detection: Ticks(ms * MS), ..PathsConfig::new(Tick::Nanosecond) };
            let mut ends = Ends::with([config(ms), config(other_ms)]);
            ends.run(1_000);
            assert!(ends.changes.iter().all(Vec::is_empty), "{:?}", ends.changes);
            ends.cut[end][0] = true;
            let takes = [other_ms, ms][end];
            ends.run(takes + 2);
            assert_eq!(ends.active()[end], Path::Backup, "{ms} and {other_ms} ms, {end}");
            assert_eq!(ends.active()[1 - end], Path::Primary);
            ends.run(2_000);
            assert_eq!(ends.changes[end].len(), 1, "{:?}", ends.changes);
        }
    }
}

/// A regression: every time between two runs was excused, so that no silence ever grew old.
#[test]
fn ends_that_always_run_late_notice_a_failure_all_the_same() {
    for period_us in [4_900, 5_100, 9_000, 21_000] {
        let mut ends = Ends::new();
        ends.run(50);
        let late = |ends: &mut Ends, ms: u64| {
            let until = ends.now + ms * MS;
            while ends.now < until {
                ends.now += period_us * 1_000;
                ends.step([true; 2]);
            }
        };
        late(&mut ends, 200);
        assert!(ends.changes.iter().all(Vec::is_empty), "{period_us} us: {:?}", ends.changes);
        ends.cut = [[true, false]; 2];
        late(&mut ends, 80);
        assert_eq!(ends.active(), [Path::Backup; 2], "{period_us} us");
    }
}

/// Cut one after the other, both paths are tried, and none faster than it can prove itself.
#[test]
fn a_decision_stands_for_a_detection_time() {
    let mut ends = Ends::new();
    ends.run(50);
    for round in 0..200 {
        // Each path passes a frame now and then, and is silent otherwise.
        let passes = (round / 3) % 2;
        ends.cut = [[passes != 0, passes != 1]; 2];
        ends.run(4);
    }
    let most = 200 * 4 / 10;
    assert!(ends.changes.iter().all(|changes| changes.len() <= most), "{:?}", ends.changes);
    ends.cut = [[true, false]; 2];
    ends.run(30);
    assert_eq!(ends.active(), [Path::Backup; 2]);
}

#[test]
fn a_lost_carrier_is_left_at_once() {
    let mut ends = Ends::new();
    ends.run(50);
    ends.ends[0].handle_carrier(Instant(ends.now), Path::Primary, false);
    assert_eq!(ends.ends[0].active(), Path::Backup);
    ends.cut = [[true, false]; 2];
    ends.run(1);
    assert_eq!(ends.active(), [Path::Backup; 2]);
    assert_eq!(ends.changes[0][0].reason, ChangeReason::NoCarrier);
    assert_eq!(ends.changes[1][0].reason, ChangeReason::Silence, "the peer says that it hears nothing there");
}

#[test]
fn the_preferred_path_is_used_again_after_it_has_been_up_for_long_enough() {
    let mut ends = Ends::new();
    ends.run(50);
    ends.carrier(Path::Primary, false);
    ends.run(10);
    // It comes back for a moment each half a second.
    for _ in 0..10 {
        ends.carrier(Path::Primary, true);
        ends.run(500);
        ends.carrier(Path::Primary, false);
        ends.run(1);
    }
    assert_eq!(ends.active(), [Path::Backup; 2]);
    assert_eq!(ends.changes[0].len(), 1, "{:?}", ends.changes[0]);
    ends.carrier(Path::Primary, true);
    ends.run(999);
    assert_eq!(ends.active(), [Path::Backup; 2]);
    ends.run(10);
    assert_eq!(ends.active(), [Path::Primary; 2]);
    assert!(ends.changes.iter().flatten().any(|change| change.reason == ChangeReason::Return));
    assert!(ends.ends.iter().all(|end| end.stats().failovers == 1 && end.stats().moves == 1));
}

#[test]
fn a_peer_or_an_end_that_stands_still_is_no_failure() {
    let mut ends = Ends::new();
    ends.run(50);
    for length in [5, 12, 40, 300, 2_000] {
        ends.run_only([true, false], length);
        ends.run(20);
        ends.run_only([false, false], length);
        ends.run(20);
    }
    assert!(ends.changes.iter().all(Vec::is_empty), "{:?}", ends.changes);
}

/// It finds what arrived in the meantime on one path first, and has not looked at the other one yet.
#[test]
fn a_standstill_shorter_than_a_detection_time_is_no_failure_either() {
    let mut ends = Ends::new();
    ends.traffic = true;
    ends.run(50);
    ends.cut[1][0] = true;
    ends.run(3);
    ends.cut[1][0] = false;
    // 11 ms of silence on the primary, of which the end itself slept 8.
    ends.run_only([false, true], 8);
    ends.ends[0].heard(Instant(ends.now), Path::Backup);
    assert!(ends.ends[0].is_heard(Path::Backup) && !ends.ends[0].report(Path::Primary).fails);
    ends.run(20);
    assert!(ends.changes.iter().all(Vec::is_empty), "{:?}", ends.changes);
}

/// A carrier that returns proves nothing: neither what was heard before it was lost, nor that the path passes frames again.
#[test]
fn a_path_whose_carrier_returns_is_used_once_the_peer_hears_this_end_on_it() {
    let mut ends = Ends::new();
    ends.run(50);
    ends.carrier(Path::Backup, false);
    ends.run(3);
    ends.carrier(Path::Backup, true);
    assert!(ends.ends.iter().all(|end| !end.is_heard(Path::Backup)));
    ends.cut[0][1] = true;
    ends.run(5);
    assert!(ends.ends[0].is_heard(Path::Backup) && !ends.ends[0].sees(Path::Backup).fails);
    assert!(!ends.ends[0].prefer(Instant(ends.now), Path::Backup));
    assert_eq!(ends.active()[0], Path::Primary);
    ends.cut[0][1] = false;
    ends.run(5);
    assert!(ends.ends[0].prefer(Instant(ends.now), Path::Backup));
}

#[test]
fn both_paths_down_and_up_again() {
    let mut ends = Ends::new();
    ends.run(50);
    ends.carrier(Path::Primary, false);
    ends.carrier(Path::Backup, false);
    ends.run(2_000);
    assert!(
        ends.changes.iter().all(|changes| changes.len() == 1),
        "there is nowhere to go: {:?}",
        ends.changes
    );
    ends.carrier(Path::Primary, true);
    ends.run(20);
    assert_eq!(ends.active(), [Path::Primary; 2]);
    ends.carrier(Path::Backup, true);
    assert!(!ends.ends[0].is_heard(Path::Backup), "what was heard before says nothing");
    ends.run(20);
    assert!(ends.ends.iter().all(|end| end.is_heard(Path::Backup) && end.is_heard(Path::Primary)));
}

/// Without a peer that watches paths, the carriers decide alone.
#[test]
fn an_end_by_itself_follows_the_carriers() {
    let mut ends = Ends::new();
    ends.run_only([true, false], 50);
    ends.carrier(Path::Primary, false);
    assert_eq!(ends.active()[0], Path::Backup);
    ends.carrier(Path::Primary, true);
    ends.run_only([true, false], 900);
    assert_eq!(ends.active()[0], Path::Backup);
    ends.run_only([true, false], 200);
    assert_eq!(ends.active()[0], Path::Primary);
    // A peer that was there and has left: its kernel follows the carriers as well.
    ends.run(50);
    ends.run_only([true, false], 50);
    ends.carrier(Path::Primary, false);
    assert_eq!(ends.active()[0], Path::Backup);
}

#[test]
fn ends_that_decide_at_once_agree() {
    let mut ends = Ends::new();
    ends.run(50);
    let now = Instant(ends.now);
    assert!(ends.ends[0].prefer(now, Path::Backup));
    ends.ends[1].handle_carrier(now, Path::Backup, false);
    ends.ends[1].handle_carrier(now, Path::Backup, true);
    assert!(ends.ends[1].prefer(now, Path::Primary));
    ends.run(20);
    assert_eq!(ends.active(), [Path::Backup; 2]);
    assert_eq!(ends.ends[1].preferred(), Path::Backup);
    // A backup that is not there is preferred and not used.
    ends.cut = [[false, true]; 2];
    ends.run(30);
    assert_eq!(ends.active(), [Path::Primary; 2]);
    assert!(!ends.ends[0].prefer(Instant(ends.now), Path::Backup));
    ends.run(30);
    assert_eq!(ends.active(), [Path::Primary; 2]);
}

#[test]
fn an_end_that_restarts_learns_the_decision() {
    let mut ends = Ends::new();
    ends.run(50);
    let now = Instant(ends.now);
    assert!(ends.ends[0].prefer(now, Path::Backup));
    ends.run(20);
    ends.restart(1, 11);
    ends.run(500);
    assert_eq!(ends.active(), [Path::Backup; 2]);
    assert!(ends.ends[0].takes(Path::Backup) && ends.ends[1].takes(Path::Backup));
}

#[test]
fn crossed_cables_and_echoes_are_named_and_prove_nothing() {
    let config = PathsConfig::new(Tick::Nanosecond);
    let [mut one, mut other] = [7, 9].map(|own| Paths::new(config, own).expect("the defaults"));
    let probe = one.poll_probe(Instant(1), Path::Primary).expect("the first is due at once");
    assert!(!other.handle_probe(Instant(2), Path::Backup, &probe));
    assert!(other.is_crossed(Path::Backup) && !other.is_heard(Path::Backup));
    assert!(!one.handle_probe(Instant(2), Path::Primary, &probe), "its own");
    assert!(!one.peer_watches() && one.stats().probes_rejected == 1);
}

#[test]
fn lost_probes_are_counted_by_path() {
    let mut ends = Ends::new();
    ends.run(100);
    ends.cut[0][1] = true;
    ends.run(50);
    ends.cut[0][1] = false;
    ends.run(50);
    let stats = ends.ends[1].stats();
    assert_eq!(stats.probes_lost[0], 0);
    assert_eq!(stats.probes_lost[1], 20, "one each 2.5 ms");
}

#[test]
fn detection_times_that_no_probe_can_keep_are_refused() {
    let config =
        PathsConfig { detection: Tick::Nanosecond.nanos(19_999), ..PathsConfig::new(Tick::Nanosecond) };
    let error = Paths::new(config, 1).expect_err("too short");
    assert_eq!(error.parameter, "failure_detection");
    let config = PathsConfig { detection: Tick::Picosecond.micros(20), ..PathsConfig::new(Tick::Picosecond) };
    assert!(config.validate().is_ok());
}
