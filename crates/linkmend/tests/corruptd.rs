//! `linkmend corruptd` as users meet it.

mod corruptd_source;
mod program;
mod remembering;

use corruptd_source::Counting;
use remembering::{Remembering, network, request};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Three ports polled every second: one healthy, one that corrupts for five minutes, one with a single corrupted frame.
fn recording(folder: &Path) -> String {
    let mut text = "time_s,port,good_frames,corrupted_frames\n".to_owned();
    let mut corrupted = [0, 0, 0];
    for second in 0_u64..1_200 {
        corrupted[1] += 25 * u64::from((100..400).contains(&second));
        corrupted[2] += u64::from(second == 50);
        for (port, corrupted) in corrupted.iter().enumerate() {
            let good = second * 25_000 - corrupted;
            writeln!(text, "{second},eth{port},{good},{corrupted}").expect("a text");
        }
    }
    let path = folder.join("counters.csv");
    std::fs::write(&path, text).expect("written");
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_recording_is_decided_about() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = recording(folder.path());
    let arguments = ["corruptd", "--agent", "leaf1", "--replay", &recording];
    let (code, said, log) = program::run(&arguments);
    assert_eq!(code, 0, "{log}");
    let lines: Vec<&str> = said.lines().map(str::trim_start).collect();
    let line = |beginning: &str| lines.iter().any(|line| line.starts_with(beginning));
    assert!(
        line("101.0 s  leaf1/eth1: suspect -> corrupting: 50 of 50000 frames corrupted (1.0e-3)"),
        "{said}"
    );
    assert!(line("101.0 s  leaf1/eth1: requests protection, ordered, copies 2: loss rate 1.0e-3"), "{said}");
    assert!(line("999.0 s  leaf1/eth1: corrupting -> healthy"), "{said}");
    assert!(line("50.0 s  leaf1/eth2: healthy -> suspect: 1 of 25000 frames"), "{said}");
    assert!(line("3 ports, 3 healthy"), "{said}");
    // The same for programs: one object a line.
    let (_, said, _) = program::run(&[&arguments[..], &["--json"]].concat());
    let requests: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|line| line["kind"] == "request")
        .collect();
    assert_eq!(requests.len(), 2, "{said}");
    assert_eq!((&requests[0]["protection"]["copies"], &requests[1]["protection"]), (&2.into(), &Value::Null));
}

