//! `linkmend sim scenario`: one file for each scenario, and their common parts.
//!
//! - [`runner`] runs a scenario: progress, interrupts, tables or JSON, exit code;
//! - [`link`] makes a scenario's link from the flags of the stress test;
//! - [`tables`] shows deliveries and links.

mod both_directions;
mod bursts;
mod classes;
mod fallback;
mod link;
mod path;
mod runner;
mod shared_port;
mod tables;
mod two_links;

use clap::{Args, Subcommand};
use linkmend::failure::Result;

/// Arguments of `linkmend sim scenario`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim scenario shared-port --links 4 --ports 2  # four links, two recirculation ports
  linkmend sim scenario path --hops 4 --loss 1e-2        # each link recovers its own losses
  linkmend sim scenario fallback --json                  # a loss rate that rises suddenly, as JSON

The options of a link are those of `linkmend sim stress`. Every event is simulated, so runs are shorter. The same seed \
gives the same report. Exit codes: 0 done, 1 stalled, 2 wrong usage, 130 after Ctrl-C.")]
pub struct ScenarioArgs {
    #[command(subcommand)]
    scenario: ScenarioCommand,
}

#[derive(Debug, Subcommand)]
enum ScenarioCommand {
    /// Several protected links between two switches that share a few recirculation ports
    ///
    /// Buffered frames circulate through a recirculation port, each of them at least once. Links that together send
    /// more than their port carries hold each other back, and copies that queue for it come too late (section 5,
    /// "Handling multiple corrupting links on the same switch").
    SharedPort(Box<shared_port::SharedPortArgs>),
    /// Several corrupting links in a row
    ///
    /// Every protected link recovers its own losses, delays add up, and at a link with less capacity than the one
    /// before it, the queue grows, marks and drops frames (section 5, "Multiple corrupting links on a path").
    Path(Box<path::PathArgs>),
    /// Data and corruption in both directions
    ///
    /// ACKs, loss notifications, pauses and resumes can be lost as well, and there may be no idle slot for an ACK. In
    /// the transparent format, an ACK is piggybacked on data; in the compact one, it becomes urgent after a while.
    /// Nothing may stall (section 5, "Handling bidirectional corruption").
    BothDirections(Box<both_directions::BothDirectionsArgs>),
    /// Ordered and non-blocking traffic on one link
    ///
    /// The two classes take turns at the port. A lost ordered frame holds its class back, and may pause it; the other
    /// class continues (section 5, "LinkGuardian vs. LinkGuardianNB").
    Classes(Box<classes::ClassesArgs>),
    /// A loss rate that changes suddenly, and the automatic fallback that follows it
    ///
    /// A link that loses too much leaves ordered mode, then protection, and returns when it improves (section 5,
    /// "Automatic fallback"). The hold times are short here, so that milliseconds show what takes seconds on a real
    /// link.
    Fallback(Box<fallback::FallbackArgs>),
    /// Tails lost together with the dummies that would reveal them
    ///
    /// Every frame here is a tail: the next one comes only after a silence, so only dummies reveal its loss in time.
    /// The more dummies are sent, the fewer lost tails lose all their dummies as well. A self-replenishing queue sends
    /// dummies until one gets through (section 5, "Handling bursty losses").
    Bursts(Box<bursts::BurstsArgs>),
    /// Two links between the same ends, one of which fails repeatedly
    ///
    /// When a link fails, the ends retransmit its outstanding frames on the other one, and return later. Nothing may
    /// be lost, delivered twice or, in ordered mode, reordered. SQR (ICNP 2019) can be run under the same failures for
    /// comparison.
    TwoLinks(Box<two_links::TwoLinksArgs>),
}

/// Executes the command.
pub fn execute(arguments: &ScenarioArgs) -> Result<()> {
    match &arguments.scenario {
        ScenarioCommand::SharedPort(arguments) => arguments.execute(),
        ScenarioCommand::Path(arguments) => arguments.execute(),
        ScenarioCommand::BothDirections(arguments) => arguments.execute(),
        ScenarioCommand::Classes(arguments) => arguments.execute(),
        ScenarioCommand::Fallback(arguments) => arguments.execute(),
        ScenarioCommand::Bursts(arguments) => arguments.execute(),
        ScenarioCommand::TwoLinks(arguments) => arguments.execute(),
    }
}
