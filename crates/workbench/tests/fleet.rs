//! `linkmend fleet` as users meet it: results, errors, files.

#[path = "../../linkmend/tests/program/mod.rs"]
mod program;

use program::run;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Small enough for a run to take milliseconds, with failures often enough for much to happen.
const SMALL: [&str; 6] =
    ["--topology", "facebook-fabric:pods=3,tors=8,spines=8", "--mttf", "500", "--days", "60"];

fn simulate(arguments: &[&str]) -> Value {
    let all = [&["fleet", "simulate", "--json"][..], arguments].concat();
    let (code, out, error) = run(&all);
    assert_eq!(code, 0, "{error}");
    serde_json::from_str(&out).expect("JSON")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn the_same_seed_gives_the_same_result() {
    let once = simulate(&SMALL);
    assert_eq!(once, simulate(&SMALL));
    assert_ne!(once, simulate(&[&SMALL[..], &["--seed", "2"]].concat()));
}

#[test]
fn a_trace_read_back_gives_the_same_result_as_when_it_was_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let drawn = simulate(&SMALL);
    let path = folder.path().join("trace.csv");
    let (code, _, error) = run(&[&["fleet", "trace", "--out", text(&path)][..], &SMALL].concat());
    assert_eq!(code, 0, "{error}");
    assert_eq!(simulate(&[&SMALL[..2], &["--trace", text(&path)]].concat()), drawn);
}

#[test]
fn the_series_has_a_row_before_and_one_after_every_event() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("series.csv");
    let summary = simulate(&[&SMALL[..], &["--series", text(&path)]].concat());
    let series = fs::read_to_string(&path).expect("a file");
    let rows: Vec<Vec<&str>> = series.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(
        rows[0].join(","),
        "time_s,total_penalty,total_effective_penalty,avg_paths_per_tor,min_paths_per_tor,avg_pod_capacity_gbps,\
         min_pod_capacity_gbps,max_loss_rate,disabled_links,corrupting_links,max_protected_links_per_pipe"
    );
    let count = |key: &str| summary[key].as_u64().expect("a count") as usize;
    let events = count("loss_events") + count("repairs");
    assert_eq!(rows.len(), 1 + 2 * events);
    let mut held = rows[1][1..].to_vec();
    for pair in rows[1..].chunks(2) {
        assert_eq!(pair[0][0], pair[1][0]);
        assert_eq!(pair[0][1..], held[..], "what is before an event is what was after the last");
        held = pair[1][1..].to_vec();
    }
}

#[test]
fn traces_of_the_authors_bring_their_network() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.json");
    let trace = r#"{"topo_type": 3, "topo_params": {"num_pods": 2, "oversubscription": 1, "link_capacity": 100,
        "tors_per_pod": 48}, "failure_events_list": [[100, 0, 1e-3], [100, 1, 2e-3], [200, 0, 1e-4]]}"#;
    fs::write(&path, trace).expect("written");
    let summary = simulate(&[
        "--trace",
        text(&path),
        "--repair",
        "2d:1",
        "--constraint",
        "75%",
        "--strategy",
        "corropt",
    ]);
    // The first link is disabled; its ToR cannot spare the second until the first is back.
    assert_eq!(summary["links"], 768);
    assert_eq!((&summary["loss_events"], &summary["skipped_events"]), (&3.into(), &1.into()));
    assert_eq!((&summary["repairs"], &summary["fast_checker_rejections"]), (&2.into(), &1.into()));
    // The first comes back after two days; the second is then disabled for two days.
    assert_eq!(summary["last_event_s"], 100 + 4 * 86_400);
}

/// A row of each built-in mode, measured again.
#[test]
fn the_built_in_table_of_protection_is_what_the_simulator_measures() {
    let speed_gbps = |arguments: &[&str]| {
        let stress = ["sim", "stress", "--speed", "100G", "--frames", "5M", "--seed", "1", "--json"];
        let (code, out, error) = run(&[&stress[..], arguments].concat());
        assert_eq!(code, 0, "{error}");
        let report: Value = serde_json::from_str(&out).expect("JSON");
        report["effective_speed_gbps"].as_f64().expect("a speed")
    };
    let unprotected = speed_gbps(&["--scheme", "none", "--loss", "0"]);
    let table = linkmend_fleet::protection::ProtectionTable::simulated("100G").expect("it is built in");
    let non_blocking = table.non_blocking_row(1e-3).expect("it was measured");
    for (mode, loss, row, effective) in
        [("ordered", "1e-4", table.row(1e-4), 1e-8), ("non-blocking", "1e-3", non_blocking, 1e-9)]
    {
        let measured = speed_gbps(&["--scheme", mode, "--loss", loss]) / unprotected;
        assert!((measured - row.capacity).abs() < 1e-4, "{mode}: {measured} is not of {row:?}");
        assert!((row.effective_loss_rate / effective - 1.0).abs() < 1e-9, "Equation 1: {row:?}");
    }
    let llr = linkmend_fleet::protection::ProtectionTable::named("llr-100G").expect("it is built in");
    let measured = speed_gbps(&["--scheme", "llr", "--llr", "plan", "--distance", "100m", "--loss", "1e-2"]);
    let row = llr.row(1e-2);
    assert!((measured / unprotected - row.capacity).abs() < 1e-4, "LLR: {measured} is not of {row:?}");
}

