//! A keeper with a program that writes down what it is told.

use super::*;
use crate::exchange::{DirectionState, Protection, Request};
use crate::findings::{Counted, Finding, PortFinding};
use crate::planning::{GuardMemory, PlannerSettings};
use linkmend_control::ProtectMode;
use linkmend_topology::file::{TopologyFileOptions, parse_topology};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;

/// A leaf with four spines, of which three must stay.
fn planner(disabled: BTreeSet<[PortName; 2]>) -> Planner {
    let spines: String = (1..=4).map(|spine| format!("  - {{name: spine{spine}, layer: 1}}\n")).collect();
    let links: String =
        (1..=4).map(|spine| format!("  - {{from: leaf1, to: spine{spine}, speed: 100G}}\n")).collect();
    let text = format!("switches:\n  - {{name: leaf1, layer: 0}}\n{spines}links:\n{links}");
    let network = parse_topology(text.into_bytes(), "network.yaml", &TopologyFileOptions::default());
    let settings = PlannerSettings { constraint: linkmend_fleet::Constraint::connected(0.75), target: 1e-8 };
    Planner::new(network.expect("a network").topology.into(), settings, disabled)
}

/// What agents ask for at the link to the first spine.
fn asked(generation: u64, loss_rate: Option<f64>) -> Known {
    let protection =
        |loss_rate| Protection { mode: ProtectMode::Ordered, loss_rate, target: 1e-8, copies: 2 };
    let sender = "spine1/a".parse().ok();
    let request = Request { generation, protection: loss_rate.map(protection), sender, ..Request::default() };
    let state = DirectionState { request: Some(request), acknowledgement: None };
    let port: PortName = "leaf1/a".parse().expect("a port");
    let finding = if loss_rate.is_some() { Finding::Corrupting } else { Finding::Healthy };
    let finding = PortFinding { calm_s: 1_000, ..PortFinding::new(finding, None) };
    let findings = BTreeMap::from([(port.clone(), finding)]);
    let now = now_s();
    Known { at_s: now, heard_at_s: now, directions: Directions::from([(port, state)]), findings }
}

/// A link is found corrupting, and counts corrupted frames all the time until it is confirmed.
fn confirm(keeper: &mut Keeper, generation: u64) {
    for ago in [10, 0] {
        let mut known = asked(generation, Some(1e-2));
        (known.at_s, known.heard_at_s) = (known.at_s - ago, known.at_s - ago);
        corrupt(&mut known, 10 - ago);
        keeper.plan(&known);
    }
}

/// Its port has counted corrupted frames for so many seconds, up to now.
fn corrupt(known: &mut Known, seconds: u64) {
    let counted = Counted { frames: 1_000 * seconds, corrupted: 10 * seconds, corrupted_polls: seconds };
    known.findings.values_mut().for_each(|of| (of.calm_s, of.counted) = (0, Some(counted)));
}

/// A keeper with a program that writes down what it is told, and that fails while there is a file `broken`.
fn keeper(folder: &Path, guard: GuardSettings) -> Keeper {
    let (hook, told, broken) = (folder.join("hook"), folder.join("told"), folder.join("broken"));
    let text = format!(
        "#!/bin/sh\necho $LINKMEND_ACTION $LINKMEND_PORTS $LINKMEND_FRAMES >> {}\ntest ! -e {}\n",
        told.display(),
        broken.display()
    );
    // Were this process to write it, a child of another test could still have it open (ETXTBSY).
    let mut writer = Command::new("sh");
    writer.args(["-c", "printf %s \"$1\" > \"$0\" && chmod +x \"$0\""]).arg(&hook).arg(text);
    assert!(writer.status().expect("there is a shell").success());
    let memory = folder.join("plan.json");
    let before = super::super::plan_memory::disabled_before(&memory).expect("as written");
    let setup = Setup {
        planner: planner(before.disabled.clone()),
        guard,
        hands: Hands::Hook(hook),
        memory,
        before,
        stop: Stop::default(),
        started: Instant::now(),
    };
    Keeper::new(setup, channel().0, Arc::default())
}

