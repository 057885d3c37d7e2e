//! What runs at the points of an experiment with links.

use super::definition::{Experiment, Point, Task};
use super::outcome::{Outcome, Pool};
use crate::link::config::ParameterError;
use crate::random::Random;
use crate::stress::{self, StressConfig};
use linkmend_experiment::{Failure, Runnable};
use std::ops::Range;

/// The seed of a run. It depends only on these, and is short enough to type.
pub fn seed_of(base: u64, id: &str, point: &Point, run: u64) -> u64 {
    Random::new(base, &format!("{id} {} run {run}", point.key())).next_u64() >> 32
}

impl Runnable for Experiment {
    type Outcome = Outcome;
    type Error = ParameterError;

    fn points(&self) -> usize {
        self.points.len()
    }

    fn runs(&self, point: usize) -> u64 {
        self.points[point].runs
    }

    fn work(&self, point: usize) -> f64 {
        self.points[point].work()
    }

    fn run(
        &self,
        point: usize,
        runs: Range<u64>,
        base_seed: u64,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<Outcome>, Failure<ParameterError>> {
        let point = &self.points[point];
        let share = point.work() / point.runs as f64;
        let Task::Stress(config) = &point.task else {
            progress(share);
            return Ok(point.computed());
        };
        let mut pool: Option<Pool> = None;
        for run in runs.clone() {
            let seed = seed_of(base_seed, &self.id, point, run);
            let config = StressConfig { seed, ..(**config).clone() };
            let mut told = 0.0;
            let mut of_run = |frames: u64| {
                let done = share * (frames as f64 / config.frames as f64).min(1.0);
                let go_on = progress(done - told);
                told = done;
                go_on
            };
            // The parameters were checked when the experiment was read, but whether a session opens shows only now.
            let report = stress::run(&config, &mut of_run).map_err(|error| Failure { seed, error })?;
            if !progress(share - told) {
                return Ok(None);
            }
            match &mut pool {
                Some(pool) => pool.add(&report),
                None => pool = Some(Pool::new(&report)),
            }
            if runs.end - runs.start == 1 {
                return Ok(Some(Outcome::Stress(Box::new(report))));
            }
        }
        Ok(pool.map(|pool| Outcome::Stress(Box::new(pool.finish()))))
    }

    fn pooled(&self, outcomes: Vec<Outcome>) -> Option<Outcome> {
        Outcome::pooled(&outcomes)
    }
}
