//! The program `linkmend-workbench`: simulator, experiments, studies of fleets, demo. `linkmend sim ...` starts it.
//!
//! It has the commands of `linkmend` as well, so that its laboratories start link ends without the other program, and so
//! that manual pages and completions are of both.
//!
//! - `cli`: the arguments, and with them the help;
//! - `commands`: one folder for each subcommand;
//! - [`studies`]: those that compute, for programs that call them.
//!
//! A library, because tests parse the examples in the help with [`command`].

// This macro panics if standard error cannot be written; see `output::remark`.
#![warn(clippy::print_stderr)]

mod cli;
mod commands;
pub mod studies;

pub use cli::command;

use clap::FromArgMatches;
use linkmend::{end, logging};
use std::process::ExitCode;

/// What the program does: parses its arguments, and executes the command.
pub fn execute() -> ExitCode {
    // clap prints help and usage errors itself, and ends with 0 or 2.
    let matches = cli::command().get_matches_from(linkmend::cli::arguments(std::env::args_os()));
    let Some(command) = cli::asked(&matches).unwrap_or_else(|error| error.exit()) else {
        let cli = linkmend::cli::Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        let log = logging::start(cli.verbose, false);
        return end(log, cli.command.execute(&matches));
    };
    let is_demo = command.is_demo();
    // An ordinary user's demo enters a user namespace. Only a process with one thread may do this, so it comes before
    // the log starts a thread.
    let entered = if is_demo { commands::demo::enter_namespace() } else { Ok(()) };
    let log = logging::start(matches.get_count("verbose"), is_demo);
    end(log, entered.and_then(|()| command.execute()))
}
