//! RDMA over a fat tree whose links corrupt bits: what mechanisms and protected links leave of its timeouts.

use linkmend_quantity::LossRate;
use linkmend_rdma::Mechanisms;
use linkmend_sim::flows::{Between, Demand, FlowsReport, RdmaMechanisms, SchemeKind, run, run_with_records};
use linkmend_sim::host::{Extent, FlowSizes, RdmaVerb};
use linkmend_sim::parameters::RunParameters;
use linkmend_topology::spec;
use std::path::Path;
use std::sync::atomic::AtomicBool;

static NEVER: AtomicBool = AtomicBool::new(false);

fn setup(loss: f64, mechanisms: Mechanisms) -> RunParameters {
    let setup = RunParameters {
        loss: Some(LossRate(loss)),
        rdma_mechanisms: Some(RdmaMechanisms(mechanisms)),
        ..RunParameters::default()
    };
    setup.or(&[
        ("transport", "rdma"),
        ("bit-errors", "true"),
        ("corrupting-links", "32"),
        ("both-directions", "true"),
        ("queue-pairs", "1"),
        ("timeout-exponent", "14"),
        ("rdma-window", "1024"),
    ])
}

fn demand(between: Between, flows: u64) -> Demand {
    let sizes = FlowSizes::published("web-search").expect("it is published");
    Demand::Load { sizes, load: 0.1, between, extent: Extent::Flows(flows) }
}

fn report(setup: &RunParameters, demand: Demand) -> FlowsReport {
    let graph = spec::graph("fat-tree:k=4,hosts=2").expect("a network");
    let config = setup.flows_in(graph, demand, Path::new("")).expect("it can be run");
    run(&config, 1, &NEVER, &|| ()).expect("it can be run").expect("nobody stops it")
}

#[test]
fn mechanisms_or_protected_links_leave_no_timeout() {
    let run = |loss, mechanisms, scheme| {
        report(
            &RunParameters { scheme: Some(scheme), ..setup(loss, mechanisms) },
            demand(Between::FirstAndLast, 300),
        )
    };
    let (none, all) = (Mechanisms::NONE, Mechanisms::ALL);
    let lossless = run(0.0, none, SchemeKind::None);
    let bare = run(1e-3, none, SchemeKind::None);
    let causes = bare.flows.rdma_timeouts;
    // 0.031 of a flow are expected.
    assert!((3..=20).contains(&(causes.nak + causes.twice + causes.tail + causes.tail_ack)), "{causes:?}");
    assert_eq!(
        bare.flows.timeouts,
        causes.nak + causes.twice + causes.tail + causes.tail_ack + causes.behind
    );
    let p99 = |report: &FlowsReport| report.flows.fct_us.as_ref().expect("flows ended").p99;
    for (mechanisms, scheme, most) in
        [(all, SchemeKind::None, 4.0), (none, SchemeKind::Ordered, 1.3), (none, SchemeKind::NonBlocking, 4.0)]
    {
        let better = run(1e-3, mechanisms, scheme);
        let causes = better.flows.rdma_timeouts;
        assert_eq!(causes.nak + causes.twice + causes.tail + causes.tail_ack, 0, "{mechanisms:?} {scheme:?}");
        assert!(p99(&better) < most * p99(&lossless), "{} of {}", p99(&better), p99(&lossless));
        assert!(p99(&bare) > 10.0 * p99(&better));
        assert_eq!((better.flows.failed_flows, better.flows.unfinished_flows), (0, 0));
    }
}

#[test]
fn all_hosts_may_send_to_all_others_and_the_same_seed_gives_the_same_flows() {
    let all = setup(1e-3, Mechanisms::ALL_OPTIMIZED);
    let one = report(&all, demand(Between::All, 200));
    assert_eq!(one.flows.fct_us.as_ref().map(|fct| fct.count), Some(200));
    assert_eq!(report(&all, demand(Between::All, 200)), one);
    let other = RunParameters { seed: Some(2), ..all };
    assert_ne!(report(&other, demand(Between::All, 200)), one);
}