fn told(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("told")).unwrap_or_default();
    text.lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

fn status(keeper: &Keeper) -> PlanStatus {
    keeper.status.lock().expect("no panic").clone()
}

#[test]
fn a_disabled_link_is_tried_disabled_again_and_enabled_when_it_is_healthy() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let now = Duration::ZERO;
    let guard = GuardSettings { confirmation: now, trial_after: now, ..GuardSettings::default() };
    let mut disabling = keeper(folder, guard);
    confirm(&mut disabling, 1);
    assert_eq!(told(folder), ["disable", "trial"]);
    let frames = std::fs::read_to_string(folder.join("told")).expect("it ran");
    assert!(frames.contains("leaf1/a spine1/a 1382"), "as many as would show the rate: {frames}");
    assert!(status(&disabling).disabled[0].on_trial);
    // After a restart it is on trial still. Nothing is known yet, and nothing happens.
    drop(disabling);
    let mut trying = keeper(folder, GuardSettings { trial_after: Duration::from_hours(1), ..guard });
    trying.plan(&asked(1, Some(1e-2)));
    assert_eq!(told(folder).len(), 2);
    // It is found corrupting once more.
    trying.plan(&asked(2, Some(1e-2)));
    assert_eq!(told(folder), ["disable", "trial", "disable"]);
    let disabled = status(&trying).disabled[0].clone();
    assert!(!disabled.on_trial && disabled.failed_trials == 1, "{disabled:?}");
    trying.plan(&asked(2, Some(1e-2)));
    assert_eq!(told(folder).len(), 3, "its next trial is two hours away");
    // It is healthy, and a hook that fails does not lose it.
    std::fs::write(folder.join("broken"), "").expect("written");
    trying.plan(&asked(3, None));
    assert_eq!((told(folder).len(), status(&trying).disabled.len()), (4, 1));
    assert!(status(&trying).trouble.is_some());
    std::fs::remove_file(folder.join("broken")).expect("it is there");
    trying.failed.clear();
    trying.plan(&asked(3, None));
    assert_eq!(told(folder), ["disable", "trial", "disable", "enable", "enable"]);
    assert_eq!(status(&trying), PlanStatus::default());
}

#[test]
fn a_link_whose_disabling_fails_says_so_and_is_not_tried() {
    let folder = tempfile::tempdir().expect("a folder");
    let now = Duration::ZERO;
    let guard = GuardSettings { confirmation: now, trial_after: now, ..GuardSettings::default() };
    let mut failing = keeper(folder.path(), guard);
    std::fs::write(folder.path().join("broken"), "").expect("written");
    confirm(&mut failing, 1);
    failing.plan(&asked(2, Some(1e-2)));
    assert_eq!(told(folder.path()), ["disable"]);
    let shown = status(&failing).disabled[0].clone();
    assert_eq!((shown.failing, shown.on_trial, shown.failed_trials), (true, false, 0));
    std::fs::remove_file(folder.path().join("broken")).expect("it is there");
    failing.failed.clear();
    failing.plan(&asked(2, Some(1e-2)));
    assert_eq!(told(folder.path()), ["disable", "disable", "trial"]);
    assert!(!status(&failing).disabled[0].failing);
}

/// The second link is repaired while the first one's command is not tried again yet.
#[test]
fn a_command_that_fails_for_one_link_does_not_hold_up_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let now = Duration::ZERO;
    let guard = GuardSettings { confirmation: now, ..GuardSettings::default() };
    let mut keeper = keeper(folder.path(), guard);
    confirm(&mut keeper, 1);
    let other: [PortName; 2] = ["leaf1/b", "spine2/b"].map(|port| port.parse().expect("a port"));
    keeper.failed.insert(other, (now_s() + RETRY_S, "a test".to_owned()));
    keeper.plan(&asked(2, None));
    assert_eq!(told(folder.path()), ["disable", "enable"]);
}

