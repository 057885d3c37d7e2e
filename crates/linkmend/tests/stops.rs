//! Daemons that do not run for a while, under load on a corrupting link: one of them is stopped, both are, or a
//! real-time process occupies every processor. A session survives as long as the kernel has not taken over. And daemons
//! that are ended regularly, under load in both directions.
//!
//! LINKMEND_STOPS sets the number of stops in each mode.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use linkmend_control::report::{ReceiveState, TransmitState};
use linkmend_control::{Client, CorruptionModel, LinkReport};
use linkmend_lab::generator::{GeneratorOptions, GeneratorReport, generate};
use linkmend_lab::{FramePath, Lab, LabOptions, Role, RunControl, StopFlag, hog};
use linkmend_random::Random;

/// Frames per second. What arrives within 250 ms fits the rings, the queue and the window, so no frame is lost for lack
/// of room.
const RATE: u32 = 5_000;
const STOPS_DEFAULT: u32 = 40;
const STOP_MAX_MS: u64 = 200;
/// If the machine itself stops a loop for longer than this, the kernel takes over, and the attempt shows nothing.
const ATTEMPTS: u32 = 3;
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a daemon is ended regularly.
const REGULAR_ENDS: u32 = 6;

/// Held by a test while it runs. One of them occupies every processor for up to 200 ms, which would add to the stop that
/// the other one measures.
static MACHINE: Mutex<()> = Mutex::new(());

struct Daemon {
    child: Child,
    socket: PathBuf,
}

impl Daemon {
    fn start(lab: &Lab, role: Role, mode: &str, folder: &Path) -> Daemon {
        let socket = folder.join(format!("{mode}-{}.sock", role.suffix()));
        let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend"));
        command.args(["run", "--inner", "inner", "--link", "link", "--allow-corruption", "--mode", mode]);
        command.arg("--control").arg(&socket);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Daemon { child: lab.spawn(role, command).expect("the daemon starts"), socket }
    }

    fn client(&self) -> Client {
        Client::connect(&self.socket).expect("it listens")
    }

    fn report(&self) -> LinkReport {
        self.client().status(None).expect("it answers").remove(0)
    }

