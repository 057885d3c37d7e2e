//! `linkmend sim llr`: Ultra Ethernet's Link Layer Retry.

mod conformance;
mod plan;

pub use plan::PlanArgs as LlrPlanArgs;

use crate::commands::study;
use clap::{Args, Subcommand};
use linkmend::failure::Result;

/// Width of tables when standard output is no terminal.
const TABLE_WIDTH: usize = 110;

/// Arguments of `linkmend sim llr`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  linkmend sim llr --conformance                  # the published test cases
  linkmend sim llr --conformance --case LLR-05    # one of them, with every value
  linkmend sim llr plan --speed 400G --cable 50m  # registers, step by step

Link Layer Retry (LLR) retransmits lost frames on one link, in the hardware of switches and network cards. It is \
go-back-N: after a loss, it retransmits the lost frame and everything after it. The specification was not available; the \
model follows public code and designs that cite it (docs/llr.md). To simulate traffic over a link with LLR, use --scheme \
llr with `linkmend sim stress` or `linkmend sim flows`.

The exit code is 0 if all cases pass, and 1 if one fails."
)]
pub struct LlrArgs {
    /// Run the published test cases, and show what they expect and what was found
    #[arg(long)]
    conformance: bool,
    /// Run only this case, and show each value
    #[arg(long, value_name = "ID", requires = "conformance")]
    case: Option<String>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<LlrCommand>,
}

#[derive(Debug, Subcommand)]
enum LlrCommand {
    /// Derive the parameters of a port from its link, and show each step
    Plan(plan::PlanArgs),
}

/// Executes the command.
pub fn execute(arguments: &LlrArgs) -> Result<()> {
    match &arguments.command {
        Some(LlrCommand::Plan(arguments)) => study::execute(arguments, arguments.json),
        None => conformance::execute(arguments.case.as_deref(), arguments.json),
    }
}
