//! Runs the points of experiments on several threads. The results do not depend on how many.

use crate::pool::{Pooled, Pooling, pooled};
use crate::threads::work_through;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

/// How many pieces the runs of one point may be divided into, so that several threads can share it.
const PIECES_MAX: u64 = 16;

/// An experiment as the runner sees it: points, at each of which independent runs are pooled.
pub trait Runnable: Sync {
    /// The result of a run, or of several of one point.
    type Outcome: Pooled;
    /// Why a run failed.
    type Error: Send;

    /// How many points there are.
    fn points(&self) -> usize;

    /// How many independent runs are pooled at a point.
    fn runs(&self, point: usize) -> u64;

    /// The work of a point, in a unit that all experiments share.
    fn work(&self, point: usize) -> f64;

    /// The seed of the run with this number; `base_seed` is that of all experiments together.
    fn seed(&self, point: usize, number: u64, base_seed: u64) -> u64;

    /// Does one run of a point. `progress` takes the share of the run that is done, from 0 to 1, and says whether to go
    /// on; the result is `None` if there is none because it said no.
    ///
    /// # Errors
    /// Why the run failed.
    fn run(
        &self,
        point: usize,
        run: Run,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<Self::Outcome>, Self::Error>;
}

/// One of the independent runs of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Its number, from 0.
    pub number: u64,
    /// The seed of everything random in it.
    pub seed: u64,
}

/// A run that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure<E> {
    /// Seed of the run.
    pub seed: u64,
    /// Why it failed.
    pub error: E,
}

/// What happens while experiments run.
#[derive(Debug)]
pub enum Event<O, E> {
    /// This much more of the whole work is done.
    Progress(f64),
    /// A point of an experiment is done.
    Point {
        /// Index of the experiment.
        experiment: usize,
        /// Index of the point.
        point: usize,
        /// The pooled result.
        outcome: O,
    },
    /// A run failed, as when no session opened, so its point has no result. Other points continue.
    Failed {
        /// Index of the experiment.
        experiment: usize,
        /// Index of the point.
        point: usize,
        /// The run, and why it failed.
        failure: Failure<E>,
    },
}

/// Some of the runs of one point.
struct Job<'a, X> {
    experiment: usize,
    point: usize,
    definition: &'a X,
    runs: Range<u64>,
}

impl<X: Runnable> Job<'_, X> {
    /// Does the runs one after the other and pools their outcomes. `progress` receives how much more of the point's work
    /// is done, and says whether to go on; the result is `None` if it did not.
    fn run(
        &self,
        base_seed: u64,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<X::Outcome>, Failure<X::Error>> {
        let Job { point, definition, .. } = *self;
        let each = definition.work(point) / definition.runs(point) as f64;
        let mut pooling = Pooling::Empty;
        for number in self.runs.clone() {
            let seed = definition.seed(point, number, base_seed);
            let mut told = 0.0;
            let mut of_run = |done: f64| {
                let before = std::mem::replace(&mut told, done.min(1.0));
                progress(each * (told - before))
            };
            let outcome = definition
                .run(point, Run { number, seed }, &mut of_run)
                .map_err(|error| Failure { seed, error })?;
            let (Some(outcome), true) = (outcome, of_run(1.0)) else { return Ok(None) };
            pooling.add(outcome);
        }
        Ok(pooling.finish())
    }
}

/// Runs all points on `threads` threads, and tells `observe` what happens, on the calling thread. When `stop` becomes
/// true, unfinished points are dropped, and the function returns.
pub fn run_all<X: Runnable>(
    experiments: &[X],
    base_seed: u64,
    threads: usize,
    stop: &AtomicBool,
    mut observe: impl FnMut(Event<X::Outcome, X::Error>),
) {
    let (jobs, parts) = (&jobs(experiments), &parts(experiments));
    let (sender, receiver) = channel();
    let worker = move || {
        let sender = sender.clone();
        move |index: usize| {
            let job: &Job<'_, X> = &jobs[index];
            let (experiment, point) = (job.experiment, job.point);
            let mut progress = |part| {
                let _ = sender.send(Event::Progress(part));
                !stop.load(Ordering::Relaxed)
            };
            match job.run(base_seed, &mut progress) {
                Ok(None) => return false,
                Ok(Some(outcome)) => {
                    let whole = parts[experiment][point].add(job.runs.start, outcome);
                    if let Some(outcome) = whole {
                        let _ = sender.send(Event::Point { experiment, point, outcome });
                    }
                }
                Err(failure) => {
                    let _ = sender.send(Event::Failed { experiment, point, failure });
                }
            }
            true
        }
    };
    work_through(jobs.len(), threads, stop, worker, || receiver.into_iter().for_each(&mut observe));
}

