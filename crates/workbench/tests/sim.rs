//! `linkmend sim` and `linkmend reproduce` as users meet them: results, errors, files.

#[path = "../../linkmend/tests/program/mod.rs"]
mod program;

use program::run;
use serde_json::Value;
use std::fs;

#[test]
fn impossible_parameters_are_refused_by_name_before_anything_runs() {
    let cases: [(&[&str], &str); 30] = [
        (&["--speed", "100"], "invalid value '100' for '--speed <RATE>': `100` has no unit"),
        (&["--speed", "0G"], "error: --speed 0bit/s: must be above 0"),
        (&["--speed", "3G"], "error: --speed 3G: must be above 0, at most 8T, and one byte must last"),
        (&["--frames", "0"], "error: --frames 0: at least one frame is sent"),
        (&["--frame-size", "63B"], "error: --frame-size 63B: must be 64B to 9216B"),
        (&["--frame-size", "1518"], "`1518` has no unit; a size is written like `1518B`"),
        (&["--distance", "1000km"], "error: --distance 1000km: must be at most 100km"),
        (&["--distance", "1000000000km"], "error: --distance 1000000000km: must be at most 100km\n"),
        (
            &["--loss", "1"],
            "error: --loss 1: must be lower on a protected link: at most 99.9% of the 64-byte frames that open its session may be \
             lost, but here 100% are; there is no such limit with `scheme` none\n",
        ),
        (&["--reverse-loss", "1"], "error: --reverse-loss 1: must be lower on a protected link: "),
        (&["--bit-error-rate", "0.5"], "error: --bit-error-rate 0.5: must be lower on a protected link: "),
        (&["--distance", "2"], "`2` has no unit; a distance is written like `2m`"),
        (&["--loss", "2"], "a number from 0 to 1 or a percentage, like `1e-3` or `0.1%`"),
        (
            &["--loss", "1e-3", "--bit-error-rate", "1e-9"],
            "error: --loss 1e-3: cannot be combined with `bit-error-rate`",
        ),
        (&["--mean-burst", "0.5"], "error: --mean-burst 0.5: "),
        (&["--attenuation", "3dB"], "error: --attenuation 3dB: needs `transceiver` as well"),
        (&["--losses", "/nonexistent"], "error: --losses /nonexistent: cannot be read: No such file"),
        (&["--copies", "17"], "error: --copies 17: must be 1 to 16"),
        (&["--target", "0"], "error: --target 0: must lie above 0 and below 1"),
        (
            &["--pause-threshold", "30kB", "--resume-threshold", "40kB"],
            "error: --resume-threshold 40kB: must be below `pause-threshold`, which is 30kB",
        ),
        (
            &["--pause-threshold", "300kB"],
            "error: --pause-threshold 300kB: must be at most `recirculation-buffer`, which is 200kB",
        ),
        (
            &["--pause-threshold", "300MB", "--buffering", "direct"],
            "must be at most the Rx buffer of direct buffering, which is 16MiB",
        ),
        (&["--resume-threshold", "40kB", "--no-backpressure"], "cannot be combined with `no-backpressure`"),
        (&["--recovery-timeout", "7"], "`7` has no unit; a time is written like `7us`"),
        (&["--window", "65536"], "error: --window 65536: "),
        (&["--rounds", "0"], "error: --rounds 0: "),
        (
            &["--scheme", "llr", "--copies", "3"],
            "error: --copies 3: has no effect with `scheme` llr, only with ordered and non-blocking; set `replay_count_max`",
        ),
        (
            &["--scheme", "selective", "--no-backpressure"],
            "error: --no-backpressure: has no effect with `scheme` selective",
        ),
        (&["--copy-loss", "1e-6"], "error: --copy-loss 1e-6: must lie between the loss rate"),
        (&["--scheme", "fast"], "none, ordered, non-blocking, wharf, llr, selective, parity]"),
    ];
    check_refusals(&cases);
}

