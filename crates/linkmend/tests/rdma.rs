//! `linkmend rdma`: what it computes, plans, compares, and refuses.

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
    assert!((of("tail", "exact") * 128.0 - 1.0).abs() < 1e-9);
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
fn every_published_number_is_inside_or_explained() {
    let rows = json(&["rdma", "published", "--json"]);
    let rows = rows.as_array().expect("rows");
    assert!(rows.len() > 35);
    let (code, out, _) = run(&["rdma", "published"]);
    assert_eq!(code, 0);
    assert!(out.contains("inside the tolerance"), "{out}");
}

#[test]
fn the_model_is_inside_what_the_simulated_transport_shows() {
    let check = ["rdma", "check", "--trials", "20k", "--json"];
    let rows = json(&check);
    assert!(rows.as_array().expect("rows").len() > 20);
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
    let cases: [(&[&str], &str); 8] = [
        (
            &["--transport", "dctcp", "--rdma-mechanisms", "all"],
            "--rdma-mechanisms all: needs a transport with RDMA",
        ),
        (&["--transport", "dctcp", "--queue-pairs", "1"], "--queue-pairs 1: needs a transport with RDMA"),
        (&["--transport", "dctcp", "--mtu", "1024"], "--mtu 1024: needs a transport with RDMA"),
        (&["--transport", "rdma", "--queue-pairs", "0"], "--queue-pairs 0: must be 1 to 1024"),
        (&["--transport", "rdma", "--mtu", "1000"], "--mtu 1000: must be 256, 512"),
        (&["--transport", "rdma", "--timeout-exponent", "32"], "--timeout-exponent 32: must be 0 to 31"),
        (&["--transport", "rdma", "--rdma-mechanisms", "2/1"], "--mechanisms 2/1: must be one of"),
        (&["--traffic", "ping-pong", "--load", "0.5"], "--traffic ping-pong: has no `load`"),
    ];
    for (arguments, message) in cases {
        let (code, out, err) = run(&[&["sim", "flows", "--size", "1024B"][..], arguments].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(message), "{arguments:?}: {err}");
    }
}
