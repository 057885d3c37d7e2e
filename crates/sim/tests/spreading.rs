//! Switches that reorder: queues in parallel, and paths chosen for each frame.

use linkmend_sim::flows::{self, FlowsReport, HostRecovery, PlacementKind, TrafficKind, TransportKind};
use linkmend_sim::network::Balance;
use linkmend_sim::parameters::RunParameters;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn setup(transport: TransportKind, recovery: HostRecovery, placement: PlacementKind) -> RunParameters {
    let setup = RunParameters {
        transport: Some(transport),
        host_recovery: Some(recovery),
        // It measures the round trip.
        handshake: Some(transport == TransportKind::Cubic),
        placement: Some(placement),
        ..RunParameters::default()
    };
    setup.or(&[
        ("topology", "line:switches=2,hosts=8,speed=10G,host-speed=10G"),
        ("speed", "10G"),
        ("parallel-queues", "8"),
        ("reverse-delay", "5ms"),
        ("traffic", "across"),
        ("size", "mice-and-elephants"),
        ("load", "0.5"),
        ("trials", "2k"),
    ])
}

fn run(setup: &RunParameters) -> FlowsReport {
    let config = setup.flows(Path::new("")).expect("valid");
    flows::run(&config, 1, &AtomicBool::new(false), &|| ()).expect("it runs").expect("it ends")
}

#[test]
fn only_spread_frames_are_reordered_and_three_duplicate_acks_take_them_for_lost() {
    let of = |recovery, placement| run(&setup(TransportKind::Cubic, recovery, placement));
    let hashed = of(HostRecovery::DuplicateAcks, PlacementKind::Hashed);
    assert_eq!(
        (hashed.flows.retransmissions, hashed.flows.affected_flows.sacked, hashed.network.frames_dropped),
        (0, 0, 0)
    );
    let [dup_acks, adaptive, rack] =
        [HostRecovery::DuplicateAcks, HostRecovery::AdaptiveDuplicateAcks, HostRecovery::Rack]
            .map(|recovery| of(recovery, PlacementKind::Uniform));
    assert!(dup_acks.flows.affected_flows.sacked > 100, "{dup_acks:?}");
    assert!(
        dup_acks.flows.retransmissions > 2 * rack.flows.retransmissions.max(adaptive.flows.retransmissions),
        "{} {} {}",
        dup_acks.flows.retransmissions,
        rack.flows.retransmissions,
        adaptive.flows.retransmissions
    );
    let p99 = |report: &FlowsReport| report.flows.fct_us.expect("flows end").p99;
    assert!(p99(&dup_acks) > 1.3 * p99(&rack), "{} {}", p99(&dup_acks), p99(&rack));
    for report in [&hashed, &dup_acks, &adaptive, &rack] {
        assert_eq!(
            (report.flows.unfinished_flows, report.flows.failed_flows, report.flows.timeouts),
            (0, 0, 0)
        );
        let spreading = report.spreading.as_ref().expect("there are queues");
        assert!((0.35..0.6).contains(&spreading.utilisation), "{spreading:?}");
    }
}

/// Switches count what they hold by the port where it came in, and frames leave in another order than they came.
#[test]
fn pauses_end_although_frames_leave_in_another_order() {
    for recovery in [HostRecovery::GoBackN, HostRecovery::SelectiveRepeat] {
        for placement in [PlacementKind::Uniform, PlacementKind::Hashed] {
            let report = run(&setup(TransportKind::Rdma, recovery, placement));
            assert_eq!(
                (report.flows.unfinished_flows, report.flows.flows_not_begun),
                (0, 0),
                "{recovery:?} {placement:?}"
            );
            assert_eq!(report.network.frames_dropped, 0);
        }
    }
}

#[test]
fn paths_for_each_frame_reorder_and_the_same_seed_is_the_same() {
    let retransmissions = |balance| {
        let setup = RunParameters { balance: Some(balance), ..RunParameters::default() }.or(&[
            ("transport", "dctcp"),
            ("host-recovery", "duplicate-acks"),
            ("topology", "fat-tree:k=4,hosts=2"),
            ("size", "24387B"),
            ("load", "0.5"),
            ("trials", "3k"),
        ]);
        let report = run(&setup);
        assert_eq!(report, run(&setup));
        report.flows.affected_flows.sacked
    };
    assert_eq!(retransmissions(Balance::FlowHash), 0);
    assert!(retransmissions(Balance::Spray) > 30);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let one = RunParameters::default().or(&[("transport", "dctcp"), ("size", "1B"), ("trials", "1")]);
    for (key, text) in [("parallel-queues", "0"), ("parallel-queues", "5000"), ("reverse-delay", "1001ms")] {
        let error = one.clone().or(&[(key, text)]).flows(Path::new("")).expect_err("refused").to_string();
        assert!(error.starts_with(&format!("{key} = {text}: ")), "{error}");
    }
    for (key, known) in [("placement", "hashed"), ("balance", "spray")] {
        let error = RunParameters::default().set(key, "any").expect_err("refused");
        assert!(error.contains(known), "{error}");
    }
    assert!(TrafficKind::PingPong.between().is_err());
}

/// Its timer would expire many times before the first acknowledgement if it took the way for that of the testbed.
#[test]
fn a_flow_without_a_handshake_knows_how_long_its_way_back_is() {
    for (topology, reverse_delay) in
        [("line:switches=5,hosts=1", "20ms"), ("line:switches=5,hosts=1,length=100km", "0s")]
    {
        let setup = RunParameters::default().or(&[
            ("transport", "cubic"),
            ("topology", topology),
            ("reverse-delay", reverse_delay),
            ("size", "143B"),
            ("trials", "30"),
        ]);
        let report = run(&setup);
        assert_eq!((report.flows.timeouts, report.flows.retransmissions), (0, 0), "{topology}");
    }
}
