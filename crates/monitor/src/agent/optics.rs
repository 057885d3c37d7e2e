//! What the optics of ports say about links that corrupt frames.

use super::watched::Watched;
use super::{Agent, Decision};
use crate::PortName;
use crate::counters::Irregularity;
use crate::findings::PortFinding;
use crate::optics::{
    Advice, Case, Module, OpticsFinding, OpticsReading, OpticsStatus, PortOptics, Repair, advise,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is known of optics.
#[derive(Debug, Default)]
pub(super) struct Optics {
    ports: BTreeMap<String, PortOptics>,
    /// Of ports of other agents that send to ports that corrupt.
    peers: BTreeMap<PortName, OpticsFinding>,
    /// Ports that corrupt, by their modules: some have several.
    corrupting: BTreeMap<Module, u32>,
    /// What was suggested last, and where.
    advised: BTreeMap<PortName, (Repair, PortName)>,
}

impl Optics {
    pub fn status(&self, port: &str) -> Option<OpticsStatus> {
        self.ports.get(port)?.status()
    }

    /// Maker and part number of a port's transceiver, if they are known.
    pub fn kind(&self, port: &str) -> Option<(&str, &str)> {
        let module = self.ports.get(port)?.module();
        (!module.part.is_empty()).then_some((&module.vendor, &module.part))
    }

    /// The same of all ports.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, (&str, &str))> {
        self.ports.keys().filter_map(|port| Some((port.as_str(), self.kind(port)?)))
    }
}

impl Agent {
    /// Takes what transceivers of ports measure at `now`; `None` if a port has none.
    pub fn handle_optics(
        &mut self,
        now: Duration,
        readings: impl IntoIterator<Item = (String, Option<OpticsReading>)>,
    ) {
        for (port, reading) in readings {
            let Some(watched) = self.ports.get(&port) else { continue };
            let is_up = watched.irregularity != Some(Irregularity::Down) && !watched.missing;
            let known = self.optics.ports.entry(port);
            match reading {
                Some(reading) => {
                    let known = known.or_default();
                    if known.handle_reading(now, is_up, reading) {
                        let name = watched.name().clone();
                        self.decisions.push_back(Decision::of_optics(now, name, known.finding()));
                    }
                }
                // Without its module, a port cannot be up: then only the switch has forgotten it.
                None if !is_up => _ = known.and_modify(PortOptics::handle_absence),
                None => {}
            }
        }
        let ports = &self.ports;
        self.optics.ports.retain(|port, _| ports.contains_key(port));
    }

    /// Ports of other agents whose optics matter, because they send to ports that corrupt.
    pub fn peers_to_know(&self) -> Vec<PortName> {
        let corrupting = self.ports.values().filter(|watched| watched.detector.state().corrupts());
        let peers = corrupting.filter_map(|watched| self.cabling.peer(watched.name()));
        peers.filter(|peer| peer.agent() != self.name).cloned().collect()
    }

    /// Takes what is known of those, and suggests repairs anew.
    pub fn handle_peers(&mut self, now: Duration, peers: BTreeMap<PortName, OpticsFinding>) {
        self.optics.peers = peers;
        let corrupting: Vec<PortName> = self
            .ports
            .values()
            .filter(|watched| watched.detector.state().corrupts())
            .map(|watched| watched.name().clone())
            .collect();
        self.optics.corrupting.clear();
        for port in &corrupting {
            if let Some(optics) = self.optics.ports.get(port.port())
                && !optics.module().serial.is_empty()
            {
                *self.optics.corrupting.entry(optics.module().clone()).or_default() += 1;
            }
        }
        let mut advised = BTreeMap::new();
        for port in corrupting {
            let Some(advice) = self.advice(now, &port) else { continue };
            let short = (advice.repair, advice.at.clone());
            if self.optics.advised.get(&port) != Some(&short) {
                self.decisions.push_back(Decision::of_advice(now, port.clone(), advice));
            }
            advised.insert(port, short);
        }
        self.optics.advised = advised;
    }

    /// What to repair about the link to a port that corrupts; `None` if its optics do not tell.
    pub(super) fn advice(&self, now: Duration, port: &PortName) -> Option<Advice> {
        let watched = self.ports.get(port.port()).filter(|watched| watched.name() == port)?;
        if !watched.detector.state().corrupts() || self.upstream.contains_key(port) {
            return None;
        }
        let optics = self.optics.ports.get(port.port())?;
        let (own, sender) = (optics.finding(), self.cabling.peer(port));
        let peer = sender.and_then(|sender| match sender.agent() == self.name {
            true => Some(self.optics.ports.get(sender.port())?.finding()),
            false => self.optics.peers.get(sender).copied(),
        });
        advise(&Case {
            receiver: port,
            sender,
            own: &own,
            peer: peer.as_ref(),
            was_handled: optics.was_handled_recently(now),
            ports_of_module: self.optics.corrupting.get(optics.module()).copied().unwrap_or_default(),
            both_directions: sender.is_some_and(|sender| self.is_asked_for(sender)),
        })
    }

    /// A decision with what to repair.
    pub(super) fn with_advice(&self, decision: Decision) -> Decision {
        if !decision.is_about_corruption() {
            return decision;
        }
        let advice = self.advice(decision.at, &decision.port);
        Decision { advice, ..decision }
    }

    /// A finding with what others need to know of the optics: those at either end of a link that corrupts, and what is abnormal.
    pub(super) fn with_optics(&self, now: Duration, watched: &Watched, finding: PortFinding) -> PortFinding {
        let optics = self.optics.ports.get(watched.name().port()).map(PortOptics::finding);
        let corrupts = watched.detector.state().corrupts();
        let is_of_interest =
            corrupts || self.cabling.peer(watched.name()).is_some_and(|peer| self.is_asked_for(peer));
        let optics = optics.filter(|optics| is_of_interest || !optics.abnormalities().is_empty());
        let advice = self.advice(now, watched.name());
        PortFinding { optics: optics.map(Box::new), advice: advice.map(Box::new), ..finding }
    }

    /// Whether the direction to a port corrupts, as far as the bus knows.
    fn is_asked_for(&self, port: &PortName) -> bool {
        let request = self.directions.get(port).and_then(|state| state.request.as_ref());
        request.is_some_and(|request| request.protection.is_some() && !request.expected)
    }
}

#[cfg(test)]
#[path = "optics_tests.rs"]
mod tests;