#[test]
fn a_ping_pong_is_as_many_rounds_each_as_long_as_both_ways() {
    let graph = spec::graph("line:switches=2,hosts=1").expect("a network");
    let setup = RunParameters { corrupting_links: Some(1), ..setup(0.0, Mechanisms::NONE) };
    let demand = Demand::PingPong { rounds: 50, bytes: 1_024 };
    let config = setup.flows_in(graph, demand, Path::new("")).expect("it can be run");
    let (_, records) = run_with_records(&config, 1, &NEVER, &|| ()).expect("it runs").expect("to its end");
    assert_eq!(records.len(), 50);
    for pair in records.windows(2) {
        assert_eq!(pair[1].began, pair[0].delivered, "a round begins when the answer before has come");
    }
    let times: Vec<f64> = records.iter().map(|record| record.completion_time().as_nanos() / 1e3).collect();
    assert!(times.iter().all(|us| (5.0..15.0).contains(us)), "{times:?}");
}

/// Nearly every packet is lost: connections fail after seven timeouts, the flows on them with them, and others go on.
#[test]
fn a_connection_that_fails_takes_its_flows_along_and_the_next_flow_has_a_new_one() {
    let mut setup = setup(0.9, Mechanisms::ALL);
    setup.timeout_exponent = Some(4);
    setup.bit_errors = None;
    let sizes = FlowSizes::one(1_024).expect("a size");
    let demand =
        Demand::Load { sizes, load: 1e-7, between: Between::FirstAndLast, extent: Extent::Flows(100) };
    let report = report(&setup, demand);
    let ended = report.flows.fct_us.as_ref().map_or(0, |fct| fct.count);
    assert_eq!((ended + report.flows.failed_flows, report.flows.unfinished_flows), (100, 0), "{report:?}");
    assert!(report.flows.failed_flows > 10, "{report:?}");
}

/// The JCST paper's section 5.2: behind a READ, only the response to another READ tells of a tail that was lost.
#[test]
fn reads_have_the_same_timeouts_and_dummies_end_those_of_tails() {
    let read = |mechanisms| {
        let mut setup = setup(5e-3, mechanisms);
        setup.rdma_verb = Some(RdmaVerb::Read);
        // Flows of one packet behind long pauses: nearly all losses are of tails.
        let sizes = FlowSizes::one(1_000).expect("a size");
        let demand =
            Demand::Load { sizes, load: 1e-7, between: Between::FirstAndLast, extent: Extent::Flows(2_000) };
        report(&setup, demand)
    };
    let bare = read(Mechanisms::NONE);
    // A request has 98 B and a response 1,066 B on each of four links that corrupt 1 in 200 full packets: about 47.
    let causes = bare.flows.rdma_timeouts;
    assert!((25..=75).contains(&causes.tail), "{causes:?}");
    assert_eq!((causes.nak, causes.tail_ack), (0, 0), "{causes:?}");
    let dummies = read(Mechanisms { dummies: 2, ..Mechanisms::NONE });
    assert!(dummies.flows.rdma_timeouts.tail <= 1, "{:?}", dummies.flows.rdma_timeouts);
    assert_eq!((bare.flows.unfinished_flows, dummies.flows.unfinished_flows), (0, 0));
    let median = |report: &FlowsReport| report.flows.fct_us.as_ref().expect("flows ended").p50;
    assert!((median(&bare) - median(&dummies)).abs() < 0.5, "dummies delay nothing");
}

#[test]
fn a_read_moves_the_same_data_the_same_way() {
    let run = |verb| {
        let mut setup = setup(0.0, Mechanisms::NONE);
        setup.rdma_verb = Some(verb);
        report(&setup, demand(Between::FirstAndLast, 200))
    };
    let (written, read) = (run(RdmaVerb::Write), run(RdmaVerb::Read));
    let p99 = |report: &FlowsReport| report.flows.fct_us.as_ref().expect("flows ended").p99;
    assert!((p99(&written) / p99(&read) - 1.0).abs() < 0.1, "{} {}", p99(&written), p99(&read));
    assert!(read.network.host_bytes_sent < written.network.host_bytes_sent, "a READ needs no ACKs");
}

#[test]
fn reads_are_refused_where_they_cannot_be() {
    let read = RunParameters { rdma_verb: Some(RdmaVerb::Read), ..RunParameters::default() };
    let cubic = read.clone().or(&[("transport", "cubic")]);
    let selective = read.or(&[("transport", "rdma"), ("host-recovery", "selective-repeat")]);
    for setup in [cubic, selective] {
        let graph = spec::graph("fat-tree:k=4,hosts=2").expect("a network");
        let checked = setup.flows_in(graph, demand(Between::All, 1), Path::new(""));
        let error = checked.expect_err("it cannot be").to_string();
        assert!(error.starts_with("rdma-verb = read: needs"), "{error}");
    }
}
