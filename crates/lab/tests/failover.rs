//! Numbered frames over two links of which one is cut, and then the other: nothing lost, nothing duplicated, and nothing reordered
//! in ordered mode.
//!
//! LINKMEND_FAILOVER_FRAMES and LINKMEND_FAILOVER_CUTS set the number of frames and of cuts of the long case; the full
//! acceptance run takes 10 million and 100. LINKMEND_FAILOVER_SEED sets when they happen.

#![allow(clippy::print_stdout, reason = "the figures are wanted with --nocapture")]

mod common;

use std::time::{Duration, Instant};

use linkmend_control::report::{FailoverReport, Path as ReportedPath, TransmitState};
use linkmend_control::{CorruptionModel, LinkReport};
use linkmend_dataplane::{Command, PortChoice, ProtectionSettings};
use linkmend_lab::generator::{GeneratorOptions, GeneratorReport, generate};
use linkmend_lab::{
    BackupLink, Cut, DelayLines, Direction, FramePath, Impairments, Lab, LabOptions, LinkEnds, Path,
    RunControl, hog,
};
use linkmend_protocol::Mode;
use linkmend_random::Random;

const FRAMES_DEFAULT: u64 = 160_000;
/// One of each [`way`].
const CUTS_DEFAULT: u32 = WAYS;
const WAYS: u32 = 8;
/// From one cut to the next: a link that was cut is whole again, in use, and has been for a while.
const CYCLE: Duration = Duration::from_millis(2_500);
/// How long a link must be up before it is used again: as short as the tests can be made.
const RETURN_AFTER: Duration = Duration::from_millis(200);
/// How long a change may take that nothing prevents: a second until the kernel tells of a carrier, the return, a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);
/// A silence that is shorter ends no session, also if the machine adds to it.
const PEER_TIMEOUT_SURELY_NOT: Duration = Duration::from_millis(250);

fn number<T: std::str::FromStr>(variable: &str, usual: T) -> T {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is a number, and not {text}")),
        Err(_) => usual,
    }
}

/// Two links between two link ends that run in this process.
struct Pair {
    ends: LinkEnds,
    _lines: Option<DelayLines>,
    lab: Lab,
}

impl Pair {
    fn new(name: &str, primary: Impairments, backup: BackupLink) -> Pair {
        let options = LabOptions { impairments: primary, backup: Some(backup), ..common::options(name) };
        let lab = Lab::up(options).expect("the lab comes up");
        let lines = DelayLines::start(&lab).expect("the lines start");
        let ends = LinkEnds::start_with(&lab, |settings| {
            settings.seed = Some(7 ^ u64::from(settings.name.ends_with('2')));
            if let Some(backup) = &mut settings.backup {
                backup.return_after = RETURN_AFTER;
            }
        });
        Pair { ends: ends.expect("the link ends start"), _lines: lines, lab }
    }

    /// Two links as fast as the machine.
    fn plain(name: &str) -> Pair {
        Pair::new(name, Impairments::default(), BackupLink::default())
    }

    /// Protects both directions, and corrupts both links in both directions.
    fn protect(&self, mode: Mode, loss: f64) {
        let model = (loss > 0.0).then_some(CorruptionModel::Iid { rate: loss });
        self.ends.corrupt(model).expect("corruption is allowed");
        self.ends.corrupt_reverse(model).expect("corruption is allowed");
        self.ends.protect(Some(ProtectionSettings::new(mode))).expect("it gets active");
        self.ends.protect_reverse(Some(ProtectionSettings::new(mode))).expect("it gets active");
    }

    fn corrupt(&self, rate: f64) {
        let model = Some(CorruptionModel::Iid { rate });
        self.ends.corrupt(model).expect("corruption is allowed");
        self.ends.corrupt_reverse(model).expect("corruption is allowed");
    }

    fn reports(&self) -> [LinkReport; 2] {
        let (left, right) = self.ends.report().expect("a report");
        [left, right]
    }

    /// The link that both ends use; `None` while they differ.
    fn active(&self) -> Option<Path> {
        let [left, right] = self.reports().map(|report| report.failover.expect("two links").active);
        match (left, right) {
            (ReportedPath::Primary, ReportedPath::Primary) => Some(Path::Primary),
            (ReportedPath::Backup, ReportedPath::Backup) => Some(Path::Backup),
            _ => None,
        }
    }

