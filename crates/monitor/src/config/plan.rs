//! What the planner needs.

use super::ConfigError;
use crate::actuator::fault;
use crate::planning::{GuardSettings, Network};
use linkmend_diagnose::ParameterError;
use linkmend_fleet::Constraint;
use linkmend_quantity::{BitRate, Span};
use linkmend_topology::file::{TopologyFileOptions, read_topology};
use linkmend_topology::spec;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where disabled links are remembered, unless configured.
const PLAN_STATE_DEFAULT: &str = "/var/lib/linkmend/corruptd-plan.json";
/// The share of paths that ToRs keep in the paper (sections 2 and 4.8).
const CONSTRAINT_DEFAULT: f64 = 0.75;
/// The largest limits: more is none.
const DISABLES_MOST: u32 = 1_000;
/// Speed of links whose file does not give one.
const SPEED_DEFAULT: BitRate = BitRate(100_000_000_000);

/// Which links the network can spare: `[plan]`. On one machine of those that share a bus.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Plan"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlanConfig {
    /// Network to plan for, as in `linkmend fleet plan --topology`; set it on only one of the machines that share a bus
    /// [default: no planning]
    #[cfg_attr(feature = "clap", arg(long, value_name = "KIND|FILE"))]
    #[serde(rename = "topology", skip_serializing_if = "Option::is_none")]
    pub plan_topology: Option<String>,
    /// Share of its paths and capacity to the top layer that every ToR must keep, while ToRs that can reach each other
    /// stay connected: one share for both, like 75%; one for each, like paths=75%,capacity=50%; or the paper's
    /// constraint, like paper=75%, which counts only paths and lets ToRs lose contact with each other [default: 75%]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHARE"))]
    #[serde(rename = "constraint", skip_serializing_if = "Option::is_none")]
    pub plan_constraint: Option<Constraint>,
    /// Run this program to disable a link as planned, put it on trial later, and enable it again; environment variables
    /// tell it what to do: LINKMEND_ACTION, LINKMEND_PORTS, LINKMEND_LINK, LINKMEND_LOSS_RATE, LINKMEND_FRAMES and
    /// LINKMEND_REASON [default: none; the plan is only reported]
    #[cfg_attr(feature = "clap", arg(long, value_name = "PROGRAM"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_hook: Option<PathBuf>,
    /// Disable a link only after the plan has called for it continuously for this long, up to 24h [default: 5min]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_after: Option<Span>,
    /// Maximum number of links disabled per hour in the whole network [default: 2]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disables_per_hour: Option<u32>,
    /// Maximum number of links of one switch that are disabled at the same time [default: 2]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disables_per_switch: Option<u32>,
    /// Time after which a disabled link is put on trial, 1min to 30d; doubled after each failed trial [default: 1h]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial_after: Option<Span>,
    /// Maximum time between two trials, up to 30d [default: 24h]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial_longest: Option<Span>,
    /// Maximum time for a trial to find the link healthy, 1min to 24h; corruption ends the trial immediately [default:
    /// 3h]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial_time: Option<Span>,
    /// File that keeps the list of disabled links across restarts [default: /var/lib/linkmend/corruptd-plan.json]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(rename = "state", skip_serializing_if = "Option::is_none")]
    pub plan_state: Option<PathBuf>,
}

/// What is planned for.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanChoice {
    /// A file, or a description in one line.
    pub topology: String,
    /// What every ToR must keep.
    pub constraint: Constraint,
    /// What disables links; without it, they are only named.
    pub hook: Option<PathBuf>,
    /// How careful it is.
    pub guard: GuardSettings,
    /// Which links were disabled.
    pub memory: PathBuf,
}

