//! `linkmend sim`: simulated links.

mod capture;
mod flows;
mod kernel;
mod links;
mod llr;
mod packetdrill;
mod parameters;
mod replay;
mod series;
mod stress;
mod timeline;

pub use flows::FlowsArgs;
pub use links::LinksArgs;
pub use llr::LlrPlanArgs;
pub use stress::StressArgs;
pub use timeline::TimelineArgs;

use super::reproduce::RunArgs;
use super::study;
use clap::{Args, Subcommand};
use linkmend::failure::Result;

/// Arguments of `linkmend sim`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim stress --speed 100G --loss 1e-3                   # the paper's stress test
  linkmend sim stress --speed 400G --scheme non-blocking --json  # four times as fast, as JSON
  linkmend sim flows --size 143B --scheme ordered                # completion times of flows
  linkmend sim run mine.toml --out mine                          # your own sweep, with plots
  linkmend sim links --hops 4 --loss 1e-3                        # four corrupting links in a row
  linkmend sim replay a.jsonl b.jsonl                            # repeats what two link ends did

The simulator drives the same state machines as `linkmend run`, with simulated frames and picosecond resolution. The same seed \
gives the same results on every machine. `linkmend reproduce` runs the experiments that are built in.")]
pub struct SimArgs {
    #[command(subcommand)]
    command: SimCommand,
}

#[derive(Debug, Subcommand)]
enum SimCommand {
    /// Send frames at line rate over one corrupting link, and measure what the paper measured (section 4.1)
    Stress(Box<stress::StressArgs>),
    /// Run flows between hosts over a corrupting link, and show their completion times, or run one endless flow, and
    /// show its throughput (sections 4.2 to 4.7)
    Flows(Box<flows::FlowsArgs>),
    /// Run one endless flow over a link that begins to corrupt frames and is protected later, and show goodput, queue
    /// and buffers over time (section 4.2, Figures 9 and 21)
    Timeline(Box<timeline::TimelineArgs>),
    /// Compare the simulated TCP with this machine's kernel, over the same path and with the same losses
    ///
    /// Sends data over one TCP connection for a while, once with the kernel, in a lab of network namespaces, and once
    /// simulated. Shows goodput, retransmissions and congestion windows side by side, and plots them over time in an
    /// HTML report. Transfers that the machine disturbed are repeated, up to half of all transfers.
    Kernel(Box<kernel::KernelArgs>),
    /// Run an experiment file: one run or a sweep, with plots, and with comparisons if it has published values
    Run(RunArgs),
    /// Send frames over several links, or over one in both directions, in both classes or with a loss rate that changes
    /// (section 5)
    Links(Box<links::LinksArgs>),
    /// Run packetdrill scripts, tests written for other TCPs, against the simulated TCP
    Packetdrill(packetdrill::PacketdrillArgs),
    /// Run the published test cases of Ultra Ethernet's Link Layer Retry (LLR), and plan its registers
    Llr(llr::LlrArgs),
    /// Replay the protocol logs of real link ends, and compare the results
    ///
    /// A single log is replayed exactly: every call is repeated at the same time on a fresh link end, and must give the
    /// same result. With the logs of both ends of a run, two simulated ends also run against each other with the same
    /// traffic and losses, and must take the same actions in the same order.
    Replay(replay::ReplayArgs),
}

/// Executes the command.
pub fn execute(arguments: &SimArgs) -> Result<()> {
    match &arguments.command {
        SimCommand::Stress(arguments) => study::execute(&**arguments, arguments.json),
        SimCommand::Flows(arguments) => study::execute(&**arguments, arguments.json),
        SimCommand::Timeline(arguments) => study::execute(&**arguments, arguments.json),
        SimCommand::Kernel(arguments) => kernel::execute(arguments),
        SimCommand::Run(arguments) => super::reproduce::run_file(arguments),
        SimCommand::Links(arguments) => study::execute(&**arguments, arguments.json),
        SimCommand::Packetdrill(arguments) => packetdrill::execute(arguments),
        SimCommand::Llr(arguments) => llr::execute(arguments),
        SimCommand::Replay(arguments) => replay::execute(arguments),
    }
}