#[test]
fn impossible_deadlines_and_codes_are_refused_by_name() {
    check_refusals(&[
        (&["--deadline", "50ms"], "error: --deadline 50ms: needs `scheme` parity"),
        (
            &["--scheme", "parity", "--egress-latency", "50ms", "--deadline", "20ms"],
            "error: --deadline 20ms: must be above the delay of the link, 50",
        ),
        (&["--scheme", "parity", "--parity-code", "20"], "FRAMES:PARITY like 20:10"),
        (
            &["--scheme", "parity", "--parity-overhead", "2"],
            "invalid value '2' for '--parity-overhead <SHARE>': not a share",
        ),
    ]);
}

fn check_refusals(cases: &[(&[&str], &str)]) {
    for (arguments, message) in cases {
        // This many frames would take hours.
        let all: Vec<&str> = ["sim", "stress", "--full"].iter().chain(*arguments).copied().collect();
        let all =
            if arguments.contains(&"--frames") { all } else { [all, vec!["--frames", "100G"]].concat() };
        let (code, out, err) = run(&all);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(message), "{arguments:?}: {err}");
    }
}

#[test]
fn a_stress_run_is_one_object_with_the_promised_fields() {
    let arguments = [
        "sim", "stress", "--speed", "100G", "--loss", "1e-3", "--scheme", "ordered", "--frames", "100k",
        "--json",
    ];
    let (code, out, err) = run(&arguments);
    assert_eq!((code, err.as_str()), (0, ""));
    let report: Value = serde_json::from_str(&out).expect("JSON");
    for field in [
        "seed",
        "frames_sent",
        "frames_lost",
        "actual_loss_rate",
        "frames_undelivered",
        "effective_loss_rate",
        "effective_loss_rate_expected",
        "effective_speed_gbps",
        "effective_speed_pct",
        "recovery_timeouts",
        "retransmitted_copies",
        "pauses",
        "simulated_ns",
        "events",
    ] {
        assert!(report[field].is_number(), "{field}");
    }
    for buffer in ["tx_buffer_bytes", "rx_buffer_bytes"] {
        for part in ["min", "p25", "p50", "p75", "max"] {
            assert!(report[buffer][part].is_u64(), "{buffer}.{part}");
        }
    }
    assert!(report["retransmission_delay_ns"]["p99"].is_number());
    assert_eq!((report["seed"].as_u64(), report["frames_sent"].as_u64()), (Some(1), Some(100_000)));

    assert_eq!(run(&arguments).1, out, "the same seed gives the same bytes");
    let other = [&arguments[..], &["--seed", "2"]].concat();
    assert_ne!(run(&other).1, out);
}

#[test]
fn the_report_names_what_buffers_a_link_and_a_port_that_is_too_slow() {
    let json = |arguments: &[&str]| {
        let (code, out, err) = run(&[&["sim"], arguments, &["--frames", "50k", "--json"]].concat());
        assert_eq!((code, err.as_str()), (0, ""));
        serde_json::from_str::<Value>(&out).expect("JSON")
    };
    let fast = json(&["stress", "--speed", "400G", "--scheme", "non-blocking"]);
    assert_eq!(fast["hardware"]["buffering"], "direct");
    assert!(fast["hardware"]["reason"].as_str().is_some_and(|reason| reason.contains("Tofino2")));
    assert!(fast["effective_speed_gbps"].as_f64().is_some_and(|speed| speed > 390.0), "{fast}");
    assert_eq!(fast["warnings"], serde_json::json!([]));
    let slow = ["stress", "--speed", "400G", "--recirculation-speed", "100G", "--scheme", "non-blocking"];
    let said = json(&slow);
    assert_eq!(said["hardware"]["recirculation_gbps"], 100.0);
    assert!(said["warnings"][0].as_str().is_some_and(|text| text.contains("port is the bottleneck")));
    assert_eq!(said["undelivered"]["copies_late"], said["frames_undelivered"]);
    let (_, text, _) = run(&[&["sim"], &slow[..], &["--frames", "50k"]].concat());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "buffering recirculating at 100 Gbit/s",
        "given up before a copy arrived (--recovery-timeout 7.00 µs).",
        "Warning: the recirculation port is the bottleneck: the link sends up to 400G",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let row = json(&["links", "--hops", "4", "--loss", "1e-2"]);
    let dropped =
        row["links"].as_array().into_iter().flatten().filter_map(|link| link["queue_drops"].as_u64());
    let dropped: u64 = dropped.sum();
    assert!(dropped > 0, "a queue overflows: {row}");
    assert_eq!(row["streams"][0]["frames_undelivered"], dropped);
    assert_eq!(row["hardware"].as_array().map(Vec::len), Some(4));
}

