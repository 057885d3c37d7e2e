//! `linkmend lab` with a rate and delays: the real program, its daemons and its delay lines.

use std::process::Command;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(15);

/// A lab that is taken down even if the test fails.
struct Laboratory(String);

impl Laboratory {
    /// Returns the exit code, and the output of both streams.
    fn ask(&self, arguments: &str) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"));
        command.args(["lab", "--prefix", &self.0]).args(arguments.split_whitespace());
        let output = command.env_remove("RUST_LOG").output().expect("it starts");
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code(), said.concat())
    }
}

impl Drop for Laboratory {
    fn drop(&mut self) {
        self.ask("down");
    }
}

/// Protects the direction and sends some frames, so that round trips are measured.
fn protect_and_ping(lab: &Laboratory) {
    let (code, said) = lab.ask("protect");
    assert_eq!(code, Some(0), "{said}");
    wait_for_line(lab, "protection is active");
    let ping = format!("netns exec {}-h1 ping -q -c 20 -i 0.05 10.77.0.2", lab.0);
    let ping = Command::new("ip").args(ping.split(' ')).output().expect("ping");
    assert!(ping.status.success(), "{ping:?}");
}

/// Waits until the log of an end contains these words, and returns that line.
fn wait_for_line(lab: &Laboratory, words: &str) -> String {
    let path = format!("/run/linkmend/{}-g1.log", lab.0);
    let begun = Instant::now();
    loop {
        let log = std::fs::read_to_string(&path).unwrap_or_default();
        if let Some(line) = log.lines().find(|line| line.contains(words)) {
            return line.to_owned();
        }
        assert!(begun.elapsed() < PATIENCE, "`{words}` is not said: {log}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The log must use the configuration's keys and units, not the protocol's names and nanoseconds, and the peer timeout
/// must follow from the link's length.
#[test]
fn over_100_ms_at_a_gigabit_the_log_says_what_to_set_and_the_peer_timeout_is_longer() {
    if !linkmend_lab::unprivileged::has_capabilities() {
        eprintln!("\n######## SKIPPED: a_gigabit_over_100_ms needs root: sudo -E make test ########\n");
        return;
    }
    let lab = Laboratory(format!("tf{}", std::process::id()));
    let (code, said) = lab.ask("up --rate 1G --link-delay 50ms");
    assert_eq!(code, Some(0), "{said}");
    protect_and_ping(&lab);
    let derived = wait_for_line(&lab, "derived parameters");
    let timeout = derived.split("peer_timeout_ms=").nth(1).and_then(|rest| rest.split(' ').next());
    let timeout: u64 = timeout.and_then(|ms| ms.parse().ok()).unwrap_or_else(|| panic!("{derived}"));
    assert!((500..700).contains(&timeout), "400 ms and a round trip: {derived}");
    let warning = wait_for_line(&lab, "the link carries at most");
    for words in ["WARN", "parameters.window = 4096, but", "round trip of 10", "hint: set `pool` to "] {
        assert!(warning.contains(words), "{words}: {warning}");
    }
    let (_, status) = lab.ask("status");
    assert!(status.contains("active: ordered"), "{status}");
    // There is no message for a short link.
    lab.ask("down");
    let (code, said) = lab.ask("up --rate 1G --delay 5ms --link-delay 100us");
    assert_eq!(code, Some(0), "{said}");
    protect_and_ping(&lab);
    wait_for_line(&lab, "derived parameters");
    let log = std::fs::read_to_string(format!("/run/linkmend/{}-g1.log", lab.0)).expect("a log");
    assert!(!log.contains("carries at most"), "{log}");
}

/// The default queue, which is one round trip, must not be smaller than the daemon's ECN threshold, or the daemon
/// refuses to start.
#[test]
fn a_short_link_with_a_rate_comes_up_though_its_queue_is_smaller_than_the_usual_ecn_threshold() {
    if !linkmend_lab::unprivileged::has_capabilities() {
        eprintln!("\n######## SKIPPED: a_short_link_with_a_rate needs root: sudo -E make test ########\n");
        return;
    }
    let lab = Laboratory(format!("ts{}", std::process::id()));
    for impairments in ["--rate 1G --link-delay 100us", "--rate 1G"] {
        let (code, said) = lab.ask(&format!("up {impairments}"));
        assert_eq!(code, Some(0), "{impairments}: {said}");
        lab.ask("down");
    }
}

#[test]
fn a_lab_keeps_its_delays_and_shows_them_in_its_status() {
    if !linkmend_lab::unprivileged::has_capabilities() {
        eprintln!("\n######## SKIPPED: a_lab_keeps_its_delays needs root: sudo -E make test ########\n");
        return;
    }
    let lab = Laboratory(format!("ti{}", std::process::id()));
    let (code, said) = lab.ask("up --rate 100M --delay 5ms --link-delay 100us");
    assert_eq!(code, Some(0), "{said}");
    let host = format!("{}-h1", lab.0);
    let mut ping = Command::new("ip");
    ping.args(["netns", "exec", &host, "ping", "-q", "-c", "10", "-i", "0.05", "10.77.0.2"]);
    let ping = ping.output().expect("ping");
    let ping = String::from_utf8_lossy(&ping.stdout).into_owned();
    let least = ping.split("mdev = ").nth(1).and_then(|times| times.split('/').next());
    let least: f64 = least.and_then(|time| time.parse().ok()).unwrap_or_else(|| panic!("{ping}"));
    assert!((10.2..20.0).contains(&least), "{ping}");
    let (_, status) = lab.ask("status");
    for wanted in [
        "impairments: 100 Mbit/s, 5 ms each way",
        "100 µs each way on the link; queue limit 128 kB",
        "host1 to end1",
    ] {
        assert!(status.contains(wanted), "{wanted}: {status}");
    }
    // The report must be fresh: an old one would say that nothing has passed.
    let line = status.lines().find(|line| line.contains("host1 to end1")).unwrap_or_default();
    let frames: Option<u64> = line.split_whitespace().rev().nth(1).and_then(|number| number.parse().ok());
    assert!(frames.is_some_and(|frames| frames >= 10), "{status}");
    let (code, said) = lab.ask("down");
    assert_eq!((code, said.trim()), (Some(0), "the lab has been removed"));
    let (code, said) = lab.ask("up --queue 1MiB");
    assert!(code == Some(2) && said.contains("--rate"), "{said}");
    let (code, said) = lab.ask("up --delay 3s");
    assert!(code == Some(1) && said.contains("delay = 3 s"), "{said}");
}
