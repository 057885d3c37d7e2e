//! Experiments in parts, on several machines.
//!
//! [`Shard`] says which part; [`balanced`] divides the work; [`run_share`] does the runs of one part; and [`Recorded`] is an
//! experiment whose runs were done elsewhere, which [`run_all`] pools and reports as if it had done them itself.

use crate::pool::Pooled;
use crate::runner::{Event, Run, Runnable, run_all};
use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

/// The largest number of parts into which experiments can be divided.
pub const SHARDS_MAX: u32 = 10_000;

/// One of the parts into which the runs of experiments are divided, written `3/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    of: u32,
}

impl Shard {
    /// Its number, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many parts there are.
    pub fn of(self) -> u32 {
        self.of
    }
}

impl Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let form = || "expected I/N, such as 3/8: the third of eight shards".to_owned();
        let (number, of) = text.split_once('/').ok_or_else(form)?;
        let (number, of) = number.parse().ok().zip(of.parse().ok()).ok_or_else(form)?;
        if !(1..=SHARDS_MAX).contains(&of) {
            return Err(format!("there can be 1 to {SHARDS_MAX} shards, not {of}"));
        }
        if !(1..=of).contains(&number) {
            return Err(format!("shards are numbered from 1 to {of}; there is no shard {number}"));
        }
        Ok(Shard { number, of })
    }
}

/// Divides pieces of work into so many parts of about the same total, and returns the part of each piece, from 0. It takes
/// the pieces from the largest to the smallest, and adds each to the part that has the least work.
pub fn balanced(work: &[f64], parts: u32) -> Vec<u32> {
    let mut order: Vec<usize> = (0..work.len()).collect();
    order.sort_by(|a, b| work[*b].total_cmp(&work[*a]));
    let mut loads = vec![0.0_f64; parts as usize];
    let mut of_piece = vec![0; work.len()];
    for piece in order {
        let least = (0..loads.len()).min_by(|a, b| loads[*a].total_cmp(&loads[*b]));
        let Some(least) = least else { break };
        loads[least] += work[piece];
        of_piece[piece] = least as u32;
    }
    of_piece
}

/// A run of one of several experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit {
    /// Index of the experiment.
    pub experiment: usize,
    /// Index of the point.
    pub point: usize,
    /// Number of the run, from 0.
    pub run: u64,
}

crate::stored!(Unit; experiment, point, run);

/// Does some runs of experiments on `threads` threads. `take` receives the outcome of each as soon as it is done, in any
/// order, on any of these threads. `observe` is told of progress and failures. When `stop` becomes true, the function returns.
pub fn run_share<X: Runnable>(
    experiments: &[X],
    units: &[Unit],
    (base_seed, threads): (u64, usize),
    stop: &AtomicBool,
    take: &(dyn Fn(Unit, X::Outcome) + Sync),
    mut observe: impl FnMut(Event<(), X::Error>),
) {
    let share = |(place, experiment)| {
        let mut numbers = vec![Vec::new(); X::points(experiment)];
        for unit in units.iter().filter(|unit| unit.experiment == place) {
            numbers[unit.point].push(unit.run);
        }
        Share { place, experiment, numbers, take }
    };
    let shares: Vec<Share<'_, X>> = experiments.iter().enumerate().map(share).collect();
    run_all(&shares, base_seed, threads, stop, &mut observe);
}

/// Some of the runs of an experiment.
struct Share<'a, X: Runnable> {
    place: usize,
    experiment: &'a X,
    /// The numbers of these runs, for each point.
    numbers: Vec<Vec<u64>>,
    take: &'a (dyn Fn(Unit, X::Outcome) + Sync),
}

/// Outcomes that are already taken.
impl Pooled for () {
    type Pool = ();

    fn pool((): ()) {}

    fn add((): &mut (), (): ()) {}

    fn finish((): ()) {}
}