/// A regression: the help said 92 Gbit/s, as the paper does.
#[test]
fn the_speed_that_the_help_promises_is_what_its_example_prints() {
    let (_, help, _) = run(&["sim", "stress", "--help"]);
    let speed = |text: &str, before: &str| {
        let line = text.lines().find(|line| line.contains(before)).expect("a line with the speed");
        let (_, rest) = line.split_once(before).expect("it is there");
        rest.split_whitespace().next().and_then(|word| word.parse::<f64>().ok()).expect("a number")
    };
    let said = speed(&help, "stress test of the paper's artifact: effective speed ");
    let example =
        ["--speed", "100G", "--loss", "1e-3", "--scheme", "ordered", "--frames", "5M", "--seed", "1"];
    let (_, out, _) = run(&[&["sim", "stress"], &example[..]].concat());
    let printed = speed(&out, "effective speed ");
    // A twentieth as many frames as in the help.
    assert!((said - printed).abs() < 0.2, "{said} and {printed}");
}

#[test]
fn recorded_losses_are_those_of_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lost.txt");
    fs::write(&path, "# the first, and two in a row\n0\n500\n501 # the second of them\n").expect("a file");
    let path = path.to_str().expect("UTF-8");
    let (code, out, err) =
        run(&["sim", "stress", "--losses", path, "--frames", "1k", "--scheme", "none", "--json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let report: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(report["frames_undelivered"], 3);
    fs::write(path, "5\n5\n").expect("a file");
    let (code, _, err) = run(&["sim", "stress", "--losses", path]);
    assert_eq!(code, 2);
    assert!(err.contains("line 2: 5 must be greater than the previous number"), "{err}");
}

#[test]
fn a_series_shows_what_the_report_sums_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("levels.csv");
    let path = path.to_str().expect("UTF-8");
    let arguments = ["sim", "stress", "--frames", "20k", "--loss", "1e-3", "--json"];
    let plain: Value = serde_json::from_str(&run(&arguments).1).expect("JSON");
    let watched = [&arguments[..], &["--series", path, "--series-step", "2us"]].concat();
    let (code, out, err) = run(&watched);
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(report["effective_speed_gbps"], plain["effective_speed_gbps"], "watching changes nothing");
    let text = fs::read_to_string(path).expect("a file");
    let mut lines = text.lines();
    let header = lines.next().expect("a header");
    assert_eq!(
        header,
        "at_ns,length_ns,tx_buffer_min_bytes,tx_buffer_mean_bytes,tx_buffer_max_bytes,rx_buffer_min_bytes,\
         rx_buffer_mean_bytes,rx_buffer_max_bytes"
    );
    let rows: Vec<Vec<f64>> =
        lines.map(|line| line.split(',').map(|cell| cell.parse().expect("a number")).collect()).collect();
    // 20,000 frames take 2.47 ms without pauses.
    assert!(rows.len() > 1_200, "{} rows", rows.len());
    for (index, row) in rows.iter().enumerate() {
        assert_eq!((row.len(), row[0]), (8, 2_000.0 * index as f64));
        assert!(row[1] == 2_000.0 || index == rows.len() - 1, "{row:?}");
        assert!(row[2] <= row[3] && row[3] <= row[4] && row[5] <= row[6] && row[6] <= row[7], "{row:?}");
    }
    let most = |column: usize| rows.iter().map(|row| row[column] as u64).max();
    // The report leaves out the beginning and the end, where levels are not higher.
    assert_eq!(most(4), report["tx_buffer_bytes"]["max"].as_u64());
    assert_eq!(most(7), report["rx_buffer_bytes"]["max"].as_u64());

    let (code, out, err) = run(&["sim", "stress", "--frames", "20k", "--series-step", "2us", "--json"]);
    assert_eq!(code, 0, "{err}");
    let levels = &serde_json::from_str::<Value>(&out).expect("JSON")["levels"];
    let [at, most] = ["at", "rx_buffer_max"].map(|name| levels[name].as_array().expect("a column"));
    assert!(at.len() > 1_200, "{} rows", at.len());
    assert!((at[1].as_f64().expect("a time") - 2e-6).abs() < 1e-12, "{}", at[1]);
    assert!(most.iter().any(|level| level.as_f64() > Some(0.0)), "{most:?}");

    let cases: [(&[&str], &str); 3] = [
        (&["--series", path, "--series-step", "0ns"], "error: --series-step 0ns: must be above 0"),
        (&["--series", "/nonexistent/x.csv"], "error: cannot write /nonexistent/x.csv\n  caused by: No such"),
        (&["--series-step", "1us"], "--series-step 1us: requires --series FILE, or --json"),
    ];
    for (arguments, message) in cases {
        let (code, _, err) = run(&[&["sim", "stress"][..], arguments].concat());
        assert!(code == 2 && err.contains(message), "{arguments:?}: {err}");
    }
}

