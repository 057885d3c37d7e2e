//! How experiments with fleets run: each constraint is a point, each trace a run.

use super::pair::{Pair, pair};
use super::upgrades::{UpgradeRun, upgrade_run};
use super::{Figure, FleetExperiment};
use linkmend_experiment::{Pooled, Run, Runnable};
use linkmend_topology::{Topology, TopologyError};
use std::convert::Infallible;

/// Approximate time that one core takes for a pair of runs over a year of the paper's fabric, in seconds.
const SECONDS_PER_RUN: f64 = 0.8;

/// An experiment with the network that it runs on.
#[derive(Debug)]
pub struct FleetRun {
    pub experiment: FleetExperiment,
    topology: Topology,
}

/// The results for one constraint, by seed.
#[derive(Debug, Clone, PartialEq)]
pub enum FleetOutcome {
    /// Pairs of runs with and without protection.
    Pairs(Vec<Pair>),
    /// Runs that show what upgrades spare.
    Upgrades(Vec<UpgradeRun>),
}

impl FleetExperiment {
    /// Builds the experiment's network.
    ///
    /// # Errors
    /// If the number of pods is out of its range.
    pub fn prepared(self) -> Result<FleetRun, TopologyError> {
        let topology = self.topology()?;
        Ok(FleetRun { experiment: self, topology })
    }

    /// Approximate time that one core takes, in seconds.
    pub fn core_seconds(&self) -> f64 {
        self.runs() as f64 * SECONDS_PER_RUN
    }

    /// The number of runs: one for each constraint and trace.
    pub fn runs(&self) -> u64 {
        self.constraints_pct.len() as u64 * self.seeds
    }
}

impl Runnable for FleetRun {
    type Outcome = FleetOutcome;
    type Error = Infallible;

    fn points(&self) -> usize {
        self.experiment.constraints_pct.len()
    }

    fn runs(&self, _point: usize) -> u64 {
        self.experiment.seeds
    }

    /// The work of a point, in seconds of one core.
    fn work(&self, _point: usize) -> f64 {
        self.experiment.seeds as f64 * SECONDS_PER_RUN
    }

    /// Traces are numbered, so that a run can be repeated by hand.
    fn seed(&self, _point: usize, number: u64, base_seed: u64) -> u64 {
        base_seed + number
    }

    fn run(
        &self,
        point: usize,
        run: Run,
        _progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<FleetOutcome>, Infallible> {
        let FleetExperiment { days, week_from_day, .. } = self.experiment;
        let constraint = self.experiment.constraints_pct[point] / 100.0;
        Ok(Some(match self.experiment.figure {
            Figure::Week | Figure::Differences => {
                // The first trace keeps the week that is drawn.
                let kept = if run.number == 0 { week_from_day..week_from_day + 7 } else { 0..0 };
                FleetOutcome::Pairs(vec![pair(&self.topology, constraint, run.seed, days, kept)])
            }
            Figure::Deployment => {
                FleetOutcome::Upgrades(vec![upgrade_run(&self.topology, constraint, run.seed, days)])
            }
        }))
    }
}

/// Outcomes of several runs stand side by side.
impl Pooled for FleetOutcome {
    type Pool = FleetOutcome;

    fn pool(first: FleetOutcome) -> FleetOutcome {
        first
    }

    fn add(pool: &mut FleetOutcome, other: FleetOutcome) {
        match (pool, other) {
            (FleetOutcome::Pairs(all), FleetOutcome::Pairs(more)) => all.extend(more),
            (FleetOutcome::Upgrades(all), FleetOutcome::Upgrades(more)) => all.extend(more),
            _ => unreachable!("an experiment draws one figure"),
        }
    }

    fn finish(pool: FleetOutcome) -> FleetOutcome {
        pool
    }
}

#[cfg(test)]
mod tests {
    use super::super::built_in;
    use super::*;
    use linkmend_experiment::{Event, run_all};
    use std::sync::atomic::AtomicBool;

    /// The outcomes of all built-in experiments, scaled down, by experiment and constraint.
    fn outcomes(threads: usize) -> Vec<Vec<Option<FleetOutcome>>> {
        let small = |experiment: FleetExperiment| {
            let small = FleetExperiment { pods: 4, seeds: 3, ..experiment.quick() };
            small.prepared().expect("in range")
        };
        let runs: Vec<FleetRun> = built_in().expect("they parse").into_iter().map(small).collect();
        let mut outcomes: Vec<Vec<_>> = runs.iter().map(|run| vec![None; run.points()]).collect();
        let mut done = 0.0;
        run_all(&runs, 7, threads, &AtomicBool::new(false), |event| match event {
            Event::Progress(part) => done += part,
            Event::Point { experiment, point, outcome } => outcomes[experiment][point] = Some(outcome),
            Event::Failed { failure, .. } => match failure.error {},
        });
        let work: f64 = runs.iter().map(|run| run.experiment.core_seconds()).sum();
        assert!((done - work).abs() < 1e-6, "progress comes to its end: {done} of {work}");
        outcomes
    }

    #[test]
    fn threads_change_nothing_and_traces_stand_by_their_seeds() {
        let outcomes_of_one = outcomes(1);
        assert_eq!(outcomes_of_one, outcomes(3));
        for outcome in outcomes_of_one.into_iter().flatten() {
            let seeds: Vec<u64> = match outcome.expect("every point has run") {
                FleetOutcome::Pairs(pairs) => {
                    let drawn: Vec<bool> = pairs.iter().map(|pair| !pair.snapshot.is_empty()).collect();
                    assert_eq!(drawn, [true, false, false], "only a week of the first trace is drawn");
                    pairs.iter().map(|pair| pair.seed).collect()
                }
                FleetOutcome::Upgrades(runs) => runs.iter().map(|run| run.seed).collect(),
            };
            assert_eq!(seeds, [7, 8, 9]);
        }
    }
}