#[test]
fn impossible_arguments_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = folder.path().join("wrong.csv");
    fs::write(&wrong, "time_s,link,loss_rate\n5,0,1e-3\n4,1,2e-3\n").expect("written");
    let other = folder.path().join("other.json");
    let trace = r#"{"topo_type": 3, "topo_params": {"num_pods": 2, "oversubscription": 1, "link_capacity": 100,
        "tors_per_pod": 48}, "failure_events_list": []}"#;
    fs::write(&other, trace).expect("written");
    let network = folder.path().join("net.yaml");
    fs::write(&network, "switches:\n  - {name: a, layer: 0}\n  - {name: b, layer: 0}\nlinks:\n  - {from: a, to: c, speed: 100G}\n")
        .expect("written");
    let cases: [(&[&str], &str); 21] = [
        (
            &["--mode", "non-blocking"],
            "hint: use --protection 25G, 100G or 400G, or a file with `non_blocking_rows`",
        ),
        (
            &["--protection", "llr-400G", "--mode", "non-blocking"],
            "`llr-400G` was not measured in non-blocking mode",
        ),
        (&["--constraint", "101%"], "not a share from 0% to 100%"),
        (&["--constraint=-1"], "not a share from 0% to 100%"),
        (
            &["--repair", "2:1"],
            "error: --repair 2:1: \"2\" has no unit\nhint: a repair is written like 2d:0.8,4d:0.2 (s, m, h or d)\n",
        ),
        (&["--repair", "2d:0"], "share 0 is not above 0"),
        (&["--topology", "torus"], "there is no topology `torus`"),
        (&["--topology", "fat-tree:k=7"], "k is 7; it must be even, 2 to 256"),
        (&["--topology", "fat-tree:z=7"], "there is no parameter `z`"),
        (
            &["--topology", "fat-tree:k=4,k=8"],
            "error: topology fat-tree:k=4,k=8: `k` is given twice, as 4 and as 8\nhint: leave one of them out\n",
        ),
        (&["--repair", "2d:0.8,4d:0.1"], "the shares add up to 0.9, but must add up to 1"),
        (
            &["--topology", text(&wrong)],
            "hint: this is a list of links or events, but --topology takes a network",
        ),
        (&["--trace", text(&wrong), "--days", "7"], "'--trace <FILE>' cannot be used with '--days <DAYS>'"),
        (&["--trace", text(&wrong), "--mttf", "7"], "'--trace <FILE>' cannot be used with '--mttf <HOURS>'"),
        (&["--topology", text(&network)], "net.yaml:5: "),
        (&["--trace", text(&wrong)], "wrong.csv:3: time_s 4 comes after 5; events must be in order of time"),
        (&["--trace", text(&other), "--topology", "facebook-fabric"], "was made for another network"),
        (&["--mttf", "1e-9"], "at most 100 million"),
        (&["--layers", "x"], "error: --layers requires a network file in --topology"),
        (
            &["--protection", text(&network)],
            "hint: use `authors`, `25G`, `100G`, `400G`, `llr-100G`, `llr-400G` or `llr-800G`, or a JSON file",
        ),
        (&["--protection", "/nonexistent"], "error: --protection /nonexistent: no table has this name"),
    ];
    for (arguments, reason) in cases {
        let (code, out, error) = run(&[&["fleet", "simulate"][..], arguments].concat());
        assert!(error.contains(reason), "{arguments:?}: {error}");
        assert!(code == 2 || reason.starts_with("cannot read"), "{arguments:?}: exit code {code}");
        assert!(out.is_empty(), "{out}");
    }
}

#[test]
fn the_figures_do_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let summary = |jobs: &str| {
        let out = folder.path().join(jobs);
        let (code, _, error) = run(&[
            "reproduce",
            "fig15",
            "fig16",
            "deployment",
            "--quick",
            "--jobs",
            jobs,
            "--out",
            text(&out),
        ]);
        assert_eq!(code, 0, "{error}");
        ["summary.json", "report.html", "fig15/results.json", "fig16/results.json", "deployment/results.json"]
            .map(|name| fs::read(out.join(name)).expect("a file"))
    };
    assert_eq!(summary("1"), summary("2"));
}
