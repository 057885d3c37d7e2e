//! What of a pair of runs is compared with published values.

use super::study::{Pair, merged};
use serde::Deserialize;

/// A number that a pair of runs comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairMetric {
    /// By how many orders of magnitude protection lowers the total penalty, in the median of the time in which it makes a
    /// difference.
    PenaltyReductionOrders,
    /// Share of the time in which protection makes no difference, because nothing corrupts.
    NoDifferenceTime,
    /// Most protected links on a pipe at a time.
    MaxProtectedLinksPerPipe,
    /// Share of the links that begin to corrupt which could not be disabled at once.
    NotDisablable,
    /// Share of the links that corrupt or are away for repair which are still in use, over time.
    CorruptingInUse,
}

/// The mean of several pairs, and where it lies with 95 % confidence if they are at least two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Mean over the pairs; for a maximum, the greatest.
    pub value: f64,
    /// Lowest and highest that the mean may be.
    pub interval: Option<(f64, f64)>,
}

impl PairMetric {
    /// What it is called.
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

    /// Whether it is a share of one.
    pub fn is_share(self) -> bool {
        matches!(self, PairMetric::NoDifferenceTime | PairMetric::NotDisablable | PairMetric::CorruptingInUse)
    }

    /// Of one pair; None if the pair has nothing to measure it by.
    pub fn of(self, pair: &Pair) -> Option<f64> {
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

    /// Of several pairs.
    pub fn estimate(self, pairs: &[Pair]) -> Option<Estimate> {
        let values: Vec<f64> = pairs.iter().filter_map(|pair| self.of(pair)).collect();
        if self == PairMetric::MaxProtectedLinksPerPipe {
            let value = values.into_iter().reduce(f64::max)?;
            return Some(Estimate { value, interval: None });
        }
        Estimate::mean(&values)
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

impl Estimate {
    /// Mean and 95 % confidence interval by Student's t distribution; None without values.
    pub fn mean(values: &[f64]) -> Option<Estimate> {
        if values.is_empty() {
            return None;
        }
        let count = values.len() as f64;
        let value = values.iter().sum::<f64>() / count;
        if values.len() < 2 {
            return Some(Estimate { value, interval: None });
        }
        let variance = values.iter().map(|other| (other - value).powi(2)).sum::<f64>() / (count - 1.0);
        let half = student_t_975(values.len() - 1) * libm::sqrt(variance / count);
        Some(Estimate { value, interval: Some((value - half, value + half)) })
    }
}

/// The 97.5 % quantile of Student's t distribution, by the expansion of Cornish and Fisher, within 0.1 % from 5 degrees of
/// freedom on; below, from tables.
fn student_t_975(degrees: usize) -> f64 {
    const FEW: [f64; 5] = [f64::INFINITY, 12.706, 4.303, 3.182, 2.776];
    if let Some(quantile) = FEW.get(degrees) {
        return *quantile;
    }
    let (z, n) = (1.959_964_f64, degrees as f64);
    let (z3, z5) = (z.powi(3), z.powi(5));
    z + (z3 + z) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
}

#[cfg(test)]
mod tests {
    use super::{Estimate, student_t_975};

    #[test]
    fn quantiles_agree_with_tables() {
        for (degrees, quantile) in
            [(1, 12.706), (4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042), (120, 1.980)]
        {
            assert!((student_t_975(degrees) / quantile - 1.0).abs() < 1e-2, "{degrees}");
        }
    }

    #[test]
    fn an_interval_surrounds_its_mean() {
        let estimate = Estimate::mean(&[1.0, 2.0, 3.0]).expect("three values");
        let (low, high) = estimate.interval.expect("more than one");
        assert_eq!(estimate.value, 2.0);
        assert!((2.0 - low - 4.303 / 3_f64.sqrt()).abs() < 1e-9 && (high + low - 4.0).abs() < 1e-9);
        assert!(
            Estimate::mean(&[]).is_none() && Estimate::mean(&[1.0]).is_some_and(|one| one.interval.is_none())
        );
    }
}
