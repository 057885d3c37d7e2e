//! The simulator and the laboratory agree: under scripted losses, two simulated link ends do what two real ones did, in
//! the same order (see `linkmend_sim::replay` for what is compared), and the real ends' logs repeat exactly.
//!
//! LINKMEND_TRACE_KEEP=FOLDER keeps the protocol logs.

#![allow(clippy::print_stdout, reason = "the figures are wanted with --nocapture")]

mod common;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use linkmend_dataplane::{Command, LossScript, ProtectionSettings};
use linkmend_lab::{FramePath, Lab, LinkEnds, Role};
use linkmend_protocol::trace::Step;
use linkmend_protocol::{Copies, Mode};
use linkmend_sim::replay::{
    Agreement, ProtocolLog, Repetition, ReplayError, agree, longest_transit_ns, repeat,
};

/// Pause between bursts: much longer than a recovery, so that the protocol decides the order, and not the scheduler.
const PAUSE: Duration = Duration::from_millis(10);
/// A run in which a frame took longer than this to cross the link, or a loop woke up later than this, counts as
/// disturbed and shows nothing.
const LATE_MAX_NS: u64 = 2_000_000;
/// The same applies to a burst whose frames were offered with such a gap: shorter gaps do not bring out a dummy (200 us
/// after a frame), longer ones certainly do, and leave it time to finish its work.
const GAP_UNCLEAR_NS: std::ops::Range<u64> = 100_000..4_000_000;
/// How often disturbed runs are repeated. The test fails with a message on a machine that never runs the loops in time.
const ATTEMPTS: u32 = 30;
/// One laboratory at a time, because they would disturb each other.
static ALONE: Mutex<()> = Mutex::new(());

/// Frames that are sent together, and which of them are lost.
struct Burst {
    frames: u64,
    lost: &'static [u64],
    /// Which of the copies that follow are lost.
    copies_lost: &'static [u64],
}

const fn burst(frames: u64, lost: &'static [u64], copies_lost: &'static [u64]) -> Burst {
    Burst { frames, lost, copies_lost }
}

impl Burst {
    /// Whether all copies of its one lost frame are lost.
    fn has_second_round(&self) -> bool {
        self.lost.len() == 1 && self.copies_lost.len() as u64 == COPIES
    }
}

/// A frame after a hole ends its burst, because later frames could be sent before or after the notification.
const BURSTS: &[Burst] = &[
    burst(1, &[], &[]),
    burst(2, &[0], &[]),
    burst(4, &[], &[]),
    // Adjacent holes.
    burst(4, &[0, 1, 2], &[]),
    // A tail, whose loss only a dummy reveals; then a longer one.
    burst(1, &[0], &[]),
    burst(3, &[1, 2], &[]),
    // The first copy is lost, then the second.
    burst(2, &[0], &[0]),
    burst(2, &[0], &[1]),
    // Both copies are lost: a dummy reveals it, and a second round of copies follows.
    burst(2, &[0], &[0, 1]),
    burst(1, &[0], &[0, 1]),
    burst(8, &[3, 4, 5, 6], &[0, 2]),
    burst(5, &[], &[]),
];

/// A few of them. Logs of such a run in ordered mode are in crates/sim/tests.
const FEW_BURSTS: &[Burst] =
    &[burst(1, &[], &[]), burst(3, &[0, 1], &[0]), burst(1, &[0], &[]), burst(2, &[0], &[0, 1])];

/// Copies of each lost frame.
const COPIES: u64 = 2;

/// The positions of all losses among all arrivals.
fn script(bursts: &[Burst]) -> LossScript {
    let mut script = LossScript::default();
    let (mut originals, mut copies) = (0, 0);
    for burst in bursts {
        let Burst { frames, lost, copies_lost } = burst;
        script.originals.extend(lost.iter().map(|place| originals + place));
        script.copies.extend(copies_lost.iter().map(|place| copies + place));
        originals += frames;
        copies += lost.len() as u64 * COPIES + if burst.has_second_round() { COPIES } else { 0 };
    }
    script
}

