//! Runs the points of experiments on several threads. What comes out does not depend on how many.

use super::definition::{Experiment, Point, Task};
use super::outcome::{Outcome, Pool};
use crate::random::Random;
use crate::stress::{self, StressConfig, StressError};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Most pieces into which the runs of one point are divided, so that several threads can share it.
const PIECES_MAX: u64 = 16;

/// What a running job tells.
pub enum News {
    /// So much more of the whole work is done, in the unit of [`Point::work`].
    Progress(f64),
    /// A point of an experiment is done: indices of both.
    Point {
        /// Index of the experiment.
        experiment: usize,
        /// Index of the point.
        point: usize,
        /// What came out.
        outcome: Outcome,
    },
    /// A run could not be done, as when no session opened: its point will not come. Other points go on.
    Failed {
        /// Index of the experiment.
        experiment: usize,
        /// Index of the point.
        point: usize,
        /// Seed of the run.
        seed: u64,
        /// Why.
        error: StressError,
    },
}

/// Some of the runs of one point.
struct Job<'a> {
    experiment: usize,
    point: usize,
    id: &'a str,
    definition: &'a Point,
    runs: std::ops::Range<u64>,
}

/// The seed of a run: it depends on nothing but these, and is short enough to be typed in again.
pub fn seed_of(base: u64, id: &str, point: &Point, run: u64) -> u64 {
    Random::new(base, &format!("{id} {} run {run}", point.key())).next_u64() >> 32
}

/// Runs all points on `threads` threads and tells `news` what happens, on the calling thread. When `stop` becomes true,
/// what is half done is dropped, and the function returns.
pub fn run_all(
    experiments: &[Experiment],
    base_seed: u64,
    threads: usize,
    stop: &AtomicBool,
    mut news: impl FnMut(News),
) {
    let jobs = jobs(experiments);
    let next = AtomicUsize::new(0);
    let parts = parts(experiments);
    std::thread::scope(|scope| {
        let (sender, receiver): (Sender<News>, Receiver<News>) = channel();
        for _ in 0..threads.max(1).min(jobs.len().max(1)) {
            let (sender, jobs, next, parts) = (sender.clone(), &jobs, &next, &parts);
            scope.spawn(move || {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let (experiment, point) = (job.experiment, job.point);
                    match run(job, base_seed, stop, &sender) {
                        Ok(None) => return,
                        Ok(Some(outcome)) => {
                            if let Some(outcome) = parts[experiment][point].add(job.runs.start, outcome) {
                                let _ = sender.send(News::Point { experiment, point, outcome });
                            }
                        }
                        Err((seed, error)) => {
                            let _ = sender.send(News::Failed { experiment, point, seed, error });
                        }
                    }
                }
            });
        }
        drop(sender);
        for item in receiver {
            news(item);
        }
    });
}

fn jobs(experiments: &[Experiment]) -> Vec<Job<'_>> {
    let mut jobs = Vec::new();
    for (experiment, definition) in experiments.iter().enumerate() {
        let first = jobs.len();
        for (point, of) in definition.points.iter().enumerate() {
            let pieces = pieces(of);
            for piece in 0..pieces {
                let runs = of.runs * piece / pieces..of.runs * (piece + 1) / pieces;
                jobs.push(Job { experiment, point, id: &definition.id, definition: of, runs });
            }
        }
        // The longest first, so that no thread is left alone with it in the end.
        let work = |job: &Job<'_>| {
            job.definition.work() * (job.runs.end - job.runs.start) as f64 / job.definition.runs as f64
        };
        jobs[first..].sort_by(|a, b| work(b).total_cmp(&work(a)));
    }
    jobs
}

fn pieces(point: &Point) -> u64 {
    point.runs.min(PIECES_MAX)
}

/// The pieces of one point that are done.
struct Parts {
    wanted: usize,
    done: Mutex<Vec<(u64, Outcome)>>,
}

impl Parts {
    /// All of them as one when the last is in, in the order of runs: sums of floats depend on it.
    fn add(&self, first_run: u64, outcome: Outcome) -> Option<Outcome> {
        let mut done = self.done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        done.push((first_run, outcome));
        if done.len() < self.wanted {
            return None;
        }
        done.sort_by_key(|(run, _)| *run);
        Outcome::pooled(done.iter().map(|(_, outcome)| outcome))
    }
}

fn parts(experiments: &[Experiment]) -> Vec<Vec<Parts>> {
    let parts = |point| Parts { wanted: pieces(point) as usize, done: Mutex::default() };
    experiments.iter().map(|experiment| experiment.points.iter().map(parts).collect()).collect()
}

/// `None` if it was stopped.
///
/// # Errors
/// Why a run could not be done, and its seed.
fn run(
    job: &Job<'_>,
    base_seed: u64,
    stop: &AtomicBool,
    news: &Sender<News>,
) -> Result<Option<Outcome>, (u64, StressError)> {
    let share = job.definition.work() / job.definition.runs as f64;
    let Task::Stress(config) = &job.definition.task else {
        let _ = news.send(News::Progress(share));
        return Ok(job.definition.computed());
    };
    let mut pool: Option<Pool> = None;
    for run in job.runs.clone() {
        let seed = seed_of(base_seed, job.id, job.definition, run);
        let config = StressConfig { seed, ..(**config).clone() };
        let mut told = 0.0;
        let mut progress = |frames: u64| {
            let done = share * (frames as f64 / config.frames as f64).min(1.0);
            let _ = news.send(News::Progress(done - told));
            told = done;
            !stop.load(Ordering::Relaxed)
        };
        // Its parameters were checked when the experiment was read, but not whether a session will open.
        let report = stress::run(&config, &mut progress).map_err(|error| (seed, error))?;
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let _ = news.send(News::Progress(share - told));
        match &mut pool {
            Some(pool) => pool.add(&report),
            None => pool = Some(Pool::new(&report)),
        }
        if job.runs.end - job.runs.start == 1 {
            return Ok(Some(Outcome::Stress(Box::new(report))));
        }
    }
    Ok(pool.map(|pool| Outcome::Stress(Box::new(pool.finish()))))
}
