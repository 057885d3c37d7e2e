//! What experiments with fleets find out.

use super::pair::Pair;
use super::upgrades::UpgradeRun;
use linkmend_experiment::{Pooled, Runs};

/// The runs of a point, in the order of their seeds.
#[derive(Debug, Clone, PartialEq)]
pub enum FleetOutcome {
    /// Pairs of runs with and without protection.
    Pairs(Runs<Pair>),
    /// Runs that show what upgrades spare.
    Upgrades(Runs<UpgradeRun>),
}

impl FleetOutcome {
    /// The pairs of runs, if that is what it has.
    pub fn pairs(&self) -> Option<&Runs<Pair>> {
        match self {
            FleetOutcome::Pairs(pairs) => Some(pairs),
            FleetOutcome::Upgrades(_) => None,
        }
    }

    /// The runs with upgrades, if that is what it has.
    pub fn upgrades(&self) -> Option<&Runs<UpgradeRun>> {
        match self {
            FleetOutcome::Pairs(_) => None,
            FleetOutcome::Upgrades(runs) => Some(runs),
        }
    }
}

/// Runs stand side by side.
impl Pooled for FleetOutcome {
    type Pool = FleetOutcome;

    fn pool(first: FleetOutcome) -> FleetOutcome {
        first
    }

    fn add(pool: &mut FleetOutcome, other: FleetOutcome) {
        match (pool, other) {
            (FleetOutcome::Pairs(all), FleetOutcome::Pairs(more)) => Pooled::add(all, more),
            (FleetOutcome::Upgrades(all), FleetOutcome::Upgrades(more)) => Pooled::add(all, more),
            _ => unreachable!("all runs of an experiment find out the same"),
        }
    }

    fn finish(pool: FleetOutcome) -> FleetOutcome {
        pool
    }

    fn runs(&self) -> usize {
        match self {
            FleetOutcome::Pairs(pairs) => pairs.runs(),
            FleetOutcome::Upgrades(runs) => runs.runs(),
        }
    }

    fn only(&self, keeps: &dyn Fn(usize) -> bool) -> Option<FleetOutcome> {
        match self {
            FleetOutcome::Pairs(pairs) => pairs.only(keeps).map(FleetOutcome::Pairs),
            FleetOutcome::Upgrades(runs) => runs.only(keeps).map(FleetOutcome::Upgrades),
        }
    }
}
