//! What people are shown.

use super::Agent;
use crate::PortName;
use crate::counters::Irregularity;
use crate::detection::{Of, State};
use crate::exchange::{Acknowledgement, Request};
use crate::forecast::{BitErrors, Forecast};
use crate::optics::{Advice, OpticsStatus};
use crate::webhook::WebhookStatus;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// An agent and its ports at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentStatus {
    pub agent: String,
    /// Whether everything on the bus has been read.
    pub synchronised: bool,
    /// Ports that are not watched, because there are too many or their names cannot be used.
    pub refused_ports: u64,
    /// Whether nothing is done, and only said what would be.
    #[serde(default)]
    pub dry_run: bool,
    /// What does not work at the moment, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<String>,
    /// What the plan has disabled; `None` if nothing is planned for here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanStatus>,
    /// How it stands with the webhook; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookStatus>,
    /// Whether links are recognised that only pass on what others corrupt.
    #[serde(default)]
    pub knows_topology: bool,
    pub ports: Vec<PortStatus>,
}

/// What a plan has disabled, and what it would.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanStatus {
    pub disabled: Vec<DisabledStatus>,
    /// Links that should be disabled, and are not.
    pub held: Vec<HeldStatus>,
    /// Why the latest command for a link has failed.
    pub trouble: Option<String>,
    /// Why nothing is disabled at all, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled: Option<String>,
}

/// A link that is disabled. Times are in seconds since 1970.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DisabledStatus {
    pub ports: [PortName; 2],
    /// Its name in the topology.
    pub link: String,
    /// Why it was disabled.
    pub reason: String,
    /// `None` if an earlier version has disabled it.
    pub since_s: Option<u64>,
    /// Whether it is in operation to see whether it still corrupts frames.
    pub on_trial: bool,
    pub failed_trials: u32,
    /// Whether the command that disables it has failed, and is tried again: it may carry traffic as before.
    #[serde(default)]
    pub failing: bool,
    /// When it is tried next.
    pub trial_at_s: Option<u64>,
}

/// A link that should be disabled, or may have to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeldStatus {
    pub ports: [PortName; 2],
    /// Why it is not.
    pub reason: String,
    /// Until when, in seconds since 1970, if that is known.
    pub until_s: Option<u64>,
    /// Whether it is not certain that it should be.
    #[serde(default)]
    pub unsure: bool,
}

/// A port that is watched, or at which protection is carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PortStatus {
    pub port: PortName,
    /// The port that sends to it, if it is known.
    pub sender: Option<PortName>,
    /// `None` if another agent watches it.
    pub state: Option<State>,
    /// Corrupted frames and all frames in the window.
    pub corrupted_frames: u64,
    pub frames: u64,
    /// Their ratio; `None` without frames.
    pub loss_rate: Option<f64>,
    /// 95 % confidence interval of the loss rate of the evidence, while there is any.
    pub interval: Option<(f64, f64)>,
    /// The loss rate that forward error correction lets expect; `None` if it corrects nothing, or counts nothing.
    #[serde(default)]
    pub forecast: Option<Forecast>,
    /// The highest that was expected, while the link is going to lose frames.
    #[serde(default)]
    pub expected_loss_rate: Option<f64>,
    /// The bit error ratio before correction; `None` if the port does not count what it corrects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit_errors: Option<BitErrors>,
    /// Seconds since the last poll that had this port.
    pub age_s: Option<f64>,
    /// Whether the port is down, so that nothing is known of its link.
    #[serde(default)]
    pub down: bool,
    /// Whether its source has not named it for a while.
    #[serde(default)]
    pub absent: bool,
    /// How often it has flapped by itself within the last 24 hours.
    #[serde(default)]
    pub flaps: u32,
    /// Why its latest counters say nothing.
    pub irregularity: Option<String>,
    /// Seconds until protection may end, if nothing is corrupted meanwhile.
    pub hold_down_s: Option<f64>,
    pub request: Option<Request>,
    pub acknowledgement: Option<Acknowledgement>,
    /// Whether the request is only a record of earlier, which nobody has confirmed since this agent was started.
    #[serde(default)]
    pub recorded: bool,
    /// What its transceiver measures, if it has one that says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optics: Option<OpticsStatus>,
    /// What to repair, if the link corrupts frames and its optics tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
}

