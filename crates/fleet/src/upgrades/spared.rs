//! What protection would spare on each link.
//!
//! `CorrOpt` decides by the loss rates on the wire, so protection does not change what is disabled when. One run
//! without protection therefore gives, link by link, what any deployment would spare: the loss that protection removes
//! from a link, over the time in which the link corrupts in operation. What a deployment spares is the sum over its
//! links. A link that loses less than the nearest row of the table leaves counts as negative, since simulated
//! protection follows the table there too.

use crate::deployment::Deployment;
use crate::network::Network;
use crate::protection::ProtectionTable;
use crate::simulate::Step;
use linkmend_topology::{LinkId, Topology, ZoneId};
use std::ops::Range;

/// What protection would have spared in an interval of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Spared {
    /// For each link: loss rate removed, times seconds.
    by_link: Vec<f64>,
    /// Loss rate of all links without protection, times seconds.
    penalty: f64,
    seconds: u64,
}

impl Spared {
    /// By how much protection of this link alone would lower the total penalty, averaged over time.
    pub fn by_link(&self, link: LinkId) -> f64 {
        if self.seconds == 0 { 0.0 } else { self.by_link[link.index()] / self.seconds as f64 }
    }

    /// By how much a deployment lowers the total penalty, averaged over time.
    pub fn by_deployment(&self, topology: &Topology, deployment: &Deployment) -> f64 {
        let links = (0..self.by_link.len() as u32).map(LinkId);
        links.filter(|&link| deployment.covers(topology, link)).map(|link| self.by_link(link)).sum()
    }

    /// Length of the interval: from the first event, or the beginning of the window, to the last event or the end.
    pub fn seconds(&self) -> u64 {
        self.seconds
    }

    /// The total penalty without protection, averaged over time.
    pub fn penalty(&self) -> f64 {
        if self.seconds == 0 { 0.0 } else { self.penalty / self.seconds as f64 }
    }
}

/// Observes a run without protection.
#[derive(Debug)]
pub struct SparedLoss<'a> {
    topology: &'a Topology,
    protection: &'a ProtectionTable,
    window_s: Range<u64>,
    by_link: Vec<f64>,
    penalty: f64,
    /// For each zone: what protection would remove from its corrupting links, and since when.
    zones: Vec<(u64, Vec<(LinkId, f64)>)>,
    last: Option<(u64, f64)>,
}

impl<'a> SparedLoss<'a> {
    /// Observes the seconds of `window_s`.
    pub fn new(
        topology: &'a Topology,
        protection: &'a ProtectionTable,
        window_s: Range<u64>,
    ) -> SparedLoss<'a> {
        SparedLoss {
            topology,
            protection,
            window_s,
            by_link: vec![0.0; topology.link_count()],
            penalty: 0.0,
            zones: vec![(0, Vec::new()); topology.zone_count()],
            last: None,
        }
    }

    /// Records an event and the network after it.
    pub fn observe(&mut self, step: &Step, network: &Network) {
        let zone = self.topology.zone_of(step.link);
        self.close(zone, step.time_s);
        if self.last.is_none() {
            // As in summaries, time counts from the first event on.
            self.window_s.start = self.window_s.start.max(step.time_s);
        }
        let before = self.last.replace((step.time_s, step.after.total_penalty));
        self.add_penalty(before, step.time_s);
        let taken_off = network.corrupting_in(zone).iter().filter_map(|&link| {
            let loss_rate = network.corrupting(link)?.loss_rate;
            Some((link, loss_rate - self.protection.row(loss_rate).effective_loss_rate))
        });
        self.zones[zone.index()].1.extend(taken_off);
    }

    /// Returns what was observed until the last event, or until the end of the window if that is earlier.
    pub fn finish(mut self) -> Spared {
        let end_s = self.last.map_or(0, |(time_s, _)| time_s).min(self.window_s.end);
        (0..self.zones.len() as u32).for_each(|zone| self.close(ZoneId(zone), end_s));
        let seconds = end_s.saturating_sub(self.window_s.start);
        Spared { by_link: self.by_link, penalty: self.penalty, seconds }
    }

    /// How many seconds of an interval lie in the window.
    fn seconds(&self, from_s: u64, to_s: u64) -> f64 {
        let (from_s, to_s) = (from_s.max(self.window_s.start), to_s.min(self.window_s.end));
        to_s.saturating_sub(from_s) as f64
    }

    fn add_penalty(&mut self, before: Option<(u64, f64)>, now_s: u64) {
        let Some((since_s, penalty)) = before else { return };
        self.penalty += penalty * self.seconds(since_s, now_s);
    }

    fn close(&mut self, zone: ZoneId, now_s: u64) {
        let (since_s, mut links) = std::mem::take(&mut self.zones[zone.index()]);
        let seconds = self.seconds(since_s, now_s);
        for (link, taken_off) in links.drain(..) {
            self.by_link[link.index()] += taken_off * seconds;
        }
        self.zones[zone.index()] = (now_s, links);
    }
}
