//! Several kinds of traffic in one network: each is what it would be alone, as far as they share nothing.

use linkmend_sim::flows::{
    Between, Demand, FlowsConfig, FlowsReport, TrafficConfig, TrafficHosts, TransportKind, run_with_records,
};
use linkmend_sim::host::{Extent, FlowRecord, FlowSizes, TimeoutCounts};
use linkmend_sim::network::LinkId;
use linkmend_sim::parameters::RunParameters;
use linkmend_sim::time::Time;
use linkmend_topology::{NodeId, spec};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const LINE: &str = "line:switches=2,hosts=2";
const STAR: &str = "star:hosts=4";

fn setup(transport: TransportKind) -> RunParameters {
    RunParameters { transport: Some(transport), ..RunParameters::default() }
}

/// Traffic between these hosts of a network, in this order.
fn between(
    topology: &str,
    hosts: &[usize],
    name: &str,
    setup: &RunParameters,
    demand: Demand,
) -> TrafficConfig {
    let graph = spec::graph(topology).expect("it can be built");
    let nodes: Vec<NodeId> = graph.hosts().collect();
    let alone = setup.flows_in(graph, demand, Path::new("")).expect("valid").traffic.remove(0);
    let listed = hosts.iter().map(|host| nodes[*host]).collect();
    TrafficConfig { name: name.to_owned(), between: TrafficHosts::Listed(listed), ..alone }
}

fn config(topology: &str, setup: &RunParameters, traffic: Vec<TrafficConfig>) -> FlowsConfig {
    let graph = spec::graph(topology).expect("it can be built");
    FlowsConfig { traffic, ..setup.flows_in(graph, trials(1), Path::new("")).expect("valid") }
}

fn trials(count: u64) -> Demand {
    Demand::trials(count, 24_387).expect("above 0")
}

fn load(share: f64, flows: u64) -> Demand {
    let sizes = FlowSizes::one(100_000).expect("above 0");
    Demand::Load { sizes, load: share, between: Between::FirstAndLast, extent: Extent::Flows(flows) }
}

fn endless(nanos: u64) -> Demand {
    Demand::Endless { duration: Time::from_nanos(nanos) }
}

fn measure(config: &FlowsConfig) -> (FlowsReport, Vec<FlowRecord>) {
    measure_on(config, 2)
}

fn measure_on(config: &FlowsConfig, threads: usize) -> (FlowsReport, Vec<FlowRecord>) {
    run_with_records(config, threads, &AtomicBool::new(false), &|| ()).expect("valid").expect("not stopped")
}

/// TCP from the first host on the left to the first one on the right, RDMA between the others, and a link that corrupts.
fn both_on_a_line() -> FlowsConfig {
    let [tcp, rdma] = [TransportKind::Dctcp, TransportKind::Rdma].map(setup);
    let traffic = vec![
        between(LINE, &[0, 2], "web", &tcp, trials(300)),
        between(LINE, &[3, 1], "storage", &rdma, trials(200)),
    ];
    config(LINE, &tcp.or(&[("loss", "1e-2"), ("both-directions", "true")]), traffic)
}

#[test]
fn tcp_and_rdma_share_a_network_and_each_has_its_own_numbers() {
    let config = both_on_a_line();
    let (report, records) = measure(&config);
    let [web, storage] = report.traffic.as_slice() else { panic!("two: {report:?}") };
    assert_eq!((web.name.as_str(), storage.name.as_str()), ("web", "storage"));
    let [web_us, storage_us] = [web, storage].map(|traffic| traffic.flows.fct_us.expect("flows end"));
    assert_eq!((web_us.count, storage_us.count), (300, 200));
    assert_eq!(
        (report.flows.unfinished_flows, report.flows.flows_not_begun, report.flows.failed_flows),
        (0, 0, 0)
    );
    // A kernel adds 15 us on either side, a card one.
    assert!(web_us.p50 > 30.0 && storage_us.p50 < 15.0, "{web_us:?}, {storage_us:?}");
    for record in &records {
        let expected = [(0, 2), (3, 1)][usize::from(record.traffic)];
        assert_eq!((record.source, record.destination), expected, "hosts in the order given");
    }
    assert!(web.flows.affected_flows.sacked > 10, "TCP reports holes: {web:?}");
    assert_eq!(storage.flows.affected_flows.sacked, 0, "RDMA has no SACK");
    assert!(storage.flows.affected_flows.corrupted > 10, "{storage:?}");
    assert_eq!(web.flows.rdma_timeouts, TimeoutCounts::default());
    assert!(storage.flows.rdma_timeouts.tail > 0, "{storage:?}");

    let sum = |count: fn(&linkmend_sim::flows::TrafficReport) -> u64| count(web) + count(storage);
    assert_eq!(report.flows.fct_us.map(|times| times.count), Some(500));
    assert_eq!(report.flows.retransmissions, sum(|traffic| traffic.flows.retransmissions));
    assert_eq!(report.flows.timeouts, sum(|traffic| traffic.flows.timeouts));
    assert_eq!(report.flows.affected_flows.corrupted, sum(|traffic| traffic.flows.affected_flows.corrupted));
    assert_eq!(report.flows.rdma_timeouts, storage.flows.rdma_timeouts);
}