impl<X: Runnable> Runnable for Share<'_, X> {
    type Outcome = ();
    type Error = X::Error;

    fn points(&self) -> usize {
        self.experiment.points()
    }

    fn runs(&self, point: usize) -> u64 {
        self.numbers[point].len() as u64
    }

    fn work(&self, point: usize) -> f64 {
        self.experiment.work(point) * self.runs(point) as f64 / self.experiment.runs(point) as f64
    }

    fn seed(&self, point: usize, number: u64, base_seed: u64) -> u64 {
        self.experiment.seed(point, self.numbers[point][number as usize], base_seed)
    }

    fn run(
        &self,
        point: usize,
        run: Run,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<()>, X::Error> {
        let number = self.numbers[point][run.number as usize];
        let outcome = self.experiment.run(point, Run { number, ..run }, progress)?;
        // A run that is stopped may still have an outcome, of a part of it.
        let outcome = outcome.filter(|_| progress(1.0));
        let unit = Unit { experiment: self.place, point, run: number };
        Ok(outcome.map(|outcome| (self.take)(unit, outcome)))
    }
}

/// An experiment of which some runs were done before: `recorded` returns the outcome of a run of a point. The others are
/// run.
pub struct Recorded<'a, X, F> {
    pub experiment: &'a X,
    pub recorded: F,
}

