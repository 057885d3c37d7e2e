//! The binary `linkmend`.

use clap::FromArgMatches;
use linkmend::{cli, end, failure, logging, workbench};
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let written: Vec<OsString> = std::env::args_os().collect();
    if let Some(command) = workbench::command_in(&written) {
        return failure::report(&workbench::become_it(command, &written));
    }
    // clap prints help and usage errors itself, and ends with 0 or 2.
    let matches = workbench::with_its_commands(cli::command()).get_matches_from(cli::arguments(written));
    let cli = cli::Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let log = logging::start(cli.verbose, false);
    end(log, cli.command.execute(&matches))
}
