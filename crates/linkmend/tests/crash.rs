//! `kill -9` of either daemon under load: traffic continues, protection is back soon after a restart, and nothing
//! arrives twice.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use linkmend_control::Client;
use linkmend_control::report::TransmitState;
use linkmend_lab::generator::{GeneratorOptions, GeneratorReport, generate};
use linkmend_lab::{FramePath, Lab, LabOptions, Role, RunControl};

/// Frames a second: each frame stands for 0.2 ms of outage.
const RATE: u32 = 5_000;
/// Traffic must flow again within the first time, and protection must be back within the second, once the daemon answers again. How long it
/// takes to start depends on what else the machine does.
const OUTAGE_MAX: Duration = Duration::from_millis(100);
const PROTECTION_MAX: Duration = Duration::from_secs(1);
const START_TIMEOUT: Duration = Duration::from_secs(10);

struct Daemon {
    child: Child,
    socket: PathBuf,
}

impl Daemon {
    fn start(lab: &Lab, role: Role, folder: &Path) -> Daemon {
        let socket = folder.join(format!("{}.sock", role.suffix()));
        let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend"));
        command.args(["run", "--inner", "inner", "--link", "link", "--mode", "ordered", "--control"]);
        command.arg(&socket).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if lab.options().host_offloads {
            command.arg("--offloads");
        }
        Daemon { child: lab.spawn(role, command).expect("the daemon starts"), socket }
    }

    fn is_active(&self) -> bool {
        let reports = Client::connect(&self.socket).and_then(|mut client| client.status(None));
        reports
            .is_ok_and(|reports| reports.iter().all(|report| report.transmit_state == TransmitState::Active))
    }

    fn kill(&mut self) {
        // Child::kill is SIGKILL.
        self.child.kill().expect("it runs");
        self.child.wait().expect("it can be waited for");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_until_active(daemons: [&Daemon; 2], timeout: Duration) -> Option<Duration> {
    let started = Instant::now();
    while started.elapsed() < timeout {
        if daemons.iter().all(|daemon| daemon.is_active()) {
            return Some(started.elapsed());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    None
}

/// How long a daemon took after its start.
struct Return {
    /// Until it answered; before that, the machine loads the program and gives it a processor.
    answered: Duration,
    /// Until both directions were protected.
    protected: Duration,
}

/// Kills the daemon of `role` under load and starts it again. Returns the frames' fates, and how long protection took
/// to return.
fn crash(lab: &Lab, daemons: &mut [Daemon; 2], role: Role, folder: &Path) -> (GeneratorReport, Return) {
    let victim = usize::from(role == Role::End2);
    let options = GeneratorOptions {
        count: u64::from(RATE) * 4,
        frame_bytes: 300,
        frames_per_second: Some(RATE),
        ..GeneratorOptions::default()
    };
    let path = FramePath::forward(lab);
    std::thread::scope(|scope| {
        let traffic = scope.spawn(|| generate(&path, &options, &RunControl::default()));
        std::thread::sleep(Duration::from_secs(1));
        daemons[victim].kill();
        std::thread::sleep(Duration::from_secs(1));
        let started = Instant::now();
        daemons[victim] = Daemon::start(lab, role, folder);
        while Client::connect(&daemons[victim].socket).is_err() && started.elapsed() < START_TIMEOUT {
            std::thread::sleep(Duration::from_millis(2));
        }
        let answered = started.elapsed();
        let [first, second] = &*daemons;
        wait_until_active([first, second], START_TIMEOUT).expect("protection returns");
        let back = Return { answered, protected: started.elapsed() };
        let report = traffic.join().expect("the generator does not panic").expect("it runs");
        (report, back)
    })
}

#[test]
fn a_killed_daemon_costs_less_than_100_ms_and_no_duplicate() {
    kill_each("tcrash", LabOptions::default());
}

#[test]
fn so_it_is_with_large_segments() {
    kill_each("tlarge", LabOptions { host_offloads: true, ..LabOptions::default() });
}

fn kill_each(name: &str, options: LabOptions) {
    // Four daemons at real-time priority at once would disturb each other.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock();
    if !linkmend_lab::unprivileged::has_capabilities() {
        // Written directly, because the test harness swallows what passing tests print.
        let _ = writeln!(
            std::io::stderr(),
            "\n######## SKIPPED: crashes of the daemon need root for network namespaces: sudo -E make test ########\n"
        );
        return;
    }
    let prefix = format!("{name}{}", std::process::id());
    let lab = Lab::up(LabOptions { prefix, remove_on_drop: true, ..options }).expect("the lab comes up");
    let folder = tempfile::tempdir().expect("a folder");
    let mut daemons = [Role::End1, Role::End2].map(|role| Daemon::start(&lab, role, folder.path()));
    let [first, second] = &daemons;
    wait_until_active([first, second], START_TIMEOUT).expect("protection starts");
    for role in [Role::End1, Role::End2] {
        let (report, back) = crash(&lab, &mut daemons, role, folder.path());
        let outage = Duration::from_secs_f64(report.lost_on_path() as f64 / f64::from(RATE));
        let line = format!(
            "kill -9 in {}: {} of {} frames lost, {} ms of traffic; protection back {} ms after the restart, \
             the daemon answered after {}; {} duplicated, {} reordered\n",
            role.suffix(),
            report.lost_on_path(),
            report.sent,
            outage.as_millis(),
            back.protected.as_millis(),
            back.answered.as_millis(),
            report.duplicated,
            report.reordered
        );
        let _ = std::io::stderr().write_all(line.as_bytes());
        assert_eq!(report.duplicated, 0, "{line}");
        assert!(outage <= OUTAGE_MAX, "{line}");
        assert!(back.protected.saturating_sub(back.answered) <= PROTECTION_MAX, "{line}");
    }
}