#[test]
fn the_same_seed_gives_the_same_report_and_another_seed_another_one() {
    let config = both_on_a_line();
    let first = measure_on(&config, 1);
    assert_eq!(first, measure_on(&config, 3));
    assert_ne!(first.0, measure(&FlowsConfig { seed: 2, ..config }).0);
}

/// One switch and four hosts: neither pair uses a link of the other one. Both links that corrupt are those of senders.
#[test]
fn traffic_over_other_links_changes_nothing() {
    let rdma = setup(TransportKind::Rdma).or(&[("rdma-mechanisms", "2/1/3/1"), ("queue-pairs", "2")]);
    let storage = || between(STAR, &[0, 1], "storage", &rdma, load(0.4, 2_000));
    let web = |kind| between(STAR, &[2, 3], "web", &setup(kind), load(0.4, 2_000));
    let lossy = |traffic| {
        let mut config = config(STAR, &setup(TransportKind::Rdma), traffic);
        config.corrupting = vec![LinkId(0), LinkId(2)];
        config.link.corruption = linkmend_sim::corruption::Corruption::Iid { loss: 1e-2 };
        config
    };
    let (alone_report, alone) = measure(&lossy(vec![storage()]));
    assert_eq!(alone.len(), 2_000);
    for kind in [TransportKind::Dctcp, TransportKind::Rdma] {
        let (report, records) = measure(&lossy(vec![storage(), web(kind)]));
        let (beside, others): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| record.traffic == 0);
        assert_eq!(alone, beside, "beside {}", kind.name());
        assert_eq!(alone_report.flows.rdma_timeouts, report.traffic[0].flows.rdma_timeouts);
        assert_eq!(alone_report.flows.affected_flows, report.traffic[0].flows.affected_flows);
        assert_eq!(others.len(), 2_000);
        let begin_alike = alone.iter().zip(&others).filter(|(one, other)| one.began == other.began).count();
        assert!(begin_alike < 10, "each has random numbers of its own: {begin_alike} begin at the same time");
    }
}

/// Replicas spare a requester the timeouts after a lost NAK and after a packet that is lost twice: only those that have them.
#[test]
fn mechanisms_are_those_of_their_traffic() {
    let plain = setup(TransportKind::Rdma);
    let helped = plain.clone().or(&[("rdma-mechanisms", "0/1/3/0")]);
    let lossy = plain.clone().or(&[("loss", "5e-2"), ("both-directions", "true")]);
    for (first, second) in [(&plain, &helped), (&helped, &plain)] {
        let traffic = vec![
            between(LINE, &[0, 2], "first", first, trials(2_000)),
            between(LINE, &[1, 3], "second", second, trials(2_000)),
        ];
        let (report, _) = measure(&config(LINE, &lossy, traffic));
        for (traffic, setup) in report.traffic.iter().zip([first, second]) {
            let TimeoutCounts { nak, twice, .. } = traffic.flows.rdma_timeouts;
            let expected = if setup.rdma_mechanisms.is_none() { 100..1_000 } else { 0..30 };
            assert!(expected.contains(&(nak + twice)), "{traffic:?}");
        }
    }
}

#[test]
fn traffic_over_the_same_link_takes_its_share() {
    let [tcp, rdma] = [TransportKind::Cubic, TransportKind::Rdma].map(setup);
    let bytes = Demand::trials(50, 2_000_000).expect("above 0");
    let storage = between(LINE, &[1, 3], "storage", &rdma, bytes);
    let web = between(LINE, &[0, 2], "web", &tcp, endless(1_000_000));
    let median = |traffic| {
        let (report, records) = measure(&config(LINE, &rdma, traffic));
        let own: Vec<Time> = records.iter().map(FlowRecord::completion_time).collect();
        assert_eq!(own.len(), 50, "{report:?}");
        own.iter().map(|time| time.as_secs()).sum::<f64>() / 50.0
    };
    let [alone, shared] = [vec![storage.clone()], vec![storage, web]].map(median);
    assert!(shared > 1.2 * alone, "{alone} and {shared} s");
}

