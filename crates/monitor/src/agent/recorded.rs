//! Requests of which it is only known that they once stood.
//!
//! Anyone who may write to a bus can put an old record back, and an agent that has just been started cannot tell it from the present one.
//! So nobody acts on a record alone. The agent of the port that sends leaves everything as it is until the agent that asks says to this
//! run of it that it still does. That one goes on from its own record, but says so to others only for what it has asked for in
//! this run, and asks anew once its own counters tell what the port needs: they show corruption, or as many frames have come without
//! any as rule it out.

use super::Agent;
use crate::PortName;
use crate::exchange::{DirectionState, Request};
use std::time::Duration;

impl Agent {
    /// The same agent, whose requests are numbered from here on: above all that it has asked for in earlier runs, whatever somebody
    /// has put back of that.
    #[must_use]
    pub fn numbered_from(mut self, generation: u64) -> Agent {
        self.generation_least = generation;
        self
    }

    /// Takes what the bus has of a direction whose request nobody has confirmed to this run of the agent.
    pub fn handle_recorded(&mut self, now: Duration, port: &PortName, state: DirectionState) {
        self.learn_alias(port, &state);
        self.in_step.insert(port.clone());
        let sends = self.sender(port).is_some();
        if port.agent() == self.name {
            self.adopt(now, port, state.request);
        } else if !sends {
            return;
        } else if let Some(request) = state.request {
            self.unconfirmed.insert(port.clone(), request);
        }
        if let Some(acknowledgement) = state.acknowledgement {
            self.directions.entry(port.clone()).or_default();
            self.learn(port, acknowledgement, sends);
        }
    }

    /// Goes on from what an earlier run of this agent has asked for, which others may have put back since.
    fn adopt(&mut self, now: Duration, port: &PortName, request: Option<Request>) {
        let known = self.directions.entry(port.clone()).or_default();
        let is_newer = request.as_ref().map(|request| request.generation) > known.request_generation();
        let is_ours = known.request.is_some() && !self.unmeasured.contains(port);
        let Some(request) = request.filter(|_| is_newer && !is_ours) else { return };
        // A request of generation 0 asks for nothing.
        if request.generation > 0 {
            self.unmeasured.insert(port.clone());
        }
        known.request = Some(request);
        self.resume(now, port);
    }

    /// Says once what is waited for.
    pub(super) fn tell_of_records(&mut self) {
        let (others, own) = (self.unconfirmed.len(), self.unmeasured.len());
        if self.told_of_records || others + own == 0 {
            return;
        }
        self.told_of_records = true;
        tracing::info!(
            "protected links stay protected until requests from before the restart are confirmed: {others} by \
             the agents that made them, and {own} of this agent, whose ports have to be measured first"
        );
    }
}
