//! `linkmend rdma`: what it computes, plans, compares, and refuses.

#[path = "../../linkmend/tests/program/mod.rs"]
mod program;

use program::run;
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    let (code, out, err) = run(arguments);
    assert_eq!(code, 0, "{arguments:?}: {err}");
    serde_json::from_str(&out).expect("JSON")
}

#[test]
fn the_papers_ping_pong_waits_for_one_packet_in_128() {
    let path = ["--links", "1", "--loss", "0.78125%", "--size", "1024B", "--json"];
    let model = json(&[&["rdma", "model"][..], &path].concat());
    let of = |kind: &str, how: &str| model["timeouts"][kind][how].as_f64().expect("a number");
    // One in 128, and one in 128 of those waits again.
    assert!((of("tail", "exact") * 127.0 - 1.0).abs() < 1e-9);
    assert!((of("tail_ack", "published") * 128.0 - 0.06).abs() < 1e-9);
    assert_eq!(of("twice", "per_flow"), 0.0, "nobody notices the loss of the only packet");
    let testbed = json(&[&["rdma", "model", "--mechanisms", "testbed"][..], &path].concat());
    assert!(testbed["timeouts_per_flow"].as_f64().expect("a number") < 1e-6);
}

#[test]
fn a_plan_reaches_what_is_wanted_and_says_what_it_costs() {
    let plan = json(&["rdma", "plan", "--wanted", "1e-6", "--json"]);
    assert!(plan["timeouts_per_flow"].as_f64().expect("a number") <= 1e-6, "{plan}");
    let costs = plan["costs"].as_object().expect("costs");
    let sum: f64 = costs.values().filter_map(Value::as_f64).sum();
    assert!((1e-4..0.03).contains(&sum), "{plan}");
}

#[test]
fn the_model_is_inside_what_the_simulated_transport_shows() {
    let check = ["rdma", "check", "--trials", "20k", "--json"];
    let rows = json(&check);
    let judged = rows.as_array().expect("rows");
    assert!(
        judged.len() > 20
            && judged.iter().all(|row| row["verdict"] == "reproduced" || row["verdict"] == "too_few_to_tell")
    );
    assert_eq!(json(&[&check[..], &["--threads", "1"]].concat()), rows, "on any number of threads");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let cases: [(&[&str], &str); 12] = [
        (&["model", "--loss", "0"], "--loss 0: must be above 0 and below 1"),
        (&["model", "--loss", "1"], "--loss 1: must be above 0 and below 1"),
        (&["model", "--links", "0"], "links = 0: must be 1 to 64"),
        (&["model", "--corrupting", "0"], "corrupting = 0: must be above 0"),
        (&["model", "--mtu", "9200"], "mtu = 9200: must leave room"),
        (&["model", "--mtu", "0"], "mtu = 0: must be 1 to 9216"),
        (&["model", "--dummies", "16"], "dummies = 16: must be at most 15"),
        (&["model", "--mechanisms", "some"], "mechanisms = some: must be one of none, nak,"),
        (&["plan", "--wanted", "0"], "--wanted 0: must be above 0"),
        (&["plan"], "--wanted <RATE>"),
        (&["model", "--size", "0B"], "0B"),
        (&["check", "--trials", "0"], "trials"),
    ];
    for (arguments, message) in cases {
        let (code, out, err) = run(&[&["rdma"][..], arguments].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(message), "{arguments:?}: {err}");
    }
    let (code, _, err) = run(&["rdma", "plan", "--wanted", "1e-12", "--loss", "0.9", "--size", "1GB"]);
    assert_eq!(code, 1);
    assert!(err.contains("hint: "), "{err}");
}

