//! Settings and cables that change while an agent runs.

use super::{Action, Agent, Policy};
use crate::exchange::Request;
use crate::{Cabling, PortName};
use std::time::Duration;

impl Agent {
    /// Other settings and cables from now on. What is protected stays so until it is found healthy, unless a cable was moved:
    /// then the port that sent before ends its protection, and the one that sends now begins.
    pub fn reconfigure(&mut self, now: Duration, policy: Policy, cabling: Cabling) {
        self.policy = policy;
        let before = std::mem::replace(&mut self.cabling, cabling);
        self.resolve_aliases();
        let ports: Vec<PortName> = self.directions.keys().cloned().collect();
        for port in ports {
            let was = before.peer(&port).filter(|peer| peer.agent() == self.name);
            let is = self.sender(&port);
            // A cable that is no longer named may have been forgotten, like a neighbour whose link is down.
            if was == is || self.cabling.peer(&port).is_none() {
                continue;
            }
            self.carrying.remove(&port);
            let request = self.directions.get(&port).and_then(|state| state.request.clone());
            if let (Some(was), Some(request)) = (was, request.filter(|request| request.protection.is_some()))
            {
                let sender = was.port().to_owned();
                let request =
                    Request { protection: None, reason: "its cable was moved".to_owned(), ..request };
                self.actions.push_back(Action::Actuate { sender, port: port.clone(), request, again: false });
            }
            // What was done was done at another port.
            if let Some(state) = self.directions.get_mut(&port) {
                state.acknowledgement = None;
            }
            self.carry_out(now, &port);
        }
    }
}
