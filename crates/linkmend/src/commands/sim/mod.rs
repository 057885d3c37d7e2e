//! `linkmend sim`: simulated links.

mod stress;

use super::reproduce::ExperimentArgs;
use clap::{Args, Subcommand};

/// Arguments of `linkmend sim`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim stress --speed 100G --loss 1e-3                  the paper's stress test
  linkmend sim stress --speed 400G --mode non-blocking --json   four times as fast, as JSON
  linkmend sim experiment mine.toml --out mine                  a sweep of one's own, with plots

The simulator drives the same state machines as `linkmend run`, with simulated frames and picoseconds. The same seed \
gives the same results on every machine. `linkmend reproduce` runs the experiments that are built in.")]
pub struct SimArgs {
    #[command(subcommand)]
    command: SimCommand,
}

#[derive(Debug, Subcommand)]
enum SimCommand {
    /// Send frames at line rate over one corrupting link, and measure what the paper measured (section 4.1)
    Stress(Box<stress::StressArgs>),
    /// Run an experiment file: a sweep with plots, and comparisons if it has published values
    Experiment(ExperimentArgs),
}

/// Does what was asked.
pub fn execute(arguments: &SimArgs) -> anyhow::Result<()> {
    match &arguments.command {
        SimCommand::Stress(arguments) => stress::execute(arguments),
        SimCommand::Experiment(arguments) => super::reproduce::run_file(arguments),
    }
}
