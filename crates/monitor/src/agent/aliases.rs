//! Ports that neighbours know by an alias.
//!
//! Over LLDP, SONiC calls a port by its alias (`etp1`), while its agent calls it by its name (`Ethernet0`), and only the switch
//! itself knows which is which. Agents therefore tell each other on the bus: with each request, and with one that asks for
//! nothing before there is any.

use super::{Action, Agent};
use crate::PortName;
use crate::exchange::{DirectionState, Request};

/// Directions of others that are remembered because they ask this agent, which cannot tell by which port it sends there.
const STRANGERS_MOST: usize = 1_000;

impl Agent {
    /// Takes what neighbours hear ports of this agent called.
    pub fn handle_aliases(&mut self, aliases: impl IntoIterator<Item = (String, String)>) {
        self.own_aliases.extend(aliases);
    }

    /// The alias of a port whose neighbour has heard of it by that.
    pub(super) fn alias(&self, port: &PortName) -> Option<String> {
        self.own_aliases.get(port.port()).filter(|_| self.cabling.is_heard(port)).cloned()
    }

    /// Tells the neighbour which port it has heard of by an alias, unless the bus knows.
    pub(super) fn announce(&mut self, port: &PortName) {
        let Some(alias) = self.alias(port).filter(|_| !self.unmeasured.contains(port)) else { return };
        let known = self.directions.entry(port.clone()).or_default();
        let request = match &known.request {
            Some(request) if request.alias.as_ref() == Some(&alias) => return,
            Some(request) => Request { generation: request.generation.saturating_add(1), ..request.clone() },
            None => Request { reason: "no protection is needed".to_owned(), ..Request::default() },
        };
        let request = Request { alias: Some(alias), ..request };
        known.request = Some(request.clone());
        self.actions.push_back(Action::Request { port: port.clone(), request });
    }

    /// Learns from what another agent asks for which of its ports is meant by an alias.
    pub(super) fn learn_alias(&mut self, port: &PortName, state: &DirectionState) {
        let alias = state.request.as_ref().and_then(|request| request.alias.as_ref());
        let Some(alias) = alias.and_then(|alias| PortName::new(port.agent(), alias).ok()) else { return };
        match self.cabling.resolve(&alias, port) {
            Ok(true) => _ = self.aliases.insert(alias, port.clone()),
            Ok(false) => {}
            Err(error) if self.strangers.insert(alias.clone()) => {
                tracing::warn!("{alias} cannot be an alias of {port}: {error}");
            }
            Err(_) => {}
        }
    }

    /// Calls ports by their names in new cables, too.
    pub(super) fn resolve_aliases(&mut self) {
        for (alias, port) in &self.aliases {
            // What contradicts was said when it was learned.
            let _ = self.cabling.resolve(alias, port);
        }
    }

