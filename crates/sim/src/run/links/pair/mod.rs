//! Two links between the same two ends, of which one fails again and again.
//!
//! Two switches with a host each are joined by two links that one protected session uses
//! ([`Plan::second_link`](crate::network::Plan::second_link)). They are told when a port loses its carrier, or find out by the
//! silence. Or they use SQR as published ([`HandOff::Sqr`](crate::network::HandOff)), which meets the same failures with the
//! same frames.

mod link_ends;
mod sqr;

use super::Progress;
use super::config::{BACKUP, LinksConfig, PRIMARY, Pair, SOURCES_OF_TWO, Source};
use super::report::{CutRow, LinksReport, PairReport, StreamReport};
use super::streams::Watch;
use crate::flows::Summary;
use crate::link::config::ParameterError;
use crate::link::scheme::AnyConfig;
use crate::link::{LinkConfig, PortConfig, QueueLimits, Schemes};
use crate::network::{
    Balance, Changed, Flow, Frame, HandOff, Hosts, Network, NodeId, Plan, PortId, SqrConfig,
};
use crate::time::Time;

/// The ports at both ends of the links.
const ENDS: [PortId; 2] = PortId::both(PRIMARY);

/// Hosts of which nothing is asked: generators send.
#[derive(Debug, Default)]
struct SilentHosts {
    /// Frames that links corrupted.
    corrupted: u64,
}

impl Hosts for SilentHosts {
    const ANY: bool = true;

    fn sources(&self) -> usize {
        1
    }

    fn next_time(&self, _: usize) -> Time {
        Time::NEVER
    }

    fn act(&mut self, _: Time, _: usize, _: &mut Vec<Flow>) {}

    fn receive(&mut self, _: Time, _: NodeId, _: Frame) -> usize {
        0
    }

    fn poll_changed(&mut self) -> Option<Changed> {
        None
    }

    fn poll_frame(&mut self, _: Time, _: PortId) -> Option<Frame> {
        None
    }

    fn corrupted(&mut self, _: &Frame) {
        self.corrupted += 1;
    }

    fn dropped(&mut self, _: &Frame) {}
}

type PairNetwork = Network<Watch, Schemes, SilentHosts>;

/// What is simulated.
#[derive(Debug)]
struct Setting<'a> {
    config: &'a LinksConfig,
    pair: &'a Pair,
    sources: Vec<Source>,
}

/// Simulates.
///
/// # Errors
/// The parameter that cannot be used.
pub(super) fn run(
    config: &LinksConfig,
    pair: &Pair,
    progress: &mut Progress<'_>,
) -> Result<LinksReport, ParameterError> {
    let setting = Setting { config, pair, sources: config.sources() };
    if pair.sqr { sqr::run(&setting, progress) } else { link_ends::run(&setting, progress) }
}

impl Setting<'_> {
    fn link(&self) -> &LinkConfig {
        &self.config.links[0]
    }

    /// The ports of both ends of the first link.
    fn ports(&self, link: &LinkConfig) -> [PortConfig; 2] {
        let mut ports = link.ports([0, 1]);
        let mut sender_protects = None;
        for (end, port) in ports.iter_mut().enumerate() {
            if let (AnyConfig::LinkGuardian(scheme), Some(protocol)) =
                (&mut port.scheme, link.protocol_config_of_two())
            {
                scheme.protocol = protocol;
                if end == 0 {
                    sender_protects = scheme.protect;
                } else if self.config.reverse_load > 0.0 {
                    scheme.protect = sender_protects;
                }
            }
        }
        ports
    }

    /// Hosts, switches and links.
    ///
    /// # Errors
    /// The parameter that cannot be used.
    fn network(&self) -> Result<PairNetwork, ParameterError> {
        let mut plan = Plan::new();
        let switches = [plan.switch(Balance::Static), plan.switch(Balance::Static)];
        let hosts = [plan.host(), plan.host()];
        let link = LinkConfig { queue: QueueLimits::UNLIMITED, ..self.link().clone() };
        let bare = LinkConfig { protection: None, ..link.clone() };
        if self.pair.sqr {
            plan.link(switches, bare.ports([0, 1]));
            plan.link(switches, bare.ports([0, 1]));
            let sqr = HandOff::Sqr(SqrConfig::published());
            plan.failing(self.pair.cuts.failing(PRIMARY, BACKUP, sqr));
        } else {
            plan.link(switches, self.ports(&link));
            plan.second_link(PRIMARY, bare.ports([0, 1]), self.pair.between_ends(&link));
        }
        let clean = LinkConfig { queue: link.queue, ..LinkConfig::clean(link.rate) };
        plan.link([hosts[0], switches[0]], clean.ports([0, 1]));
        plan.link([switches[1], hosts[1]], clean.ports([0, 1]));
        for source in &self.sources {
            let to = hosts[usize::from(source.port == SOURCES_OF_TWO[0])];
            plan.traffic(source.port, to, self.config.traffic(source));
        }
        let watch = Watch::new(&self.sources, None);
        Ok(plan.build_with_hosts(self.config.seed, watch, SilentHosts::default())?)
    }

    /// What all such networks measure.
    fn report(
        &self,
        network: &PairNetwork,
        began: Time,
        drained: bool,
        second_link: PairReport,
    ) -> LinksReport {
        let of = |(index, source): (usize, &Source)| StreamReport {
            name: source.name.clone(),
            delivery: network.observer.delivery(index, None, network.produced(source.port), Time::ZERO),
        };
        let in_use = second_link.cuts.iter().filter(|cut| cut.in_use);
        let recovery_us = Summary::from_values(in_use.filter_map(|cut| cut.recovery_us).collect());
        let ending = super::report::Completion {
            drained,
            drained_after_ns: 0.0,
            simulated_ns: (network.now() - began).as_nanos(),
            events: network.events(),
        };
        LinksReport {
            streams: self.sources.iter().enumerate().map(of).collect(),
            second_link: Some(PairReport { recovery_us, ..second_link }),
            ..self.config.empty_report(ending)
        }
    }
}

/// Takes down how long the latest failure was felt.
fn end_row(rows: &mut [CutRow], network: &PairNetwork) {
    if let Some(row) = rows.last_mut() {
        row.recovery_us = network.observer.streams[0].recovery().map(micros);
    }
}

/// A time in us.
fn micros(time: Time) -> f64 {
    time.as_nanos() / 1e3
}