impl Agent {
    /// The agent's status, with the ports sorted by name.
    pub fn status(&self, now: Duration) -> AgentStatus {
        let watched = self.ports.values().map(|watched| watched.name());
        let carried = self.directions.iter().filter(|(port, state)| {
            port.agent() != self.name
                && (state.request_generation() > Some(0) || state.acknowledgement.is_some())
        });
        let carried = carried.map(|(port, _)| port).chain(self.unconfirmed.keys());
        let names: BTreeSet<&PortName> = watched.chain(carried).collect();
        AgentStatus {
            agent: self.name.clone(),
            synchronised: self.synchronised,
            refused_ports: self.refused_ports,
            dry_run: self.dry_run,
            troubles: Vec::new(),
            plan: None,
            webhook: None,
            knows_topology: false,
            ports: names.into_iter().map(|name| self.port_status(now, name)).collect(),
        }
    }

    fn port_status(&self, now: Duration, name: &PortName) -> PortStatus {
        let settings = &self.policy.detection;
        let watched = self.ports.get(name.port()).filter(|watched| watched.name() == name);
        let detector = watched.map(|watched| &watched.detector);
        let current = detector.map(|detector| detector.current(settings)).unwrap_or_default();
        let mut known = self.directions.get(name).cloned().unwrap_or_default();
        let unconfirmed = self.unconfirmed.get(name).filter(|_| known.request.is_none());
        known.request = known.request.or(unconfirmed.cloned());
        let ends = |watched: &super::Watched| {
            // While frames are still corrupted, there is no end in sight.
            let since = watched.detector.calm_since().filter(|since| watched.polled > Some(*since))?;
            Some((since + watched.detector.hold_down(settings)).saturating_sub(now).as_secs_f64())
        };
        // An idle link has no frames of which a share could be corrupted.
        let evidence = detector.and_then(|detector| detector.evidence());
        let of_codewords =
            evidence.filter(|evidence| evidence.of == Of::Codewords).map(|evidence| evidence.loss_rate());
        PortStatus {
            port: name.clone(),
            sender: self.cabling.peer(name).cloned(),
            state: detector.map(|detector| detector.state()),
            corrupted_frames: current.corrupted,
            frames: current.frames,
            loss_rate: current.loss_rate().or(of_codewords),
            interval: evidence.map(|evidence| evidence.interval()),
            forecast: watched.and_then(|watched| watched.early_warning.forecast()),
            bit_errors: watched.and_then(|watched| watched.early_warning.bit_errors()).cloned(),
            expected_loss_rate: watched.and_then(|watched| watched.early_warning.expected()),
            age_s: watched
                .and_then(|watched| watched.polled)
                .map(|polled| now.saturating_sub(polled).as_secs_f64()),
            down: watched.is_some_and(|watched| watched.irregularity == Some(Irregularity::Down)),
            absent: watched.is_some_and(|watched| watched.irregularity == Some(Irregularity::Absent)),
            flaps: watched.map_or(0, |_| self.flapping.count(now, name.port())),
            irregularity: watched
                .and_then(|watched| watched.irregularity)
                .map(|irregularity| irregularity.to_string()),
            hold_down_s: watched.and_then(ends),
            recorded: unconfirmed.is_some() || self.unmeasured.contains(name),
            request: known.request.filter(|request| request.generation > 0),
            acknowledgement: known.acknowledgement,
            optics: watched.and_then(|watched| self.optics.status(watched.name().port())),
            advice: watched.and_then(|watched| self.advice(now, watched.name())),
        }
    }
}