fn send(path: &FramePath, bursts: &[Burst]) {
    let mut number = 0u64;
    for Burst { frames, .. } in bursts {
        let frames: Vec<Vec<u8>> = (0..*frames)
            .map(|_| {
                number += 1;
                let mut frame = [&path.to.mac[..], &path.from.mac, &[0x88, 0xb6]].concat();
                frame.extend(number.to_be_bytes());
                frame.resize(60 + (number as usize * 37) % 900, 0);
                frame
            })
            .collect();
        path.from.inject(&frames).expect("they are sent");
        std::thread::sleep(PAUSE);
    }
}

/// Keeps the hosts from sending frames of their own, which would take positions in the script: router solicitations,
/// reports of group memberships.
fn be_silent(lab: &Lab) {
    for host in [Role::Host1, Role::Host2] {
        let off = || std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        lab.namespace(host).run(off).expect("the namespace is there").expect("IPv6 can be switched off");
    }
}

/// The settings of a run.
struct Case {
    name: &'static str,
    mode: Mode,
    both_ways: bool,
    bursts: &'static [Burst],
}

/// One run. Returns its two logs.
fn run(name: &str, case: &Case, folder: &Path) -> [PathBuf; 2] {
    let &Case { mode, both_ways, bursts, .. } = case;
    let lab = Lab::up(common::options(name)).expect("the lab comes up");
    be_silent(&lab);
    let log = |link: &str| folder.join(format!("{name}-{link}.jsonl"));
    let ends = LinkEnds::start_with(&lab, |settings| {
        settings.seed = Some(if settings.name == "g1" { 11 } else { 12 });
        settings.protocol_log = Some(log(&settings.name));
        settings.overrides.recovery_timeout = Some(Duration::from_millis(500));
        settings.overrides.peer_timeout = Some(Duration::from_millis(500));
    })
    .expect("the link ends start");
    let protection =
        || ProtectionSettings { copies: Copies::Fixed(COPIES as u8), ..ProtectionSettings::new(mode) };
    ends.protect(Some(protection())).expect("it gets active");
    if both_ways {
        ends.protect_reverse(Some(protection())).expect("it gets active");
    }
    std::thread::sleep(PAUSE * 2);
    ends.corrupt_by_script(script(bursts)).expect("corruption is allowed");
    send(&FramePath::forward(&lab), bursts);
    if both_ways {
        ends.first.command(Command::CorruptByScript(script(bursts))).expect("corruption is allowed");
        send(&FramePath::backward(&lab), bursts);
    }
    std::thread::sleep(PAUSE * 2);
    drop(ends);
    ["g1", "g2"].map(log)
}

/// What disturbed a run.
fn disturbance(logs: &[ProtocolLog; 2], repeated: &[Repetition]) -> Option<String> {
    let late = repeated.iter().map(|repetition| repetition.longest_lateness_ns).max().unwrap_or(0);
    if late > LATE_MAX_NS {
        return Some(format!("a loop was woken {late} ns late"));
    }
    let transit = longest_transit_ns(&logs[0], &logs[1]).unwrap_or(u64::MAX);
    if transit > LATE_MAX_NS {
        return Some(format!("a frame took {transit} ns"));
    }
    logs.iter().find_map(|log| {
        let offered = log.records.iter().filter(|record| matches!(record.step, Step::Offered { .. }));
        let times: Vec<u64> = offered.map(|record| record.at.0).collect();
        let gap = times.windows(2).map(|pair| pair[1] - pair[0]).find(|gap| GAP_UNCLEAR_NS.contains(gap));
        gap.map(|gap| format!("a burst had a gap of {gap} ns"))
    })
}