#[test]
fn what_a_simulated_network_cannot_do_is_refused_by_name() {
    let failing = ["--failure-every", "20ms"];
    let with_failures: [(&[&str], &str); 8] = [
        (&["--hand-off", "none", "--sqr-one-queue"], "--sqr-one-queue: needs `hand-off` sqr"),
        (&["--hand-off", "acknowledged", "--sqr-buffer", "1MB"], "--sqr-buffer 1MB: needs `hand-off` sqr"),
        (&["--sqr-margin", "1us"], "--sqr-margin 1us: needs `hand-off` sqr"),
        (&["--reroute", "sharebackup", "--down-for", "5ms"], "--down-for 5ms: needs `reroute` local"),
        (&["--hand-off", "acknowledged", "--scheme", "wharf"], "--hand-off acknowledged: needs links that"),
        (&["--hand-off", "sqr", "--sqr-buffer", "0B"], "--sqr-buffer 0B: must be above 0B"),
        (&["--hand-off", "sqr", "--sqr-margin", "100ms"], "--sqr-margin 100000 us: must be shorter than"),
        (&["--hand-off", "sqr", "--sqr-margin", "1000s"], "--sqr-margin 1000000000 us: must be shorter than"),
    ];
    for (arguments, message) in with_failures {
        let line = [&["sim", "flows", "--transport", "cubic"][..], &failing, arguments].concat();
        let (code, out, err) = run(&line);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(message), "{arguments:?}: {err}");
    }
    let cases: [(&[&str], &str); 18] = [
        (
            &["--transport", "rdma", "--dummy-gap", "1us"],
            "--dummy-gap 1us: needs `rdma-mechanisms` with dummies",
        ),
        (
            &["--transport", "cubic", "--dummy-gap", "1us"],
            "--dummy-gap 1us: needs `rdma-mechanisms` with dummies",
        ),
        (&["--traffic", "ping-pong", "--incast", "1"], "--traffic ping-pong: has no `incast`"),
        (&["--transport", "rdma", "--rdma-mechanisms", "16/0/0/0"], "each number must be at most 15"),
        (&["--transport", "rdma", "--rdma-mechanisms", "300/0/0/0"], "each number must be at most 15"),
        (&["--mean-burst", "0"], "--mean-burst 0: must be at least 1"),
        (
            &["--transport", "rdma", "--rdma-verb", "read", "--host-recovery", "selective-repeat"],
            "--rdma-verb read: needs `host-recovery` go-back-n",
        ),
        (&["--load", "-1"], "invalid value '-1' for '--load <SHARE>'"),
        (&["--mean-burst", "-3"], "--mean-burst -3: must be at least 1"),
        (&["--loss", "-1"], "invalid value '-1' for '--loss <RATE>'"),
        (
            &["--transport", "dctcp", "--rdma-mechanisms", "all"],
            "--rdma-mechanisms all: needs an RDMA transport",
        ),
        (&["--transport", "dctcp", "--queue-pairs", "1"], "--queue-pairs 1: needs an RDMA transport"),
        (&["--transport", "dctcp", "--rdma-mtu", "1024"], "--rdma-mtu 1024: needs an RDMA transport"),
        (&["--transport", "rdma", "--queue-pairs", "0"], "--queue-pairs 0: must be 1 to 1024"),
        (&["--transport", "rdma", "--rdma-mtu", "1000"], "--rdma-mtu 1000: must be 256, 512"),
        (&["--transport", "rdma", "--timeout-exponent", "32"], "--timeout-exponent 32: must be 0 to 31"),
        (
            &["--transport", "rdma", "--rdma-mechanisms", "2/1"],
            "invalid value '2/1' for '--rdma-mechanisms <NAME>': must be one of",
        ),
        (&["--traffic", "ping-pong", "--load", "0.5"], "--traffic ping-pong: has no `load`"),
    ];
    for (arguments, message) in cases {
        let (code, out, err) = run(&[&["sim", "flows", "--size", "1024B"][..], arguments].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(message), "{arguments:?}: {err}");
    }
}

#[test]
fn a_published_formula_is_no_probability_above_one() {
    let model = json(&["rdma", "model", "--bit-error-rate", "0.5", "--json"]);
    for kind in ["nak", "twice", "tail", "tail_ack"] {
        let published = model["timeouts"][kind]["published"].as_f64().expect("a number");
        assert!(published <= 1.0, "{kind}: {published}");
    }
}

#[test]
fn one_flow_of_each_case_is_too_few_to_tell_and_nothing_is_outside() {
    let (code, out, err) = run(&["rdma", "check", "--trials", "1"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("too few") && !out.contains("outside"), "{out}");
}

/// Each copy is no retry of its own: a connection has seven.
#[test]
fn fifteen_replicas_of_each_nak_end_no_connection() {
    let report = json(&[
        "sim",
        "flows",
        "--transport",
        "rdma",
        "--trials",
        "300",
        "--loss",
        "1e-2",
        "--rdma-mechanisms",
        "2/15/3/0",
        "--json",
    ]);
    assert_eq!((&report["failed_flows"], &report["unfinished_flows"]), (&0.into(), &0.into()), "{report}");
}

#[test]
fn the_speed_of_the_command_line_is_that_of_a_topology_which_names_none() {
    let median = |topology: &str| {
        let line = [
            "sim",
            "flows",
            "--transport",
            "rdma",
            "--loss",
            "0",
            "--trials",
            "20",
            "--size",
            "2MB",
            "--json",
        ];
        let report = json(&[&line[..], &["--speed", "10G", "--topology", topology]].concat());
        report["fct_us"]["p50"].as_f64().expect("flows ended")
    };
    // 2 MB at 10 Gbit/s take 1.7 ms.
    assert!(median("dumbbell") > 1_600.0);
    assert!(median("dumbbell:speed=100G") < 400.0);
}

#[test]
fn threads_that_cannot_help_are_named() {
    let flows = |trials: &str| {
        run(&["sim", "flows", "--trials", trials, "--size", "143B", "--threads", "2", "--json"])
    };
    let (code, one_part, err) = flows("10");
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("--threads 2: there is work for only 1"), "{err}");
    assert!(!one_part.contains("threads"));
    let (_, _, err) = flows("20k");
    assert!(!err.contains("--threads"), "{err}");
}
