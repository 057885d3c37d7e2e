//! Loss rates of corrupting links: Table 1 of the paper, from Microsoft's data centres (CorrOpt, SIGCOMM 2017).

use linkmend_quantity::words;
use linkmend_random::Random;

/// A range of loss rates, and the share of corrupting links in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossBucket {
    /// Lowest loss rate of the bucket.
    pub from: f64,
    /// Highest loss rate of the bucket.
    pub to: f64,
    /// Relative frequency of the bucket.
    pub weight: f64,
}

words! {
    /// How loss rates are distributed inside a bucket.
    #[derive(Default, serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum WithinBucket {
        /// Uniform in the logarithm.
        #[default]
        LogUniform = "log-uniform",
        /// Uniform in the value, so that most lie in the bucket's upper decade.
        Uniform = "uniform",
    }
}

/// The distribution from which loss rates are drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct LossDistribution {
    /// The buckets of the distribution.
    pub buckets: Vec<LossBucket>,
    /// How rates are distributed inside a bucket.
    pub within: WithinBucket,
}

impl LossDistribution {
    /// Table 1. Its last bucket is open; as in the authors' artifact, it ends at 10^-2.
    pub fn table_1(within: WithinBucket) -> LossDistribution {
        let bucket = |from, to, weight| LossBucket { from, to, weight };
        LossDistribution {
            buckets: vec![
                bucket(1e-8, 1e-5, 47.23),
                bucket(1e-5, 1e-4, 18.43),
                bucket(1e-4, 1e-3, 21.66),
                bucket(1e-3, 1e-2, 12.67),
            ],
            within,
        }
    }

    /// Returns a bound or weight that is out of its range, or 0 if there is no bucket.
    pub(super) fn bad_bucket(&self) -> Option<f64> {
        let bad = |bucket: &LossBucket| {
            let LossBucket { from, to, weight } = *bucket;
            if !(from > 0.0 && from <= 1.0) {
                Some(from)
            } else if !(to >= from && to <= 1.0) {
                Some(to)
            } else {
                (!(weight > 0.0 && weight.is_finite())).then_some(weight)
            }
        };
        if self.buckets.is_empty() { Some(0.0) } else { self.buckets.iter().find_map(bad) }
    }

    /// Draws a loss rate.
    pub fn draw(&self, random: &mut Random) -> f64 {
        let total: f64 = self.buckets.iter().map(|bucket| bucket.weight).sum();
        let mut left = random.uniform() * total;
        let mut chosen = self.buckets.last().copied();
        for bucket in &self.buckets {
            if left < bucket.weight {
                chosen = Some(*bucket);
                break;
            }
            left -= bucket.weight;
        }
        let LossBucket { from, to, .. } = chosen.expect("a distribution has a bucket");
        let share = random.uniform();
        match self.within {
            WithinBucket::LogUniform => from * libm::pow(to / from, share),
            WithinBucket::Uniform => from + (to - from) * share,
        }
    }
}