/// Runs until a run is undisturbed, and compares that run.
fn undisturbed(case: &Case) -> (Agreement, [ProtocolLog; 2]) {
    let name = case.name;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let temporary = tempfile::tempdir().expect("a folder");
    let kept = std::env::var_os("LINKMEND_TRACE_KEEP").map(PathBuf::from);
    let folder = kept.as_deref().unwrap_or(temporary.path());
    for attempt in 1..=ATTEMPTS {
        let logs = run(&format!("{name}{attempt}"), case, folder);
        let logs = logs.map(|path| ProtocolLog::read(&path).expect("a protocol log"));
        // This holds for any run.
        let repeated = logs.each_ref().map(|log| repeat(log).unwrap_or_else(|error| panic!("{error}")));
        println!("{name}, attempt {attempt}: {repeated:?}");
        let disturbed = disturbance(&logs, &repeated);
        match (agree(&logs[0], &logs[1]), disturbed) {
            (Ok(agreement), disturbed) => {
                println!("{agreement} ({})", disturbed.unwrap_or_else(|| "undisturbed".to_owned()));
                return (agreement, logs);
            }
            (Err(error), Some(disturbed)) => println!("{disturbed}, so this proves nothing: {error}"),
            (Err(error), None) => panic!("{name}: {error}"),
        }
    }
    panic!("{name}: in {ATTEMPTS} runs this machine never ran the loops undisturbed");
}

/// Runs the case and checks that it was the intended one.
fn check(case: &Case) {
    let (agreement, _) = undisturbed(case);
    let directions = if case.both_ways { 2 } else { 1 };
    let frames: u64 = case.bursts.iter().map(|burst| burst.frames).sum();
    let script = script(case.bursts);
    let lost = script.originals.len() as u64;
    let second_rounds = case.bursts.iter().filter(|burst| burst.has_second_round()).count() as u64;
    assert_eq!(agreement.frames_sent, directions * frames, "{agreement}");
    assert_eq!(agreement.delivered, agreement.frames_sent, "{agreement}");
    assert_eq!(agreement.losses, directions * (lost + script.copies.len() as u64), "{agreement}");
    assert_eq!(agreement.notified, directions * lost, "{agreement}");
    assert_eq!(agreement.copies_sent, directions * COPIES * (lost + second_rounds), "{agreement}");
    assert_eq!(agreement.given_up, 0, "{agreement}");
}

#[test]
fn simulator_and_laboratory_agree_in_ordered_mode() {
    if common::privileged("simulator_and_laboratory_agree_in_ordered_mode") {
        check(&Case { name: "tro", mode: Mode::Ordered, both_ways: false, bursts: BURSTS });
    }
}

#[test]
fn simulator_and_laboratory_agree_in_non_blocking_mode() {
    if common::privileged("simulator_and_laboratory_agree_in_non_blocking_mode") {
        check(&Case { name: "trn", mode: Mode::NonBlocking, both_ways: false, bursts: BURSTS });
    }
}

#[test]
fn simulator_and_laboratory_agree_in_both_directions() {
    if common::privileged("simulator_and_laboratory_agree_in_both_directions") {
        check(&Case { name: "trb", mode: Mode::Ordered, both_ways: true, bursts: BURSTS });
    }
}

#[test]
fn a_loss_that_the_log_does_not_tell_is_a_difference() {
    if !common::privileged("a_loss_that_the_log_does_not_tell_is_a_difference") {
        return;
    }
    let case = Case { name: "trf", mode: Mode::Ordered, both_ways: false, bursts: FEW_BURSTS };
    let (_, [first, mut second]) = undisturbed(&case);
    let loss = second.records.iter().position(|record| matches!(record.step, Step::Corrupted { .. }));
    second.records.remove(loss.expect("there are losses"));
    let error = agree(&first, &second).expect_err("the simulated link delivers it");
    assert!(matches!(error, ReplayError::Order { .. }), "{error}");
}
