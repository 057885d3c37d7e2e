//! Two links between the same two ends, of which one fails again and again.
//!
//! Two switches with a host each are joined by two links that one protected session uses
//! ([`Plan::second_link`](crate::network::Plan::second_link)). They are told when a port loses its carrier, or find out by the
//! silence. Or they use SQR as published ([`HandOff::Sqr`](crate::network::HandOff)), which meets the same failures with the
//! same frames.

mod link_ends;
mod sqr;

use super::build::Watched;
use super::config::{BACKUP, Layout, LinksConfig, PRIMARY, Pair, SOURCES_OF_TWO, Source};
use super::report::{CutRow, PairReport};
use crate::flows::Summary;
use crate::link::config::ParameterError;
use crate::link::scheme::AnyConfig;
use crate::link::{LinkConfig, PortConfig, QueueLimits};
use crate::network::{Balance, FailureTimes, HandOff, Hosts, NoHosts, Plan, PortId, SqrConfig};
use crate::time::Time;
use link_ends::Counts;

/// The ports at both ends of the links.
const ENDS: [PortId; 2] = PortId::both(PRIMARY);

impl LinksConfig {
    /// Hosts, switches and links.
    ///
    /// # Errors
    /// The parameter that cannot be used.
    pub(super) fn network_of_two(&self, pair: &Pair) -> Result<Watched<NoHosts<true>>, ParameterError> {
        let mut plan = Plan::new();
        let switches = [plan.switch(Balance::Static), plan.switch(Balance::Static)];
        let hosts = [plan.host(), plan.host()];
        let link = LinkConfig { queue: QueueLimits::UNLIMITED, ..self.links[0].clone() };
        let bare = LinkConfig { protection: None, ..link.clone() };
        if pair.sqr {
            plan.link(switches, bare.ports([0, 1]));
            plan.link(switches, bare.ports([0, 1]));
            let sqr = HandOff::Sqr(SqrConfig::published());
            plan.failing(pair.cuts.failing(PRIMARY, BACKUP, sqr));
        } else {
            plan.link(switches, self.ports_of_two(&link));
            plan.second_link(PRIMARY, bare.ports([0, 1]), pair.between_ends(&link));
        }
        let clean = LinkConfig { queue: link.queue, ..LinkConfig::clean(link.rate) };
        plan.link([hosts[0], switches[0]], clean.ports([0, 1]));
        plan.link([switches[1], hosts[1]], clean.ports([0, 1]));
        for source in self.sources() {
            let to = hosts[usize::from(source.port == SOURCES_OF_TWO[0])];
            plan.traffic(source.port, to, self.traffic(&source));
        }
        let observer = self.measured(self.watch(), plan.port_count());
        Ok(plan.build_with_hosts(self.seed, observer, NoHosts)?)
    }

    /// The ports of both ends of the first link.
    fn ports_of_two(&self, link: &LinkConfig) -> [PortConfig; 2] {
        let mut ports = link.ports([0, 1]);
        let mut sender_protects = None;
        for (end, port) in ports.iter_mut().enumerate() {
            if let (AnyConfig::LinkGuardian(scheme), Some(protocol)) =
                (&mut port.scheme, link.protocol_config_of_two())
            {
                scheme.protocol = protocol;
                if end == 0 {
                    sender_protects = scheme.protect;
                } else if self.reverse_load > 0.0 {
                    scheme.protect = sender_protects;
                }
            }
        }
        ports
    }
}

/// Takes note of failures while the network runs, and of what each costs.
#[derive(Debug)]
pub(super) struct CutWatch<'a> {
    config: &'a LinksConfig,
    pair: &'a Pair,
    sources: &'a [Source],
    began: Time,
    report: PairReport,
    /// Of link ends: how often links have failed or come back, and what had been counted when the latest failure began, and when
    /// the one before was over.
    changes: u64,
    before: Counts,
    mended: Counts,
    /// Of SQR: when a link fails next, unless switches are still busy with the failure before, and how often links have failed.
    times: FailureTimes,
    failures: u64,
}

impl<'a> CutWatch<'a> {
    /// The traffic begins now. `None` if no link of the run fails.
    pub(super) fn new<H: Hosts>(
        config: &'a LinksConfig,
        sources: &'a [Source],
        network: &mut Watched<H>,
    ) -> Option<CutWatch<'a>> {
        let Layout::Pair(pair) = &config.layout else { return None };
        let began = network.now();
        let mut watch = CutWatch {
            config,
            pair,
            sources,
            began,
            report: PairReport::default(),
            changes: 0,
            before: Counts::default(),
            mended: Counts::default(),
            times: pair.cuts.times(config.seed, PRIMARY, began),
            failures: 0,
        };
        watch.note_levels(network, false);
        watch.report = PairReport::default();
        Some(watch)
    }

    /// When the run ends, whatever has happened, if that is known.
    pub(super) fn ends_at(&self) -> Option<Time> {
        self.pair.sqr.then(|| self.began + self.pair.lasts() + self.pair.cuts.every)
    }

    /// How often a link has failed.
    pub(super) fn failures(&self) -> usize {
        self.report.cuts.len()
    }

    /// Looks at the network after an event.
    pub(super) fn look<H: Hosts>(&mut self, network: &mut Watched<H>) {
        if self.pair.sqr { self.look_at_switches(network) } else { self.look_at_link_ends(network) }
    }

    /// Whether nothing more is waited for, once all frames have been sent.
    pub(super) fn is_over<H: Hosts>(&self, network: &Watched<H>) -> bool {
        // What a link corrupts is not delivered with SQR.
        self.ends_at().map_or_else(|| self.is_drained(network), |end| network.now() >= end)
    }

    /// What all failures have cost.
    pub(super) fn finish<H: Hosts>(mut self, network: &mut Watched<H>) -> PairReport {
        self.end_row(network);
        if self.pair.sqr {
            self.measure_switches(network)
        } else {
            self.measure_link_ends(network)
        }
        let in_use = self.report.cuts.iter().filter(|cut| cut.in_use);
        let recovery_us = Summary::from_values(in_use.filter_map(|cut| cut.recovery_us).collect());
        PairReport { recovery_us, ..self.report }
    }

    /// Takes note of a link that has failed. What arrives until a while later had passed it before.
    fn begin_row<H: Hosts>(&mut self, network: &mut Watched<H>, cut_at: Time, row: CutRow) {
        let passed = cut_at + self.config.links[0].ingress_latency();
        network.observer.watch.streams.iter_mut().for_each(|stream| stream.cut(passed));
        self.report.cuts.push(CutRow { at_us: (cut_at - self.began).as_micros(), ..row });
    }

    /// Takes down how long the latest failure was felt.
    fn end_row<H: Hosts>(&mut self, network: &Watched<H>) {
        if let Some(row) = self.report.cuts.last_mut() {
            row.recovery_us = network.observer.watch.streams[0].recovery().map(Time::as_micros);
        }
    }
}
