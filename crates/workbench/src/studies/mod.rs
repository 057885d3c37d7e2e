//! The commands that compute, for programs that call them instead of starting a process.

mod argument;
mod refused;

pub use argument::Argument;
pub use refused::Refused;

pub use crate::commands::study::{Found, Study, Watch};
pub use linkmend::failure::{Error, Result as Outcome};

use crate::commands::{fleet, rdma, reproduce, sim};
use clap::{ArgMatches, Args, Command};
use linkmend::failure::{Result, UsageError};

/// A command that computes.
pub struct Entry {
    /// The words after `linkmend` that start it.
    pub path: &'static [&'static str],
    arguments: fn(Command) -> Command,
    find: fn(&ArgMatches, &dyn Watch) -> Result<Found>,
}

impl Entry {
    const fn of<S: Study + Args>(path: &'static [&'static str]) -> Entry {
        let find = |matches: &ArgMatches, watch: &dyn Watch| match S::from_arg_matches(matches) {
            Ok(study) => study.find(watch),
            Err(error) => Err(UsageError::new(error.to_string()).into()),
        };
        Entry { path, arguments: S::augment_args, find }
    }

    /// Its arguments, except those that say how the command prints, or which part of the work it does.
    pub fn arguments(&self) -> Vec<Argument> {
        let mut command = self.command();
        command.build();
        let is_of_terminal =
            |argument: &&clap::Arg| ["json", "help", "shard"].contains(&argument.get_id().as_str());
        command.get_arguments().filter(|argument| !is_of_terminal(argument)).map(Argument::of).collect()
    }

    fn command(&self) -> Command {
        (self.arguments)(Command::new(self.path[self.path.len() - 1]).no_binary_name(true))
    }

    /// Computes with these arguments, as the command line writes them.
    ///
    /// # Errors
    /// Why there is no result.
    pub fn find(&self, arguments: &[String], watch: &dyn Watch) -> std::result::Result<Found, Refused> {
        let matches = self.command().try_get_matches_from(arguments)?;
        Ok((self.find)(&matches, watch)?)
    }
}

/// All of them.
pub static ENTRIES: &[Entry] = &[
    Entry::of::<sim::StressArgs>(&["sim", "stress"]),
    Entry::of::<sim::FlowsArgs>(&["sim", "flows"]),
    Entry::of::<sim::LinksArgs>(&["sim", "links"]),
    Entry::of::<sim::TimelineArgs>(&["sim", "timeline"]),
    Entry::of::<reproduce::RunArgs>(&["sim", "run"]),
    Entry::of::<reproduce::ChosenArgs>(&["reproduce"]),
    Entry::of::<sim::LlrPlanArgs>(&["sim", "llr", "plan"]),
    Entry::of::<fleet::SimulateArgs>(&["fleet", "simulate"]),
    Entry::of::<fleet::PlanArgs>(&["fleet", "plan"]),
    Entry::of::<fleet::DeployArgs>(&["fleet", "deploy"]),
    Entry::of::<fleet::ShowArgs>(&["fleet", "show"]),
    Entry::of::<rdma::ModelArgs>(&["rdma", "model"]),
    Entry::of::<rdma::PlanArgs>(&["rdma", "plan"]),
    Entry::of::<rdma::CheckArgs>(&["rdma", "check"]),
];
