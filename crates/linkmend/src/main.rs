//! The `linkmend` binary: arguments, configuration, output. What it does is in the crates below it.
//!
//! - [`cli`]: the arguments, and with them the help;
//! - [`commands`]: one file for each subcommand;
//! - [`daemon`]: what `linkmend run` is made of: links, sockets, signals, the service manager;
//! - [`failure`]: errors as people read them, and exit codes.

mod cli;
mod commands;
mod daemon;
mod failure;
mod logging;
mod output;

use clap::{CommandFactory, FromArgMatches};
use std::process::ExitCode;

fn main() -> ExitCode {
    // clap prints help and usage errors itself, and ends with 0 or 2.
    let matches = cli::Cli::command().get_matches();
    let cli = cli::Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    logging::start(cli.verbose, matches!(cli.command, cli::Command::Demo(_)));
    match commands::execute(cli.command, &matches) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}
