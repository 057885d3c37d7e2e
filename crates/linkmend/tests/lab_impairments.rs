//! `linkmend lab` with a rate and delays: the real program, its daemons and its delay lines.

use std::process::Command;

/// A laboratory that is taken down whatever becomes of the test.
struct Laboratory(String);

impl Laboratory {
    /// Exit code, and what was said on either stream.
    fn ask(&self, arguments: &str) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend"));
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

#[test]
fn a_laboratory_keeps_its_delays_and_shows_them_in_its_status() {
    if !linkmend_lab::unprivileged::has_capabilities() {
        eprintln!(
            "\n######## SKIPPED: a_laboratory_keeps_its_delays needs root: sudo -E make test ########\n"
        );
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
    for wanted in ["impairments: 100 Mbit/s, 5ms each way", "100µs each way on the link", "host1 to end1"] {
        assert!(status.contains(wanted), "{wanted}: {status}");
    }
    let (code, said) = lab.ask("down");
    assert_eq!((code, said.trim()), (Some(0), "the laboratory is gone"));
    let (code, said) = lab.ask("up --queue 1MiB");
    assert!(code == Some(2) && said.contains("--rate"), "{said}");
    let (code, said) = lab.ask("up --delay 3s");
    assert!(code == Some(1) && said.contains("delay = 3s"), "{said}");
}