    fn wait_for(&self, what: &str, reached: impl Fn(&Pair) -> bool) {
        let begun = Instant::now();
        while !reached(self) {
            assert!(begun.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}: {:#?}", self.reports());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn wait_for_link(&self, link: Path) {
        self.wait_for(&format!("both ends use the {link}"), |pair| pair.active() == Some(link));
    }

    /// Sends numbered frames from left to right while `meanwhile` runs.
    fn send<T>(&self, options: &GeneratorOptions, meanwhile: impl FnOnce() -> T) -> (GeneratorReport, T) {
        let path = FramePath::forward(&self.lab);
        std::thread::scope(|scope| {
            let sending = scope.spawn(|| generate(&path, options, &RunControl::default()));
            let done = meanwhile();
            let report = sending.join().expect("no panic").expect("the generator runs");
            (report, done)
        })
    }

    /// Holds the counts of a run against what two links must do. Frames are only lost if the machine kept a loop from running
    /// for so long that the kernel took over, which says nothing of the links.
    fn judge(&self, what: &str, mode: Mode, before: &[LinkReport; 2], report: &GeneratorReport) {
        let after = self.reports();
        let counted = |count: fn(&LinkReport) -> u64| counted(before, &after, count);
        let changes = counted(|report| {
            report.failover.as_ref().map_or(0, |failover| failover.failovers + failover.moves)
        });
        let resent = counted(|report| report.failover.as_ref().map_or(0, |failover| failover.resent_frames));
        let stalls = counted(stalls);
        println!(
            "{what}: sent {}, lost {}, duplicated {}, reordered {}, changes {changes}, sent again {resent}, stalls \
             {stalls}, {:.0} frames/s",
            report.sent, report.lost, report.duplicated, report.reordered, report.frames_per_second
        );
        if stalls > 0 {
            eprintln!(
                "\n######## NOT JUDGED: {what}: the machine stalled a link end {stalls} times ########\n"
            );
            return;
        }
        let lost = report.lost_on_path();
        let said = || format!("{what}: {report:?}\nbefore: {before:#?}\nafter: {after:#?}");
        assert_eq!((lost, report.duplicated, report.corrupted), (0, 0, 0), "{}", said());
        if mode == Mode::Ordered {
            assert_eq!(report.reordered, 0, "{}", said());
        }
    }
}

/// What both link ends have counted between two reports.
fn counted(before: &[LinkReport; 2], after: &[LinkReport; 2], count: fn(&LinkReport) -> u64) -> u64 {
    let sum = |reports: &[LinkReport; 2]| reports.iter().map(count).sum::<u64>();
    sum(after) - sum(before)
}

fn stalls(report: &LinkReport) -> u64 {
    report.counters.stalls
}

fn frames(count: u64, per_second: Option<u32>) -> GeneratorOptions {
    GeneratorOptions {
        count,
        frame_bytes: 300,
        frames_per_second: per_second,
        // A link end that waits for its turn has not lost what it holds.
        drain: Duration::from_secs(2),
        ..GeneratorOptions::default()
    }
}

/// The `index`-th of several ways to cut a link: every other one is silent, and every fourth in one direction only.
fn way(index: u32) -> Cut {
    match index % WAYS {
        1 | 5 => Cut::Silent(Direction::Both),
        3 => Cut::Silent(Direction::LeftRight),
        7 => Cut::Silent(Direction::RightLeft),
        _ => Cut::Carrier,
    }
}

/// Cuts whatever link is in use, at random moments; returns how often.
fn cut_at_random(pair: &Pair, cuts: u32, random: &mut Random) -> u32 {
    let begun = Instant::now();
    let part = |random: &mut Random, from: u64, to: u64| {
        Duration::from_millis(from + (random.uniform() * (to - from) as f64) as u64)
    };
    for index in 0..cuts {
        let at = CYCLE * index + part(random, 100, 600);
        std::thread::sleep(at.saturating_sub(begun.elapsed()));
        let link = pair.active().unwrap_or(Path::Primary);
        pair.lab.cut(link, way(index)).expect("it is cut");
        std::thread::sleep(part(random, 20, 400));
        pair.lab.mend(link).expect("it is mended");
    }
    cuts
}

fn survives_cuts(mode: Mode, name: &str) {
    let frame_count = number("LINKMEND_FAILOVER_FRAMES", FRAMES_DEFAULT);
    let cuts = number("LINKMEND_FAILOVER_CUTS", CUTS_DEFAULT);
    let seed = number("LINKMEND_FAILOVER_SEED", 1);
    let mut random = Random::new(seed, name);
    let pair = Pair::plain(name);
    pair.protect(mode, 1e-3);
    let before = pair.reports();
    // The last frame leaves when the last cut has been mended.
    let per_second = frame_count as f64 / (CYCLE * cuts).as_secs_f64();
    let options = frames(frame_count, Some(per_second.ceil() as u32));
    let (report, made) = pair.send(&options, || cut_at_random(&pair, cuts, &mut random));
    assert_eq!((report.sent, made), (frame_count, cuts));
    pair.judge(&format!("{mode}, {cuts} cuts, seed {seed}"), mode, &before, &report);
    let failovers = pair.reports().map(|report| report.failover.expect("two links").failovers);
    // A silent cut in the direction without frames need not be noticed before it is mended.
    assert!(failovers.iter().all(|&seen| seen >= u64::from(cuts) / 2), "{failovers:?} of {cuts}");
}

#[test]
fn ordered_frames_survive_cuts() {
    if common::privileged("ordered_frames_survive_cuts") {
        survives_cuts(Mode::Ordered, "foo");
    }
}

#[test]
fn non_blocking_frames_survive_cuts() {
    if common::privileged("non_blocking_frames_survive_cuts") {
        survives_cuts(Mode::NonBlocking, "fon");
    }
}

/// Nothing passes on either link for less than the peer timeout: what was sent meanwhile is retransmitted on the same link.
#[test]
fn a_short_silence_of_both_links_loses_nothing() {
    if !common::privileged("a_short_silence_of_both_links_loses_nothing") {
        return;
    }
    let pair = Pair::plain("fsh");
    pair.protect(Mode::Ordered, 1e-3);
    let before = pair.reports();
    let (report, took) = pair.send(&frames(10_000, Some(5_000)), || {
        std::thread::sleep(Duration::from_millis(500));
        let begun = Instant::now();
        pair.corrupt(1.0);
        std::thread::sleep(Duration::from_millis(100));
        pair.corrupt(1e-3);
        begun.elapsed()
    });
    if took < PEER_TIMEOUT_SURELY_NOT {
        pair.judge(&format!("both links silent for {took:?}"), Mode::Ordered, &before, &report);
    } else {
        eprintln!("\n######## NOT JUDGED: the silence took {took:?} ########\n");
    }
}

/// Cut shortly, and for so long that both ends give each other up.
#[test]
fn two_links_that_are_both_down_for_a_while_come_back() {
    if !common::privileged("two_links_that_are_both_down_for_a_while_come_back") {
        return;
    }
    let pair = Pair::plain("fob");
    pair.protect(Mode::Ordered, 1e-3);
    for (cut, down) in [
        (Cut::Silent(Direction::Both), Duration::from_millis(100)),
        (Cut::Carrier, Duration::from_millis(100)),
        (Cut::Silent(Direction::Both), Duration::from_secs(3)),
        (Cut::Carrier, Duration::from_secs(3)),
    ] {
        let what = format!("both links {cut} for {down:?}");
        let options = GeneratorOptions {
            duration: Some(down + Duration::from_secs(4)),
            ..frames(u64::MAX, Some(5_000))
        };
        let before = pair.reports();
        let (report, took) = pair.send(&options, || {
            std::thread::sleep(Duration::from_millis(500));
            let begun = Instant::now();
            for link in Path::ALL {
                pair.lab.cut(link, cut).expect("it is cut");
            }
            std::thread::sleep(down);
            for link in Path::ALL {
                pair.lab.mend(link).expect("it is mended");
            }
            begun.elapsed()
        });
        let stalls = counted(&before, &pair.reports(), stalls);
        println!("{what}, {took:?} in all: sent {}, lost {}, stalls {stalls}", report.sent, report.lost);
        if took < PEER_TIMEOUT_SURELY_NOT {
            pair.judge(&what, Mode::Ordered, &before, &report);
        }
        // What comes when both ends have given each other up may be lost.
        assert_eq!(
            (report.duplicated, report.reordered, report.corrupted),
            (0, 0, 0),
            "{what}, stalls {stalls}: {report:?}"
        );
        pair.wait_for(&format!("{what}: protected again"), |pair| {
            pair.reports().iter().all(|report| report.transmit_state == TransmitState::Active)
        });
        pair.wait_for(&format!("{what}: both heard"), |pair| {
            pair.reports()
                .iter()
                .all(|report| report.failover.as_ref().is_some_and(|two| two.heard == [true; 2]))
        });
        let before = pair.reports();
        let (report, ()) = pair.send(&frames(20_000, None), || ());
        pair.judge(&format!("{what}, afterwards"), Mode::Ordered, &before, &report);
    }
}

#[test]
fn a_carrier_that_comes_and_goes_a_hundred_times_a_second_costs_nothing() {
    if !common::privileged("a_carrier_that_comes_and_goes_a_hundred_times_a_second_costs_nothing") {
        return;
    }
    let pair = Pair::plain("fof");
    pair.protect(Mode::Ordered, 1e-3);
    let before = pair.reports();
    let time = Duration::from_secs(3);
    let options =
        GeneratorOptions { duration: Some(time + Duration::from_secs(1)), ..frames(u64::MAX, Some(10_000)) };
    let (report, changes) = pair.send(&options, || {
        let (begun, mut changes) = (Instant::now(), 0);
        while begun.elapsed() < time {
            pair.lab.cut(Path::Primary, Cut::Carrier).expect("it is cut");
            std::thread::sleep(Duration::from_millis(5));
            pair.lab.mend(Path::Primary).expect("it is mended");
            std::thread::sleep(Duration::from_millis(5));
            changes += 2;
        }
        changes
    });
    pair.judge(&format!("carrier changed {changes} times in {time:?}"), Mode::Ordered, &before, &report);
    pair.wait_for_link(Path::Primary);
}

#[test]
fn a_backup_that_was_never_connected_does_no_harm() {
    if !common::privileged("a_backup_that_was_never_connected_does_no_harm") {
        return;
    }
    for (name, cut) in [("foc", Cut::Carrier), ("fos", Cut::Silent(Direction::Both))] {
        let options = LabOptions { backup: Some(BackupLink::default()), ..common::options(name) };
        let lab = Lab::up(options).expect("the lab comes up");
        lab.cut(Path::Backup, cut).expect("it is cut");
        let ends = LinkEnds::start(&lab, PortChoice::Auto, 7).expect("the link ends start");
        let pair = Pair { ends, _lines: None, lab };
        pair.protect(Mode::Ordered, 1e-3);
        let before = pair.reports();
        let (report, ()) = pair.send(&frames(100_000, None), || ());
        pair.judge(&format!("no backup: {cut}"), Mode::Ordered, &before, &report);
        let failover = || pair.reports()[0].failover.clone().expect("two links are configured");
        // The host may take the peer's processor away for longer than the detection time.
        pair.wait_for("the peer is heard on the first link", |_| failover().heard[0]);
        let FailoverReport { failovers, heard, probes_received, .. } = failover();
        assert_eq!((failovers, heard[1], probes_received[1]), (0, false, 0), "{:?}", failover());
    }
}

/// Far more arrives than the backup carries, so that the link ends must hold back.
#[test]
fn a_slower_and_longer_backup_takes_over_without_loss() {
    if !common::privileged("a_slower_and_longer_backup_takes_over_without_loss") {
        return;
    }
    let backup = BackupLink { rate_bps: Some(100_000_000), delay: Duration::from_millis(2) };
    let pair = Pair::new("fod", Impairments::default(), backup);
    pair.protect(Mode::Ordered, 1e-3);
    let before = pair.reports();
    let options = GeneratorOptions { duration: Some(Duration::from_secs(6)), ..frames(u64::MAX, None) };
    let (report, ()) = pair.send(&options, || {
        for index in 0..2 {
            std::thread::sleep(Duration::from_millis(700));
            pair.lab.cut(Path::Primary, way(index)).expect("it is cut");
            std::thread::sleep(Duration::from_millis(700));
            pair.lab.mend(Path::Primary).expect("it is mended");
            pair.wait_for_link(Path::Primary);
        }
    });
    pair.judge("backup of 100 Mbit/s and 2 ms", Mode::Ordered, &before, &report);
}

/// Other work takes all processors for a few times the detection time whenever a link is cut.
#[test]
fn a_machine_that_is_starved_while_a_link_is_cut_loses_nothing() {
    if !common::privileged("a_machine_that_is_starved_while_a_link_is_cut_loses_nothing") {
        return;
    }
    let pair = Pair::plain("fog");
    pair.protect(Mode::Ordered, 1e-3);
    let before = pair.reports();
    let options =
        GeneratorOptions { duration: Some(Duration::from_secs(9)), ..frames(u64::MAX, Some(10_000)) };
    let (report, ()) = pair.send(&options, || {
        for index in 0..4 {
            std::thread::sleep(Duration::from_millis(400));
            pair.lab.cut(Path::Primary, way(index)).expect("it is cut");
            for _ in 0..3 {
                hog::occupy_all(Duration::from_millis(40)).expect("real-time priority");
                std::thread::sleep(Duration::from_millis(10));
            }
            pair.lab.mend(Path::Primary).expect("it is mended");
            hog::occupy_all(Duration::from_millis(40)).expect("real-time priority");
            pair.wait_for("the primary again", |pair| pair.active() == Some(Path::Primary));
        }
    });
    pair.judge("starved while cut", Mode::Ordered, &before, &report);
}

#[test]
fn the_return_to_the_primary_and_a_request_for_the_backup_lose_nothing() {
    if !common::privileged("the_return_to_the_primary_and_a_request_for_the_backup_lose_nothing") {
        return;
    }
    for mode in Mode::ALL {
        let pair = Pair::plain("for");
        pair.protect(mode, 1e-3);
        let before = pair.reports();
        let options = GeneratorOptions { duration: Some(Duration::from_secs(8)), ..frames(u64::MAX, None) };
        let (report, ()) = pair.send(&options, || {
            pair.lab.cut(Path::Primary, Cut::Carrier).expect("it is cut");
            pair.wait_for_link(Path::Backup);
            pair.lab.mend(Path::Primary).expect("it is mended");
            pair.wait_for_link(Path::Primary);
            for (end, link) in [
                (&pair.ends.first, Path::Backup),
                (&pair.ends.second, Path::Primary),
                (&pair.ends.second, Path::Backup),
                (&pair.ends.first, Path::Primary),
            ] {
                end.command(Command::Prefer(link.into())).expect("there are two links");
                pair.wait_for_link(link);
            }
        });
        pair.judge(&format!("{mode}: return and requests"), mode, &before, &report);
        let failover = pair.reports()[0].failover.clone().expect("two links");
        assert!(failover.moves >= 5 && failover.failovers >= 1, "{failover:?}");
    }
}

/// Nobody protects anything, and then nobody is there at all: the programs in the kernel must follow the carrier.
#[test]
fn the_kernel_follows_the_carrier_while_daemons_are_dormant_and_when_they_are_gone() {
    if !common::privileged("the_kernel_follows_the_carrier_while_daemons_are_dormant_and_when_they_are_gone")
    {
        return;
    }
    let lab = Lab::up(LabOptions { backup: Some(BackupLink::default()), ..common::options("fok") });
    let lab = lab.expect("the lab comes up");
    let mut ends = Some(LinkEnds::start(&lab, PortChoice::Xdp, 7).expect("the link ends start"));
    let (left, _) = ends.as_ref().expect("they run").report().expect("a report");
    if !left.failover.expect("two links").kernel_follows_carriers {
        eprintln!("\n######## SKIPPED: this kernel does not tell a program of carriers ########\n");
        return;
    }
    for dormant in [true, false] {
        if !dormant {
            ends.take();
        }
        let passes = || {
            let options = GeneratorOptions { drain: Duration::from_millis(300), ..frames(100, None) };
            [FramePath::forward(&lab), FramePath::backward(&lab)].iter().all(|path| {
                generate(path, &options, &RunControl::default()).expect("it runs").received == 100
            })
        };
        let wait_for_passage = |what: &str| {
            let begun = Instant::now();
            while !passes() {
                assert!(begun.elapsed() < PATIENCE, "{what}, dormant {dormant}: nothing passes");
            }
        };
        wait_for_passage("both links");
        lab.cut(Path::Primary, Cut::Carrier).expect("it is cut");
        wait_for_passage("the backup");
        lab.mend(Path::Primary).expect("it is mended");
        lab.cut(Path::Backup, Cut::Carrier).expect("it is cut");
        wait_for_passage("the primary");
        lab.mend(Path::Backup).expect("it is mended");
        wait_for_passage("both links again");
    }
}
