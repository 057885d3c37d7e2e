//! The metrics of a pair of runs that are compared with published values.

use super::pair::{Pair, merged};
use linkmend_experiment::{Measurement, Quantity};
use serde::Deserialize;

/// A metric of a pair of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairMetric {
    /// By how many orders of magnitude protection lowers the total penalty: the median over the time in which it makes
    /// a difference.
    PenaltyReductionOrders,
    /// Share of the time in which protection makes no difference, because nothing corrupts.
    NoDifferenceTime,
    /// The largest number of links that one pipe protects at a time.
    MaxProtectedLinksPerPipe,
    /// Share of the links that begin to corrupt and could not be disabled at once.
    NotDisablable,
    /// Share of the corrupting links, in use or away for repair, that are in use, averaged over time.
    CorruptingInUse,
}

impl PairMetric {
    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            PairMetric::PenaltyReductionOrders => {
                "orders of magnitude less total penalty (loss rates of links in operation, added up)"
            }
            PairMetric::NoDifferenceTime => "time without a difference",
            PairMetric::MaxProtectedLinksPerPipe => "protected links per pipe, most",
            PairMetric::NotDisablable => "links not disabled at once",
            PairMetric::CorruptingInUse => "corrupting links still in use",
        }
    }

    /// Whether it is a share, which is shown in percent.
    fn is_share(self) -> bool {
        matches!(self, PairMetric::NoDifferenceTime | PairMetric::NotDisablable | PairMetric::CorruptingInUse)
    }

    /// The quantity that it measures.
    pub fn quantity(self) -> Quantity {
        if self.is_share() { Quantity::Share } else { Quantity::Plain }
    }

    /// Its value for one pair, or `None` if the pair does not define it.
    pub fn value(self, pair: &Pair) -> Option<f64> {
        match self {
            PairMetric::PenaltyReductionOrders => median_gain(pair),
            PairMetric::NoDifferenceTime => no_difference(pair),
            PairMetric::MaxProtectedLinksPerPipe => {
                pair.protected.metrics.get("max_protected_links_per_pipe").map(|metric| metric.max)
            }
            PairMetric::NotDisablable => {
                let heeded = pair.corropt.loss_events - pair.corropt.skipped_events;
                (heeded > 0).then(|| pair.corropt.fast_checker_rejections as f64 / heeded as f64)
            }
            PairMetric::CorruptingInUse => {
                let mean = |name| pair.corropt.metrics.get(name).map(|metric| metric.mean);
                let (corrupting, disabled) = (mean("corrupting_links")?, mean("disabled_links")?);
                Some(corrupting / (corrupting + disabled))
            }
        }
    }

    /// Its mean over several pairs, with a confidence interval.
    pub fn estimate(self, pairs: &[Pair]) -> Option<Measurement> {
        let values: Vec<f64> = pairs.iter().filter_map(|pair| self.value(pair)).collect();
        if self == PairMetric::MaxProtectedLinksPerPipe {
            let value = values.into_iter().reduce(f64::max)?;
            return Some(Measurement { value, interval: None });
        }
        Measurement::mean(&values)
    }
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
