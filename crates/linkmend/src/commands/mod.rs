//! One file for each subcommand.

pub mod capture;
mod connect;
mod control;
pub mod demo;
mod detach;
pub mod fleet;
mod generate;
mod interrupt;
pub mod lab;
mod lab_wires;
pub mod reproduce;
mod run;
pub mod sim;
mod status;
mod top;

use crate::cli::Command;
use clap::ArgMatches;

/// Does what was asked. `matches` tell what was written and what is a default.
pub fn execute(command: Command, matches: &ArgMatches) -> anyhow::Result<()> {
    match command {
        Command::Run(arguments) => run::execute(*arguments, matches),
        Command::Status(arguments) => status::execute(&arguments),
        Command::Top(arguments) => top::execute(&arguments),
        Command::Protect(arguments) => control::protect(&arguments),
        Command::Unprotect(arguments) => control::unprotect(&arguments),
        Command::Capture(arguments) => capture::execute(&arguments),
        Command::Corrupt(arguments) => control::corrupt(&arguments),
        Command::Lab(arguments) => lab::execute(&arguments),
        Command::Demo(arguments) => demo::execute(&arguments),
        Command::Sim(arguments) => sim::execute(&arguments),
        Command::Fleet(arguments) => fleet::execute(&arguments),
        Command::Reproduce(arguments) => reproduce::execute(&arguments),
        Command::Detach(arguments) => detach::execute(&arguments),
        Command::Generate(arguments) => generate::execute(&arguments),
    }
}
