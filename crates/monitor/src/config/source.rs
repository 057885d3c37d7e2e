//! Where counters come from, and what that needs.

use super::MonitorConfig;
use crate::server::ServerUrl;
use crate::source::{DriverNames, GnmiSettings, PrometheusSettings, QuerySet, SonicSettings};
use linkmend_diagnose::ParameterError;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Queries for what operators have most.
const QUERIES_DEFAULT: &str = "node";

/// Where counters come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// Links of the Linkmend daemons on this machine, by name
    #[default]
    Linkmend,
    /// Network interfaces of this machine, by name
    Linux,
    /// Ports of a SONiC switch, from its database
    Sonic,
    /// What a Prometheus server has collected from this machine or others
    Prometheus,
    /// Ports of switches that stream OpenConfig's counters
    Gnmi,
}

/// What the chosen source needs: `[counters]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Sources of counters"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CountersConfig {
    /// Interfaces to monitor, like 'eth*' [default: all; with --source linux, all that are not virtual]; may be
    /// repeated
    #[cfg_attr(feature = "clap", arg(long = "interface", value_name = "PATTERN"))]
    #[serde(rename = "interface", skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
    /// With --source sonic, the switch's Redis [default: unix:/var/run/redis/redis.sock, on this switch]
    #[cfg_attr(feature = "clap", arg(long, value_name = "URL"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sonic: Option<ServerUrl>,
    /// Certificate authorities for TLS to that Redis, in PEM format [default: the system's]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sonic_ca: Option<PathBuf>,
    /// With --source prometheus, the server's address, like http://10.0.0.9:9090
    #[cfg_attr(feature = "clap", arg(long, value_name = "URL"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<ServerUrl>,
    /// Certificate authorities for TLS to the Prometheus server, in PEM format [default: the system's]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prometheus_ca: Option<PathBuf>,
    /// Label matchers that select a machine, like 'instance="leaf1:9100"' [default: none]
    #[cfg_attr(feature = "clap", arg(long, value_name = "MATCHERS"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prometheus_filter: Option<String>,
    /// Set of queries for the exporter that Prometheus scrapes: node, node-mlx5_core, node-bnxt_en, node-ice, snmp,
    /// snmp-etherlike, linkmend [default: node]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prometheus_queries: Option<String>,
    /// Queries of one's own, instead of those. Only in files.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<QuerySet>,
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
    /// What was collected.
    Prometheus(Box<PrometheusSettings>),
    /// What devices send.
    Gnmi(Box<GnmiSettings>),
}

impl MonitorConfig {
    /// Takes what the chosen source needs, and refuses what another one would.
    pub(super) fn choose_source(&self) -> Result<SourceChoice, ParameterError> {
        self.refuse_what_another_source_needs()?;
        let CountersConfig { interfaces, sonic, sonic_ca, drivers, .. } = &self.counters;
        match self.source {
            SourceKind::Linkmend => Ok(SourceChoice::Linkmend(self.daemons.clone())),
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
            SourceKind::Prometheus => Ok(SourceChoice::Prometheus(Box::new(self.counters.prometheus()?))),
            SourceKind::Gnmi => Ok(SourceChoice::Gnmi(Box::new(self.gnmi.settings(interfaces)?))),
        }
    }

    /// What is written and would not be used is a mistake.
    fn refuse_what_another_source_needs(&self) -> Result<(), ParameterError> {
        let CountersConfig { interfaces, sonic, sonic_ca, drivers, .. } = &self.counters;
        let CountersConfig {
            prometheus, prometheus_ca, prometheus_filter, prometheus_queries, queries, ..
        } = &self.counters;
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let url = |url: &Option<ServerUrl>| url.as_ref().map(ToString::to_string);
        let has_interfaces = [SourceKind::Linux, SourceKind::Sonic, SourceKind::Gnmi];
        let (of_gnmi, value) = self.gnmi.written().unzip();
        let written: [(&'static str, Option<String>, &[SourceKind]); 10] = [
            (of_gnmi.unwrap_or("gnmi"), value, &[SourceKind::Gnmi]),
            ("interface", interfaces.first().cloned(), &has_interfaces),
            ("counters.drivers", drivers.keys().next().cloned(), &[SourceKind::Linux]),
            ("sonic", url(sonic), &[SourceKind::Sonic]),
            ("sonic-ca", path(sonic_ca), &[SourceKind::Sonic]),
            ("prometheus", url(prometheus), &[SourceKind::Prometheus]),
            ("prometheus-ca", path(prometheus_ca), &[SourceKind::Prometheus]),
            ("prometheus-filter", prometheus_filter.clone(), &[SourceKind::Prometheus]),
            ("prometheus-queries", prometheus_queries.clone(), &[SourceKind::Prometheus]),
            (
                "counters.queries",
                queries.as_ref().map(|queries| queries.port.clone()),
                &[SourceKind::Prometheus],
            ),
        ];
        for (name, value, sources) in written {
            if let Some(value) = value.filter(|_| !sources.contains(&self.source)) {
                let names: Vec<String> =
                    sources.iter().map(|source| format!("\"{}\"", source.name())).collect();
                let rule = format!("requires source = {}", names.join(" or "));
                return Err(ParameterError::new(name, value, rule));
            }
        }
        Ok(())
    }
}

impl SourceKind {
    /// Its name in configurations.
    const fn name(self) -> &'static str {
        match self {
            SourceKind::Linkmend => "linkmend",
            SourceKind::Linux => "linux",
            SourceKind::Sonic => "sonic",
            SourceKind::Prometheus => "prometheus",
            SourceKind::Gnmi => "gnmi",
        }
    }
}

impl CountersConfig {
    fn prometheus(&self) -> Result<PrometheusSettings, ParameterError> {
        let Some(url) = self.prometheus.clone() else {
            let rule = "must be the address of a Prometheus server, like http://10.0.0.9:9090, with source \
             = \"prometheus\"";
            return Err(ParameterError::new("prometheus", "", rule));
        };
        let mut known = QuerySet::known();
        let name = self.prometheus_queries.as_deref().unwrap_or(QUERIES_DEFAULT);
        let queries = match &self.queries {
            Some(_) if self.prometheus_queries.is_some() => {
                let rule = "cannot be combined with [counters.queries]";
                return Err(ParameterError::new("prometheus-queries", name, rule));
            }
            Some(own) => own.clone(),
            None => known.remove(name).ok_or_else(|| {
                let names: Vec<String> = QuerySet::known().into_keys().collect();
                ParameterError::new(
                    "prometheus-queries",
                    name,
                    format!("must be one of {}", names.join(", ")),
                )
            })?,
        };
        let filter = self.prometheus_filter.clone().unwrap_or_default();
        let settings = PrometheusSettings { url, ca: self.prometheus_ca.clone(), filter, queries };
        settings.validate()?;
        Ok(settings)
    }
}
