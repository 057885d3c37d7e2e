//! `linkmend lab up --backup`: the real program over two links, of which one is cut, and daemons that are killed meanwhile.

use std::process::Command;
use std::time::{Duration, Instant};

use linkmend_lab::generator::{GeneratorOptions, GeneratorReport, generate};
use linkmend_lab::noise::{Disturbance, NoiseWatch, Watch};
use linkmend_lab::{Cut, Direction, FramePath, Lab, Path, RunControl};

const PATIENCE: Duration = Duration::from_secs(15);
/// Frames per second beside killed daemons.
const RATE: u32 = 5_000;
/// Longer than a processor is held up on a machine that does nothing else.
const HELD_UP: Duration = Duration::from_millis(1);

/// A laboratory with two links that is taken down even if the test fails.
struct Laboratory(String);

impl Laboratory {
    /// `None`, with a message, without root.
    fn up(test: &str, name: &str, options: &str) -> Option<Laboratory> {
        if !linkmend_lab::unprivileged::has_capabilities() {
            eprintln!("\n######## SKIPPED: {test} needs root: sudo -E make test ########\n");
            return None;
        }
        let lab = Laboratory(format!("{name}{}", std::process::id()));
        lab.say(&format!("up {options}"));
        Some(lab)
    }

    /// Returns the exit code, and the output of both streams.
    fn ask(&self, arguments: &str) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"));
        command.args(["lab", "--prefix", &self.0]).args(arguments.split_whitespace());
        let output = command.env_remove("RUST_LOG").output().expect("it starts");
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code(), said.concat())
    }

    /// Asks for something that must succeed.
    fn say(&self, arguments: &str) -> String {
        let (code, said) = self.ask(arguments);
        assert_eq!(code, Some(0), "lab {arguments}: {said}\n{}", self.logs());
        said
    }

    fn logs(&self) -> String {
        let log =
            |end| std::fs::read_to_string(format!("/run/linkmend/{}-{end}.log", self.0)).unwrap_or_default();
        format!("g1:\n{}\ng2:\n{}", log("g1"), log("g2"))
    }

    fn attach(&self) -> Lab {
        Lab::attach(&self.0).expect("it is up")
    }

    /// The reports of both ends.
    fn reports(&self) -> Vec<serde_json::Value> {
        serde_json::from_str(&self.say("status --json")).expect("JSON")
    }

    fn wait_for(&self, what: &str, reached: impl Fn(&[serde_json::Value]) -> bool) {
        let begun = Instant::now();
        while !reached(&self.reports()) {
            assert!(begun.elapsed() < PATIENCE, "{what}: {:#?}\n{}", self.reports(), self.logs());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn wait_for_link(&self, link: Path) {
        self.wait_for(&format!("both use the {link}"), |reports| {
            reports.iter().all(|report| report["failover"]["active"] == link.to_string().as_str())
        });
    }

    fn protect(&self) {
        self.say("protect --both");
        self.wait_for("both directions are protected", |reports| {
            reports.iter().all(|report| report["transmit_state"] == "active")
        });
    }

    /// The daemon of a link end.
    fn daemon(&self, end: &str) -> String {
        let name = format!("{}-{end}", self.0);
        let pids = Command::new("ip").args(["netns", "pids", &name]).output().expect("ip runs");
        let pids = String::from_utf8_lossy(&pids.stdout).into_owned();
        let pid = pids.split_whitespace().next().unwrap_or_else(|| panic!("no daemon in {name}"));
        pid.to_owned()
    }
}

impl Drop for Laboratory {
    fn drop(&mut self) {
        self.ask("down");
    }
}

fn send(lab: &Lab, options: &GeneratorOptions) -> GeneratorReport {
    generate(&FramePath::forward(lab), options, &RunControl::default()).expect("the generator runs")
}

fn frames(count: u64) -> GeneratorOptions {
    GeneratorOptions { count, frame_bytes: 300, drain: Duration::from_secs(2), ..GeneratorOptions::default() }
}

#[test]
fn cuts_are_made_shown_and_mended_and_wrong_ones_are_explained() {
    let test = "cuts_are_made_shown_and_mended_and_wrong_ones_are_explained";
    let Some(lab) = Laboratory::up(test, "tfc", "--backup --backup-rate 100M --backup-delay 2ms") else {
        return;
    };
    assert!(lab.say("status").contains("second link: 100 Mbit/s, 2 ms each way on the link"));
    assert!(lab.say("cut primary").contains("primary  cut: no carrier\nbackup   whole\n"));
    lab.wait_for_link(Path::Backup);
    assert!(lab.say("status").contains("primary  cut: no carrier"));
    let said = lab.say("cut backup --silent --direction left-right");
    assert!(said.contains("backup   cut: silently, from left to right"), "{said}");
    lab.say("mend backup");
    assert!(lab.say("mend primary").contains("primary  whole\nbackup   whole\n"));
    lab.wait_for_link(Path::Primary);
    for (wrong, words) in [
        ("cut", "primary|backup"),
        ("cut third", "third"),
        ("cut primary --direction left-right", "--silent"),
        ("cut primary --silent --direction up", "up"),
    ] {
        let (code, said) = lab.ask(wrong);
        assert!(code == Some(2) && said.contains(words), "{wrong}: {said}");
    }
    lab.say("down");
    let (code, said) = lab.ask("cut primary");
    assert!(code == Some(1) && said.contains("is not running"), "{said}");
    let (code, said) = lab.ask("up --backup-rate 100M");
    assert!(code == Some(2) && said.contains("--backup"), "{said}");
    let (code, said) = lab.ask("up --backup --backup-delay 3s");
    assert!(code == Some(1) && said.contains("backup delay = 3 s"), "{said}");
    lab.say("up");
    let (code, said) = lab.ask("cut primary");
    assert!(code == Some(1) && said.contains("has only one link") && said.contains("--backup"), "{said}");
}

/// By how many frames one may be late because of the machine. Behind a veth, a frame waits at the processor that sent it. Where no
/// session restores the order, which begins and ends here, a processor that is held up lets those overtake that others send
/// meanwhile.
fn late_most(noise: &Disturbance) -> u64 {
    let held_up =
        Duration::from_nanos(noise.worst_wakeup_ns.max(noise.worst_thread_ns).max(noise.worst_loop_ns));
    if held_up < HELD_UP { 0 } else { (held_up.as_secs_f64() * f64::from(RATE)) as u64 }
}

/// What a daemon held when it was killed is lost with it. Nothing may come twice or out of order, frames pass without it, and
/// after its return nothing is lost any more.
#[test]
fn a_daemon_that_is_killed_during_a_cut_and_started_again_takes_part_again() {
    let test = "a_daemon_that_is_killed_during_a_cut_and_started_again_takes_part_again";
    let Some(laboratory) = Laboratory::up(test, "tfk", "--backup") else { return };
    let lab = laboratory.attach();
    let mut watch = NoiseWatch::start();
    for (end, cut) in [
        ("g1", Cut::Carrier),
        ("g2", Cut::Carrier),
        ("g1", Cut::Silent(Direction::Both)),
        ("g2", Cut::Silent(Direction::Both)),
    ] {
        let what = format!("{end} killed, {cut}");
        laboratory.protect();
        let steady = GeneratorOptions {
            duration: Some(Duration::from_secs(5)),
            frames_per_second: Some(RATE),
            ..frames(u64::MAX)
        };
        watch.begin();
        let report = std::thread::scope(|scope| {
            let sending = scope.spawn(|| send(&lab, &steady));
            std::thread::sleep(Duration::from_millis(500));
            lab.cut(Path::Primary, cut).expect("it is cut");
            std::thread::sleep(Duration::from_millis(15));
            let killed = Command::new("kill").args(["-9", &laboratory.daemon(end)]).status();
            assert!(killed.is_ok_and(|status| status.success()), "{what}");
            std::thread::sleep(Duration::from_millis(800));
            laboratory.say("up --backup");
            laboratory.protect();
            lab.mend(Path::Primary).expect("it is mended");
            sending.join().expect("no panic")
        });
        let noise = watch.end();
        eprintln!(
            "{what}: sent {}, lost {}, reordered {}, by {} at most, {noise:?}",
            report.sent, report.lost, report.reordered, report.reordering_extent
        );
        assert_eq!((report.duplicated, report.corrupted), (0, 0), "{what}: {report:?}");
        assert!(report.reordering_extent <= late_most(&noise), "{what}: {noise:?}, {report:?}");
        laboratory.wait_for_link(Path::Primary);
        let report = send(&lab, &frames(20_000));
        let counts = (report.sent, report.lost_on_path(), report.duplicated, report.reordered);
        assert_eq!(counts, (20_000, 0, 0, 0), "{what}, afterwards: {report:?}\n{}", laboratory.logs());
    }
}
