//! `linkmend corruptd` as users meet it.

mod program;

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
    assert!(line("101.0 s  leaf1/eth1: asks for protection, ordered, copies 2: loss rate 1.0e-3"), "{said}");
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
        (&["--config", &wrong_key, "--poll", "1s"], 2, "--poll cannot stand beside --config"),
        (&["--config", "/nowhere/at/all.toml"], 1, "/nowhere/at/all.toml"),
        (&["--replay", &backwards], 2, "line 3: 0 s comes after 1 s"),
        (&["--replay", "/nowhere/at/all.csv"], 1, "/nowhere/at/all.csv"),
        (&["--poll", "1ms", "--check"], 2, "poll = 1ms: must be 100ms to 1h"),
        (&["--cable", "a=a", "--check"], 2, "faces itself"),
        (&["--cable", "a", "--check"], 2, "`a` is no cable"),
        (&["--activate", "0", "--check"], 2, "activate = 0"),
        (
            &["status", "--control", "/nowhere/corruptd.socket"],
            1,
            "no corruptd answers at /nowhere/corruptd.socket",
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
