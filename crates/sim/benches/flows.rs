//! How many frame-hops a second flows between hosts are simulated with: a TCP flow over six links, one-packet trials, and a
//! fat tree under load.
//!
//! `cargo bench -p linkmend-sim --bench flows`.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
#![expect(clippy::print_stdout, reason = "it prints its table")]

use linkmend_quantity::LossRate;
use linkmend_sim::flows::{Between, Demand, FlowsConfig, FlowsReport, SchemeKind, TransportKind, run};
use linkmend_sim::host::{Extent, FlowSizes, Transport};
use linkmend_sim::parameters::RunParameters;
use linkmend_sim::time::Time;
use linkmend_topology::spec;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const ROUNDS: usize = 3;
const CHAIN: &str = "line:switches=5,hosts=1";

fn main() {
    let bench = std::env::args().any(|argument| argument == "--bench");
    println!("{:52} {:>10} {:>10} {:>8} {:>12} {:>9}", "", "flows", "hops", "s", "M hops/s", "ns/hop");
    let scale = if bench { 1 } else { 1_000 };
    for window in [16, 256, 4_096] {
        let duration = Time::from_nanos(200_000_000 / scale);
        let mut config =
            config(CHAIN, TransportKind::Cubic, SchemeKind::None, 0.0, Demand::Endless { duration });
        if let Transport::Tcp(tcp) = &mut config.traffic[0].hosts.transport {
            let tcp = Arc::make_mut(tcp);
            tcp.receive_buffer = window * tcp.mss;
        }
        show(&format!("one flow, six links, window of {window} segments"), &config, bench);
    }
    for scheme in [SchemeKind::None, SchemeKind::Ordered] {
        let demand = Demand::trials(300_000 / scale, 143).expect("above 0");
        let config = config(CHAIN, TransportKind::Dctcp, scheme, 1e-3, demand);
        show(&format!("143 B DCTCP, 1e-3, {}", scheme.name()), &config, bench);
    }
    for k in if bench { &[4, 8, 16][..] } else { &[4] } {
        let sizes = FlowSizes::published("web-search").unwrap_or_else(|| unreachable!("it is built in"));
        let duration = Time::from_nanos(if *k > 8 { 1_000_000 } else { 10_000_000 } / scale.min(10));
        let demand =
            Demand::Load { sizes, load: 0.5, between: Between::All, extent: Extent::Duration(duration) };
        let topology = format!("fat-tree:k={k},hosts={}", k / 2);
        let config = config(&topology, TransportKind::Dctcp, SchemeKind::None, 0.0, demand);
        show(
            &format!("fat tree k={k}, web search, load 0.5, {} ms", duration.as_secs() * 1e3),
            &config,
            bench,
        );
    }
}

fn config(
    topology: &str,
    transport: TransportKind,
    scheme: SchemeKind,
    loss: f64,
    demand: Demand,
) -> FlowsConfig {
    let graph = spec::graph(topology).unwrap_or_else(|error| panic!("{error}"));
    let parameters = RunParameters {
        transport: Some(transport),
        scheme: Some(scheme),
        loss: Some(LossRate(loss)),
        ..RunParameters::default()
    };
    parameters.flows_in(graph, demand, Path::new("")).unwrap_or_else(|error| panic!("{error}"))
}

fn show(name: &str, config: &FlowsConfig, bench: bool) {
    let mut best: Option<(f64, FlowsReport)> = None;
    for _ in 0..if bench { ROUNDS } else { 1 } {
        let began = Instant::now();
        let report = run(config, 1, &AtomicBool::new(false), &|| ());
        let seconds = began.elapsed().as_secs_f64();
        let report =
            report.unwrap_or_else(|error| panic!("{error}")).unwrap_or_else(|| unreachable!("not stopped"));
        if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
            best = Some((seconds, report));
        }
    }
    let Some((seconds, report)) = best else { return };
    let flows = report.flows.fct_us.map_or(0, |fct| fct.count);
    let hops = report.network.frame_hops as f64;
    println!(
        "{name:52} {flows:>10} {:>10} {seconds:>8.2} {:>12.2} {:>9.1}",
        report.network.frame_hops,
        hops / seconds / 1e6,
        seconds * 1e9 / hops
    );
}