#[test]
fn wrong_names_and_files_exit_with_code_2() {
    let (code, out, err) = run(&["reproduce", "fig88"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(
        err.starts_with("error: there is no experiment `fig88`\nhint: `all`, or some of fig1, fig8,"),
        "{err}"
    );
    assert_eq!(run(&["reproduce"]).0, 2);
    assert_eq!(run(&["reproduce", "all", "--jobs", "0"]).0, 2);

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mine.toml");
    fs::write(&path, "id = \"mine\"\ntitle = \"t\"\nsource = \"s\"\n[base]\nspeeed = \"25G\"\n")
        .expect("a file");
    let name = path.to_str().expect("UTF-8");
    let (code, _, err) = run(&["sim", "run", name]);
    assert_eq!(code, 2);
    assert!(err.starts_with(&format!("error: {name}:5: unknown key `speeed`, expected runs or")), "{err}");
    let begin = "id = \"mine\"\ntitle = \"t\"\nsource = \"s\"\n[base]\n";
    for (base, message) in [
        (
            "speed = \"25G\"\nspeed = \"100G\"\n",
            ":6: `speed` is given twice; leave one of them out, or write a list",
        ),
        ("loss = [1e-3, 1e-4, 0.001]\n", ":5: `loss` lists 1e-3 twice; leave one of them out"),
    ] {
        let twice = folder.path().join("twice.toml");
        fs::write(&twice, format!("{begin}{base}")).expect("a file");
        let name = twice.to_str().expect("UTF-8");
        let (code, _, err) = run(&["sim", "run", name]);
        assert!(code == 2 && err.starts_with(&format!("error: {name}{message}")), "exit code {code}: {err}");
        fs::remove_file(&twice).expect("removed");
    }
    let (code, _, err) = run(&["reproduce", "all", "--experiments", folder.path().to_str().expect("UTF-8")]);
    assert_eq!(code, 2, "{err}");
    let (code, _, err) = run(&["sim", "run", "/nonexistent.toml"]);
    assert_eq!(code, 1);
    assert!(err.contains("cannot read /nonexistent.toml\n  caused by: No such file"), "{err}");
}

#[test]
fn a_users_own_experiment_can_fail() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mine.toml");
    let text = "id = \"mine\"\ntitle = \"Mine\"\nsource = \"me\"\n[base]\nframes = 1000\n[[published]]\n\
                metric = \"frames_sent\"\nvalue = 5\ntolerance = { relative = 0.1 }\n";
    fs::write(&path, text).expect("a file");
    let out = folder.path().join("out");
    let arguments = ["sim", "run", path.to_str().expect("UTF-8"), "--out", out.to_str().expect("UTF-8")];
    let (code, table, err) = run(&arguments);
    assert_eq!(code, 1);
    assert!(table.contains("not reproduced (recorded: reproduced)"), "{table}");
    assert!(err.starts_with("error: 1 verdicts differ from the recorded ones\nhint: "), "{err}");
    let explained = format!("{text}explanation = \"It was not meant.\"\n");
    for (rest, expected) in [
        ("", 1),
        ("verdict = \"not-reproduced\"\n", 0),
        ("predicted = [900, 1100]\n", 1),
        ("predicted = [900, 1100]\nverdict = \"differs-as-predicted\"\n", 0),
        ("predicted = [400, 900]\nverdict = \"differs-as-predicted\"\n", 1),
        ("predicted = [400, 900]\nverdict = \"not-reproduced\"\n", 0),
    ] {
        fs::write(&path, format!("{explained}{rest}")).expect("a file");
        let (code, table, err) = run(&arguments);
        assert_eq!(code, expected, "{rest}: {err}");
        assert!(table.contains("It was not meant."), "{table}");
    }
}

#[test]
fn llr_has_no_lines_of_linkguardian() {
    let (code, out, err) = run(&["sim", "stress", "--scheme", "llr", "--frames", "20k"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("retransmitted frames"), "{out}");
    assert!(!out.contains("Equation 1") && !out.contains("copies of a lost frame"), "{out}");
    let (code, out, err) = run(&["sim", "flows", "--scheme", "llr", "--rounds", "2"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("error: --rounds 2: has no effect with `scheme` llr"), "{err}");
}

#[test]
fn a_plan_for_llr_keeps_to_the_buffer_and_says_never() {
    let plan = |arguments: &[&str]| {
        let (code, out, err) = run(&[&["sim", "llr", "plan", "--speed", "400G"], arguments].concat());
        assert_eq!(code, 0, "{err}");
        (out, err)
    };
    let line = |out: &str, name: &str| out.lines().find(|line| line.contains(name)).expect(name).to_owned();
    let (out, err) = plan(&["--cable", "100m", "--buffer", "40kB"]);
    let bytes = line(&out, "outstanding bytes");
    assert!(bytes.contains("40000 B") && bytes.contains("a loop has 79606"), "{bytes}");
    assert!(err.contains("hung Meta's ports"), "{err}");
    let (out, _) = plan(&["--loss", "0"]);
    assert!(line(&out, "from FLUSH to FLUSH").contains(" never "), "{out}");
    let (out, _) = plan(&["--loss", "0.49", "--years", "1e30"]);
    assert!(line(&out, "replay count").contains(" no limit "), "{out}");
    assert!(line(&out, "from FLUSH to FLUSH").contains(" never "), "{out}");
    let (out, _) = plan(&["--loss", "1e-10"]);
    assert!(line(&out, "from FLUSH to FLUSH").contains("over a million years"), "{out}");
}

#[test]
fn wharf_protects_a_link_at_line_rate() {
    let wharf = ["sim", "stress", "--scheme", "wharf", "--loss", "1%", "--frames", "50k", "--json"];
    let (code, out, err) = run(&wharf);
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_str(&out).expect("JSON");
    let lost = report["frames_lost"].as_u64().expect("a count");
    assert!(lost > 300 && report["frames_undelivered"].as_u64().expect("a count") < lost / 4, "{out}");
    let (code, _, err) = run(&[&wharf[..], &["--capture", "/nonexistent/a.pcapng"]].concat());
    assert!(code == 2 && err.starts_with("error: --scheme wharf: must be none, ordered"), "{err}");
}

/// A retransmission over 100 ms misses this deadline, so that parity repairs, and a ceiling of its overhead leaves losses.
#[test]
fn parity_repairs_losses_before_a_deadline() {
    let path = "sim stress --scheme parity --speed 100M --egress-latency 50ms --ingress-latency 0s --loss 5% --frames 20k";
    let undelivered = |more: &str| {
        let words: Vec<&str> = path.split(' ').chain(more.split_whitespace()).chain(["--json"]).collect();
        let (code, out, err) = run(&words);
        assert_eq!(code, 0, "{err}");
        let report: Value = serde_json::from_str(&out).expect("JSON");
        report["frames_undelivered"].as_u64().expect("a count")
    };
    assert_eq!(undelivered("--deadline 100ms"), 0);
    assert!(undelivered("--deadline 100ms --parity-overhead 2%") > 100);
    assert!(undelivered("--parity-code 10:1") > undelivered("--parity-code 20:10"));
    let (code, _, err) = run(&["sim", "links", "--scheme", "parity", "--frames", "10"]);
    assert!(code == 2 && err.starts_with("error: --scheme parity: must be none, ordered"), "{err}");
}

#[test]
fn files_of_all_kinds_are_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mine.toml");
    let out = folder.path().join("out");
    let name = path.to_str().expect("UTF-8");
    let arguments = ["sim", "run", name, "--quick", "--json", "--out", out.to_str().expect("UTF-8")];
    let of_kind = |kind: &str, rest: &str| {
        let head = format!("id = \"mine\"\n{kind}title = \"Mine\"\nsource = \"me\"\n");
        fs::write(&path, head + rest).expect("a file");
        run(&arguments)
    };
    let flows = "[base]\ntransport = \"dctcp\"\nsize = \"10kB\"\ntrials = 50\n\
                 [[sweep]]\nscheme = [\"none\", \"ordered\"]\n";
    let (code, _, err) = of_kind("", flows);
    assert_eq!(code, 0, "{err}");
    let results: Value =
        serde_json::from_str(&fs::read_to_string(out.join("mine/results.json")).expect("results"))
            .expect("JSON");
    assert_eq!(results["points"][1]["measured"]["flows_sacked_pct"], 0.0, "{results}");
    let fleet = "figure = \"week\"\n[base]\ndays = 10\npods = 2\nconstraint = \"50%\"\n";
    assert_eq!(of_kind("kind = \"fleet\"\n", fleet).0, 0);
    let (code, _, err) = of_kind("kind = \"flow\"\n", flows);
    let expected =
        format!("error: {name}: there is no kind of experiment called `flow`\nhint: `kind` is `fleet`");
    assert!(code == 2 && err.starts_with(&expected), "exit code {code}: {err}");
}

/// A regression: the error was about an option `--port`, which there is not.
#[test]
fn a_port_to_capture_that_does_not_exist_is_refused_by_its_option() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.pcapng");
    let (code, _, err) =
        run(&["sim", "flows", "--capture", file.to_str().expect("UTF-8"), "--capture-port", "foo"]);
    assert!(code == 2 && err.starts_with("error: --capture-port foo: must be a port"), "{err}");
}

#[test]
fn an_endless_flow_refuses_options_of_flows_that_end() {
    for (option, value) in [("--size", "143B"), ("--traffic", "across"), ("--trials", "3")] {
        let (code, _, err) = run(&["sim", "flows", "--duration", "1ms", option, value]);
        assert_eq!(code, 2, "{option}: {err}");
        assert!(err.starts_with(&format!("error: {option} {value}: cannot be combined")), "{err}");
    }
}
