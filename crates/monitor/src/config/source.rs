//! Where counters come from, and what that needs.

use super::MonitorConfig;
use crate::source::DriverNames;
use linkmend_diagnose::ParameterError;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where counters come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// The links of Linkmend's daemons on this machine, by their names
    #[default]
    Linkmend,
    /// Network interfaces of this machine, by their names
    Linux,
}

/// What the chosen source needs: `[counters]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Sources of counters"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CountersConfig {
    /// Interfaces to watch, like 'eth*' [default: all; with --source linux, all that are not virtual]; may be repeated
    #[cfg_attr(feature = "clap", arg(long = "interface", value_name = "PATTERN"))]
    #[serde(rename = "interface", skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
    /// With --source linux, what drivers call their counters, besides those that are known. Only in files.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[serde(skip_serializing_if = "DriverNames::is_empty")]
    pub drivers: DriverNames,
}

/// Where counters come from, with what that needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceChoice {
    /// Daemons at these sockets, or all.
    Linkmend(Vec<PathBuf>),
    /// Interfaces of these names, or all that are not virtual.
    Linux {
        /// `*` and `?` stand for any characters, and for one.
        patterns: Vec<String>,
        /// Beyond those that are known.
        drivers: DriverNames,
    },
}

impl MonitorConfig {
    /// Takes what the chosen source needs, and refuses what another one would.
    pub(super) fn choose_source(&self) -> Result<SourceChoice, ParameterError> {
        let CountersConfig { interfaces, drivers } = &self.counters;
        match self.source {
            SourceKind::Linux => {
                for (driver, names) in drivers {
                    if let Some(rule) = names.fault() {
                        return Err(ParameterError::new("counters.drivers", driver, rule));
                    }
                }
                Ok(SourceChoice::Linux { patterns: interfaces.clone(), drivers: drivers.clone() })
            }
            _ if !interfaces.is_empty() => {
                let rule = "is of no use without source = \"linux\"";
                Err(ParameterError::new("interface", interfaces.join(", "), rule))
            }
            SourceKind::Linkmend => Ok(SourceChoice::Linkmend(self.daemons.clone())),
        }
    }
}