impl<X: Runnable, F: Fn(usize, u64) -> Option<X::Outcome> + Sync> Runnable for Recorded<'_, X, F> {
    type Outcome = X::Outcome;
    type Error = X::Error;

    fn points(&self) -> usize {
        self.experiment.points()
    }

    fn runs(&self, point: usize) -> u64 {
        self.experiment.runs(point)
    }

    fn work(&self, point: usize) -> f64 {
        self.experiment.work(point)
    }

    fn seed(&self, point: usize, number: u64, base_seed: u64) -> u64 {
        self.experiment.seed(point, number, base_seed)
    }

    fn run(
        &self,
        point: usize,
        run: Run,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<X::Outcome>, X::Error> {
        match (self.recorded)(point, run.number) {
            Some(outcome) => Ok(Some(outcome)),
            None => self.experiment.run(point, run, progress),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::Runs;
    use crate::stored::Stored;
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Its points have 1, 40 and 3 runs; the outcome of a run is its seed.
    #[derive(Default)]
    struct Seeds {
        runs_done: AtomicU32,
    }

    impl Runnable for Seeds {
        type Outcome = Runs<u64>;
        type Error = &'static str;

        fn points(&self) -> usize {
            3
        }

        fn runs(&self, point: usize) -> u64 {
            [1, 40, 3][point]
        }

        fn work(&self, point: usize) -> f64 {
            [50.0, 40.0, 6.0][point]
        }

        fn seed(&self, point: usize, number: u64, base_seed: u64) -> u64 {
            base_seed + 100 * point as u64 + number
        }

        fn run(
            &self,
            _point: usize,
            run: Run,
            _progress: &mut dyn FnMut(f64) -> bool,
        ) -> Result<Option<Runs<u64>>, &'static str> {
            self.runs_done.fetch_add(1, Ordering::Relaxed);
            Ok(Some(Runs::one(run.seed)))
        }
    }

    fn units(experiment: &Seeds) -> Vec<(Unit, f64)> {
        let of_point = |point: usize| {
            let each = experiment.work(point) / experiment.runs(point) as f64;
            (0..experiment.runs(point)).map(move |run| (Unit { experiment: 0, point, run }, each))
        };
        (0..3).flat_map(of_point).collect()
    }

    fn points_of<X: Runnable<Outcome = Runs<u64>>>(experiment: X) -> BTreeMap<usize, Runs<u64>>
    where
        X::Error: std::fmt::Debug,
    {
        let mut points = BTreeMap::new();
        run_all(&[experiment], 1_000, 3, &AtomicBool::new(false), |event| match event {
            Event::Point { point, outcome, .. } => drop(points.insert(point, outcome)),
            Event::Progress(_) => (),
            Event::Failed { failure, .. } => panic!("{failure:?}"),
        });
        points
    }

    #[test]
    fn the_shards_of_experiments_together_give_what_one_run_of_all_gives() {
        let whole = points_of(Seeds::default());
        for parts in [1, 2, 3, 60] {
            let (units, work): (Vec<Unit>, Vec<f64>) = units(&Seeds::default()).into_iter().unzip();
            let part_of = balanced(&work, parts);
            let recorded: Mutex<BTreeMap<Unit, Vec<u8>>> = Mutex::default();
            for part in 0..parts {
                let own: Vec<Unit> = units
                    .iter()
                    .zip(&part_of)
                    .filter(|(_, of)| **of == part)
                    .map(|(unit, _)| *unit)
                    .collect();
                let take = |unit: Unit, outcome: Runs<u64>| {
                    let mut bytes = Vec::new();
                    outcome.store(&mut bytes);
                    let before = recorded.lock().expect("no panic").insert(unit, bytes);
                    assert_eq!(before, None, "{unit:?} runs twice");
                };
                let stop = AtomicBool::new(false);
                run_share(&[Seeds::default()], &own, (1_000, 2), &stop, &take, |_| ());
            }
            let recorded = recorded.into_inner().expect("no panic");
            assert_eq!(recorded.len(), 44);
            let experiment = &Seeds::default();
            let outcome = |point, run| {
                let bytes = recorded.get(&Unit { experiment: 0, point, run })?;
                Runs::restore(&mut bytes.as_slice())
            };
            assert_eq!(points_of(Recorded { experiment, recorded: outcome }), whole, "{parts} shards");
            assert_eq!(experiment.runs_done.load(Ordering::Relaxed), 0, "nothing is run again");
            let other = |point, run| outcome(point, run).filter(|_| run != 7);
            assert_eq!(points_of(Recorded { experiment, recorded: other }), whole);
            assert_eq!(experiment.runs_done.load(Ordering::Relaxed), 1, "only what is missing is run");
        }
    }

    /// A regression: shards kept the outcome of a part of a run.
    #[test]
    fn a_run_that_is_stopped_has_no_outcome() {
        let stop = AtomicBool::new(true);
        let share = Share {
            place: 0,
            experiment: &Seeds::default(),
            numbers: vec![vec![0], Vec::new(), Vec::new()],
            take: &|unit, _| panic!("{unit:?} has an outcome"),
        };
        let mut progress = |_| !stop.load(Ordering::Relaxed);
        assert_eq!(share.run(0, Run { number: 0, seed: 1 }, &mut progress), Ok(None));
    }

    #[test]
    fn the_work_of_shards_is_alike() {
        let work = [1.0, 50.0, 20.0, 20.0, 10.0, 1.0, 1.0, 1.0];
        let part_of = balanced(&work, 2);
        assert_eq!(part_of[1], 0, "the largest goes to the first");
        let load = |part: u32| -> f64 {
            work.iter().zip(&part_of).filter(|(_, of)| **of == part).map(|(work, _)| work).sum()
        };
        assert_eq!([load(0), load(1)], [52.0, 52.0]);
        assert_eq!(balanced(&[1.0; 5], 3), [0, 1, 2, 0, 1]);
        assert!(balanced(&[], 3).is_empty());
    }

    #[test]
    fn shards_are_numbered_from_one() {
        let shard: Shard = "3/8".parse().expect("it is one");
        assert_eq!((shard.number(), shard.of(), shard.to_string().as_str()), (3, 8, "3/8"));
        for (text, error) in [
            ("0/8", "shards are numbered from 1 to 8; there is no shard 0"),
            ("9/8", "shards are numbered from 1 to 8; there is no shard 9"),
            ("1/0", "there can be 1 to 10000 shards, not 0"),
            ("3", "expected I/N, such as 3/8: the third of eight shards"),
            ("-1/8", "expected I/N, such as 3/8: the third of eight shards"),
        ] {
            assert_eq!(text.parse::<Shard>(), Err(error.to_owned()), "{text}");
        }
    }
}
