//! `linkmend sim scenario`, `linkmend sim replay` and captures, as users meet them.

use serde_json::Value;
use std::fs;
use std::process::Command;

/// Exit code, standard output and standard error.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend-workbench"));
    command.arg("sim").args(arguments).env_remove("RUST_LOG").env("NO_COLOR", "1");
    let output = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

fn json(arguments: &[&str]) -> Value {
    let (code, out, err) = run(&[arguments, &["--json"]].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{arguments:?}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {out}"))
}

/// The log of a real link end.
fn log(name: &str) -> String {
    format!("{}/../sim/tests/replay/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Each scenario in a small size, and a word from its tables.
const SCENARIOS: [(&[&str], &str); 7] = [
    (&["scenario", "shared-port", "--frames", "3k", "--links", "3", "--ports", "2"], "receiver's 2"),
    (&["scenario", "path", "--hop", "100G,1e-2", "--hop", "25G,off", "--frames", "3k"], "hop 2"),
    (&["scenario", "both-directions", "--frames", "3k", "--reverse-load", "30%"], "ACKs on data"),
    (&["scenario", "classes", "--frames", "3k", "--loss", "1%"], "non-blocking"),
    (&["scenario", "fallback", "--phase", "1ms,1e-3", "--phase", "2ms,0.2"], "level from then on"),
    (&["scenario", "bursts", "--frames", "500", "--dummies", "0,2"], "recovered"),
    (
        &["scenario", "two-links", "--speeds", "10G,25G", "--cuts", "5", "--loss", "1e-2", "--beside-sqr"],
        "sqr",
    ),
];

#[test]
fn every_scenario_has_tables_for_people_and_the_same_report_for_scripts() {
    for (arguments, word) in SCENARIOS {
        let (code, out, err) = run(arguments);
        assert_eq!((code, err.as_str()), (0, ""), "{arguments:?}");
        assert!(out.contains(word) && out.contains("\nSeed 1."), "{arguments:?}: {out}");
        let report = json(arguments);
        assert_eq!(report["seed"], 1, "{arguments:?}");
        assert_eq!(report, json(arguments), "the same seed gives the same report");
        assert_ne!(report, json(&[arguments, &["--seed", "2"]].concat()), "{arguments:?}");
    }
}

#[test]
fn flags_of_a_scenario_decide_what_is_simulated() {
    let path = json(SCENARIOS[1].0);
    let hops = path["hops"].as_array().expect("a list");
    assert_eq!(hops.len(), 2);
    assert!(hops[0]["link"]["retransmitted_copies"].as_u64() > Some(0), "{}", hops[0]);
    assert_eq!(hops[1]["link"]["retransmitted_copies"], 0, "the second is unprotected");
    let both = json(SCENARIOS[2].0);
    let speed = |direction: &str| both[direction]["delivery"]["speed_gbps"].as_f64().expect("a number");
    assert!(speed("reverse") < 31.0, "30% of 100G: {}", speed("reverse"));
    let both = json(&["scenario", "both-directions", "--frames", "3k", "--loss", "5%", "--load", "10%"]);
    assert!(both["reverse"]["link"]["frames_lost"].as_u64() > Some(0), "it loses as much as the other");
    let fallback = json(SCENARIOS[4].0);
    assert_eq!(fallback["changes"][0]["level"], "non-blocking");
    assert_eq!(fallback["samples"].as_array().map(Vec::len), Some(3));
    let bursts = json(SCENARIOS[5].0);
    assert_eq!(
        (&bursts["rows"][0]["recovered_in_time"], &bursts["rows"][1]["dummy_copies"]),
        (&0.into(), &2.into())
    );
    let two_links = json(SCENARIOS[6].0);
    let rows = two_links["rows"].as_array().expect("a list");
    let named = |row: &Value| (row["scheme"].as_str().map(str::to_owned), row["speed_gbps"].as_f64());
    let expected = [("linkguardian", 10.0), ("sqr", 10.0), ("linkguardian", 25.0), ("sqr", 25.0)];
    let expected = expected.map(|(scheme, speed)| (Some(scheme.to_owned()), Some(speed)));
    assert_eq!(rows.iter().map(named).collect::<Vec<_>>(), expected);
    assert_eq!(rows[0]["cuts"].as_array().map(Vec::len), Some(5), "a line for each failure");
    assert_eq!(rows[0]["forward"]["frames_lost"], 0);
}

#[test]
fn impossible_scenarios_are_refused_by_the_name_of_the_flag() {
    let cases: [(&[&str], &str); 31] = [
        (&["shared-port", "--links", "9"], "error: --links 9: must be 1 to 8"),
        (&["shared-port", "--ports", "3"], "error: --ports 3: must be 1 to the number of links, which is 2"),
        (&["shared-port", "--load", "0"], "`0` is not a load: above 0 and at most 1, like `0.4` or `40%`"),
        (&["shared-port", "--load", "1e-12"], "error: --load 0.000000000001: 100000 frames would take"),
        (&["shared-port", "--buffering", "direct"], "error: unexpected argument '--buffering' found"),
        (&["shared-port", "--scheme", "none"], "error: --scheme none: this scenario is of protected links"),
        (&["shared-port", "--full"], "error: unexpected argument '--full' found"),
        (&["shared-port", "--loss", "1"], "error: --loss 1: must be lower on a protected link: "),
        (&["path", "--hops", "17"], "error: --hops 17: must be 1 to 16"),
        (&["path", "--hops", "2", "--hop", "25G"], "cannot be used with"),
        (&["path", "--hop", "3G"], "error: --hop 3G: speed 3G: must be above 0, at most 8T"),
        (&["path", "--hop", "25G,1"], "error: --hop 25G,1: loss 1: must be lower on a protected link: "),
        (&["path", "--hop", "25G,0.1,on"], "write it like 25G,1e-3 or 25G,off"),
        (&["path", "--queue", "100B"], "error: --queue 100B: must have room for a frame"),
        (&["both-directions", "--window", "17"], "error: --window 17: must be a power of two"),
        (&["classes", "--scheme", "ordered"], "error: unexpected argument '--scheme' found"),
        (
            &["classes", "--ordered-load", "80%"],
            "error: --non-blocking-load 0.3: both loads must be at most 1",
        ),
        (&["fallback", "--phase", "5,1e-3"], "`5` has no unit; a time is written like `5us`"),
        (
            &["fallback", "--phase", "100000s,0"],
            "error: --phase 100000s: all phases together may last at most 3600 s",
        ),
        (
            &["fallback", "--fallback-non-blocking-loss-max", "1%"],
            "error: --fallback-non-blocking-loss-max 0.01: must",
        ),
        (&["bursts", "--silence", "5us"], "error: --silence 5us: must be at least"),
        (&["bursts", "--dummies", "1,4,1"], "error: --dummies 1: is listed twice; leave one of them out"),
        (&["bursts", "--dummy-copies", "1"], "error: unexpected argument '--dummy-copies' found"),
        (&["two-links", "--cuts", "0"], "error: --cuts 0: must be 1 to 100000"),
        (
            &["two-links", "--detection", "soon"],
            "error: --detection \"soon\": must be f10, squelch or a time",
        ),
        (&["two-links", "--down-for", "30us"], "error: --down-for 30 us: must be longer than detection"),
        (
            &["two-links", "--noticed", "silence", "--detection", "squelch"],
            "error: --detection 2755ns: must be at least 20 us",
        ),
        (&["two-links", "--silence", "1us"], "error: --silence 1us: must be at least 20 us"),
        (
            &["two-links", "--cut", "either", "--beside-sqr"],
            "error: --cut either: must be primary for a comparison with SQR",
        ),
        (&["two-links", "--speeds", "3G"], "error: --speeds 3G: must be above 0, at most 8T"),
        (&["two-links", "--buffering", "direct"], "error: unexpected argument '--buffering' found"),
    ];
    for (arguments, message) in cases {
        let (code, out, err) = run(&[&["scenario"], arguments].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(message), "{arguments:?}: {err}");
    }
}

#[test]
fn logs_of_both_ends_repeat_and_agree() {
    let (first, second) = (log("g1.jsonl"), log("g2.jsonl"));
    let (code, out, err) = run(&["replay", &first, &second]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("every answer is the same") && out.contains("agree on the order of"), "{out}");
    let report = json(&["replay", &first]);
    assert_eq!(report["repeated"][0]["link"], "g1");
    assert_eq!(report["agreement"], Value::Null);
}

#[test]
fn a_difference_and_an_unreadable_log_exit_with_1_and_a_wrong_log_with_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("changed.jsonl");
    let name = path.to_str().expect("UTF-8");
    // Without one step in the middle, the answers after it differ.
    let text = fs::read_to_string(log("g1.jsonl")).expect("a log");
    let protect = text.lines().position(|line| line.contains("\"protect\"")).expect("it was protected");
    let changed: String = text
        .lines()
        .enumerate()
        .filter(|(index, _)| *index != protect)
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    fs::write(&path, changed).expect("a file");
    let (code, out, err) = run(&["replay", name, "--json"]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("the answer differs\n  logged: ") && err.contains("\n  now:    "), "{err}");

    fs::write(&path, "nonsense\n").expect("a file");
    let second = log("g2.jsonl");
    let cases: [(&[&str], i32, &str); 4] = [
        (&["/nonexistent"], 1, "error: cannot read /nonexistent\n  caused by: No such file or directory"),
        (&[name], 2, "line 1: not a line of a protocol log\n  caused by: "),
        (
            &[&second, &second],
            2,
            "the two logs have no protected frame in common\nhint: give the logs of the two ends of one run\n",
        ),
        (&[], 2, "<FIRST>"),
    ];
    for (arguments, expected, message) in cases {
        let (code, out, err) = run(&[&["replay"], arguments].concat());
        assert_eq!((code, out.as_str()), (expected, ""), "{arguments:?}: {err}");
        assert!(err.contains(message), "{arguments:?}: {err}");
    }
}

#[test]
fn packetdrill_scripts_pass_fail_or_lack_a_feature_and_the_exit_code_says_so() {
    let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/../packetdrill/tests/scripts");
    let (code, out, err) = run(&["packetdrill", scripts]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains(" 0 fail, 0 lacking a feature\n"), "{out}");

    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    let name = folder.path().to_str().expect("UTF-8");
    let (code, _, err) = run(&["packetdrill", name]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("no *.pkt file in this folder or below\nhint: "), "{err}");
    // A suite keeps its settings in a shell script beside its scripts; this one asks for what is lacking.
    file("set.sh", "sysctl -q net.ipv4.tcp_congestion_control=vegas\n");
    file("a.pkt", "`./set.sh`\n");
    file("b.pkt", "0 %{ assert 1 == 2 }%\n");
    let (code, out, err) = run(&["packetdrill", name]);
    assert_eq!((code, err.as_str()), (1, "error: 2 of 2 scripts do not pass\n"));
    assert!(out.contains("a.pkt:1: the congestion control vegas\n") && out.contains("b.pkt:1: "), "{out}");
    let (_, out, _) = run(&["packetdrill", name, "--json"]);
    let report: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(report["counts"]["fail"], 1);
    assert_eq!(report["lacking"]["the congestion control vegas"], 1);
    assert_eq!(
        (&report["scripts"][1]["outcome"], &report["scripts"][1]["line"]),
        (&"fail".into(), &1.into())
    );

    file("c.pkt", "no script\n");
    let (code, out, err) = run(&["packetdrill", name]);
    assert_eq!(code, 2);
    assert!(
        out.contains("unreadable") && err.contains("1 of 3 files are not packetdrill scripts\nhint: "),
        "{err}"
    );
    let (code, _, err) = run(&["packetdrill", "/nonexistent"]);
    assert_eq!(code, 2);
    assert!(
        err.starts_with("error: cannot read /nonexistent: No such file") && err.contains("\nhint: "),
        "{err}"
    );
}

#[test]
fn a_capture_has_every_packet_up_to_its_bound() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.pcapng");
    let name = path.to_str().expect("UTF-8");
    let stress = ["stress", "--frames", "500", "--loss", "1%", "--json"];
    let (code, out, err) = run(&[&stress[..], &["--capture", name]].concat());
    assert_eq!(code, 0, "{err}");
    assert_eq!(err.matches("(--full)").count(), 1, "{err}");
    let report: Value = serde_json::from_str(&out).expect("JSON");
    let plain = json(&[&stress[..5], &["--full"]].concat());
    for field in ["frames_lost", "retransmitted_copies", "simulated_ns", "events"] {
        assert_eq!(report[field], plain[field], "a capture changes nothing: {field}");
    }
    let whole = fs::read(&path).expect("a capture");
    assert_eq!(whole[..4], [0x0a, 0x0d, 0x0d, 0x0a], "a section of pcapng");
    // Each frame is sent, received and passed on, with 96 bytes of it.
    assert!(whole.len() > 500 * 3 * 96, "{}", whole.len());

    let (code, _, err) = run(&[&stress[..], &["--capture", name, "--capture-frames", "10"]].concat());
    assert_eq!(code, 0);
    assert!(err.contains("ends before the run does; --capture-frames allows"), "{err}");
    let part = fs::read(&path).expect("a capture");
    assert!(whole.starts_with(&part) && part.len() < 4_000, "{}", part.len());
}

#[test]
fn a_capture_that_cannot_be_written_is_reported_and_wrong_parameters_leave_the_file_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.pcapng");
    let name = path.to_str().expect("UTF-8");
    let cases: [(&[&str], &str); 4] = [
        (&["--capture", "/nonexistent/x"], "error: cannot write /nonexistent/x\n  caused by: No such file"),
        (&["--capture", name, "--capture-frames", "0"], "error: --capture-frames 0: must be at least 1"),
        (&["--capture", name, "--frames", "0"], "error: --frames 0: at least one frame is sent"),
        (&["--capture-frames", "5"], "--capture <FILE>"),
    ];
    for (arguments, message) in cases {
        let (code, out, err) = run(&[&["stress"], arguments].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(message), "{arguments:?}: {err}");
        assert!(!path.exists(), "{arguments:?}");
    }
    let (code, out, err) = run(&["stress", "--frames", "1k", "--capture", "/dev/full", "--json"]);
    assert_eq!(code, 1);
    assert!(out.starts_with('{'), "what was measured is shown: {out}");
    assert!(
        err.contains("cannot write /dev/full\n  caused by: No space left on device")
            && err.contains("hint: free some space there"),
        "{err}"
    );
}