fn jobs<X: Runnable>(experiments: &[X]) -> Vec<Job<'_, X>> {
    let mut jobs = Vec::new();
    for (experiment, definition) in experiments.iter().enumerate() {
        let first = jobs.len();
        for point in 0..definition.points() {
            let (runs, pieces) = (definition.runs(point), pieces(definition.runs(point)));
            for piece in 0..pieces {
                let runs = runs * piece / pieces..runs * (piece + 1) / pieces;
                jobs.push(Job { experiment, point, definition, runs });
            }
        }
        // The longest first, so that no thread is left alone with it at the end.
        let work = |job: &Job<'_, X>| {
            let runs = (job.runs.end - job.runs.start) as f64;
            job.definition.work(job.point) * runs / job.definition.runs(job.point) as f64
        };
        jobs[first..].sort_by(|a, b| work(b).total_cmp(&work(a)));
    }
    jobs
}

fn pieces(runs: u64) -> u64 {
    runs.min(PIECES_MAX)
}

/// The finished pieces of one point, each with its first run.
struct Parts<O> {
    wanted: usize,
    done: Mutex<Vec<(u64, O)>>,
}

impl<O: Pooled> Parts<O> {
    /// Pools all pieces once the last is in. They are taken in the order of runs, because sums of floats depend on it.
    fn add(&self, first_run: u64, outcome: O) -> Option<O> {
        let mut done = self.done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        done.push((first_run, outcome));
        if done.len() < self.wanted {
            return None;
        }
        done.sort_by_key(|(run, _)| *run);
        pooled(done.drain(..).map(|(_, outcome)| outcome))
    }
}

fn parts<X: Runnable>(experiments: &[X]) -> Vec<Vec<Parts<X::Outcome>>> {
    let of_point = |runs| Parts { wanted: pieces(runs) as usize, done: Mutex::default() };
    let parts =
        |experiment: &X| (0..experiment.points()).map(|point| of_point(experiment.runs(point))).collect();
    experiments.iter().map(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its points have 1, 40 and 3 runs; the results are the runs' numbers. Run 2 of the last point fails.
    struct Numbers;

    impl Pooled for Vec<u64> {
        type Pool = Vec<u64>;

        fn pool(first: Vec<u64>) -> Vec<u64> {
            first
        }

        fn add(pool: &mut Vec<u64>, other: Vec<u64>) {
            pool.extend(other);
        }

        fn finish(pool: Vec<u64>) -> Vec<u64> {
            pool
        }
    }

    impl Runnable for Numbers {
        type Outcome = Vec<u64>;
        type Error = &'static str;

        fn points(&self) -> usize {
            3
        }

        fn runs(&self, point: usize) -> u64 {
            [1, 40, 3][point]
        }

        fn work(&self, point: usize) -> f64 {
            self.runs(point) as f64
        }

        fn seed(&self, _point: usize, number: u64, base_seed: u64) -> u64 {
            base_seed + number
        }

        fn run(
            &self,
            point: usize,
            run: Run,
            progress: &mut dyn FnMut(f64) -> bool,
        ) -> Result<Option<Vec<u64>>, &'static str> {
            assert_eq!(run.seed, 100 + run.number);
            if (point, run.number) == (2, 2) {
                return Err("broken");
            }
            Ok(progress(0.25).then(|| vec![run.number]))
        }
    }

    #[test]
    fn a_point_is_pooled_in_the_order_of_its_runs_and_one_that_fails_does_not_come() {
        for threads in [1, 2, 30] {
            let (mut points, mut failures, mut done) = (Vec::new(), Vec::new(), 0.0);
            run_all(&[Numbers], 100, threads, &AtomicBool::new(false), |event| match event {
                Event::Progress(part) => done += part,
                Event::Point { point, outcome, .. } => points.push((point, outcome)),
                Event::Failed { point, failure, .. } => failures.push((point, failure)),
            });
            points.sort();
            assert_eq!(points, [(0, vec![0]), (1, (0..40).collect())], "{threads} threads");
            assert_eq!(failures, [(2, Failure { seed: 102, error: "broken" })]);
            assert_eq!(done, 43.0);
        }
    }
}
