//! The command line: the subcommands, and the functions that execute them.

use crate::commands::arguments::{
    CorruptArgs, DetachArgs, PreferArgs, ProtectArgs, RunArgs, StatusArgs, UnprotectArgs,
};
#[cfg(feature = "corruptd")]
use crate::commands::corruptd;
use crate::commands::{capture, control, detach, doctor, run, status};
use crate::failure::Result;
use clap::{ArgMatches, CommandFactory, Parser, Subcommand};
use std::ffi::OsString;

/// Masks packet loss due to corruption on a link, by retransmitting lost frames between its two ends.
///
/// Both ends of the link run `linkmend run`, each between a port that faces its host or switch (`inner`) and the port
/// that faces the corrupting link (`link`). Frames that the link corrupts are retransmitted before the hosts notice.
#[derive(Debug, Parser)]
#[command(name = "linkmend", version, propagate_version = true, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    /// Log more to standard error; repeat for even more. RUST_LOG overrides this
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  linkmend run --inner eth1 --link eth2  # run one end of a link; do the same at the other end
  linkmend status                        # show its state
  linkmend status --watch                # the same, redrawn every second
  linkmend sim stress --speed 400G       # simulate a 400G link
  linkmend reproduce all                 # reproduce the paper's figures and tables

Sizes, rates and times require a unit: 200KiB, 25G, 7us. Loss rates are fractions or percentages: 1e-3, 0.1%.
Exit codes: 0 success, 1 failure, 2 usage or configuration error.";

/// What the binary can be asked to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one end of one or more links until stopped
    Run(Box<RunArgs>),
    /// Show the state of links
    Status(StatusArgs),
    /// Protect the sending direction of a link, or change its protection
    Protect(ProtectArgs),
    /// End the protection of the sending direction of a link
    Unprotect(UnprotectArgs),
    /// Choose which of a link end's two links is used while both are up
    Prefer(PreferArgs),
    /// Show or record the frames at a link's ports, decoded, including those that AF_XDP hides from tcpdump
    Capture(Box<capture::CaptureArgs>),
    /// Drop arriving frames on purpose, for tests
    Corrupt(CorruptArgs),
    /// Find corrupting links, protect them, and end protection after their repair
    #[cfg(feature = "corruptd")]
    Corruptd(Box<corruptd::CorruptdArgs>),
    /// Examine this machine and its interfaces: what they can do for a link, and what to change
    Doctor(doctor::DoctorArgs),
    /// Remove the in-kernel bypass that a stopped daemon left behind (this cuts the link)
    Detach(DetachArgs),
}

/// The command line as it is parsed. A negative number is a value that can be refused with the name of its option, not
/// another option.
pub fn command() -> clap::Command {
    with_negative_numbers(Cli::command())
}

/// The arguments as they are parsed: clap takes `-1e-3` for options, because of its second minus, so it is tied to the option
/// before.
pub fn arguments(written: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    for argument in written {
        let is_number =
            |text: &str| text.starts_with('-') && text.contains('e') && text.parse::<f64>().is_ok();
        let is_option = |text: &str| text.starts_with("--") && text.len() > 2 && !text.contains('=');
        match arguments.last_mut() {
            Some(option)
                if argument.to_str().is_some_and(is_number) && option.to_str().is_some_and(is_option) =>
            {
                option.push("=");
                option.push(argument);
            }
            _ => arguments.push(argument),
        }
    }
    arguments
}

/// Lets each option of a command and of those below it take a negative number for a value.
pub fn with_negative_numbers(command: clap::Command) -> clap::Command {
    command
        .mut_args(|argument| {
            let takes_values = argument.get_action().takes_values();
            argument.allow_negative_numbers(takes_values)
        })
        .mut_subcommands(with_negative_numbers)
}

impl Command {
    /// Executes the command. `matches` tells which options were written and which are defaults.
    ///
    /// # Errors
    /// Whatever went wrong, with its context.
    pub fn execute(self, matches: &ArgMatches) -> Result<()> {
        match self {
            Command::Run(arguments) => run::execute(*arguments, matches, &Cli::command()),
            Command::Status(arguments) => status::execute(&arguments),
            Command::Protect(arguments) => control::protect(&arguments),
            Command::Unprotect(arguments) => control::unprotect(&arguments),
            Command::Prefer(arguments) => control::prefer(&arguments),
            Command::Capture(arguments) => capture::execute(&arguments),
            Command::Corrupt(arguments) => control::corrupt(&arguments),
            #[cfg(feature = "corruptd")]
            Command::Corruptd(arguments) => corruptd::execute(&arguments, matches, &Cli::command()),
            Command::Doctor(arguments) => doctor::execute(&arguments),
            Command::Detach(arguments) => detach::execute(&arguments),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_consistent() {
        command().debug_assert();
    }
}
