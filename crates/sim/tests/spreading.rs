//! Switches that reorder: queues in parallel, and paths chosen for each frame.

use linkmend_quantity::BitRate;
use linkmend_sim::flows::{
    self, Demand, FlowSetup, FlowsReport, HostRecovery, HostSetup, PlacementKind, SpreadingSetup,
    TrafficKind, TransportKind,
};
use linkmend_sim::host::Extent;
use linkmend_sim::network::Balance;
use linkmend_sim::time::Time;
use linkmend_topology::spec;
use std::sync::atomic::AtomicBool;

fn setup(transport: TransportKind, recovery: HostRecovery, placement: PlacementKind) -> FlowSetup {
    FlowSetup {
        transport,
        host_recovery: Some(recovery),
        // It measures the round trip.
        hosts: HostSetup { handshake: transport == TransportKind::Cubic, ..HostSetup::default() },
        speed: BitRate(10_000_000_000),
        spreading: SpreadingSetup {
            queues: Some(8),
            placement: Some(placement),
            reverse_delay: Time::from_nanos(5_000_000),
            ..SpreadingSetup::default()
        },
        ..FlowSetup::default()
    }
}

fn run(setup: &FlowSetup) -> FlowsReport {
    let graph = spec::graph("line:switches=2,hosts=8,speed=10G,host-speed=10G").expect("a line");
    let between = TrafficKind::Across.between().expect("it has a load");
    let sizes = "mice-and-elephants".parse().expect("a workload");
    let demand = Demand::Load { sizes, load: 0.5, between, extent: Extent::Flows(2_000) };
    let config = setup.config(graph, demand).expect("valid");
    flows::run(&config, 1, &AtomicBool::new(false), &|| ()).expect("it runs").expect("it ends")
}

#[test]
fn only_spread_frames_are_reordered_and_three_duplicate_acks_take_them_for_lost() {
    let of = |recovery, placement| run(&setup(TransportKind::Cubic, recovery, placement));
    let hashed = of(HostRecovery::DuplicateAcks, PlacementKind::Hashed);
    assert_eq!((hashed.retransmissions, hashed.affected_flows.sacked, hashed.frames_dropped), (0, 0, 0));
    let [dup_acks, adaptive, rack] =
        [HostRecovery::DuplicateAcks, HostRecovery::AdaptiveDuplicateAcks, HostRecovery::Rack]
            .map(|recovery| of(recovery, PlacementKind::Uniform));
    assert!(dup_acks.affected_flows.sacked > 100, "{dup_acks:?}");
    assert!(
        dup_acks.retransmissions > 2 * rack.retransmissions.max(adaptive.retransmissions),
        "{} {} {}",
        dup_acks.retransmissions,
        rack.retransmissions,
        adaptive.retransmissions
    );
    let p99 = |report: &FlowsReport| report.fct_us.expect("flows end").p99;
    assert!(p99(&dup_acks) > 1.3 * p99(&rack), "{} {}", p99(&dup_acks), p99(&rack));
    for report in [&hashed, &dup_acks, &adaptive, &rack] {
        assert_eq!((report.unfinished_flows, report.failed_flows, report.timeouts), (0, 0, 0));
        let spreading = report.spreading.expect("there are queues");
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
                (report.unfinished_flows, report.flows_not_begun),
                (0, 0),
                "{recovery:?} {placement:?}"
            );
            assert_eq!(report.frames_dropped, 0);
        }
    }
}

#[test]
fn paths_for_each_frame_reorder_and_the_same_seed_is_the_same() {
    let retransmissions = |balance| {
        let setup = FlowSetup {
            host_recovery: Some(HostRecovery::DuplicateAcks),
            spreading: SpreadingSetup { balance, ..SpreadingSetup::default() },
            ..FlowSetup::default()
        };
        let run = || {
            let graph = spec::graph("fat-tree:k=4,hosts=2").expect("a tree");
            let between = TrafficKind::FullMesh.between().expect("it has a load");
            let sizes = "24387B".parse().expect("a size");
            let demand = Demand::Load { sizes, load: 0.5, between, extent: Extent::Flows(3_000) };
            let config = setup.config(graph, demand).expect("valid");
            flows::run(&config, 1, &AtomicBool::new(false), &|| ()).expect("it runs").expect("it ends")
        };
        let report = run();
        assert_eq!(report, run());
        report.affected_flows.sacked
    };
    assert_eq!(retransmissions(Balance::FlowHash), 0);
    assert!(retransmissions(Balance::Spray) > 30);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    for (queues, delay, parameter) in
        [(0, 0, "parallel-queues"), (5_000, 0, "parallel-queues"), (1, 1_001, "reverse-delay")]
    {
        let spreading = SpreadingSetup {
            queues: Some(queues),
            reverse_delay: Time::from_nanos(delay * 1_000_000),
            ..SpreadingSetup::default()
        };
        let setup = FlowSetup { spreading, ..FlowSetup::default() };
        let error = setup.config(setup.testbed().expect("a line"), Demand::trials(1, 1).expect("above 0"));
        let error = error.expect_err("refused").to_string();
        assert!(error.contains(parameter), "{error}");
    }
    assert!("any".parse::<PlacementKind>().expect_err("refused").to_string().contains("hashed"));
    assert!("any".parse::<Balance>().expect_err("refused").to_string().contains("spray"));
    assert!(TrafficKind::PingPong.between().is_err());
}

/// Its timer would expire many times before the first acknowledgement if it took the way for that of the testbed.
#[test]
fn a_flow_without_a_handshake_knows_how_long_its_way_back_is() {
    let setup = FlowSetup {
        transport: TransportKind::Cubic,
        spreading: SpreadingSetup {
            reverse_delay: Time::from_nanos(20_000_000),
            ..SpreadingSetup::default()
        },
        ..FlowSetup::default()
    };
    let graphs = ["line:switches=5,hosts=1", "line:switches=5,hosts=1,length=100km"];
    for (graph, spreading) in graphs.into_iter().zip([setup.spreading, SpreadingSetup::default()]) {
        let setup = FlowSetup { spreading, ..setup.clone() };
        let demand = Demand::trials(30, 143).expect("a size");
        let config = setup.config(spec::graph(graph).expect("a line"), demand).expect("valid");
        let report =
            flows::run(&config, 2, &AtomicBool::new(false), &|| ()).expect("it runs").expect("it ends");
        assert_eq!((report.timeouts, report.retransmissions), (0, 0), "{graph}");
    }
}
