//! The command line: the commands of this program beside those of `linkmend`.

use crate::commands::{demo, evaluate, fleet, generate, lab, rdma, reproduce, sim, study};
use clap::{ArgMatches, Args, FromArgMatches, Subcommand};
use linkmend::workbench;

/// What only this program can be asked to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what Linkmend does: kernel TCP over a corrupting link, unprotected and protected
    Demo(demo::DemoArgs),
    /// Keep a lab of network namespaces running, for your own experiments
    Lab(lab::LabArgs),
    /// Simulate a protected link at any speed, with the protocol code that `run` uses
    Sim(Box<sim::SimArgs>),
    /// Decide which of many links to disable, protect and repair
    Fleet(fleet::FleetArgs),
    /// Compute how often corruption makes RDMA wait for a timeout, and what prevents it
    Rdma(rdma::RdmaArgs),
    /// Reproduce the published evaluations in the simulator, and compare the results
    Reproduce(reproduce::ReproduceArgs),
    /// Combine the shards of experiments that several machines have run
    Merge(reproduce::merge::MergeArgs),
    /// Write manual pages or shell completions for both programs
    Generate(generate::GenerateArgs),
}

/// The command line as it is parsed.
pub fn command() -> clap::Command {
    let first = linkmend::cli::command();
    let (about, long_about) =
        (first.get_about().cloned().unwrap_or_default(), first.get_long_about().cloned().unwrap_or_default());
    let both = Command::augment_subcommands(first).about(about).long_about(long_about);
    let (parent, name, about) = workbench::STUDY;
    let study = evaluate::EvaluateArgs::augment_args(clap::Command::new(name)).about(about);
    let both = both.mut_subcommand(parent, |parent| parent.subcommand(study));
    // Whoever starts it writes `linkmend sim`, and is told how that is used.
    linkmend::cli::with_negative_numbers(both).bin_name("linkmend")
}

/// What these arguments ask for, if it is one of the commands of this program.
///
/// # Errors
/// Those of clap.
pub fn asked(matches: &ArgMatches) -> Result<Option<Asked>, clap::Error> {
    let (parent, name, _) = workbench::STUDY;
    match matches.subcommand() {
        Some((command, below)) if command == parent => match below.subcommand_matches(name) {
            Some(study) => {
                evaluate::EvaluateArgs::from_arg_matches(study).map(|study| Some(Asked::Study(study)))
            }
            None => Ok(None),
        },
        Some((command, _)) if Command::has_subcommand(command) => {
            Command::from_arg_matches(matches).map(|command| Some(Asked::Command(command)))
        }
        _ => Ok(None),
    }
}

/// A command of this program.
#[derive(Debug)]
pub enum Asked {
    Command(Command),
    /// `corruptd evaluate`, below a command of the other program.
    Study(evaluate::EvaluateArgs),
}

impl Asked {
    /// Whether it is the demo, which shows its own progress.
    pub fn is_demo(&self) -> bool {
        matches!(self, Asked::Command(Command::Demo(_)))
    }

    /// Executes the command.
    pub fn execute(self) -> linkmend::failure::Result<()> {
        match self {
            Asked::Command(command) => command.execute(),
            Asked::Study(arguments) => evaluate::execute(&arguments),
        }
    }
}

impl Command {
    fn execute(self) -> linkmend::failure::Result<()> {
        match self {
            Command::Demo(arguments) => demo::execute(&arguments),
            Command::Lab(arguments) => lab::execute(&arguments),
            Command::Sim(arguments) => sim::execute(&arguments),
            Command::Fleet(arguments) => fleet::execute(&arguments),
            Command::Rdma(arguments) => rdma::execute(&arguments),
            Command::Reproduce(arguments) => reproduce::execute(&arguments),
            Command::Merge(arguments) => study::execute(&arguments, arguments.json),
            Command::Generate(arguments) => generate::execute(&arguments, command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend::cli::arguments;
    use std::ffi::OsString;

    #[test]
    fn the_description_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn linkmend_lists_the_commands_as_they_are() {
        let own = Command::augment_subcommands(clap::Command::new("own"));
        let described = own.get_subcommands().map(|command| {
            (command.get_name().to_owned(), command.get_about().map(ToString::to_string).unwrap_or_default())
        });
        let listed = workbench::COMMANDS.map(|(name, about)| (name.to_owned(), about.to_owned()));
        assert_eq!(described.collect::<Vec<_>>(), listed);
    }

    /// A regression: the error was about an option `-1`.
    #[test]
    fn a_negative_number_in_scientific_notation_is_refused_with_the_name_of_its_option() {
        let parse =
            |line: &str| command().try_get_matches_from(arguments(line.split(' ').map(OsString::from)));
        let said = parse("linkmend rdma model --loss -1e-3").expect_err("it is negative").to_string();
        assert!(said.contains("'-1e-3' for '--loss <RATE>'"), "{said}");
        assert!(parse("linkmend rdma model --loss 1e-3 -v").is_ok());
    }
}
