//! Which switches can protect links: a share of the pods, or a list.

use super::share;
use clap::Args;
use linkmend::failure::{Context, Result, UsageError};
use linkmend_diagnose::Diagnose;
use linkmend_fleet::deployment::Deployment;
use linkmend_topology::Topology;

/// Arguments that say which switches can protect links.
#[derive(Debug, Args)]
pub struct UpgradedArgs {
    /// Pods and switches that can protect links, and `top` for the top layer; @FILE lists one per line [default: all]
    ///
    /// A link is protected by both its ends, so a link between a pod and the top layer requires the pod (or its switch)
    /// and `top`.
    #[arg(long, value_name = "POD,...|@FILE")]
    upgraded: Option<String>,
}

/// Arguments that list upgraded switches, or give a share of the pods.
#[derive(Debug, Args)]
pub struct DeploymentArgs {
    #[command(flatten)]
    upgraded: UpgradedArgs,
    /// Share of the pods, chosen at random, whose switches can protect links; the top layer can only do so at 100%
    #[arg(long, value_name = "SHARE", default_value = "100%", value_parser = share, conflicts_with = "upgraded")]
    deploy: f64,
}

impl UpgradedArgs {
    /// The list as it was written.
    pub fn written(&self) -> Option<&str> {
        self.upgraded.as_deref()
    }

    /// The deployment that was listed, if there is a list.
    pub fn listed(&self, topology: &Topology) -> Result<Option<Deployment>> {
        let Some(written) = &self.upgraded else { return Ok(None) };
        let list = match written.strip_prefix('@') {
            Some(file) => {
                std::fs::read_to_string(file).with_context(|| format!("--upgraded: cannot read {file}"))?
            }
            None => written.replace(',', "\n"),
        };
        let deployment = Deployment::listed(topology, &list)
            .map_err(|error| UsageError::hinted(format!("--upgraded {written}: {error}"), error.hint()))?;
        Ok(Some(deployment))
    }

    /// The deployment that was listed; every link if there is no list.
    pub fn deployment(&self, topology: &Topology) -> Result<Deployment> {
        Ok(self.listed(topology)?.unwrap_or_default())
    }
}

impl DeploymentArgs {
    /// The deployment that was listed, or else the share.
    pub fn deployment(&self, topology: &Topology, seed: u64) -> Result<Deployment> {
        let listed = self.upgraded.listed(topology)?;
        Ok(listed.unwrap_or_else(|| Deployment::share(topology, self.deploy, seed)))
    }
}