#[test]
fn settings_decide_when() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = recording(folder.path());
    let (_, said, _) = program::run(&["corruptd", "--replay", &recording, "--activate", "1e-2"]);
    assert!(!said.contains("asks for"), "1e-3 is less than 1e-2: {said}");
    let (_, said, _) = program::run(&["corruptd", "--replay", &recording, "--hold-down", "20s"]);
    assert!(said.contains("419.0 s") && said.contains("corrupting -> healthy"), "{said}");
    let (_, said, _) =
        program::run(&["corruptd", "--replay", &recording, "--disable", "1e-4", "--mode", "non-blocking"]);
    assert!(
        said.contains("severe") && said.contains("non-blocking") && said.contains("should be disabled"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_used_is_refused_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let wrong_key = file("key.toml", "agent = \"a\"\nhold-down = \"5s\"\n");
    let wrong_value = file("value.toml", "[detection]\nactivate = 2\n");
    let contradiction = file("cables.toml", "cable = [\"a=b\", \"a=c\"]\n");
    let backwards = file("back.csv", "time_s,port,good_frames,corrupted_frames\n1,a,1,0\n0,a,2,0\n");
    for (arguments, code, part) in [
        (&["--config", &wrong_key][..], 2, "key.toml, line 2: unknown field `hold-down`"),
        (&["--config", &wrong_value], 2, "value.toml, line 2"),
        (&["--config", &contradiction], 2, "cables.toml"),
        (&["--config", &wrong_key, "--poll", "1s"], 2, "--poll cannot be used with --config"),
        (&["--config", "/nowhere/at/all.toml"], 1, "/nowhere/at/all.toml"),
        (&["--replay", &backwards], 2, "line 3: 0 s comes after 1 s"),
        (&["--replay", "/nowhere/at/all.csv"], 1, "/nowhere/at/all.csv"),
        (&["--poll", "1ms", "--check"], 2, "poll = 1ms: must be 100ms to 1h"),
        (&["--cable", "a=a", "--check"], 2, "is connected to itself"),
        (&["--cable", "a", "--check"], 2, "`a` is not a cable"),
        (&["--activate", "0", "--check"], 2, "activate = 0"),
        (
            &["status", "--control", "/nowhere/corruptd.socket"],
            1,
            "no corruptd is responding at /nowhere/corruptd.socket",
        ),
    ] {
        let (exit, said, log) = program::run(&[&["corruptd"], arguments].concat());
        assert!(exit == code && log.contains(part), "{arguments:?}: {exit}: {said}{log}");
    }
}

#[test]
fn a_checked_configuration_is_printed_as_it_could_be_written() {
    let arguments =
        ["corruptd", "--check", "--agent", "leaf1", "--cable", "up=spine1/eth0", "--hold-down", "5s"];
    let (code, said, log) = program::run(&arguments);
    assert_eq!(code, 0, "{log}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("corruptd.toml");
    std::fs::write(&path, &said).expect("written");
    let (code, again, log) =
        program::run(&["corruptd", "--check", "--config", path.to_str().expect("UTF-8")]);
    assert_eq!((code, again), (0, said), "{log}");
}

/// A program that writes down what it is told. Were this process to write it, a child of another test could still have it open,
/// and it could not be run (ETXTBSY).
fn hook(folder: &Path) -> (String, String) {
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let (hook, told) = (path("hook"), path("told"));
    let script =
        format!("#!/bin/sh\\necho $LINKMEND_ACTION $LINKMEND_PORTS $LINKMEND_LOSS_RATE >> {told}\\n");
    let mut writer = std::process::Command::new("sh");
    writer.args(["-c", "printf \"$1\" > \"$0\" && chmod +x \"$0\"", &hook, &script]);
    assert!(writer.status().expect("there is a shell").success());
    (hook, told)
}

/// What an audit file says of plans, without links about which nothing is decided yet.
fn plans(audit: &str) -> Vec<Value> {
    let lines = std::fs::read_to_string(audit).unwrap_or_default();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter(|line| line["kind"] == "plan" && line["verdict"] != "unsure").collect()
}

/// A dry run had the hook run, and wrote down that the link was disabled.
#[test]
fn a_dry_run_runs_no_hook_and_writes_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let network = network(folder.path());
    let (hook, told) = hook(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (audit, memory, state) = (path("audit"), path("made/plan.json"), path("state.json"));
    let plan =
        ["--plan-topology", &network, "--plan-state", &memory, "--audit", &audit, "--disable-after", "0s"];
    let dry = [
        &plan[..],
        &["--disable-hook", &hook, "--dry-run", "--cable", "eth4=spine4/eth0", "--cable", "eth2=spine2/eth0"],
    ]
    .concat();
    // What another agent asks for is not done, either.
    let directions = serde_json::json!({
        "leaf1/eth2": request("spine2/eth0", 1e-2),
        "spine4/eth0": request("leaf1/eth4", 1e-5),
    });
    let counting = Counting::start(&[("eth2", 1e-2)]);
    let daemon = Remembering::counting(folder.path(), &directions, &counting.url, &dry);
    let before = std::fs::read_to_string(&state).expect("it is there");
    let begun = std::time::Instant::now();
    let disabled = || plans(&audit).into_iter().find(|line| line["verdict"] == "disabled");
    while disabled().is_none() {
        assert!(begun.elapsed().as_secs() < 20, "nothing was disabled");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let (_, said, _) = program::run(&["corruptd", "status", "--control", &daemon.socket]);
    assert!(said.contains("dry run: no changes are made") && said.contains("would be done"), "{said}");
    assert!(said.contains("WOULD BE DISABLED"), "{said}");
    drop(daemon);
    let line = disabled().expect("as before");
    let text = line["text"].as_str().expect("a text");
    assert!(text.contains("would be disabled") && line["dry_run"] == true, "{text}");
    assert_eq!(std::fs::read_to_string(&state).expect("it is there"), before);
    for made in [&told, &memory, &path("made")] {
        assert!(!Path::new(made).exists(), "{made}");
    }
}

/// An agent that has been restarted must find by its own counters that a link corrupts, and here nothing can be read.
#[test]
fn what_was_asked_for_before_a_restart_is_not_enough_to_disable_a_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let network = network(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (hook, told) = hook(folder.path());
    let (audit, memory) = (path("audit"), path("plan.json"));
    let plan = ["--plan-topology", &network, "--plan-state", &memory, "--audit", &audit];
    let may_disable = [&plan[..], &["--disable-hook", &hook, "--disable-after", "0s"]].concat();
    let directions = serde_json::json!({ "leaf1/eth2": request("spine2/eth0", 1e-2) });
    let _silent = Remembering::start(folder.path(), &directions, &may_disable);
    let audited = || std::fs::read_to_string(&audit).unwrap_or_default();
    let begun = std::time::Instant::now();
    while !audited().contains("is not disabled: no agent currently reports") {
        assert!(begun.elapsed().as_secs() < 20, "{}", audited());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert!(plans(&audit).is_empty() && !Path::new(&told).exists(), "{}", audited());
}

#[test]
fn links_that_the_network_can_spare_are_disabled_once_if_that_is_allowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let network = network(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (hook, told) = hook(folder.path());
    let (audit, memory) = (path("audit"), path("plan.json"));
    let plan = ["--plan-topology", &network, "--plan-state", &memory, "--audit", &audit];
    let may_disable = [&plan[..], &["--disable-hook", &hook, "--disable-after", "0s"]].concat();
    let both = serde_json::json!({
        "leaf1/eth1": request("spine1/eth0", 1e-5),
        "leaf1/eth2": request("spine2/eth0", 1e-2),
    });
    let verdicts = || -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        plans(&audit).iter().map(|line| (text(&line["port"]), text(&line["verdict"]))).collect()
    };
    let wait_for = |count: usize| {
        let begun = std::time::Instant::now();
        while verdicts().len() < count {
            assert!(begun.elapsed().as_secs() < 20, "{:?}", verdicts());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    let expected = |verdicts: &[(&str, &str)]| -> Vec<(String, String)> {
        verdicts.iter().map(|(port, verdict)| ((*port).to_owned(), (*verdict).to_owned())).collect()
    };
    // Not allowed, it is said; three of four paths must stay.
    let counting = Counting::start(&[("eth1", 1e-5), ("eth2", 1e-2)]);
    let cables = ["--cable", "eth1=spine1/eth0", "--cable", "eth2=spine2/eth0"];
    let plan = [&plan[..], &cables].concat();
    let may_disable = [&may_disable[..], &cables].concat();
    let start = |directions: &Value, plan: &[&str]| {
        Remembering::counting(folder.path(), directions, &counting.url, plan)
    };
    let daemon = start(&both, &plan);
    wait_for(1);
    drop(daemon);
    assert_eq!(verdicts(), expected(&[("leaf1/eth2", "advised")]));
    assert!(!Path::new(&told).exists());
    // Allowed, it is done once all agents have said what they find, and a restart does not do it again.
    for _ in 0..2 {
        let daemon = start(&both, &may_disable);
        wait_for(3);
        // What the bus has said is planned for at once.
        let socket = Path::new(&daemon.socket);
        while linkmend_monitor::daemon::ask_directions(socket).expect("it answers").len() < 2 {}
        std::thread::sleep(std::time::Duration::from_millis(500));
        let (_, said, _) = program::run(&["corruptd", "status", "--control", &daemon.socket]);
        assert!(said.contains("! DISABLED for") && said.contains("next trial in"), "{said}");
    }
    assert_eq!(verdicts()[1..], expected(&[("leaf1/eth2", "advised"), ("leaf1/eth2", "disabled")]));
    let of = |line: usize| {
        let told = std::fs::read_to_string(&told).expect("it ran");
        told.lines().nth(line).and_then(|line| line.rsplit_once(' ')).map(|(what, _)| what.to_owned())
    };
    assert_eq!([of(0).as_deref(), of(1).as_deref()], [Some("disable leaf1/eth2 spine2/eth0"), None]);
    // Repaired, it makes room for the other one.
    let repaired =
        serde_json::json!({ "request": { "generation": 2, "disable": false, "reason": "a test" } });
    let one = serde_json::json!({ "leaf1/eth1": request("spine1/eth0", 1e-5), "leaf1/eth2": repaired });
    counting.corrupt("eth2", 0.0);
    let daemon = start(&one, &may_disable);
    wait_for(6);
    drop(daemon);
    let then = [("leaf1/eth2", "returned"), ("leaf1/eth1", "advised"), ("leaf1/eth1", "disabled")];
    assert_eq!(verdicts()[3..], expected(&then));
    assert_eq!(of(1).as_deref(), Some("enable leaf1/eth2 spine2/eth0"));
}
