//! Names come from peers, files and other machines. Whatever they contain, no output has a character that a terminal obeys
//! or that deceives its reader.

use linkmend_diagnose::is_printable;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Colours, a window title, a cleared screen by an 8-bit control, a reversed name, and one that is invisible.
const HOSTILE: &str = "leaf\u{1b}[31m\u{1b}]0;T\u{7}\u{9b}2J\u{202e}1\u{2066}\u{200b}\u{7f}";
/// What the outputs show in its place.
const SHOWN: &str = r"leaf\u001b[31m\u001b]0;T\u0007\u009b2J\u202e1\u2066\u200b\u007f";

fn linkmend(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend"));
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
    demand(folder, SHOWN, &["fleet", "show", "network.yaml"]);
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
