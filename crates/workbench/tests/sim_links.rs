//! `linkmend sim links`, `linkmend sim replay` and captures, as users meet them.

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

const PAIR: [&str; 9] = [
    "links",
    "--second-link",
    "--failure-every=2ms",
    "--down-for=500us",
    "--silence=200us",
    "--return-after=200us",
    "--load=80%",
    "--cuts=5",
    "--loss=1e-2",
];

/// Each kind of run in a small size, and a word from its tables.
const RUNS: [(&[&str], &str); 7] = [
    (&["links", "--parallel-links", "3", "--recirculation-ports", "2", "--frames", "3k"], "receiver's 2"),
    (&["links", "--hops", "100G,1e-2/25G,off", "--frames", "3k"], "link 2"),
    (&["links", "--frames", "3k", "--reverse-load", "30%"], "ACKs on data"),
    (
        &["links", "--load", "50%", "--non-blocking-load", "30%", "--frames", "3k", "--loss", "1%"],
        "non-blocking",
    ),
    (&["links", "--load", "40%", "--phases", "1ms,1e-3/2ms,0.2"], "level from then on"),
    (&["links", "--spacing", "100us", "--fixed-dummies", "--loss", "5%", "--frames", "500"], "recovered"),
    (&PAIR, "recovery, minimum"),
];

