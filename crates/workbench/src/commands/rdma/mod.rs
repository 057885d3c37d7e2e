//! `linkmend rdma`: how often corruption makes RDMA wait for a timeout.
//!
//! - [`arguments`]: the path, its corruption, the flows, and the mechanisms;
//! - [`model`]: the probabilities;
//! - [`plan`]: the cheapest mechanisms;
//! - [`check`]: compare the model with the simulated transport.

mod arguments;
mod check;
mod model;
mod plan;

pub use check::CheckArgs;
pub use model::ModelArgs;
pub use plan::PlanArgs;

use super::study;
use clap::{Args, Subcommand};
use linkmend::failure::Result;

/// Arguments of `linkmend rdma`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend rdma model                          # web-search traffic over four corrupting links
  linkmend rdma model --mechanisms all --json  # the same with the paper's mechanisms, as JSON
  linkmend rdma plan --wanted 1e-6             # cheapest mechanisms for 1e-6 timeouts per flow
  linkmend rdma check                          # compare the model with the simulated transport
  linkmend sim flows --transport rdma --rdma-mechanisms all
      The same flows in a simulated network.

After Gao et al., Analyzing and Optimizing Packet Corruption in RDMA Network, JCST 37(4), 2022.")]
pub struct RdmaArgs {
    #[command(subcommand)]
    command: RdmaCommand,
}

#[derive(Debug, Subcommand)]
enum RdmaCommand {
    /// Show how often each kind of timeout occurs, both as approximated in the paper and exactly
    Model(model::ModelArgs),
    /// Find the cheapest mechanisms that achieve a given rate of timeouts
    Plan(plan::PlanArgs),
    /// Compare the model with the simulated transport, including timeouts that are too rare to count
    Check(check::CheckArgs),
}

/// Executes the command.
pub fn execute(arguments: &RdmaArgs) -> Result<()> {
    match &arguments.command {
        RdmaCommand::Model(arguments) => study::execute(arguments, arguments.json),
        RdmaCommand::Plan(arguments) => study::execute(arguments, arguments.json),
        RdmaCommand::Check(arguments) => study::execute(arguments, arguments.json),
    }
}
