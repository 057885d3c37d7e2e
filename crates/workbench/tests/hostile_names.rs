//! Names come from peers, files and other machines. Whatever they contain, no output has a character that a terminal obeys
//! or that deceives its reader.

use linkmend_diagnose::is_printable;
use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Colours, a window title, a cleared screen by an 8-bit control, a reversed name, and one that is invisible.
const HOSTILE: &str = "leaf\u{1b}[31m\u{1b}]0;T\u{7}\u{9b}2J\u{202e}1\u{2066}\u{200b}\u{7f}";
/// What the outputs show in its place.
const SHOWN: &str = r"leaf\u001b[31m\u001b]0;T\u0007\u009b2J\u202e1\u2066\u200b\u007f";

fn linkmend(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"));
    command.current_dir(folder).args(arguments).env_remove("RUST_LOG").output().expect("it starts")
}

/// Fails if a text has a character that is not printable.
fn demand_harmless(what: &str, text: &[u8]) {
    let text = std::str::from_utf8(text).expect("UTF-8");
    let is_bad = |c: char| !is_printable(c) && c != '\n' && c != '\t';
    let bad: Vec<char> = text.chars().filter(|&c| is_bad(c)).collect();
    assert!(bad.is_empty(), "{what} has {bad:?}:\n{text:?}");
}

/// Runs a command whose outputs must show the name, or at least `word`, and nothing that harms.
fn demand(folder: &Path, word: &str, arguments: &[&str]) {
    let Output { stdout, stderr, .. } = linkmend(folder, arguments);
    demand_harmless(&format!("the output of {arguments:?}"), &stdout);
    demand_harmless(&format!("the errors of {arguments:?}"), &stderr);
    let all = String::from_utf8([stdout, stderr].concat()).expect("UTF-8");
    assert!(all.contains(word), "{arguments:?} does not show {word:?}:\n{all}");
}

/// A network file and reports of its links.
fn network(folder: &Path) {
    // Escaped as in JSON, which YAML reads as well.
    let name = format!("\"{SHOWN}\"");
    let rest = format!("{{name: s1, layer: 1, pod: {name}}}\n  - {{name: s2, layer: 1}}");
    let ports = format!("from_port: {name}, to_port: e1");
    let links = format!(
        "{{from: {name}, to: s1, speed: 10G}}\n  - {{from: {name}, to: s2, speed: 10G, {ports}, name: {name}}}"
    );
    let hosts = format!("{{name: {name}h, to: s2, port: {name}}}").replace("\"h", "h\"");
    let yaml = format!(
        "switches:\n  - {{name: {name}, layer: 0, pod: {name}}}\n  - {rest}\nlinks:\n  - {links}\nhosts:\n  - {hosts}\n"
    );
    fs::write(folder.join("network.yaml"), yaml).expect("written");
    fs::write(folder.join("links.csv"), format!("link,loss_rate\n{SHOWN}--s1,1e-3\n")).expect("written");
    fs::write(folder.join("strange.csv"), format!("link,loss_rate\n{HOSTILE}--s1,1e-3\n")).expect("written");
}

#[test]
fn plans_show_names_of_a_network_escaped_in_every_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    network(folder);
    let plan = ["fleet", "plan", "--topology", "network.yaml", "--links", "links.csv"];
    demand(folder, SHOWN, &plan);
    demand(folder, SHOWN, &[&plan[..], &["--html", "plan.html"]].concat());
    let page = fs::read(folder.join("plan.html")).expect("written");
    demand_harmless("the page", &page);
    assert!(String::from_utf8(page).expect("UTF-8").contains(SHOWN));
    let json = linkmend(folder, &[&plan[..], &["--json"]].concat()).stdout;
    demand_harmless("the JSON", &json);
    let value: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert!(value.to_string().contains("u202e"), "{value}");
    // A name that no link has is repeated in the error.
    demand(folder, r"\u202e", &["fleet", "plan", "--topology", "network.yaml", "--links", "strange.csv"]);
    demand(
        folder,
        r"\u202e",
        &["fleet", "plan", "--topology", "network.yaml", "--links", "links.csv", "--explain", HOSTILE],
    );
    let trace = ["fleet", "trace", "--topology", "network.yaml", "--days", "3000", "--out", "trace.csv"];
    demand(folder, "trace.csv", &trace);
    demand_harmless("the trace", &fs::read(folder.join("trace.csv")).expect("written"));
}

