//! `linkmend fleet deploy`, and what its lists and crews do in `fleet simulate`.

#[path = "../../linkmend/tests/program/mod.rs"]
mod program;

use program::run;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Small enough for a run to take milliseconds, with failures often enough for much to happen.
const SMALL: [&str; 6] =
    ["--topology", "facebook-fabric:pods=5,tors=8,spines=8", "--mttf", "500", "--days", "60"];

fn fleet(subcommand: &str, arguments: &[&str]) -> Value {
    let (code, out, error) = run(&[&["fleet", subcommand, "--json"][..], &SMALL, arguments].concat());
    assert_eq!(code, 0, "{error}");
    serde_json::from_str(&out).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// By how much a year with these pods upgraded lowers the mean total penalty.
fn spared(upgraded: &str) -> f64 {
    let summary = fleet("simulate", &["--upgraded", upgraded]);
    let mean = |metric: &str| number(&summary["metrics"][metric]["mean"]);
    mean("total_penalty") - mean("total_effective_penalty")
}

#[test]
fn upgrading_the_pods_in_the_written_list_spares_what_the_ranking_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("upgraded.txt");
    for with_top in [&[][..], &["--with-top"]] {
        let budget = ["--seeds", "1", "--budget", "40%", "--write", text(&path)];
        let ranked = fleet("deploy", &[&budget[..], with_top].concat());
        let list = fs::read_to_string(&path).expect("it was written");
        let first = |rank: usize| ranked["pods"][rank]["pod"].as_str().expect("a name").to_owned() + "\n";
        let top = if with_top.is_empty() { "" } else { "top\n" };
        assert_eq!(list, first(0) + &first(1) + top);
        let said: f64 = (0..2)
            .map(|rank| {
                let pod = &ranked["pods"][rank];
                let to_top = if with_top.is_empty() { 0.0 } else { number(&pod["spared_to_top"]) };
                number(&pod["spared_within"]) + to_top
            })
            .sum();
        let found = spared(&format!("@{}", text(&path)));
        assert!((found / said - 1.0).abs() < 1e-9, "{found}, not {said}");
    }
}

#[test]
fn an_order_does_not_depend_on_the_number_of_threads() {
    let ranked = |threads: &str| fleet("deploy", &["--seeds", "4", "--threads", threads]);
    assert_eq!(ranked("1"), ranked("3"));
    assert_eq!(ranked("2")["traces"], 4);
}

#[test]
fn tables_say_what_the_order_is_worth() {
    let (code, out, error) = run(&[&["fleet", "deploy", "--seeds", "3", "--rows", "2"][..], &SMALL].concat());
    assert_eq!(code, 0, "{error}");
    for said in [
        "Pods to upgrade first",
        "3 traces",
        "3 more pods",
        "Loss avoided by upgrades",
        "The top layer (switches: 32)",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
}

#[test]
fn a_repair_crew_is_reported_and_limits_repairs() {
    let crew =
        fleet("simulate", &["--crew", "2", "--repair-order", "most-worth", "--take-down", "for-repair"]);
    assert_eq!(
        crew["crew"],
        serde_json::json!({"size": 2, "order": "most-worth", "take_down": "for-repair"})
    );
    assert!(number(&crew["metrics"]["disabled_links"]["max"]) <= 2.0);
    let waiting = fleet("simulate", &["--crew", "2"]);
    assert!(number(&waiting["repair_wait_s"]) > 0.0);
    let (_, out, _) = run(&[&["fleet", "simulate", "--crew", "2"][..], &SMALL].concat());
    assert!(out.contains("links waiting"), "{out}");
}

#[test]
fn impossible_arguments_are_refused_with_the_reason() {
    let cases: [(&str, &[&str], &str); 7] = [
        (
            "simulate",
            &["--upgraded", "pod9"],
            "there is no pod or switch `pod9`\nhint: pods are pod0 to pod4, ",
        ),
        ("simulate", &["--upgraded", "@/nonexistent"], "--upgraded: cannot read /nonexistent"),
        ("simulate", &["--upgraded", "pod1", "--deploy", "30%"], "cannot be used with"),
        ("simulate", &["--repair-order", "worst-first"], "--crew <N>"),
        ("simulate", &["--crew", "0"], "0 is not in 1.."),
        ("deploy", &["--budget", "30%"], "--write <FILE>"),
        ("deploy", &["--constraint", "2"], "not a share from 0% to 100%"),
    ];
    for (subcommand, arguments, reason) in cases {
        let (code, out, error) = run(&[&["fleet", subcommand][..], &SMALL, arguments].concat());
        assert!(error.contains(reason), "{arguments:?}: {error}");
        assert!(code == 2 || reason.contains("cannot read"), "{arguments:?}: exit code {code}");
        assert!(out.is_empty(), "{out}");
    }
}
