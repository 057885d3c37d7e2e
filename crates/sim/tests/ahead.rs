//! Ports that plan ahead and switches that run ahead change nothing: a run that is observed, in which every departure is an
//! event of its own, has the same report to the last bit.

mod common;

use common::{Draw, gigabits, swarm};
use linkmend_quantity::LossRate;
use linkmend_sim::flows::{
    Between, CollectiveJob, CollectiveKind, Demand, FlowsConfig, FlowsReport, HostRecovery, Job, PortCapture,
    PortCaptureOptions, RankOrder, RdmaMechanisms, SchemeKind, Training, TransportKind, port_name, run,
    run_captured,
};
use linkmend_sim::host::{Extent, FlowSizes};
use linkmend_sim::network::{Balance, PfcLimits, PortId};
use linkmend_sim::parameters::RunParameters;
use linkmend_sim::time::Time;
use linkmend_topology::spec;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// All that a report says but for the number of events.
fn bytes_of(report: &FlowsReport) -> String {
    let mut report = report.clone();
    report.network.events = 0;
    serde_json::to_string_pretty(&report).expect("a report can be written")
}

fn drawn(seed: u64) -> (FlowsConfig, String) {
    let mut draw = Draw::new(seed, "ahead");
    let topology = draw.pick(&[
        "line:switches=3,hosts=4",
        "fat-tree:k=4,hosts=2",
        "leaf-spine:leaves=4,spines=2,hosts=3",
    ]);
    let transport = draw.pick(&[
        TransportKind::Rdma,
        TransportKind::Rdma,
        TransportKind::RdmaDcqcn,
        TransportKind::Dctcp,
        TransportKind::Cubic,
        TransportKind::Bbr,
    ]);
    let is_rdma = matches!(transport, TransportKind::Rdma | TransportKind::RdmaDcqcn);
    let scheme =
        draw.pick(&[SchemeKind::None, SchemeKind::None, SchemeKind::Ordered, SchemeKind::NonBlocking]);
    let mut setup = RunParameters {
        seed: Some(seed),
        transport: Some(transport),
        scheme: Some(scheme),
        loss: Some(LossRate(if draw.one_in(4) { 0.0 } else { draw.log_uniform(1e-4, 3e-2) })),
        bit_errors: Some(draw.one_in(2)),
        corrupting_links: Some(draw.between(1, 2) as u32),
        both_directions: Some(draw.one_in(2)),
        ..RunParameters::default()
    };
    setup.balance = Some(draw.pick(&[Balance::FlowHash, Balance::Static, Balance::Spray]));
    if is_rdma && draw.one_in(2) {
        setup.queue_pairs = Some(draw.between(1, 3) as u32);
        let mechanisms: RdmaMechanisms = draw.pick(&["all", "nak", "none"]).parse().expect("it is one");
        setup.rdma_mechanisms = Some(mechanisms);
    }
    let sizes =
        FlowSizes::published(draw.pick(&["web-search", "facebook-key-value"])).expect("it is built in");
    let is_short = is_rdma && draw.one_in(3);
    if is_short {
        // Which of the short flows on a connection a corrupted frame counts for is a matter of nanoseconds.
        setup.queue_pairs = Some(1);
        setup.scheme = Some(SchemeKind::None);
        setup.loss = Some(LossRate(draw.log_uniform(1e-2, 1e-1)));
    }
    let demand = match draw.between(0, 3) {
        _ if is_short => Demand::Load {
            sizes: FlowSizes::one(draw.log_between(1_000, 10_000)).expect("above 0"),
            load: draw.uniform(0.5, 0.9),
            between: Between::FirstAndLast,
            extent: Extent::Flows(300),
        },
        0 => Demand::Incast { rounds: 2, senders: 4, bytes: draw.log_between(10_000, 1_000_000) },
        1 => Demand::Trials { count: 20, sizes, pause: Time::from_nanos(2_000_000) },
        _ => Demand::Load {
            sizes,
            load: draw.uniform(0.1, 0.9),
            between: draw.pick(&[Between::All, Between::FirstAndLast, Between::Halves]),
            extent: Extent::Flows(draw.between(10, 40)),
        },
    };
    let described = format!("{topology}, {setup:?}, {demand:?}");
    let graph = spec::graph(topology).expect("it can be built");
    let mut config =
        setup.flows_in(graph, demand, Path::new("")).unwrap_or_else(|error| panic!("{error}: {described}"));
    draw_pauses(&mut draw, &mut config);
    (config, described)
}

fn draw_pauses(draw: &mut Draw, config: &mut FlowsConfig) {
    if draw.one_in(3) {
        // So small that frames are always waiting to be told to go on.
        let pause_bytes = draw.log_between(3_000, 100_000);
        config.pfc = Some(PfcLimits { pause_bytes, resume_bytes: pause_bytes - draw.between(0, 2_000) });
    } else if draw.one_in(4) {
        config.pfc = None;
    }
}

