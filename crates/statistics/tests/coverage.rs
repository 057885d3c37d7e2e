//! How often intervals contain the true value: in 93 to 97 of 100 experiments, or more often where that is said.
//!
//! Each case has 1,000 experiments in a full run (`LINKMEND_COVERAGE_EXPERIMENTS=1000`, as `make acceptance` does), and fewer in the
//! suite, with bounds that are wider by the noise of so many.

#![expect(clippy::disallowed_methods, reason = "how many experiments there are is set from outside")]
#![expect(clippy::print_stdout, reason = "the figures are wanted with --nocapture")]

use linkmend_random::Random;
use linkmend_statistics::{Counted, mean_interval, percentile, percentile_ranks, ratio_interval};

/// How often an interval must contain the true value.
const NOMINAL: (f64, f64) = (0.93, 0.97);
/// The same for intervals that are wider than they need be.
const CONSERVATIVE: (f64, f64) = (0.93, 1.0);

/// How many experiments there are, and by how much their share may be off: three standard deviations.
fn experiments() -> (u64, f64) {
    let count =
        std::env::var("LINKMEND_COVERAGE_EXPERIMENTS").map_or(400, |count| count.parse().expect("a number"));
    // A thousand decide by the bounds as they are written.
    (count, if count >= 1_000 { 0.0 } else { 3.0 * (0.95 * 0.05 / count as f64).sqrt() })
}

/// Counts how often `interval` contains `truth`, and compares that with the bounds.
fn check(case: &str, bounds: (f64, f64), truth: f64, interval: impl Fn(&mut Random) -> (f64, f64)) {
    let (count, slack) = experiments();
    let (mut below, mut above) = (0, 0);
    for number in 0..count {
        let (low, high) = interval(&mut Random::new(number, case));
        assert!(low <= high, "{case}: {low} to {high}");
        below += u64::from(high < truth);
        above += u64::from(low > truth);
    }
    let share = 1.0 - (below + above) as f64 / count as f64;
    println!("{case}: {:.1} % of {count} (truth above {below}, below {above})", 100.0 * share);
    assert!(
        (bounds.0 - slack..=bounds.1 + slack).contains(&share),
        "{case}: {share} of {count} contain the true value; {below} end below it, {above} begin above it"
    );
}

/// A Poisson number with this mean.
fn poisson(random: &mut Random, mean: f64) -> u64 {
    let (mut count, mut time) = (0, -libm::log(random.uniform_open()));
    while time < mean {
        count += 1;
        time -= libm::log(random.uniform_open());
    }
    count
}

/// The length of a burst with this mean, from 1.
fn geometric(random: &mut Random, mean: f64) -> f64 {
    if mean <= 1.0 {
        return 1.0;
    }
    1.0 + libm::floor(libm::log(random.uniform_open()) / libm::log(1.0 - 1.0 / mean))
}

fn exponential(random: &mut Random) -> f64 {
    -libm::log(random.uniform_open())
}

#[test]
fn rates_of_independent_losses() {
    for mean in [3.0, 20.0, 100.0, 1_000.0] {
        // Counts are whole numbers, so that few of them cannot have exactly 95 %.
        let bounds = if mean < 100.0 { CONSERVATIVE } else { NOMINAL };
        check(&format!("independent, {mean} expected"), bounds, mean, |random| {
            Counted::single(poisson(random, mean), 1.0).interval(1.0)
        });
    }
}

/// Clusters of unknown sizes are conservative: sizes that were not seen must be allowed for.
#[test]
fn rates_of_losses_in_bursts() {
    for burst in [1.5, 4.0, 16.0] {
        for bursts in [2.0, 5.0, 12.5, 50.0, 300.0] {
            check(&format!("{bursts} bursts of {burst}"), CONSERVATIVE, burst * bursts, |random| {
                let mut counted = Counted::default();
                for _ in 0..poisson(random, bursts) {
                    counted.add(geometric(random, burst));
                }
                counted.interval(burst)
            });
        }
    }
}

