//! What is measured of pairs of runs, and compared with published values.

use super::outcome::FleetOutcome;
use super::pair::{self, Pair};
use linkmend_experiment::{Measurement, Quantity};

/// Something that pairs of runs measure.
pub type Metric = linkmend_experiment::Metric<FleetOutcome>;

/// What pairs of runs measure, in the order in which tables show it: means over the pairs, but for the weeks and the last.
pub(super) static OF_PAIRS: [Metric; 8] = [
    // The median over the time in which protection makes a difference.
    Metric {
        name: "penalty_reduction_orders",
        label: "reduction of the total penalty (the sum of the loss rates of links in operation), in orders \
         of magnitude",
        quantity: Quantity::Plain,
        scale: 1.0,
        read: |outcome, _| mean(outcome, median_gain),
    },
    // The same over each week, as a picture of a week shows it: what a share of all weeks of all pairs are below.
    Metric {
        name: "penalty_reduction_week_orders.p5",
        label: "the same in a week, 5 % of weeks",
        quantity: Quantity::Plain,
        scale: 1.0,
        read: |outcome, _| of_weeks(outcome, 0.05),
    },
    Metric {
        name: "penalty_reduction_week_orders.p50",
        label: "the same in a week, median week",
        quantity: Quantity::Plain,
        scale: 1.0,
        read: |outcome, _| of_weeks(outcome, 0.5),
    },
    Metric {
        name: "penalty_reduction_week_orders.p95",
        label: "the same in a week, 95 % of weeks",
        quantity: Quantity::Plain,
        scale: 1.0,
        read: |outcome, _| of_weeks(outcome, 0.95),
    },
    // Time in which nothing corrupts.
    Metric {
        name: "no_difference_time",
        label: "time without a difference",
        quantity: Quantity::Share,
        scale: 1.0,
        read: |outcome, _| mean(outcome, no_difference),
    },
    // Of the links that begin to corrupt.
    Metric {
        name: "not_disablable",
        label: "links not disabled immediately",
        quantity: Quantity::Share,
        scale: 1.0,
        read: |outcome, _| mean(outcome, not_disablable),
    },
    // Of the corrupting links, in use or away for repair, averaged over time.
    Metric {
        name: "corrupting_in_use",
        label: "corrupting links still in use",
        quantity: Quantity::Share,
        scale: 1.0,
        read: |outcome, _| mean(outcome, corrupting_in_use),
    },
    // Protected at the same time.
    Metric {
        name: "max_protected_links_per_pipe",
        label: "protected links per pipe, maximum",
        quantity: Quantity::Plain,
        scale: 1.0,
        read: |outcome, _| outcome.pairs()?.greatest(max_protected),
    },
];

fn mean(outcome: &FleetOutcome, value: fn(&Pair) -> Option<f64>) -> Option<Measurement> {
    outcome.pairs()?.mean(value)
}

fn median_gain(pair: &Pair) -> Option<f64> {
    pair::median_gain(&pair.gains)
}

/// The median gain of a week that a share of all weeks with a gain are below or at.
fn of_weeks(outcome: &FleetOutcome, share: f64) -> Option<Measurement> {
    let mut weeks: Vec<f64> = outcome.pairs()?.iter().flat_map(|pair| pair.weeks.iter().copied()).collect();
    weeks.sort_unstable_by(f64::total_cmp);
    let rank = (share * weeks.len() as f64) as usize;
    weeks.get(rank).copied().and_then(Measurement::exact)
}

fn no_difference(pair: &Pair) -> Option<f64> {
    let total: u64 = pair.gains.values().sum();
    let same = pair.gains.get(&0).copied().unwrap_or(0);
    (total > 0).then(|| same as f64 / total as f64)
}

fn not_disablable(pair: &Pair) -> Option<f64> {
    let heeded = pair.corropt.loss_events - pair.corropt.skipped_events;
    (heeded > 0).then(|| pair.corropt.fast_checker_rejections as f64 / heeded as f64)
}

fn corrupting_in_use(pair: &Pair) -> Option<f64> {
    let mean = |name| pair.corropt.metrics.get(name).map(|metric| metric.mean);
    let (corrupting, disabled) = (mean("corrupting_links")?, mean("disabled_links")?);
    Some(corrupting / (corrupting + disabled))
}

fn max_protected(pair: &Pair) -> Option<f64> {
    pair.protected.metrics.get("max_protected_links_per_pipe").map(|metric| metric.max)
}
