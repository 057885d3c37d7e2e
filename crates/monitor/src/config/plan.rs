//! What the planner needs.

use super::ConfigError;
use super::switch_database::SwitchDatabase;
use crate::actuator::{SonicPorts, SonicPortsSettings, fault};
use crate::planning::{GuardSettings, Network};
use linkmend_diagnose::ParameterError;
use linkmend_fleet::Constraint;
use linkmend_quantity::{BitRate, Span};
use linkmend_topology::file::{TopologyFileOptions, read_topology};
use linkmend_topology::spec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    /// Disable a link of SONiC switches as planned by setting its ports to admin_status down in CONFIG_DB, and bring up
    /// later what was taken down; the Redis of a switch, like leaf1=unix:/run/linkmend/leaf1.sock; may be repeated
    /// [default: none]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SWITCH=URL"))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disable_sonic: Vec<SwitchDatabase>,
    /// Certificate authorities for TLS to the Redis of those switches, in PEM format [default: the system's]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_sonic_ca: Option<PathBuf>,
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

/// What disables links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DisabledBy {
    /// Nothing: they are only named.
    Nobody,
    /// A program of the operator's, which is told what to do.
    Hook(PathBuf),
    /// The configuration of their switches.
    SonicPorts(SonicPortsSettings),
}

/// What is planned for.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanChoice {
    /// A file, or a description in one line.
    pub topology: String,
    /// What every ToR must keep.
    pub constraint: Constraint,
    /// What disables links.
    pub by: DisabledBy,
    /// How careful it is.
    pub guard: GuardSettings,
    /// Which links were disabled.
    pub memory: PathBuf,
}

impl PlanConfig {
    /// Fills in what was left out; `None` if nothing is to be planned.
    pub(super) fn choose(&self, dry_run: bool) -> Result<Option<PlanChoice>, ConfigError> {
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
                ("disable-sonic", self.disable_sonic.first().map(ToString::to_string)),
                ("disable-sonic-ca", path(&self.disable_sonic_ca)),
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
        let guard = self.guard()?;
        let choice = PlanChoice {
            by: self.disabled_by(&guard, dry_run)?,
            guard,
            topology,
            constraint: self.plan_constraint.unwrap_or(Constraint::connected(CONSTRAINT_DEFAULT)),
            memory: self.plan_state.clone().unwrap_or_else(|| PLAN_STATE_DEFAULT.into()),
        };
        choice.network()?;
        Ok(Some(choice))
    }
}

impl PlanConfig {
    fn disabled_by(&self, guard: &GuardSettings, dry_run: bool) -> Result<DisabledBy, ParameterError> {
        if let Some(hook) = &self.disable_hook {
            if let Some(switch) = self.disable_sonic.first() {
                return Err(ParameterError::new(
                    "disable-sonic",
                    switch,
                    "cannot be combined with disable-hook",
                ));
            }
            return match fault(hook) {
                Some(why) => {
                    let rule = format!("cannot be run: {why}");
                    Err(ParameterError::new("disable-hook", hook.display(), rule))
                }
                None => Ok(DisabledBy::Hook(hook.clone())),
            };
        }
        if self.disable_sonic.is_empty() {
            return match &self.disable_sonic_ca {
                Some(ca) => {
                    Err(ParameterError::new("disable-sonic-ca", ca.display(), "requires disable-sonic"))
                }
                None => Ok(DisabledBy::Nobody),
            };
        }
        let mut databases = BTreeMap::new();
        for database in &self.disable_sonic {
            if databases.insert(database.switch.clone(), database.url.clone()).is_some() {
                return Err(ParameterError::new("disable-sonic", database, "names this switch twice"));
            }
        }
        let settings = SonicPortsSettings {
            databases,
            ca: self.disable_sonic_ca.clone(),
            ports_most: guard.per_switch as usize,
            dry_run,
        };
        SonicPorts::new(&settings)?;
        Ok(DisabledBy::SonicPorts(settings))
    }

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
                let rule = format!(
                    "must be 1 to {DISABLES_MOST}; leave out disable-hook and disable-sonic to disable nothing"
                );
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::MonitorConfig;

    fn choose(plan: &str) -> Result<DisabledBy, String> {
        let text = format!("{plan}\n[protection]\ndry-run = true\n");
        let config: MonitorConfig = toml::from_str(&text).map_err(|error| error.to_string())?;
        let resolved = config.resolve("leaf1").map_err(|error| error.to_string())?;
        Ok(resolved.plan.map_or(DisabledBy::Nobody, |plan| plan.by))
    }

    #[test]
    fn links_are_disabled_by_a_program_or_by_their_switches() {
        let plan = "[plan]\ntopology = \"leaf-spine:leaves=2,spines=2\"\n";
        assert_eq!(choose(plan), Ok(DisabledBy::Nobody));
        let sonic = format!("{plan}disables-per-switch = 3\n");
        let switches = "disable-sonic = [\"leaf1=unix:/a\", \"leaf2=redis://me:secret@b/0\"]\n";
        let Ok(DisabledBy::SonicPorts(settings)) = choose(&format!("{sonic}{switches}")) else {
            panic!("switches");
        };
        assert_eq!((settings.databases.len(), settings.ports_most, settings.dry_run), (2, 3, true));
        for (text, part) in [
            (format!("{plan}{switches}disable-hook = \"/bin/sh\"\n"), "cannot be combined with disable-hook"),
            (
                format!("{plan}disable-sonic = [\"leaf1=unix:/a\", \"leaf1=unix:/b\"]\n"),
                "names this switch twice",
            ),
            (format!("{plan}disable-sonic = [\"unix:/a\"]\n"), "SWITCH=URL"),
            (format!("{plan}disable-sonic = [\"leaf1=http://me:secret@b\"]\n"), "must be redis://"),
            (format!("{plan}disable-sonic-ca = \"/a\"\n"), "requires disable-sonic"),
            (format!("[plan]\n{switches}"), "requires plan-topology"),
        ] {
            let error = choose(&text).expect_err("refused");
            assert!(error.contains(part) && !error.contains("secret"), "{text}: {error}");
        }
    }
}
