//! `linkmend fleet`: which of many links to disable, protect and repair.
//!
//! - [`network`]: the topology, for all subcommands;
//! - [`repair`]: the crew and its order of repairs;
//! - [`source`]: loss events, drawn or read;
//! - [`deployment`]: which links can be protected;
//! - [`protection`]: what protection leaves of a loss rate.

mod deploy;
mod deployment;
mod network;
mod plan;
mod protection;
mod repair;
mod show;
mod simulate;
mod source;
mod trace;

pub use deploy::DeployArgs;
pub use plan::PlanArgs;
pub use show::ShowArgs;
pub use simulate::SimulateArgs;

use super::study;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use linkmend::failure::Result;
use linkmend_quantity::{QuantityError, Share, Word};

/// Arguments of `linkmend fleet`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend fleet simulate --strategy corropt                   # a year of the paper's fabric
  linkmend fleet simulate --strategy protect+corropt --json    # the same with protection, as JSON
  linkmend fleet plan --links corrupting.csv --html plan.html  # what to do about each link
  linkmend fleet show network.clab.yml                         # how a network file is interpreted
  linkmend fleet deploy                                        # which pods to upgrade first
  linkmend fleet trace --days 30 --out month.csv               # when links start to corrupt
  linkmend fleet simulate --trace month.csv --series month-series.csv

These commands implement section 4.8 and appendix D of the paper; `linkmend reproduce fig15 fig16` compares the results \
with its figures. The same seed gives \
the same results on every machine.")]
pub struct FleetArgs {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Debug, Subcommand)]
enum FleetCommand {
    /// Rank pods by the loss that upgrading them would prevent, to decide which to upgrade first
    Deploy(Box<deploy::DeployArgs>),
    /// Decide what to do about corrupting links now: which to disable, protect and repair first, and why
    Plan(Box<plan::PlanArgs>),
    /// Show how a network file is interpreted: switches, layers and how they were determined, links, paths, hosts and
    /// ambiguities
    Show(show::ShowArgs),
    /// Simulate a network over a trace of corrupting links, and evaluate a strategy
    Simulate(Box<simulate::SimulateArgs>),
    /// Write a trace: when each link starts to corrupt frames, and at what rate (appendix D)
    Trace(trace::TraceArgs),
}

/// Executes the command.
pub fn execute(arguments: &FleetArgs) -> Result<()> {
    match &arguments.command {
        FleetCommand::Deploy(arguments) => study::execute(&**arguments, arguments.json),
        FleetCommand::Plan(arguments) => study::execute(&**arguments, arguments.json),
        FleetCommand::Show(arguments) => study::execute(arguments, arguments.json),
        FleetCommand::Simulate(arguments) => study::execute(&**arguments, arguments.json),
        FleetCommand::Trace(arguments) => trace::execute(arguments),
    }
}

/// Takes the words of a choice.
fn word<W: Word>() -> impl TypedValueParser<Value = W> {
    let words = W::all().iter().map(|choice| choice.word());
    PossibleValuesParser::new(words).try_map(|text| W::named(&text).ok_or("no such choice"))
}

/// A share as people write it: `75%` or `0.75`.
fn share(text: &str) -> Result<f64, QuantityError> {
    text.parse().map(|Share(share)| share)
}