impl PlanConfig {
    /// Fills in what was left out; `None` if nothing is to be planned.
    pub(super) fn choose(&self) -> Result<Option<PlanChoice>, ConfigError> {
        let Some(topology) = self.plan_topology.clone() else {
            let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
            let time = |time: Option<Span>| time.map(|time| format!("{:?}", time.0));
            let written = [
                ("disable-after", time(self.disable_after)),
                ("disables-per-hour", self.disables_per_hour.map(|count| count.to_string())),
                ("disables-per-switch", self.disables_per_switch.map(|count| count.to_string())),
                ("trial-after", time(self.trial_after)),
                ("trial-longest", time(self.trial_longest)),
                ("trial-time", time(self.trial_time)),
                ("plan-constraint", self.plan_constraint.map(|constraint| constraint.to_string())),
                ("disable-hook", path(&self.disable_hook)),
                ("plan-state", path(&self.plan_state)),
            ];
            return match written.into_iter().find_map(|(name, value)| value.map(|value| (name, value))) {
                Some((name, value)) => {
                    let rule = "requires plan-topology, the network to plan for";
                    Err(ParameterError::new(name, value, rule).into())
                }
                None => Ok(None),
            };
        };
        if let Some((hook, why)) = self.disable_hook.as_ref().and_then(|hook| Some((hook, fault(hook)?))) {
            return Err(
                ParameterError::new("disable-hook", hook.display(), format!("cannot be run: {why}")).into()
            );
        }
        let choice = PlanChoice {
            guard: self.guard()?,
            topology,
            constraint: self.plan_constraint.unwrap_or(Constraint::connected(CONSTRAINT_DEFAULT)),
            hook: self.disable_hook.clone(),
            memory: self.plan_state.clone().unwrap_or_else(|| PLAN_STATE_DEFAULT.into()),
        };
        choice.network()?;
        Ok(Some(choice))
    }
}

impl PlanConfig {
    fn guard(&self) -> Result<GuardSettings, ParameterError> {
        let usual = GuardSettings::default();
        let or = |time: Option<Span>, usual: Duration| time.map_or(usual, |time| time.0);
        let guard = GuardSettings {
            confirmation: or(self.disable_after, usual.confirmation),
            per_hour: self.disables_per_hour.unwrap_or(usual.per_hour),
            per_switch: self.disables_per_switch.unwrap_or(usual.per_switch),
            trial_after: or(self.trial_after, usual.trial_after),
            trial_longest: or(
                self.trial_longest,
                usual.trial_longest.max(or(self.trial_after, Duration::ZERO)),
            ),
            trial_time: or(self.trial_time, usual.trial_time),
        };
        let (minute, day) = (Duration::from_mins(1), Duration::from_hours(24));
        let times = [
            ("disable-after", guard.confirmation, Duration::ZERO, day, "must be 0s to 24h"),
            ("trial-after", guard.trial_after, minute, 30 * day, "must be 1min to 30d"),
            (
                "trial-longest",
                guard.trial_longest,
                guard.trial_after,
                30 * day,
                "must be trial-after up to 30d",
            ),
            ("trial-time", guard.trial_time, minute, day, "must be 1min to 24h"),
        ];
        for (name, value, least, most, rule) in times {
            if value < least || value > most {
                return Err(ParameterError::new(name, format!("{value:?}"), rule));
            }
        }
        for (name, count) in
            [("disables-per-hour", guard.per_hour), ("disables-per-switch", guard.per_switch)]
        {
            if !(1..=DISABLES_MOST).contains(&count) {
                let rule = format!("must be 1 to {DISABLES_MOST}; leave out disable-hook to disable nothing");
                return Err(ParameterError::new(name, count, rule));
            }
        }
        Ok(guard)
    }
}

/// A network from a file, or from a description in one line.
///
/// # Errors
/// If there is no such file or kind, or it is no network.
pub fn network(topology: &str) -> Result<Network, ConfigError> {
    if !spec::names_file(topology) {
        return Ok(spec::layered(topology)?.into());
    }
    let options = TopologyFileOptions { default_speed: Some(SPEED_DEFAULT), layers: None };
    let loaded = read_topology(Path::new(topology), &options)?;
    loaded.require_known_top(topology)?;
    Ok(Network::new(loaded.topology, &loaded.cables))
}

impl PlanChoice {
    /// The network.
    ///
    /// # Errors
    /// If there is no such file or kind, or it is no network.
    pub fn network(&self) -> Result<Network, ConfigError> {
        network(&self.topology)
    }
}