#[test]
fn a_run_ends_when_every_traffic_has() {
    let [tcp, rdma] = [TransportKind::Cubic, TransportKind::Rdma].map(setup);
    let run = |duration| {
        let traffic = vec![
            between(STAR, &[0, 1], "bulk", &tcp, endless(duration)),
            between(STAR, &[2, 3], "trials", &rdma, trials(20)),
        ];
        measure(&config(STAR, &tcp, traffic)).0
    };
    // Twenty trials take 2 to 4 ms each.
    let short = run(1_000_000);
    assert_eq!(short.traffic[1].flows.fct_us.expect("they end").count, 20, "{short:?}");
    assert!((0.04..0.08).contains(&short.network.simulated_s), "{} s", short.network.simulated_s);
    assert!(short.traffic[0].goodput_gbps > 80.0, "it sends as long as the run lasts: {short:?}");

    let long = run(100_000_000);
    assert!((0.1..0.1001).contains(&long.network.simulated_s), "{} s", long.network.simulated_s);
    assert_eq!((long.traffic[0].flows.unfinished_flows, long.traffic[1].flows.unfinished_flows), (1, 0));
    let [of_short, of_long] = [&short, &long].map(|report| report.traffic[1].clone());
    assert_eq!(of_short, of_long, "the others' numbers are those of their own time");
}

#[test]
fn several_kinds_of_traffic_are_one_part_however_many_trials_they_have() {
    let rdma = setup(TransportKind::Rdma);
    let many = |hosts: &[usize], name| {
        between(STAR, hosts, name, &rdma, Demand::trials(10_001, 100).expect("above 0"))
    };
    let alone = config(STAR, &rdma, vec![many(&[0, 1], "one")]);
    assert_eq!(alone.parts(), 2);
    let both = config(STAR, &rdma, vec![many(&[0, 1], "one"), many(&[2, 3], "other")]);
    assert_eq!(both.parts(), 1);
    let (report, _) = measure(&both);
    assert!(report.traffic.iter().all(|traffic| traffic.flows.fct_us.expect("they end").count == 10_001));
}

#[test]
fn some_hosts_alone_send_in_the_order_given_and_the_report_is_that_of_one_traffic() {
    let tcp = setup(TransportKind::Dctcp);
    let (report, records) =
        measure(&config(STAR, &tcp, vec![between(STAR, &[3, 1], "web", &tcp, trials(5))]));
    assert!(records.iter().all(|record| (record.source, record.destination) == (3, 1)));
    let json = serde_json::to_string(&report).expect("a report can be written");
    assert!(!json.contains("traffic"), "{json}");
    let (report, _) = measure(&both_on_a_line());
    let json = serde_json::to_string(&report).expect("a report can be written");
    assert!(json.contains(r#""traffic":[{"name":"web","#), "{json}");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let tcp = setup(TransportKind::Dctcp);
    let refused = |traffic: Vec<TrafficConfig>| {
        let config = config(LINE, &tcp, traffic);
        match run_with_records(&config, 1, &AtomicBool::new(false), &|| ()) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("not refused"),
        }
    };
    let of = |hosts: &[usize], name| between(LINE, hosts, name, &tcp, trials(1));
    let error = refused(vec![of(&[0, 1], "web"), of(&[2, 1], "storage")]);
    assert_eq!(
        error,
        "hosts = left1: takes part in `web` and in `storage`, but a host can take part only once"
    );
    let error = refused(vec![of(&[0, 0], "web")]);
    assert_eq!(error, "hosts = left0: takes part in `web` and in `web`, but a host can take part only once");
    let error = refused(vec![of(&[0, 1], "web"), of(&[2], "storage")]);
    assert_eq!(error, "hosts = 1: must be at least 2 to take part in `storage`");
    let all = TrafficConfig { between: TrafficHosts::All, ..of(&[2, 3], "storage") };
    assert!(refused(vec![of(&[0, 1], "web"), all]).starts_with("hosts = left0: takes part in `web`"));
    let error = refused(vec![of(&[0, 1], "web"), of(&[2, 3], "web")]);
    assert!(error.starts_with("traffic = web: is the name of two"), "{error}");
    assert!(refused(Vec::new()).starts_with("traffic = 0 kinds: must be 1 to 64"));
    let nowhere =
        TrafficConfig { between: TrafficHosts::Listed(vec![NodeId(0), NodeId(99)]), ..of(&[0, 1], "web") };
    let error = refused(vec![nowhere]);
    assert!(error.contains("must be a host of the topology to take part in `web`"), "{error}");
    let two =
        TrafficConfig { demand: Demand::Incast { rounds: 1, senders: 2, bytes: 1 }, ..of(&[0, 1], "web") };
    assert!(refused(vec![two]).starts_with("incast = 2: must be 1 to 1"), "of its own hosts");
}
