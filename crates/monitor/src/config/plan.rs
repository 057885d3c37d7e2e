//! What the planner needs.

use super::ConfigError;
use linkmend_diagnose::ParameterError;
use linkmend_quantity::{BitRate, Share};
use linkmend_topology::file::{TopologyFileOptions, read_topology};
use linkmend_topology::{Topology, spec};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Where disabled links are remembered, unless configured.
const PLAN_STATE_DEFAULT: &str = "/var/lib/linkmend/corruptd-plan.json";
/// The share of paths that ToRs keep in the paper (sections 2 and 4.8).
const CONSTRAINT_DEFAULT: f64 = 0.75;
/// Speed of links whose file does not give one.
const SPEED_DEFAULT: BitRate = BitRate(100_000_000_000);

/// Which links the network can spare: `[plan]`. On one machine of those that share a bus.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Plan"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlanConfig {
    /// Network whose corrupting links are planned for, a file or a kind as of `linkmend fleet plan --topology`; on one of the
    /// machines that share a bus [default: none, and nothing is planned]
    #[cfg_attr(feature = "clap", arg(long, value_name = "KIND|FILE"))]
    #[serde(rename = "topology", skip_serializing_if = "Option::is_none")]
    pub plan_topology: Option<String>,
    /// Share of its paths to the top layer that every ToR must keep [default: 75%]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHARE"))]
    #[serde(rename = "constraint", skip_serializing_if = "Option::is_none")]
    pub plan_constraint: Option<Share>,
    /// Run this program to disable a link that the plan disables; it is told which in LINKMEND_PORTS, LINKMEND_LINK,
    /// LINKMEND_LOSS_RATE and LINKMEND_REASON [default: none, and links are only named]
    #[cfg_attr(feature = "clap", arg(long, value_name = "PROGRAM"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_hook: Option<PathBuf>,
    /// Which links were disabled, for a restart [default: /var/lib/linkmend/corruptd-plan.json]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(rename = "state", skip_serializing_if = "Option::is_none")]
    pub plan_state: Option<PathBuf>,
}

/// What is planned for.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanChoice {
    /// A file, or a description in one line.
    pub topology: String,
    /// Share of its paths that every ToR must keep.
    pub constraint: f64,
    /// What disables links; without it, they are only named.
    pub hook: Option<PathBuf>,
    /// Which links were disabled.
    pub memory: PathBuf,
}

impl PlanConfig {
    /// Fills in what was left out; `None` if nothing is to be planned.
    pub(super) fn choose(&self) -> Result<Option<PlanChoice>, ConfigError> {
        let Some(topology) = self.plan_topology.clone() else {
            let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
            let written = [
                ("plan-constraint", self.plan_constraint.map(|share| share.0.to_string())),
                ("disable-hook", path(&self.disable_hook)),
                ("plan-state", path(&self.plan_state)),
            ];
            return match written.into_iter().find_map(|(name, value)| value.map(|value| (name, value))) {
                Some((name, value)) => {
                    let rule = "is of no use without the topology of a plan";
                    Err(ParameterError::new(name, value, rule).into())
                }
                None => Ok(None),
            };
        };
        let choice = PlanChoice {
            topology,
            constraint: self.plan_constraint.map_or(CONSTRAINT_DEFAULT, |share| share.0),
            hook: self.disable_hook.clone(),
            memory: self.plan_state.clone().unwrap_or_else(|| PLAN_STATE_DEFAULT.into()),
        };
        choice.network()?;
        Ok(Some(choice))
    }
}

impl PlanChoice {
    /// The network.
    ///
    /// # Errors
    /// If there is no such file or kind, or it is no network.
    pub fn network(&self) -> Result<Topology, ConfigError> {
        if !spec::names_file(&self.topology) {
            return Ok(spec::layered(&self.topology)?);
        }
        let options = TopologyFileOptions { default_speed: Some(SPEED_DEFAULT), layers: None };
        Ok(read_topology(Path::new(&self.topology), &options)?.topology)
    }
}