/// Steps of a training job, or other flows, in a network with switches of many ports.
fn drawn_large(seed: u64) -> (FlowsConfig, String) {
    let mut draw = Draw::new(seed, "large");
    let topology = draw.pick(&[
        "star:hosts=20",
        "leaf-spine:leaves=2,spines=3,hosts=18",
        "leaf-spine:leaves=20,spines=2,hosts=1",
    ]);
    let is_tcp = draw.one_in(4);
    let mut setup = RunParameters {
        seed: Some(seed),
        transport: Some(if is_tcp { TransportKind::Dctcp } else { TransportKind::Rdma }),
        scheme: Some(draw.pick(&[SchemeKind::None, SchemeKind::None, SchemeKind::Ordered, SchemeKind::Llr])),
        loss: Some(LossRate(draw.log_uniform(1e-4, 1e-2))),
        corrupting_links: Some(draw.between(1, 2) as u32),
        both_directions: Some(draw.one_in(2)),
        balance: Some(draw.pick(&[Balance::FlowHash, Balance::FlowHash, Balance::Spray])),
        rdma_mtu: (!is_tcp).then(|| draw.pick(&[1_024, 4_096])),
        host_recovery: (!is_tcp && draw.one_in(2)).then_some(HostRecovery::SelectiveRepeat),
        ..RunParameters::default()
    };
    if topology.starts_with("star") {
        setup.loss = Some(LossRate(0.0));
    }
    let job = CollectiveJob {
        kind: draw.pick(&CollectiveKind::ALL),
        bytes: draw.log_between(10_000, 1_000_000),
        ranks: Some(draw.pick(&[4, 8, 16])),
        groups: draw.between(1, 2) as u32,
        channels: 1,
    };
    let training = Training {
        job: Job::Collective(job),
        order: draw.pick(&RankOrder::ALL),
        steps: draw.between(1, 2),
        compute: Time::from_nanos(draw.between(0, 20_000)),
        left_out: Vec::new(),
    };
    let demand = match draw.between(0, 3) {
        0 => Demand::Incast { rounds: 2, senders: 16, bytes: draw.log_between(10_000, 300_000) },
        _ => Demand::Training(training),
    };
    let described = format!("{topology}, {setup:?}, {demand:?}");
    let graph = spec::graph(topology).expect("it can be built");
    let mut config =
        setup.flows_in(graph, demand, Path::new("")).unwrap_or_else(|error| panic!("{error}: {described}"));
    draw_pauses(&mut draw, &mut config);
    (config, described)
}

/// Switches with many ports find what happens next in a heap, and cards take frames ahead.
#[test]
fn an_observed_run_with_large_switches_has_the_same_report() {
    let pauses = AtomicU64::new(0);
    let extent = swarm::run("an_observed_run_with_large_switches_has_the_same_report", 200, |seed| {
        let (config, described) = drawn_large(seed);
        let [alone, observed] = alone_and_observed(&config);
        assert_eq!(bytes_of(&alone), bytes_of(&observed), "seed {seed}: {described}");
        pauses.fetch_add(alone.network.pauses, Ordering::Relaxed);
    });
    if extent == swarm::Extent::All {
        let pauses = pauses.load(Ordering::Relaxed);
        assert!(pauses > 1_000, "{pauses} pauses");
    }
}

/// The reports of a run that nobody observes, and of the same run with an observer.
fn alone_and_observed(config: &FlowsConfig) -> [FlowsReport; 2] {
    let never = AtomicBool::new(false);
    let alone = run(config, 1, &never, &|| ()).expect("valid").expect("nothing stops it");
    let port = PortId::at(0);
    let name = port_name(&config.graph, port);
    let options = PortCaptureOptions { port, name, rate: gigabits(100), frames_max: 1 };
    let capture = PortCapture::new(std::io::sink(), &options).expect("a sink takes it");
    let (observed, _) = run_captured(config, 1, &never, &|| (), capture).expect("valid");
    [alone, observed.expect("nothing stops it")]
}

#[test]
fn an_observed_run_has_the_same_report() {
    let (events, observed_events, pauses) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let extent = swarm::run("an_observed_run_has_the_same_report", 300, |seed| {
        let (config, described) = drawn(seed);
        let [alone, observed] = alone_and_observed(&config);
        assert_eq!(bytes_of(&alone), bytes_of(&observed), "seed {seed}: {described}");
        events.fetch_add(alone.network.events, Ordering::Relaxed);
        observed_events.fetch_add(observed.network.events, Ordering::Relaxed);
        pauses.fetch_add(alone.network.pauses, Ordering::Relaxed);
    });
    if extent == swarm::Extent::All {
        let [events, observed, pauses] =
            [&events, &observed_events, &pauses].map(|sum| sum.load(Ordering::Relaxed));
        assert!(events < observed, "{events} events instead of {observed}");
        assert!(pauses > 10_000, "{pauses} pauses");
    }
}