    fn wait_until_active(&self) {
        let begun = Instant::now();
        loop {
            let reports = Client::connect(&self.socket).and_then(|mut client| client.status(None));
            let active = |report: &LinkReport| {
                report.transmit_state == TransmitState::Active && report.receive_state == ReceiveState::Active
            };
            if reports.is_ok_and(|reports| reports.iter().all(active)) {
                return;
            }
            assert!(begun.elapsed() < START_TIMEOUT, "protection does not start");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().is_ok_and(|status| status.success()));
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Stops these daemons for `span`.
fn stop(daemons: &[&Daemon], span: Duration) {
    let begun = Instant::now();
    daemons.iter().for_each(|daemon| daemon.signal("-STOP"));
    std::thread::sleep(span.saturating_sub(begun.elapsed()));
    daemons.iter().for_each(|daemon| daemon.signal("-CONT"));
}

/// Sends frames while `disturb` runs.
fn under_load<T: Send>(lab: &Lab, disturb: impl FnOnce() -> T + Send) -> (GeneratorReport, T) {
    let options = GeneratorOptions {
        count: u64::MAX / 2,
        frame_bytes: 300,
        frames_per_second: Some(RATE),
        // The link ends must hold the frames back, not the generator's window.
        window_frames: 8_192,
        drain: Duration::from_secs(1),
        ..GeneratorOptions::default()
    };
    let (path, ended) = (FramePath::forward(lab), StopFlag::default());
    let control = RunControl { stop: ended.clone(), ..RunControl::default() };
    std::thread::scope(|scope| {
        let traffic = scope.spawn(|| generate(&path, &options, &control));
        let disturbed = scope.spawn(move || {
            hog::run_at_once().expect("real-time priority");
            std::thread::sleep(Duration::from_millis(100));
            let result = disturb();
            std::thread::sleep(Duration::from_millis(500));
            ended.stop();
            result
        });
        let result = disturbed.join().expect("it does not panic");
        (traffic.join().expect("it does not panic").expect("the generator runs"), result)
    })
}

fn protected(lab: &Lab, mode: &str, folder: &Path) -> [Daemon; 2] {
    let daemons = [Role::End1, Role::End2].map(|role| Daemon::start(lab, role, mode, folder));
    daemons.iter().for_each(Daemon::wait_until_active);
    for daemon in &daemons {
        let link = daemon.report().name;
        daemon.client().corrupt(&link, Some(CorruptionModel::Iid { rate: 1e-2 })).expect("it is allowed");
    }
    daemons
}

fn lab(name: &str) -> Option<Lab> {
    if !linkmend_lab::unprivileged::has_capabilities() {
        // Written directly, because the test harness swallows what passing tests print.
        let _ = writeln!(
            std::io::stderr(),
            "\n######## SKIPPED: stopped daemons need root for network namespaces: sudo -E make test ########\n"
        );
        return None;
    }
    let prefix = format!("tst{name}{}", std::process::id());
    let options = LabOptions { prefix, remove_on_drop: true, ..LabOptions::default() };
    Some(Lab::up(options).expect("the lab comes up"))
}

fn stops() -> u32 {
    match std::env::var("LINKMEND_STOPS") {
        Ok(text) => text.parse().expect("LINKMEND_STOPS is a number of stops"),
        Err(_) => STOPS_DEFAULT,
    }
}

/// What came of stops under load.
struct Stopped {
    frames: GeneratorReport,
    /// The state of both ends afterwards.
    reports: [LinkReport; 2],
    /// How often the kernel took over from a loop.
    taken_over: u64,
}

/// Frames that the kernel has forwarded in place of a loop so far.
fn bypassed(report: &LinkReport) -> u64 {
    report.inner.bypassed_frames + report.link.bypassed_frames
}

/// Stops one end, both, or all processors under load.
fn stopped(lab: &Lab, daemons: &[Daemon; 2], seed: u64) -> Stopped {
    let mut random = Random::new(seed, "stops");
    let before = daemons.each_ref().map(|daemon| bypassed(&daemon.report()));
    let (frames, ()) = under_load(lab, || {
        let [first, second] = daemons;
        for _ in 0..stops() {
            let span = Duration::from_millis(1 + random.next_u64() % STOP_MAX_MS);
            match random.next_u64() % 4 {
                0 => stop(&[first], span),
                1 => stop(&[second], span),
                2 => stop(&[first, second], span),
                _ => hog::occupy_all(span).expect("real-time priority"),
            }
            std::thread::sleep(Duration::from_millis(1 + random.next_u64() % 60));
        }
    });
    let reports = daemons.each_ref().map(Daemon::report);
    // A loop that is asked for its report in the middle of a stall has not found out yet, but the kernel has counted.
    let taken_over = reports
        .iter()
        .zip(before)
        .map(|(report, before)| report.counters.stalls.max(u64::from(bypassed(report) > before)));
    Stopped { frames, taken_over: taken_over.sum(), reports }
}

/// Stops of 100 ms at a loss of 1e-2 must lose nothing and keep the order.
#[test]
fn stops_up_to_200_ms_lose_double_and_reorder_nothing() {
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(lab) = lab("s") else { return };
    for (mode, seed) in [("ordered", 1), ("non-blocking", 2)] {
        let undisturbed = (0..ATTEMPTS).any(|attempt| {
            let folder = tempfile::tempdir().expect("a folder");
            let daemons = protected(&lab, mode, folder.path());
            is_whole(mode, &stopped(&lab, &daemons, seed + u64::from(attempt) * 100))
        });
        assert!(undisturbed, "{mode}: this machine is too disturbed to tell");
    }
}

/// Checks that nothing was lost, late or duplicated. Returns `false` if the kernel had to take over from a loop.
fn is_whole(mode: &str, stopped: &Stopped) -> bool {
    let Stopped { frames: report, reports, taken_over } = stopped;
    let corrupted: u64 = reports.iter().map(|report| report.counters.corrupted_frames).sum();
    let line = format!(
        "{mode}: {} stops; {} frames, {corrupted} corrupted, {} lost, {} duplicated, {} reordered; recovered within \
         {} ms (99 %); taken over by the kernel {taken_over} times\n",
        stops(),
        report.sent,
        report.lost_on_path(),
        report.duplicated,
        report.reordered,
        reports[1].recovery_latency_ns.p99 / 1_000_000,
    );
    let _ = std::io::stderr().write_all(line.as_bytes());
    assert_eq!(report.duplicated, 0, "{line}");
    assert!(corrupted > report.sent / 200, "{line}");
    if *taken_over > 0 {
        return false;
    }
    assert_eq!(report.lost_on_path(), 0, "{line}{reports:#?}");
    assert!(mode != "ordered" || report.reordered == 0, "{line}");
    for LinkReport { counters, .. } in reports {
        assert_eq!((counters.sessions_opened, counters.peers_lost), (1, 0), "{line}");
        assert_eq!((counters.given_up_frames(), counters.abandoned_frames), (0, 0), "{line}");
    }
    true
}

/// After a longer stop the kernel takes over: originals pass, copies do not, nothing arrives twice, and protection
/// returns.
#[test]
fn a_stop_of_a_second_is_handed_over_to_the_kernel_and_back() {
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(lab) = lab("l") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let daemons = protected(&lab, "ordered", folder.path());
    for victim in &daemons {
        let (report, ()) = under_load(&lab, || {
            stop(&[victim], Duration::from_secs(1));
            victim.wait_until_active();
        });
        daemons.iter().for_each(Daemon::wait_until_active);
        let reports = daemons.each_ref().map(Daemon::report);
        let corrupted: u64 = reports.iter().map(|report| report.counters.corrupted_frames).sum();
        let line = format!(
            "stopped for a second: {} frames, {corrupted} corrupted, {} lost, {} duplicated, {} reordered\n",
            report.sent,
            report.lost_on_path(),
            report.duplicated,
            report.reordered,
        );
        let _ = std::io::stderr().write_all(line.as_bytes());
        assert_eq!(report.duplicated, 0, "{line}");
        // A frame that passes unprotected meanwhile may be corrupted; no other frame is lost.
        assert!(report.lost_on_path() <= corrupted, "{line}");
        assert_eq!(victim.report().counters.stalls, 1, "{line}");
    }
}

/// A daemon that is ended with SIGTERM tells its peer, and goes on until both sessions have ended. Afterwards the kernel
/// forwards at its end, and the other daemon does not protect.
#[test]
fn a_regular_end_of_either_daemon_loses_doubles_and_reorders_nothing_in_either_direction() {
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(lab) = lab("t") else { return };
    for attempt in 0..REGULAR_ENDS {
        let folder = tempfile::tempdir().expect("a folder");
        let mut daemons =
            [Role::End1, Role::End2].map(|role| Daemon::start(&lab, role, "ordered", folder.path()));
        daemons.iter().for_each(Daemon::wait_until_active);
        let [leaves, stays] = match attempt % 2 {
            0 => [0, 1],
            _ => [1, 0],
        };
        let directions = [FramePath::forward(&lab), FramePath::backward(&lab)];
        let ended = StopFlag::default();
        let reports = std::thread::scope(|scope| {
            let flows = directions.each_ref().map(|path| {
                let control = RunControl { stop: ended.clone(), ..RunControl::default() };
                scope.spawn(move || generate(path, &regular_load(), &control))
            });
            std::thread::sleep(Duration::from_millis(300));
            daemons[leaves].signal("-TERM");
            let status = daemons[leaves].child.wait().expect("it is our child");
            std::thread::sleep(Duration::from_millis(700));
            ended.stop();
            assert!(status.success(), "{status}");
            flows.map(|flow| flow.join().expect("it does not panic").expect("the generator runs"))
        });
        for (report, direction) in reports.iter().zip(["forward", "backward"]) {
            let faults = (report.lost_on_path(), report.duplicated, report.reordered);
            assert_eq!(faults, (0, 0, 0), "{direction}, attempt {attempt}, of {} frames", report.sent);
        }
        let left = daemons[stays].report();
        let counters = &left.counters;
        assert_eq!((counters.peers_lost, counters.abandoned_frames), (0, 0), "attempt {attempt}");
    }
}

fn regular_load() -> GeneratorOptions {
    GeneratorOptions {
        count: u64::MAX / 2,
        frame_bytes: 300,
        frames_per_second: Some(2_000),
        window_frames: 8_192,
        drain: Duration::from_secs(1),
        ..GeneratorOptions::default()
    }
}
