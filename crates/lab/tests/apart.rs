//! `scripts/apart`, in which `make acceptance` runs: its network namespaces end with it, however it ends.

mod common;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long the script may take to end what it has started.
const PATIENCE: Duration = Duration::from_secs(20);

/// Makes a namespace, and starts a program in it that has a session of its own, as those of a laboratory have a group.
const WITHIN: &str =
    "ip netns add $0 && { setsid ip netns exec $0 sleep 987 & }; ip netns list; echo made; sleep 987";

fn is_there(name: &str) -> bool {
    let list = Command::new("ip").args(["netns", "list"]).output().expect("iproute2");
    String::from_utf8_lossy(&list.stdout).contains(name)
}

/// Whether a process has this variable in its environment, whatever it has become.
fn is_running(variable: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("a process file system");
    let environments =
        processes.flatten().filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    environments
        .into_iter()
        .any(|environment| environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes()))
}

#[test]
fn namespaces_and_programs_end_with_it_also_after_a_signal() {
    if !common::privileged("namespaces_and_programs_end_with_it_also_after_a_signal") {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/apart");
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let name = format!("t{}-apart-{signal}", std::process::id());
        // Whoever runs the test may ignore signals, as `nohup` does, and programs inherit that.
        let mut command = Command::new("env");
        command.arg("--default-signal").arg(&script).args(["bash", "-c", WITHIN, &name]);
        command.env("LINKMEND_APART_TEST", &name);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let said: Vec<String> = BufReader::new(child.stdout.take().expect("a pipe"))
            .lines()
            .map_while(Result::ok)
            .take_while(|line| line != "made")
            .collect();
        assert!(said.iter().any(|line| line.starts_with(&name)), "it is made inside: {said:?}");
        assert!(!is_there(&name), "and not seen outside");
        let begun = Instant::now();
        let kill = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
        assert!(kill.expect("it starts").success());
        assert_eq!(child.wait().expect("it ends").code(), Some(code), "{signal}");
        assert!(begun.elapsed() < PATIENCE, "{signal}: {:?}", begun.elapsed());
        assert!(!is_there(&name) && !is_running(&format!("LINKMEND_APART_TEST={name}")), "{signal}");
    }
}

#[test]
fn its_exit_code_is_that_of_the_command() {
    if !common::privileged("its_exit_code_is_that_of_the_command") {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/apart");
    for code in [0, 3] {
        let status = Command::new(&script).args(["sh", "-c", &format!("exit {code}")]).status();
        assert_eq!(status.expect("it starts").code(), Some(code));
    }
}
