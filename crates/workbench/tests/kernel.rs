//! `linkmend sim kernel`: the simulated TCP carries what the kernel's carries over the same path.

#[path = "../../linkmend/tests/program/mod.rs"]
mod program;

use serde_json::Value;
use std::collections::BTreeMap;

/// How far goodput and mean window may be from the kernel's on average, as a share of the latter.
const GOODPUT_TOLERANCE: f64 = 0.2;
const WINDOW_TOLERANCE: f64 = 0.3;

#[test]
fn the_simulated_tcp_carries_what_the_kernels_carries_under_the_same_losses() {
    const TEST: &str = "the_simulated_tcp_carries_what_the_kernels_carries_under_the_same_losses";
    if !linkmend_lab::unprivileged::has_capabilities() {
        eprintln!(
            "\n######## SKIPPED: {TEST} needs root for network namespaces: sudo -E make test ########\n"
        );
        return;
    }
    // Which loss meets which window is chance: with one list of losses the ratio is anything from 0.98 to 1.19.
    let mut ratios: BTreeMap<(String, &str), Vec<f64>> = BTreeMap::new();
    for seed in ["1", "2", "3"] {
        let comparison =
            compare(&["--duration", "3s", "--losses", "random-1e-3,random-1e-2", "--seed", seed]);
        let rows = comparison["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 6);
        for row in rows {
            let name = format!("{}, {}", row["congestion_control"], row["losses"]);
            let (kernel, simulated) = (&row["kernel"], &row["simulated"]);
            if kernel.is_null() {
                eprintln!("\n######## NOT COMPARED: {name}: this kernel does not have it ########\n");
                continue;
            }
            if row["disturbed"] == true {
                let noise = &comparison["noise"];
                eprintln!("\n######## NOT JUDGED: {name}: the machine disturbed it: {noise} ########\n");
                continue;
            }
            for value in ["goodput_bps", "congestion_window_mean_segments"] {
                let of = |side: &Value| side[value].as_f64().expect("a number");
                ratios.entry((name.clone(), value)).or_default().push(of(simulated) / of(kernel));
            }
            // Both sides lost frames of one list: as many as there are in what they sent.
            let lost = |side: &Value| side["frames_lost"].as_u64().expect("a count");
            assert!(lost(kernel) > 0 && lost(simulated) > 0, "{name}: nothing was lost");
            let retransmitted = kernel["retransmitted_segments"].as_u64().expect("a count");
            assert!(
                retransmitted + 5 >= lost(kernel),
                "{name}: {retransmitted} sent again of {}",
                lost(kernel)
            );
        }
    }
    if ratios.is_empty() {
        eprintln!("\n######## NOTHING JUDGED: {TEST}: this machine was too disturbed ########\n");
    }
    for ((name, value), ratios) in ratios {
        let tolerance = if value == "goodput_bps" { GOODPUT_TOLERANCE } else { WINDOW_TOLERANCE };
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        println!("{name}: {value} is {mean:.3} of the kernel's ({ratios:.3?})");
        let judged = ratios.len() > 1;
        assert!(
            !judged || (mean - 1.0).abs() <= tolerance,
            "{name}: {value} is {mean:.3} of the kernel's: {ratios:.3?}"
        );
    }
}

/// What `linkmend sim kernel` prints with these arguments.
fn compare(arguments: &[&str]) -> Value {
    let (code, printed, said) =
        program::run(&[&["sim", "kernel", "--json", "--no-report"], arguments].concat());
    assert_eq!(code, 0, "{said}");
    serde_json::from_str(&printed).expect("JSON")
}

#[test]
fn the_simulated_side_alone_needs_no_root_and_repeats_itself() {
    let arguments = [
        "sim",
        "kernel",
        "--simulated",
        "--duration",
        "1s",
        "--losses",
        "random-1e-2",
        "--json",
        "--no-report",
    ];
    let (code, first, said) = program::run(&arguments);
    assert_eq!(code, 0, "{said}");
    assert_eq!(program::run(&arguments).1, first, "the same seed gives the same bytes");
    let comparison: Value = serde_json::from_str(&first).expect("JSON");
    assert!(comparison["kernel"].is_null() && comparison["rows"][0]["verdict"] == "not_measured", "{first}");
}

#[test]
fn a_report_shows_windows_over_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("kernel.html");
    let path = page.to_str().expect("UTF-8");
    let (code, printed, said) = program::run(&[
        "sim",
        "kernel",
        "--simulated",
        "--duration",
        "500ms",
        "--losses",
        "none",
        "--report",
        path,
    ]);
    assert_eq!(code, 0, "{said}");
    assert!(printed.contains("cubic") && printed.contains("mean window"), "{printed}");
    let page = std::fs::read_to_string(page).expect("it was written");
    assert!(page.contains("<svg") && page.contains("congestion window") && page.contains("bbr, none"));
}

#[test]
fn what_cannot_be_compared_is_refused_by_name() {
    for (arguments, named) in [
        (["--congestion-control", "dctcp"], "must be one of reno, cubic, bbr"),
        (["--losses", "all"], "random-1e-3"),
        (["--rate", "3000000007"], "unit"),
        (["--rate", "300M"], "whole number of picoseconds"),
        (["--delay", "3s"], "at most 2 s"),
        (["--duration", "0s"], "100ms to 10min"),
        (["--queue", "1KiB"], "ten frames"),
    ] {
        let (code, _, said) =
            program::run(&[&["sim", "kernel", "--simulated", "--no-report"], &arguments[..]].concat());
        assert!(code == 2 && said.contains(named), "{arguments:?}: {code}, {said}");
    }
}
