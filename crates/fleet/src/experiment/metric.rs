//! What is measured of pairs of runs, and compared with published values.

use super::outcome::FleetOutcome;
use super::pair::{Pair, merged};
use linkmend_experiment::{Measurement, Quantity};

/// Something that pairs of runs measure.
pub type Metric = linkmend_experiment::Metric<FleetOutcome>;

/// What pairs of runs measure, in the order in which tables show it. All but the last are means over the pairs.
pub(super) static OF_PAIRS: [Metric; 5] = [
    // The median over the time in which protection makes a difference.
    Metric {
        name: "penalty_reduction_orders",
        label: "reduction of the total penalty (the sum of the loss rates of links in operation), in orders \
         of magnitude",
        quantity: Quantity::Plain,
        scale: 1.0,
        read: |outcome, _| mean(outcome, median_gain),
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
    let gains: Vec<(f64, u64)> =
        merged([&pair.gains].into_iter()).into_iter().filter(|(gain, _)| *gain > 0.0).collect();
    let total: u64 = gains.iter().map(|(_, seconds)| seconds).sum();
    let mut passed = 0;
    gains.into_iter().find_map(|(gain, seconds)| {
        passed += seconds;
        (2 * passed >= total).then_some(gain)
    })
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
