//! The second implementation of the protocol, `examples/wire`, which was written from the specification: its frames are
//! the test vectors, and it protects a link together with the daemon. The second test needs root and iproute2.

mod daemon_lab;

use daemon_lab::{Lab, Namespace, PATIENCE, ip};
use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const FRAMES: u32 = 2_000;
/// Seconds for frames that take one second on an idle machine.
const FRAMES_TIMEOUT_S: u32 = 60;

fn script(name: &str) -> String {
    format!("{}/../../examples/wire/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn python(namespace: &str, name: &str, arguments: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, "python3", "-B", &script(name)]);
    command.args(arguments.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn python_writes_and_reads_the_test_vectors() {
    let output = Command::new("python3").args(["-B", &script("vectors.py")]).output().expect("python3");
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("23 vectors agree"), "{said}");
}

/// A link end in Python, stopped when dropped.
struct PythonEnd(Child);

impl PythonEnd {
    fn start(lab: &Lab, options: &str) -> PythonEnd {
        let log = File::create(lab.log("python")).expect("a log");
        let errors = log.try_clone().expect("a log");
        let mut command = python(&lab.right, "link_end.py", &format!("--inner inner --link l0 {options}"));
        PythonEnd(command.stdout(log).stderr(errors).spawn().expect("python3"))
    }

    fn stop(&mut self) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").arg(id).status().is_ok_and(|status| status.success()));
        assert!(self.0.wait().expect("it ends").success());
    }
}

impl Drop for PythonEnd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Gives the host of a link end a namespace of its own, joined with the end's interface `inner`.
fn add_host(end: &str, name: &str) -> Namespace {
    let host = Namespace::new(name);
    for arguments in [
        format!("link add inner netns {end} type veth peer name host netns {}", host.0),
        format!("-n {end} link set inner up"),
        format!("-n {} link set host up", host.0),
    ] {
        assert!(ip(&arguments), "{arguments}");
    }
    host
}

fn wait_until(lab: &Lab, what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        let logs = [lab.read_log("daemon"), lab.read_log("python")].join("\n");
        assert!(begun.elapsed() < PATIENCE, "{what}: {logs}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn exchange(mode: &str) {
    let Some(mut lab) = Lab::new(&format!("py{mode}")) else { return };
    let (left, right) = (lab.left.clone(), lab.right.clone());
    let hosts = [add_host(&left, &format!("py{mode}-h")), add_host(&right, &format!("py{mode}-i"))];
    let link = "[[link]]\nname = \"daemon\"\ninner = \"inner\"\nlink = \"l0\"\nports = \"packet\"";
    lab.start_configured(&left, "daemon", &format!("{link}\n[link.protect]\nmode = \"{mode}\"\n"));
    let mut end = PythonEnd::start(&lab, &format!("--loss 1e-2 --seed 7 --mode {mode}"));
    wait_until(&lab, "protection begins in both directions", || {
        let status = lab.status("daemon");
        status.contains(&format!("active: {mode}")) && status.contains("receiving    active")
    });
    let numbered = format!("host {FRAMES} {FRAMES_TIMEOUT_S}");
    let running =
        hosts.each_ref().map(|host| python(&host.0, "numbered.py", &numbered).spawn().expect("python3"));
    let ordered = if mode == "ordered" { r#""in_order": true"# } else { "" };
    for child in running {
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let wanted = format!(r#""sent": {FRAMES}, "received": {FRAMES}, "missing": 0, "duplicates": 0"#);
        let logs = [lab.read_log("daemon"), lab.status("daemon")].join("\n");
        assert!(said.contains(&wanted) && said.contains(ordered), "{said}\n{logs}");
    }
    let status = lab.status("daemon");
    assert!(
        status.contains(&format!("active: {mode}")) && status.contains("loss after   none of 2,0"),
        "{status}"
    );
    end.stop();
    lab.wait_for_log("daemon", "it was switched off");
    let counts = lab.read_log("python");
    for count in ["\"copies_sent\": 0", "\"copies_received\": 0", "\"lost_on_purpose\": 0"] {
        assert!(
            counts.contains(&count[..count.len() - 1]) && !counts.contains(&format!("{count},")),
            "{counts}"
        );
    }
}

#[test]
fn python_and_the_daemon_lose_no_frame() {
    for mode in ["ordered", "non-blocking"] {
        exchange(mode);
    }
}