#[test]
fn every_kind_of_run_has_tables_for_people_and_the_same_report_for_scripts() {
    for (arguments, word) in RUNS {
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
fn options_of_links_decide_what_is_simulated() {
    let path = json(RUNS[1].0);
    let links = path["links"].as_array().expect("a list");
    assert_eq!(links.len(), 2);
    assert!(links[0]["retransmitted_copies"].as_u64() > Some(0), "{}", links[0]);
    assert_eq!(links[1]["retransmitted_copies"], 0, "the second is unprotected");
    let both = json(RUNS[2].0);
    let speed = |stream: usize| both["streams"][stream]["speed_gbps"].as_f64().expect("a number");
    assert_eq!(both["streams"][1]["name"], "reverse");
    assert!(speed(1) < 31.0, "30% of 100G: {}", speed(1));
    let loaded = ["links", "--reverse-load", "100%", "--frames", "3k", "--loss", "5%", "--load", "10%"];
    let both = json(&loaded);
    assert_eq!(both["links"][1]["name"], "link 1, reverse");
    assert!(both["links"][1]["frames_lost"].as_u64() > Some(0), "it loses as much as the other");
    let fallback = json(RUNS[4].0);
    assert_eq!(fallback["changes"][0]["level"], "non-blocking");
    assert_eq!(fallback["samples"].as_array().map(Vec::len), Some(3));
    let tails = |dummies: &str| json(&[RUNS[5].0, &["--dummy-copies", dummies]].concat());
    assert_eq!(tails("0")["streams"][0]["recovery"]["in_time"], 0);
    assert!(tails("2")["streams"][0]["recovery"]["in_time"].as_u64() > Some(0));
    for hand_off in ["none", "sqr"] {
        let pair = json(&[&PAIR[..], &["--hand-off", hand_off]].concat());
        let cuts = pair["second_link"]["cuts"].as_array().map(Vec::len);
        assert_eq!(cuts, Some(5), "{hand_off}: a line for each failure");
        let lost = pair["streams"][0]["frames_undelivered"].as_u64();
        assert_eq!(lost > Some(0), hand_off == "sqr", "SQR does not recover what links corrupt: {lost:?}");
    }
}

#[test]
fn impossible_links_are_refused_by_the_name_of_the_option() {
    let pair = &PAIR[1..7];
    let cases: [(&[&str], &str); 34] = [
        (&["--parallel-links", "9"], "error: --parallel-links 9: must be 1 to 8"),
        (&["--parallel-links", "4000000000"], "error: --parallel-links 4000000000: must be 1 to 8"),
        (
            &["--parallel-links", "2", "--recirculation-ports", "3"],
            "error: --recirculation-ports 3: must be 1 to the number of links, which is 2",
        ),
        (&["--recirculation-ports", "3"], "error: --recirculation-ports 3: needs `parallel-links`"),
        (&["--load", "0"], "error: --load 0: must be above 0 and at most 1"),
        (&["--load", "110%"], "110%"),
        (&["--load", "1e-12"], "error: --load 0.000000000001: 100000 frames would take"),
        (
            &["--parallel-links", "2", "--buffering", "direct"],
            "error: --buffering direct: must be recirculating",
        ),
        (
            &["--parallel-links", "2", "--scheme", "none"],
            "error: --buffering recirculating: must be recirculating, on protected links",
        ),
        (&["--full"], "error: unexpected argument '--full' found"),
        (&["--loss", "1"], "error: --loss 1: must be lower on a protected link: "),
        (&["--scheme", "wharf"], "error: --scheme wharf: must be none, ordered or non-blocking"),
        (&["--scheme", "llr"], "error: --scheme llr: must be none, ordered or non-blocking"),
        (&["--hops", "17"], "error: --hops 17: must be 1 to 16"),
        (&["--hops", "3G"], "error: --speed 3G: must be above 0, at most 8T"),
        (&["--hops", "25G,1"], "error: --loss 1: must be lower on a protected link: "),
        (&["--hops", "25G,0.1,on"], "write it like 25G,1e-3 or 25G,off"),
        (&["--queue", "100B"], "error: --queue 100B: must have room for a frame"),
        (&["--reverse-load", "1", "--window", "17"], "error: --window 17: must be a power of two"),
        (
            &["--reverse-load", "1", "--scheme", "none"],
            "error: --scheme none: must be ordered or non-blocking",
        ),
        (
            &["--load", "80%", "--non-blocking-load", "30%"],
            "error: --non-blocking-load 0.3: both loads must be at most 1",
        ),
        (&["--phases", "5,1e-3"], "`5` has no unit; a time is written like `5us`"),
        (&["--phases", "100000s,0"], "error: --phases 100000s: all phases together may last at most 3600 s"),
        (&["--sample", "1ms"], "error: --sample 1ms: needs `phases`"),
        (
            &["--phases", "5ms,0.1", "--fallback-non-blocking-loss-max", "1%"],
            "error: --fallback-non-blocking-loss-max 0.01: must",
        ),
        (&["--spacing", "100ns"], "error: --spacing 100ns: must be at least"),
        (&["--spacing", "100us", "--load", "10%"], "error: --load 10 %: cannot be combined with `spacing`"),
        (&["--second-link"], "error: --failure-every: must be given with `second-link`"),
        (&[pair, &["--cuts", "0"]].concat(), "error: --cuts 0: must be 1 to 100000"),
        (&[pair, &["--detection", "soon"]].concat(), "must be f10, squelch or a time"),
        (
            &[pair, &["--noticed", "silence", "--detection", "squelch"]].concat(),
            "error: --detection 2755ns: must be at least 20 us",
        ),
        (&[pair, &["--cut", "both"]].concat(), "error: --cut both: must be primary or either"),
        (
            &[pair, &["--cut", "either", "--hand-off", "sqr"]].concat(),
            "error: --cut either: must be primary with SQR",
        ),
        (&[pair, &["--frames", "5k"]].concat(), "error: --frames 5k: must follow from"),
    ];
    for (arguments, message) in cases {
        let (code, out, err) = run(&[&["links"], arguments].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(message), "{arguments:?}: {err}");
    }
}

/// The files in `examples` that have runs over several links, made shorter.
#[test]
fn files_sweep_what_the_options_of_links_set() {
    let folder = tempfile::tempdir().expect("a folder");
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    for (file, from, to, words) in [
        ("dummies.toml", "frames = 10_000", "frames = 500", ["dummy copies", "lost frames"]),
        ("two-links.toml", "load = ", "cuts = 2\nload = ", ["median recovery", "SQR"]),
    ] {
        let text = fs::read_to_string(format!("{examples}/{file}")).expect("an example");
        assert!(text.contains(from), "{file}: no {from}");
        let path = folder.path().join(file);
        fs::write(&path, text.replace(from, to)).expect("a file");
        let (code, out, err) = run(&["run", path.to_str().expect("UTF-8")]);
        assert_eq!(code, 0, "{file}: {err}");
        let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(out.contains(word), "{file}: no {word}: {out}");
        }
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
