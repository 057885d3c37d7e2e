//! `linkmend reproduce` as users meet it: what it lists, how it goes on, what it writes.

#[path = "../../linkmend/tests/program/mod.rs"]
mod program;

use program::{PROGRAM, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn linkmend(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_remove("RUST_LOG").env("NO_COLOR", "1").env("COLUMNS", "100");
    command
}

/// All files below a folder, with their contents.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(
                files(&path).into_iter().map(|(below, content)| (format!("{name}/{below}"), content)),
            );
        } else {
            found.insert(name, fs::read(&path).expect("a file"));
        }
    }
    found
}

#[test]
fn the_list_names_the_experiments_and_how_long_they_take() {
    let (code, out, err) = run(&["reproduce", "--list"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for word in ["fig8", "Table 4", "frontier", "About", "All of them: about"] {
        assert!(out.contains(word), "{word}: {out}");
    }
    let (_, out, _) = run(&["reproduce", "--list", "--json"]);
    let list: Value = serde_json::from_str(&out).expect("JSON");
    let list = list.as_array().expect("a list");
    assert!(list.len() >= 18);
    let seconds: f64 = list.iter().filter_map(|entry| entry["about_s"].as_f64()).sum();
    assert!(seconds > 60.0);
}

#[test]
fn reproduced_results_do_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = ["1", "2"].map(|jobs| {
        let out = folder.path().join(jobs);
        let arguments = ["reproduce", "fig20", "fig1", "--quick", "--jobs", jobs, "--out"];
        let output = linkmend(&arguments).arg(&out).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stderr.is_empty(), "no progress where there is no terminal");
        files(&out)
    });
    let names: Vec<&str> = results[0].keys().map(String::as_str).collect();
    for name in [
        "report.html",
        "summary.json",
        "fig20/points.csv",
        "fig20/comparisons.csv",
        "fig20/results.json",
        "fig20/lengths-of-loss-events.svg",
        "fig1/how-transceivers-fail-on-a-fibre-that-attenuates-too-much.csv",
    ] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    assert!(results[0] == results[1], "files differ");
    let page = String::from_utf8_lossy(&results[0]["report.html"]).into_owned();
    assert!(page.contains("Consecutive losses") && page.contains("<svg") && !page.contains("src=\"http"));
    let summary: Value = serde_json::from_slice(&results[0]["summary.json"]).expect("JSON");
    assert_eq!(summary["experiments"][0]["id"], "fig1", "in the order of the list");
    assert_eq!(summary["experiments"][1]["comparisons"][0]["verdict"], "reproduced");
    // The command that a result gives for repeating it must work.
    let result: Value = serde_json::from_slice(&results[0]["fig20/results.json"]).expect("JSON");
    let command = result["points"][0]["command"].as_str().expect("a command");
    let words: Vec<&str> = command.split_whitespace().skip(1).chain(["--json"]).collect();
    let (code, out, err) = run(&words);
    assert_eq!(code, 0, "{command}: {err}");
    let again: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(again["seed"], result["points"][0]["first_seed"]);
}

#[test]
fn an_interrupted_reproduction_keeps_what_is_finished() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let mut child = linkmend(&["reproduce", "fig1", "fig8", "--jobs", "1", "--out"])
        .arg(&out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let began = Instant::now();
    while !out.join("fig1/results.json").exists() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
    let code = child.wait().expect("it ends").code();
    assert_eq!(code, Some(130));
    let page = fs::read_to_string(out.join("report.html")).expect("a report");
    assert!(page.contains("1 of 2"), "one experiment is finished");
    assert!(!out.join("fig8").exists());
}

#[test]
fn a_reproduction_adds_to_what_is_in_its_folder_and_repeats_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let reproduce = |arguments: &[&str]| {
        let done =
            linkmend(&["reproduce", "--quick", "--out"]).arg(&out).args(arguments).output().expect("it runs");
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        assert_eq!(done.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&done.stderr));
        text
    };
    let experiments = || {
        let summary = fs::read_to_string(out.join("summary.json")).expect("a summary");
        let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
        let ids = summary["experiments"].as_array().expect("a list").iter().map(|of| of["id"].to_string());
        ids.collect::<Vec<String>>()
    };
    reproduce(&["fig1"]);
    assert!(!reproduce(&["fig19"]).contains("from before"));
    assert_eq!(experiments(), ["\"fig19\"", "\"fig1\""], "both are in the report");
    let page = fs::read_to_string(out.join("report.html")).expect("a report");
    assert!(page.contains("fig1: ") && page.contains("fig19: ") && page.contains("2 of 2"));
    let written =
        || fs::metadata(out.join("fig1/results.json")).expect("results").modified().expect("a time");
    let before = written();
    assert!(reproduce(&["fig1", "fig19"]).contains("fig1, from before"));
    assert_eq!(written(), before, "nothing is run again");
    assert!(!reproduce(&["fig1", "--seed", "2"]).contains("from before"), "another seed is another result");
    assert_eq!(experiments(), ["\"fig1\""], "and does not stand beside results of the first");
    let lock = fs::File::create(out.join(".lock")).expect("a file");
    lock.lock().expect("nobody else has it");
    let refused = linkmend(&["reproduce", "fig1", "--quick", "--out"]).arg(&out).output().expect("it runs");
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1));
    assert!(error.contains("another command writes its results into"), "{error}");
}

#[test]
fn an_experiment_runs_with_as_many_flows_as_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let with_trials = |id: &str, count: &str| {
        run(&["reproduce", id, "--trials", count, "--out", out.to_str().expect("UTF-8")])
    };
    // Verdicts of so few flows may be anything.
    let (_, _, err) = with_trials("rdma-fig10", "40");
    let text = fs::read_to_string(out.join("rdma-fig10/results.json")).unwrap_or_else(|_| panic!("{err}"));
    let results: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(results["trials"], 40);
    for point in results["points"].as_array().expect("points") {
        assert!(point["command"].as_str().is_some_and(|command| command.contains("--trials 40 ")), "{point}");
        let report = &point["reports"][0];
        let ended = report["fct_us"]["count"].as_u64().expect("a count");
        assert_eq!(ended + report["failed_flows"].as_u64().expect("a count"), 40, "{report}");
    }
    assert!(fs::read_to_string(out.join("report.html")).expect("a report").contains("Trials of each run"));
    for (id, count, message) in [
        ("fig8", "40", "error: trials = 40: cannot be set for fig8, in which hosts send no flows\nhint: "),
        (
            "table3",
            "40",
            "error: trials = 40: cannot be set for table3, whose runs end after a fixed time\nhint: ",
        ),
        (
            "load-balanced",
            "40",
            "error: trials = 40: cannot be set for load-balanced, whose points deliberately have",
        ),
        (
            "rdma-ping-pong",
            "40",
            "error: trials = 40: cannot be set for rdma-ping-pong, which compares counts per run (timeouts_",
        ),
        ("rdma-fig10", "0", "error: trials = 0: must be "),
        ("rdma-fig10", "many", "error: invalid value 'many' for '--trials <COUNT>'"),
    ] {
        let (code, _, err) = with_trials(id, count);
        assert!(code == 2 && err.starts_with(message), "{id}, {count}: exit code {code}: {err}");
    }
}