/// The tables, the JSON, and the page with its drawing, which is SVG.
#[test]
fn networks_are_shown_with_their_names_escaped_in_every_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    network(folder);
    // Columns are too narrow for the whole name.
    demand(folder, r"\u001b[31m", &["fleet", "show", "network.yaml"]);
    demand(folder, r"\\u202e", &["fleet", "show", "network.yaml", "--json", "--html", "show.html"]);
    let page = fs::read(folder.join("show.html")).expect("written");
    demand_harmless("the page", &page);
    let page = String::from_utf8(page).expect("UTF-8");
    let drawing =
        page.split_once("<svg").and_then(|(_, rest)| rest.split_once("</svg>")).expect("a drawing").0;
    assert!(drawing.contains(SHOWN), "{drawing}");
    // A port is found by the name that is shown.
    let link = format!("{SHOWN}:{SHOWN}");
    fs::write(folder.join("links.csv"), format!("link,loss_rate\n{link},1e-3\n")).expect("written");
    demand(folder, SHOWN, &["fleet", "plan", "--topology", "network.yaml", "--links", "links.csv"]);
}

#[test]
fn names_of_neighbours_are_shown_escaped() {
    let folder = tempfile::tempdir().expect("a folder");
    // Escaped as in JSON, which YAML reads as well.
    let name = format!("\"{SHOWN}\"");
    let port = r#""port": {"id": {"type": "ifname", "value": "e1"}}"#;
    let told = format!(
        r#"{{"lldp": {{"interface": [{{"eth9": {{"via": "LLDP", "chassis": {{{name}: {{}}}}, {port}}}}}]}}}}"#
    );
    fs::create_dir(folder.path().join("lldp")).expect("a folder");
    fs::write(folder.path().join("lldp/s1.json"), told).expect("written");
    fs::write(folder.path().join("links.csv"), "link,loss_rate\nnone,1e-3\n").expect("written");
    let layers = r#"layers: [{match: "s1", layer: 1}, {match: "leaf*", layer: 0}]"#;
    fs::write(folder.path().join("rules.yaml"), layers).expect("written");
    let plan = ["fleet", "plan", "--topology", "lldp", "--layers", "rules.yaml", "--links", "links.csv"];
    demand(folder.path(), r"leaf\u001b", &plan);
    demand(folder.path(), r"leaf\u001b", &[&plan[..], &["--default-speed", "10G"]].concat());
}

#[test]
fn ports_that_a_recording_or_an_argument_names_are_shown_escaped() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let counters = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/counters.csv"));
    let counters = counters.expect("readable").replace("eth2", HOSTILE);
    fs::write(folder.join("counters.csv"), counters).expect("written");
    demand(folder, r"\u202e", &["corruptd", "--agent", "leaf1", "--replay", "counters.csv"]);
    demand(folder, r"\u202e", &["corruptd", "status", "--control", HOSTILE]);
    demand(folder, r"\u202e", &["status", "--control", HOSTILE]);
    demand(folder, r"\u202e", &["run", "--inner", HOSTILE, "--link", "lo", "--check"]);
    fs::write(folder.join("bad.toml"), format!("[[link]]\nname = {:?}\n", "leaf\u{202e}1")).expect("written");
    demand(folder, "bad.toml", &["run", "--config", "bad.toml", "--check"]);
}

