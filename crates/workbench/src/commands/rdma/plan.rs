//! `linkmend rdma plan`: the cheapest mechanisms for a wanted rate of timeouts.

use super::arguments::PathArgs;
use super::model::found;
use crate::commands::study::{Found, Study, Watch};
use clap::Args;
use linkmend::failure::{Hinted, Result, UsageError};
use linkmend_quantity::LossRate;
use linkmend_rdma::plan::cheapest;

/// Arguments of `linkmend rdma plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend rdma plan --wanted 1e-6  # web-search traffic: one timeout in a million flows
  linkmend rdma plan --wanted 1e-4 --size 1024B --loss 1e-2 --json

Cost is measured in bytes on the wire. The result is the cheapest of all combinations of up to 15 copies of each kind.")]
pub struct PlanArgs {
    #[command(flatten)]
    path: PathArgs,
    /// Maximum mean number of timeouts per flow
    #[arg(long, value_name = "RATE")]
    wanted: LossRate,
    /// Print one JSON object instead of tables
    #[arg(long)]
    pub json: bool,
}

impl Study for PlanArgs {
    fn find(&self, _watch: &dyn Watch) -> Result<Found> {
        let wanted = self.wanted;
        if wanted.0 <= 0.0 {
            return Err(UsageError::new(format!("--wanted {wanted}: must be above 0")).into());
        }
        let model = self.path.model()?;
        let mechanisms = cheapest(&model, wanted.0).ok_or_else(|| {
            Hinted::error(
                format!("even 15 copies of each kind cannot reduce timeouts to {wanted} of flows"),
                "protect the links instead (linkmend sim flows --scheme ordered), or accept more timeouts",
            )
        })?;
        found(&model, mechanisms, &self.path)
    }
}
