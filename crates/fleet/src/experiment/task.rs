//! What one run of an experiment with fleets does.

use super::outcome::FleetOutcome;
use super::pair::pair;
use super::upgrades::upgrade_run;
use linkmend_experiment::{Run, Runs};
use linkmend_topology::{FabricParameters, Topology};
use std::sync::{Arc, OnceLock};

/// Days of a trace that a drawn week has.
const WEEK_DAYS: u64 = 7;

/// What is done at a point.
#[derive(Debug, Clone)]
pub struct Task {
    pub(super) network: Arc<Network>,
    /// The share of its paths that every ToR must keep, 0 to 1.
    pub(super) constraint: f64,
    pub(super) days: u64,
    pub(super) study: Study,
}

/// What a run finds out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Study {
    /// What protection changes. The first trace keeps the week that is drawn, which begins on this day.
    Pairs { week_from_day: u64 },
    /// What upgraded pods spare.
    Upgrades,
}

impl Task {
    /// Draws a trace and simulates it.
    pub(super) fn run(&self, run: Run) -> FleetOutcome {
        let (topology, constraint, days) = (self.network.topology(), self.constraint, self.days);
        match self.study {
            Study::Pairs { week_from_day } => {
                let kept = if run.number == 0 { week_from_day..week_from_day + WEEK_DAYS } else { 0..0 };
                FleetOutcome::Pairs(Runs::one(pair(topology, constraint, run.seed, days, kept)))
            }
            Study::Upgrades => {
                FleetOutcome::Upgrades(Runs::one(upgrade_run(topology, constraint, run.seed, days)))
            }
        }
    }
}

/// A fabric that the first run builds and the others share: listing experiments should not build any.
#[derive(Debug)]
pub(super) struct Network {
    parameters: FabricParameters,
    built: OnceLock<Topology>,
}

impl Network {
    /// The network of these parameters, which must have been checked.
    pub(super) fn new(parameters: FabricParameters) -> Network {
        Network { parameters, built: OnceLock::new() }
    }

    fn topology(&self) -> &Topology {
        let build =
            || self.parameters.build().unwrap_or_else(|error| unreachable!("it was checked: {error}"));
        self.built.get_or_init(build)
    }
}
