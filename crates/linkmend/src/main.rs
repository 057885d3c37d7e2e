//! The `linkmend` binary: arguments, configuration, output. Everything else is in the crates below it.
//!
//! - [`cli`]: the arguments, and with them the help;
//! - [`commands`]: one file for each subcommand;
//! - [`daemon`]: the parts of `linkmend run`: links, sockets, signals, the service manager;
//! - [`failure`]: errors as people read them, and exit codes;
//! - [`written_file`]: files that commands write, and what to do if they cannot;
//! - [`logging`]: the log, which never holds up a link.

// This macro panics if standard error cannot be written; see `output::remark`.
#![warn(clippy::print_stderr)]

mod cli;
mod commands;
mod daemon;
mod failure;
mod logging;
mod output;
mod written_file;

use clap::FromArgMatches;
use std::process::ExitCode;

fn main() -> ExitCode {
    // clap prints help and usage errors itself, and ends with 0 or 2.
    let matches = cli::command().get_matches_from(cli::arguments(std::env::args_os()));
    let cli = cli::Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let is_demo = matches!(cli.command, cli::Command::Demo(_));
    // An ordinary user's demo enters a user namespace. Only a process with one thread may do this, so it comes before
    // the log starts a thread.
    let entered = if is_demo { commands::demo::enter_namespace() } else { Ok(()) };
    let log = logging::start(cli.verbose, is_demo);
    let result = entered.and_then(|()| cli.command.execute(&matches));
    // The log's last lines come before the error that ends the program.
    drop(log);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}
