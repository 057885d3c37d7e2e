//! The parameters of runs: one vocabulary for files, command lines, tables and documents.
//!
//! - `table` declares each parameter once; [`PARAMETERS`] lists what it says.
//! - [`RunParameters`] holds the values that are set. They are written and read as text ([`RunParameters::set`]).
//! - [`RunParameters::run`] makes a [run](RunConfig) of them: `link` describes the link, `links` the traffic of generators,
//!   `flows` hosts and their flows, `failures` links that fail.
//! - `idle` finds those that have no effect.
//! - `words` has them as people read them.
//! - `seeds` keeps the seeds of experiments as they are, whatever parameters are called.

mod declare;
mod failures;
mod flows;
mod hosts;
mod idle;
mod link;
mod links;
mod lists;
mod seeds;
mod table;
mod text;
mod traffic;
mod training;
mod value;
mod words;

pub use declare::{Declared, Runs};
pub use lists::{Hop, Hops, PhaseText, Phases};
pub(crate) use seeds::PAIRED;
pub use table::{PARAMETERS, Parameter, RunParameters};
pub use traffic::{TrafficError, TrafficTable};

use crate::flows::FlowsConfig;
use crate::link::config::ParameterError;
use crate::links::LinksConfig;
use std::path::Path;

/// A run, checked and ready.
#[derive(Debug, Clone)]
pub enum RunConfig {
    /// Line-rate traffic over one link.
    LineRate(Box<LinksConfig>),
    /// Generators over several links, and more.
    Links(Box<LinksConfig>),
    /// Flows between hosts.
    Flows(Box<FlowsConfig>),
}

impl RunParameters {
    /// Whether hosts send: if they have a transport. Otherwise a generator sends at line rate.
    pub fn has_hosts(&self) -> bool {
        self.transport.is_some()
    }

    /// The kinds of runs that these parameters may describe.
    pub fn runs(&self) -> Runs {
        let is_of_links = |parameter: &&Parameter| {
            let is_set = self.value(parameter.key).is_some_and(|value| value.text != "no");
            is_set && parameter.runs.include(Runs::LINKS) && !parameter.runs.include(Runs::LINE_RATE)
        };
        match (self.has_hosts(), PARAMETERS.iter().any(|parameter| is_of_links(&parameter))) {
            (true, _) => Runs::HOSTS,
            (false, true) => Runs::LINKS,
            (false, false) => Runs::LINE_RATE,
        }
    }

    /// The run that they describe. Relative paths start from `folder`.
    ///
    /// # Errors
    /// The first parameter that cannot be used, or has no meaning in such a run.
    pub fn run(&self, folder: &Path) -> Result<RunConfig, ParameterError> {
        self.check_meaning()?;
        match self.runs() {
            Runs::HOSTS => self.flows(folder).map(|config| RunConfig::Flows(Box::new(config))),
            Runs::LINKS => self.links(folder).map(|config| RunConfig::Links(Box::new(config))),
            _ => self.line_rate(folder).map(|config| RunConfig::LineRate(Box::new(config))),
        }
    }

    /// Refuses what has no meaning in a run of this kind.
    fn check_meaning(&self) -> Result<(), ParameterError> {
        let runs = self.runs();
        let strange = PARAMETERS.iter().filter(|parameter| !parameter.runs.include(runs));
        let mut set = strange.filter_map(|parameter| Some((parameter, self.value(parameter.key)?.text)));
        if let Some((parameter, text)) = set.find(|(_, text)| text != "no") {
            let requirement = if self.has_hosts() {
                "cannot be used in a run with hosts; remove it, or `transport`"
            } else if parameter.runs.include(Runs::HOSTS) {
                "needs hosts: set `transport`"
            } else {
                "needs a single link at line rate"
            };
            return Err(ParameterError::new(parameter.key, text, requirement));
        }
        Ok(())
    }
}
