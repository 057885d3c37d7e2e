//! An experiment of either kind, before it runs.

use crate::failure::Result;
use linkmend_fleet::experiment::FleetExperiment;
use linkmend_sim::experiment::{self, Experiment};

/// An experiment of either kind, before it runs.
pub enum Planned {
    /// A simulated link.
    Link(Experiment),
    /// A simulated fleet.
    Fleet(FleetExperiment),
}

impl Planned {
    /// All built-in experiments: links first, then fleets.
    ///
    /// # Errors
    /// None, unless a file was broken before the program was built; a test sees to that.
    pub fn built_in() -> Result<Vec<Planned>> {
        let links = experiment::built_in()?.into_iter().map(Planned::Link);
        let fleets = linkmend_fleet::experiment::built_in()?.into_iter().map(Planned::Fleet);
        Ok(links.chain(fleets).collect())
    }

    /// Its name on the command line.
    pub fn id(&self) -> &str {
        match self {
            Planned::Link(experiment) => &experiment.id,
            Planned::Fleet(experiment) => &experiment.id,
        }
    }

    /// Its subject, in a few words.
    pub fn title(&self) -> &str {
        match self {
            Planned::Link(experiment) => &experiment.title,
            Planned::Fleet(experiment) => &experiment.title,
        }
    }

    /// What it reproduces.
    pub fn source(&self) -> &str {
        match self {
            Planned::Link(experiment) => &experiment.source,
            Planned::Fleet(experiment) => &experiment.source,
        }
    }

    /// The number of runs into which it is divided.
    pub fn points(&self) -> usize {
        match self {
            Planned::Link(experiment) => experiment.points.len(),
            Planned::Fleet(experiment) => experiment.runs() as usize,
        }
    }

    /// The number of published values with which it is compared.
    pub fn published(&self) -> usize {
        match self {
            Planned::Link(experiment) => experiment.published.len(),
            Planned::Fleet(experiment) => experiment.published.len(),
        }
    }

    /// Approximate time that one core takes, in seconds.
    pub fn core_seconds(&self) -> f64 {
        match self {
            Planned::Link(experiment) => experiment.core_seconds(),
            Planned::Fleet(experiment) => experiment.core_seconds(),
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