/// Weights of importance sampling: what is rare has small weights, and some have large ones.
#[test]
fn weighted_events() {
    let mean_weight = 1e-6 * libm::exp(0.5);
    for events in [20.0, 200.0] {
        check(&format!("{events} weighted events"), CONSERVATIVE, events * mean_weight, |random| {
            let mut counted = Counted::default();
            for _ in 0..poisson(random, events) {
                // Log-normal: twelve uniform numbers make a normal one.
                let normal: f64 = (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
                counted.add(1e-6 * libm::exp(normal));
            }
            counted.interval(0.0)
        });
    }
}

/// Ranks are whole numbers: around the median of a large sample that costs little, at the extremes more.
#[test]
fn percentiles() {
    for (count, share, bounds) in [
        (9, 0.5, CONSERVATIVE),
        (1_000, 0.5, NOMINAL),
        (1_000, 0.9, NOMINAL),
        (1_000, 0.99, CONSERVATIVE),
        (1_000, 0.999, CONSERVATIVE),
        (10_000, 0.9999, CONSERVATIVE),
    ] {
        let truth = -libm::log(1.0 - share);
        check(&format!("{share} of {count}"), bounds, truth, |random| {
            let mut values: Vec<f64> = (0..count).map(|_| exponential(random)).collect();
            values.sort_by(f64::total_cmp);
            let (low, high) = percentile_ranks(count, share);
            (low.map_or(0.0, |rank| values[rank]), high.map_or(f64::INFINITY, |rank| values[rank]))
        });
    }
}

#[test]
fn means_over_few_runs() {
    for runs in [2, 3, 5, 30] {
        // The mean of each run is that of 100 values.
        check(&format!("mean of {runs} runs"), NOMINAL, 1.0, |random| {
            let run = |random: &mut Random| (0..100).map(|_| exponential(random)).sum::<f64>() / 100.0;
            let values: Vec<f64> = (0..runs).map(|_| run(random)).collect();
            mean_interval(&values).expect("several runs")
        });
    }
}

/// Ratios of two points with few runs each: of means, and of 99th percentiles of all runs' values.
#[test]
fn ratios_over_few_runs() {
    type Value = fn(&[&Vec<f64>]) -> f64;
    let mean: Value = |runs| runs.iter().flat_map(|run| run.iter()).sum::<f64>();
    let p99: Value = |runs| {
        let mut values: Vec<f64> = runs.iter().flat_map(|run| run.iter().copied()).collect();
        values.sort_by(f64::total_cmp);
        percentile(&values, 0.99)
    };
    for (name, value) in [("means", mean), ("99th percentiles", p99)] {
        for runs in [2, 3, 5, 10, 20, 30, 100] {
            // Means of three times as long values, in as many of them.
            let scale = 3.0;
            check(&format!("ratio of {name}, {runs} runs"), NOMINAL, scale, |random| {
                let mut sample = |scale: f64| {
                    (0..runs).map(|_| (0..200).map(|_| scale * exponential(random)).collect()).collect()
                };
                let (one, other): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (sample(scale), sample(1.0));
                let of = |sample: &[Vec<f64>], keeps: &dyn Fn(usize) -> bool| {
                    let kept = sample.iter().enumerate().filter(|(run, _)| keeps(*run));
                    Some(value(&kept.map(|(_, run)| run).collect::<Vec<_>>()))
                };
                ratio_interval(runs, |keeps| of(&one, keeps), |keeps| of(&other, keeps))
                    .expect("several runs")
            });
        }
    }
}

/// Means of runs to which rare events add twenty times as much as there is without them, as timeouts do to completion times. Runs of
/// the same number share half of their events.
#[test]
fn ratios_of_means_with_rare_events() {
    for events in [0.1, 0.2, 0.4, 1.0, 3.0, 10.0] {
        check(&format!("ratio of means with {events} rare events a run"), CONSERVATIVE, 1.0, |random| {
            let runs = 10;
            let mut run = || {
                let shared = poisson(random, events / 2.0);
                let mut own = || 1.0 + 20.0 * (shared + poisson(random, events / 2.0)) as f64;
                (own(), own())
            };
            let (one, other): (Vec<f64>, Vec<f64>) = (0..runs).map(|_| run()).unzip();
            let mean = |values: &[f64], keeps: &dyn Fn(usize) -> bool| {
                let kept: Vec<f64> = (0..runs).filter(|run| keeps(*run)).map(|run| values[run]).collect();
                Some(kept.iter().sum::<f64>() / kept.len() as f64)
            };
            ratio_interval(runs, |keeps| mean(&one, keeps), |keeps| mean(&other, keeps)).expect("ten runs")
        });
    }
}
