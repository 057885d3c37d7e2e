//! A histogram with buckets at powers of two: constant size, no allocation, accurate to a factor of two.

/// Number of buckets: the last one also holds everything larger.
const BUCKETS: usize = 40;

/// Counts of values by power of two: bucket 0 holds 0, bucket `i` holds `2^(i-1) .. 2^i - 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; BUCKETS],
    count: u64,
    sum: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: [0; BUCKETS], count: 0, sum: 0, max: 0 }
    }
}

impl Histogram {
    /// Counts one value.
    pub fn record(&mut self, value: u64) {
        let bucket = (u64::BITS - value.leading_zeros()) as usize;
        self.counts[bucket.min(BUCKETS - 1)] += 1;
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        self.max = self.max.max(value);
    }

    /// Number of values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the values, saturating.
    pub const fn sum(&self) -> u64 {
        self.sum
    }

    /// Largest value, 0 if there is none.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// Upper edge (inclusive) of the bucket in which the quantile `q` (0..=1) lies; 0 if there is no value.
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = (q.clamp(0.0, 1.0) * self.count as f64) as u64;
        let mut seen = 0;
        for (upper, count) in self.buckets() {
            seen += count;
            if count > 0 && (seen > rank || seen == self.count) {
                return upper.min(self.max);
            }
        }
        0
    }

    /// The buckets as (largest value that belongs in it, count), ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().enumerate().map(|(i, &count)| (upper_edge(i), count))
    }
}

const fn upper_edge(bucket: usize) -> u64 {
    if bucket == BUCKETS - 1 { u64::MAX } else { (1 << bucket) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_into_the_bucket_of_their_power_of_two() {
        let mut histogram = Histogram::default();
        for value in [0, 1, 2, 3, 4, u64::MAX] {
            histogram.record(value);
        }
        let counts: std::vec::Vec<_> = histogram.buckets().map(|(_, count)| count).collect();
        assert_eq!(counts[..4], [1, 1, 2, 1]);
        assert_eq!(counts[BUCKETS - 1], 1);
        assert_eq!(histogram.max(), u64::MAX);
    }

    #[test]
    fn quantiles_bound_the_value_from_above() {
        let mut histogram = Histogram::default();
        for value in 1..=1000 {
            histogram.record(value);
        }
        assert_eq!(histogram.quantile(0.5), 511);
        assert_eq!(histogram.quantile(1.0), 1000);
        assert_eq!(Histogram::default().quantile(0.5), 0);
    }

    #[test]
    fn edges_sums_and_quantiles_are_exact() {
        let mut histogram = Histogram::default();
        for value in [0, 7, 8, u64::MAX] {
            histogram.record(value);
        }
        assert_eq!((histogram.count(), histogram.sum()), (4, u64::MAX), "the sum saturates");
        let buckets: std::vec::Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets.len(), BUCKETS);
        assert_eq!((buckets[0], buckets[3], buckets[4]), ((0, 1), (7, 1), (15, 1)));
        assert_eq!(buckets[BUCKETS - 2].0, (1 << (BUCKETS - 2)) - 1);
        assert_eq!(buckets[BUCKETS - 1], (u64::MAX, 1));
        // The quantile is that of the value with this rank, counted from 0.
        assert_eq!([0.0, 0.24, 0.25, 0.5, 0.75].map(|q| histogram.quantile(q)), [0, 0, 7, 15, u64::MAX]);
    }

    #[test]
    fn a_quantile_is_never_above_the_maximum() {
        let mut histogram = Histogram::default();
        histogram.record(100);
        assert_eq!([-1.0, 0.0, 0.5, 1.0, 2.0].map(|q| histogram.quantile(q)), [100; 5]);
        histogram.record(3);
        assert_eq!(histogram.quantile(0.0), 3);
    }
}
