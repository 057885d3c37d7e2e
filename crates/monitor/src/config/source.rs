//! Where counters come from, and what that needs.

use super::MonitorConfig;
use crate::server::ServerUrl;
use crate::source::{DriverNames, SonicSettings};
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
    /// Ports of a SONiC switch, from its database
    Sonic,
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
    /// With --source sonic, its Redis [default: unix:/var/run/redis/redis.sock, that of this switch]
    #[cfg_attr(feature = "clap", arg(long, value_name = "URL"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sonic: Option<ServerUrl>,
    /// Authorities that may vouch for that Redis with TLS, in PEM format [default: those that this machine trusts]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sonic_ca: Option<PathBuf>,
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
    /// Ports of a switch.
    Sonic(SonicSettings),
}

impl MonitorConfig {
    /// Takes what the chosen source needs, and refuses what another one would.
    pub(super) fn choose_source(&self) -> Result<SourceChoice, ParameterError> {
        let CountersConfig { interfaces, sonic, sonic_ca, drivers } = &self.counters;
        let misplaced = |name: &'static str, value: Option<String>, source: &str| match value {
            Some(value) => {
                Err(ParameterError::new(name, value, format!("is of no use without source = \"{source}\"")))
            }
            None => Ok(()),
        };
        let first = |texts: &[String]| texts.first().cloned();
        if self.source != SourceKind::Sonic {
            misplaced("sonic", sonic.as_ref().map(ToString::to_string), "sonic")?;
            misplaced("sonic-ca", sonic_ca.as_ref().map(|path| path.display().to_string()), "sonic")?;
        }
        if self.source != SourceKind::Linux {
            misplaced("counters.drivers", drivers.keys().next().cloned(), "linux")?;
        }
        match self.source {
            SourceKind::Linkmend => {
                misplaced("interface", first(interfaces), "linux")?;
                Ok(SourceChoice::Linkmend(self.daemons.clone()))
            }
            SourceKind::Linux => {
                for (driver, names) in drivers {
                    if let Some(rule) = names.fault() {
                        return Err(ParameterError::new("counters.drivers", driver, rule));
                    }
                }
                Ok(SourceChoice::Linux { patterns: interfaces.clone(), drivers: drivers.clone() })
            }
            SourceKind::Sonic => {
                let usual = SonicSettings::default();
                let settings = SonicSettings {
                    url: sonic.clone().unwrap_or(usual.url),
                    ca: sonic_ca.clone(),
                    patterns: interfaces.clone(),
                };
                settings.validate()?;
                Ok(SourceChoice::Sonic(settings))
            }
        }
    }
}
