//! An experiment of either kind, before it runs.

use crate::failure::Result;
use linkmend_experiment::{self as experiment, Kind};
use linkmend_fleet::experiment::FleetExperiment;
use linkmend_sim::experiment::Experiment;

/// An experiment of either kind, before it runs.
pub enum Planned {
    /// A simulated link.
    Link(Experiment),
    /// A simulated fleet.
    Fleet(FleetExperiment),
}

/// What can be said of an experiment before it runs.
pub struct Overview<'a> {
    /// Its name on the command line.
    pub id: &'a str,
    /// Its subject, in a few words.
    pub title: &'a str,
    /// What it reproduces.
    pub source: &'a str,
    /// The number of results that it will have.
    pub points: usize,
    /// The number of published values with which it is compared.
    pub published: usize,
    /// Approximate time that one core takes, in seconds.
    pub core_seconds: f64,
}

impl Planned {
    /// All built-in experiments: links first, then fleets.
    ///
    /// # Errors
    /// None, unless a file was broken before the program was built; a test sees to that.
    pub fn built_in() -> Result<Vec<Planned>> {
        let links = linkmend_sim::experiment::built_in()?.into_iter().map(Planned::Link);
        let fleets = linkmend_fleet::experiment::built_in()?.into_iter().map(Planned::Fleet);
        Ok(links.chain(fleets).collect())
    }

    /// The experiment, if it is one with links.
    pub fn link(&self) -> Option<&Experiment> {
        match self {
            Planned::Link(experiment) => Some(experiment),
            Planned::Fleet(_) => None,
        }
    }

    /// The experiment, if it is one with fleets.
    pub fn fleet(&self) -> Option<&FleetExperiment> {
        match self {
            Planned::Link(_) => None,
            Planned::Fleet(experiment) => Some(experiment),
        }
    }

    /// What can be said of it before it runs.
    pub fn overview(&self) -> Overview<'_> {
        match self {
            Planned::Link(experiment) => overview(experiment),
            Planned::Fleet(experiment) => overview(experiment),
        }
    }

    /// The same experiment, reduced so that it takes about a second.
    pub fn quick(self) -> Planned {
        match self {
            Planned::Link(experiment) => Planned::Link(experiment.quick()),
            Planned::Fleet(experiment) => Planned::Fleet(experiment.quick()),
        }
    }
}

fn overview<K: Kind>(experiment: &experiment::Experiment<K>) -> Overview<'_> {
    Overview {
        id: &experiment.id,
        title: &experiment.title,
        source: &experiment.source,
        points: experiment.results() as usize,
        published: experiment.published.len(),
        core_seconds: experiment.core_seconds(),
    }
}
