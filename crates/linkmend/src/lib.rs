//! The program `linkmend`: arguments, configuration, output. Everything else is in the crates below it.
//!
//! - [`cli`]: the arguments, and with them the help;
//! - [`commands`]: one file for each subcommand;
//! - [`failure`]: errors as people read them, and exit codes;
//! - [`written_file`]: files that commands write, and what to do if they cannot;
//! - [`logging`]: the log, which never delays a link;
//! - [`workbench`]: how `linkmend sim` and others find the second program.
//!
//! A library, because that second program, `linkmend-workbench`, has the same commands and shares all of this.

// This macro panics if standard error cannot be written; see `output::remark`.
#![warn(clippy::print_stderr)]

pub mod cli;
pub mod commands;
mod daemon;
pub mod failure;
pub mod interrupt;
pub mod logging;
pub mod output;
pub mod workbench;
pub mod written_file;

use failure::Result;
use logging::Drain;
use std::process::ExitCode;

/// Ends a command: writes what is left of the log, then the error, if there is one.
pub fn end(log: Drain, result: Result<()>) -> ExitCode {
    drop(log);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}