/// A process that ends with this.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A Redis of the test's own; `None` if there is none to be started, which is said.
fn redis(folder: &Path) -> Option<(Process, u16)> {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").port();
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]).current_dir(folder);
    let Ok(child) = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
        // Written past the harness, which keeps what passing tests print to itself.
        let text = "\n######## SKIPPED: what a bus says is shown escaped, needs redis-server ########\n";
        std::io::stderr().write_all(text.as_bytes()).expect("stderr");
        return None;
    };
    let process = Process(child);
    wait_for("the Redis", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    Some((process, port))
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what} took too long");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Writes names and texts that deceive wherever there is room for one.
fn deceive(connection: &mut redis::Connection) {
    let protection = r#"{"mode":"ordered","loss-rate":0.5,"target":1e-8,"copies":2}"#;
    let text = serde_json::to_string(HOSTILE).expect("a text");
    let request = |generation: u64, sender: &str| {
        format!(
            r#"{{"generation":{generation},"protection":{protection},"sender":"{sender}","alias":{text},"disable":true,"downstream-of":{text},"reason":{text}}}"#
        )
    };
    let done = format!(r#"{{"generation":7,"effect":"failed","error":{text},"boot":{text}}}"#);
    let mut calls = redis::pipe();
    let mut direction = |port: &str, version: &str, request: &str| {
        let key = format!("{{linkmend}}:direction:{port}");
        let fields = ["version", version, "request", request, "request-generation", "7"];
        calls.cmd("HSET").arg(&key).arg(&fields).ignore();
        let fields = ["acknowledgement", &done, "acknowledgement-generation", "7", "request-seal", HOSTILE];
        calls.cmd("HSET").arg(&key).arg(&fields).ignore();
        calls.cmd("SADD").arg("{linkmend}:directions").arg(port).ignore();
    };
    direction("leaf1/eth0", "1", &request(7, "spine1/eth0"));
    direction("spine1/eth0", "1", &request(7, "leaf1/eth0"));
    direction("spine2/eth0", "1", &request(7, "leaf1/eth9"));
    direction("spine3/eth0", HOSTILE, "{}");
    direction("spine4/eth0", "1", HOSTILE);
    direction(HOSTILE, "1", &request(7, "leaf1/eth0"));
    for name in [HOSTILE, "leaf2"] {
        calls.cmd("SADD").arg("{linkmend}:speakers").arg(name).ignore();
        calls.cmd("SET").arg(format!("{{linkmend}}:findings:{name}")).arg(HOSTILE).ignore();
        calls.cmd("XADD").arg("{linkmend}:events").arg("*").arg("port").arg(name).ignore();
    }
    calls.cmd("SET").arg("{linkmend}:agent:leaf2").arg(format!("{HOSTILE} 1 {HOSTILE} {HOSTILE}")).ignore();
    calls.exec(connection).expect("written");
}

#[test]
fn what_anyone_writes_to_a_bus_is_shown_escaped() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let Some((_redis, port)) = redis(folder.path()) else { return };
    let url = format!("redis://127.0.0.1:{port}");
    let mut by_hand =
        redis::Client::open(url.as_str()).expect("an address").get_connection().expect("it listens");
    deceive(&mut by_hand);
    network(folder.path());
    fs::write(path("keys"), format!("* {}\n", "5a".repeat(32))).expect("written");
    fs::set_permissions(path("keys"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("it is ours");
    // Nobody listens at port 1, so that nothing is counted.
    let usual = ["corruptd", "--source", "prometheus", "--prometheus", "http://127.0.0.1:1", "--redis", &url];
    let keys = path("keys");
    // With keys last, which takes out what nobody has sealed.
    for (agent, with_keys) in [("leaf1", false), ("leaf2", false), ("leaf1", true)] {
        let (control, audit, plan) = (path("socket"), path("audit"), path("plan"));
        let _ = fs::remove_file(&control);
        let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"));
        command.args(usual).args(["--agent", agent, "--cable", "eth0=spine1/eth0"]);
        command.args([
            "--control",
            &control,
            "--audit",
            &audit,
            "--plan-topology",
            "network.yaml",
            "--plan-state",
            &plan,
        ]);
        if with_keys {
            command.args(["--redis-keys", &keys]);
        }
        let log = fs::File::create(path("log")).expect("a log");
        command.current_dir(folder.path()).env("RUST_LOG", "debug").stdout(Stdio::null()).stderr(log);
        let daemon = Process(command.spawn().expect("it starts"));
        let status = || linkmend(folder.path(), &["corruptd", "status", "--all", "--control", &control]);
        // What it has read, it shows; and with keys, that somebody wrote there.
        let word = if with_keys { "ignoring" } else { r"\u202e" };
        let shown = |word: &str| {
            let text = String::from_utf8(status().stdout).expect("UTF-8")
                + &fs::read_to_string(path("log")).expect("a log");
            text.contains(word)
        };
        wait_for("showing what the bus says", || shown(word));
        demand_harmless("the status", &status().stdout);
        for more in ["--json", "--all"] {
            let Output { stdout, stderr, .. } =
                linkmend(folder.path(), &["corruptd", "status", more, "--control", &control]);
            demand_harmless("the status", &stdout);
            demand_harmless("its errors", &stderr);
        }
        let plan = ["fleet", "plan", "--topology", "network.yaml", "--corruptd", &control];
        let Output { stdout, stderr, .. } = linkmend(folder.path(), &plan);
        demand_harmless("the plan", &stdout);
        demand_harmless("its errors", &stderr);
        drop(daemon);
        demand_harmless("the log", &fs::read(path("log")).expect("a log"));
        demand_harmless("the audit", &fs::read(&audit).unwrap_or_default());
    }
}