    /// Says that nothing is done about a request for which this agent is asked, because it knows of no cable there.
    pub(super) fn say_unknown(&mut self, port: &PortName, state: &DirectionState) {
        let request = state.request.as_ref().filter(|request| request.protection.is_some());
        let Some(sender) = request.and_then(|request| request.sender.as_ref()) else { return };
        let is_new = sender.agent() == self.name && self.strangers.len() < STRANGERS_MOST;
        if is_new && self.strangers.insert(port.clone()) {
            tracing::warn!(
                "ignoring the request of {port}, which names {sender} as its sender: no cable known here leads \
                 to {port}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Policy;
    use super::*;
    use crate::counters::Reading;
    use crate::{Cabling, HeardCable};
    use std::collections::BTreeMap;
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);
    /// Switch, its port, the alias of that, and the neighbour.
    const ENDS: [[&str; 4]; 2] =
        [["t0", "Ethernet116", "Ethernet30/1", "t1"], ["t1", "Ethernet0", "etp1", "t0"]];

    fn port(agent: &str, port: &str) -> PortName {
        PortName::new(agent, port).expect("a port")
    }

    /// Two SONiC switches that have heard of each other over LLDP, and the bus between them.
    struct Pair {
        agents: [Agent; 2],
        bus: BTreeMap<PortName, DirectionState>,
        now: Duration,
        /// Ports that were to protect what they send, or not any more.
        carried_out: Vec<(String, bool)>,
    }

    fn heard(end: usize) -> Cabling {
        let ([agent, own, ..], [far_agent, _, alias, _]) = (ENDS[end], ENDS[1 - end]);
        let cable = HeardCable { near: port(agent, own), far: port(far_agent, alias), by_alias: true };
        Cabling::default().with_heard(&[cable], &[]).0
    }

    impl Pair {
        fn new(aliases: bool) -> Pair {
            let agents = [0, 1].map(|end| {
                let [agent, own, alias, _] = ENDS[end].map(str::to_owned);
                let mut agent = Agent::new(&agent, Policy::default(), heard(end));
                agent.handle_aliases(aliases.then_some((own, alias)));
                agent.handle_synchronised(Duration::ZERO);
                agent
            });
            Pair { agents, bus: BTreeMap::new(), now: Duration::ZERO, carried_out: Vec::new() }
        }

        /// A second, in which this many of a million frames arrive corrupted at the second switch.
        fn second(&mut self, corrupted: u64) {
            self.now += SECOND;
            let seconds = self.now.as_secs();
            for (end, corrupted) in [(0, 0), (1, corrupted)] {
                let reading = Reading {
                    good_frames: 1_000_000 * seconds,
                    corrupted_frames: Some(corrupted * seconds),
                    ..Reading::default()
                };
                self.agents[end].handle_readings(self.now, [(ENDS[end][1].to_owned(), reading)]);
                while let Some(action) = self.agents[end].poll_action() {
                    self.act(end, action);
                }
            }
        }

        fn act(&mut self, end: usize, action: Action) {
            let (port, state) = match action {
                Action::Request { port, request } => {
                    (port, DirectionState { request: Some(request), acknowledgement: None })
                }
                Action::Acknowledge { port, acknowledgement } => {
                    (port, DirectionState { request: None, acknowledgement: Some(acknowledgement) })
                }
                Action::Actuate { sender, request, .. } => {
                    return self.carried_out.push((sender, request.protection.is_some()));
                }
            };
            let known = self.bus.entry(port.clone()).or_default();
            known.advance(state);
            let known = known.clone();
            self.agents[1 - end].handle_state(self.now, &port, known);
        }
    }

    #[test]
    fn switches_that_know_each_other_by_aliases_protect_the_right_ports() {
        let mut pair = Pair::new(true);
        pair.second(0);
        pair.second(0);
        let sender = |pair: &Pair, end: usize| {
            let peer = pair.agents[end].cabling.peer(&port(ENDS[end][0], ENDS[end][1]));
            peer.map(ToString::to_string).expect("a neighbour")
        };
        assert_eq!([0, 1].map(|end| sender(&pair, end)), ["t1/Ethernet0", "t0/Ethernet116"]);
        assert!(pair.carried_out.is_empty(), "nothing was asked for");
        let shown = pair.agents.iter().map(|agent| agent.status(pair.now).ports.len());
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [1, 1],
            "ports of neighbours that ask for nothing are not shown"
        );
        (0..5).for_each(|_| pair.second(1_000));
        assert_eq!(pair.carried_out, [("Ethernet116".to_owned(), true)]);
        let request = pair.bus[&port("t1", "Ethernet0")].request.clone().expect("asked for");
        assert_eq!(request.sender, Some(port("t0", "Ethernet116")));
        // What lldpd says is read again, and has aliases as before.
        pair.agents[0].reconfigure(pair.now, Policy::default(), heard(0));
        assert_eq!(sender(&pair, 0), "t1/Ethernet0");
        assert_eq!(pair.agents[0].poll_action(), None);
    }

    #[test]
    fn without_the_aliases_nobody_is_taken_for_the_sender() {
        let mut pair = Pair::new(false);
        (0..5).for_each(|_| pair.second(1_000));
        assert!(pair.carried_out.is_empty());
        assert_eq!(pair.agents[0].strangers.len(), 1, "it is said once");
    }

    #[test]
    fn only_what_lldpd_has_heard_is_announced() {
        let cable = [port("t1", "Ethernet0"), port("t0", "Ethernet116")];
        let mut agent = Agent::new("t1", Policy::default(), Cabling::new([cable]).expect("a cable"));
        agent.handle_aliases([("Ethernet0".to_owned(), "etp1".to_owned())]);
        agent.handle_synchronised(Duration::ZERO);
        agent.handle_readings(SECOND, [("Ethernet0".to_owned(), Reading::default())]);
        assert_eq!(agent.poll_action(), None);
    }
}