#[test]
fn what_waits_is_not_disabled_and_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut waiting = keeper(folder.path(), GuardSettings::default());
    waiting.plan(&asked(1, Some(1e-2)));
    assert_eq!(told(folder.path()).len(), 0);
    let held = status(&waiting).held;
    assert!(held[0].reason.contains("confirmation") && held[0].until_s.is_some(), "{held:?}");
    // Others were disabled within the hour, before a restart.
    let recent_s = vec![now_s(); 2];
    let memory = Memory { guard: GuardMemory { recent_s, ..GuardMemory::default() }, ..Memory::default() };
    memory::write(&folder.path().join("plan.json"), &memory).expect("written");
    let confirmed = GuardSettings { confirmation: Duration::ZERO, ..GuardSettings::default() };
    let mut limited = keeper(folder.path(), confirmed);
    confirm(&mut limited, 1);
    assert_eq!(told(folder.path()).len(), 0);
    let held = status(&limited).held;
    assert!(held[0].reason.contains("disables-per-hour"), "{held:?}");
}

/// As long as its command takes, or the program stands still, the same is known and grows old.
#[test]
fn what_was_known_before_a_pause_disables_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let confirmed = GuardSettings { confirmation: Duration::from_secs(5), ..GuardSettings::default() };
    let mut paused = keeper(folder.path(), confirmed);
    for ago in [36, 26] {
        let mut known = asked(1, Some(1e-2));
        (known.at_s, known.heard_at_s) = (known.at_s - ago, known.at_s - ago);
        corrupt(&mut known, 36 - ago);
        paused.plan(&known);
    }
    assert_eq!(told(folder.path()).len(), 0);
}

/// It was never disabled, and nobody was told why.
#[test]
fn a_plan_that_takes_too_long_is_said_and_disables_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let confirmed = GuardSettings { confirmation: Duration::ZERO, ..GuardSettings::default() };
    let mut slow = keeper(folder.path(), confirmed);
    slow.note_time(Duration::from_secs(25));
    slow.show(&BTreeSet::new(), Vec::new());
    let said = status(&slow).stalled.expect("said");
    assert!(said.contains("25 s"), "{said}");
    // As long as the plan has taken, what it was made of has grown old.
    for ago in [60, 30] {
        let mut known = asked(1, Some(1e-2));
        (known.at_s, known.heard_at_s) = (known.at_s - ago, known.at_s - ago);
        corrupt(&mut known, 60 - ago);
        slow.plan(&known);
    }
    assert_eq!(told(folder.path()).len(), 0);
    assert_eq!(status(&slow).stalled, None, "these were made in time");
}

/// It stayed disabled for as long as a trial may take, and then for twice as long as before.
#[test]
fn a_trial_that_a_crash_kept_from_beginning_begins_after_the_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let now = Duration::ZERO;
    let guard = GuardSettings { confirmation: now, trial_after: now, ..GuardSettings::default() };
    let mut disabling = keeper(folder, guard);
    confirm(&mut disabling, 1);
    assert_eq!(told(folder), ["disable", "trial"]);
    // As it is written before the command is run.
    let ports = disabling.guard.memory().links[0].verdict.ports.clone();
    disabling.trying.insert(ports);
    disabling.remember();
    drop(disabling);
    let mut trying = keeper(folder, GuardSettings { trial_after: Duration::from_hours(1), ..guard });
    trying.plan(&asked(1, Some(1e-2)));
    trying.plan(&asked(1, Some(1e-2)));
    assert_eq!(told(folder), ["disable", "trial", "trial"], "once");
    assert!(status(&trying).disabled[0].on_trial);
    drop(trying);
    let mut later = keeper(folder, guard);
    later.plan(&asked(1, Some(1e-2)));
    assert_eq!(told(folder).len(), 3);
}
