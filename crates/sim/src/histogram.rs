//! A histogram of constant relative width: each power of two is split into 128 buckets, so a value is known to one
//! 128th (0.8 %), and values below 256 are exact. It takes at most 58 KiB, and less while values are small.
//!
//! It counts anything measured in whole units: picoseconds, nanoseconds, bytes weighted by time. Minimum, maximum and
//! mean are exact.

/// Buckets in which a power of two is split, as a power of two.
const SPLIT_BITS: u32 = 7;
const SPLIT: usize = 1 << SPLIT_BITS;
/// Buckets of all 64-bit values: `SPLIT` exact ones, and as many for each higher power of two.
const BUCKETS: usize = SPLIT * (1 + u64::BITS as usize - SPLIT_BITS as usize);

/// The histogram; see the module documentation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// By bucket, as far as the largest value needs.
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

linkmend_experiment::stored!(Histogram; counts, count, sum, min, max);

impl Histogram {
    /// An empty one.
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// Counts one value.
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts a value `n` times; nothing if `n` is zero. A time-weighted level is recorded with its duration as `n`.
    ///
    /// # Panics
    /// If the total count exceeds 64 bits.
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        let bucket = bucket_of(value);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += n;
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count = self.count.checked_add(n).expect("a count fits 64 bits");
        self.sum += u128::from(value) * u128::from(n);
    }

    /// Adds all that `other` has counted.
    ///
    /// # Panics
    /// If the total count exceeds 64 bits.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (here, there) in self.counts.iter_mut().zip(&other.counts) {
            *here += there;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count = self.count.checked_add(other.count).expect("a count fits 64 bits");
        self.sum += other.sum;
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Least value, exact; 0 if there is none.
    pub fn min(&self) -> u64 {
        self.min
    }

    /// Largest value, exact; 0 if there is none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Mean of the values themselves, not of their buckets; 0 if there is none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// An upper bound of the quantile `q` (0 to 1), at most one 128th too large: at least `q` of the values are no
    /// larger. Exact at 0 and 1; 0 if there is no value.
    pub fn quantile(&self, q: f64) -> u64 {
        if q <= 0.0 {
            return self.min;
        }
        let rank = (q.min(1.0) * self.count as f64).ceil() as u64;
        let mut seen = 0;
        self.iter()
            .find(|&(_, n)| {
                seen += n;
                seen >= rank
            })
            .map_or(self.max, |(value, _)| value)
    }

    /// The buckets that hold something, ascending: the largest value each can hold (never above [`Histogram::max`]),
    /// and how many values it holds.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let held = self.counts.iter().enumerate().filter(|&(_, &n)| n > 0);
        held.map(|(bucket, &n)| (upper_edge(bucket).min(self.max), n))
    }
}

fn bucket_of(value: u64) -> usize {
    if value < SPLIT as u64 {
        return value as usize;
    }
    let shift = value.ilog2() - SPLIT_BITS;
    // The leading SPLIT_BITS + 1 bits are SPLIT to 2 * SPLIT - 1.
    shift as usize * SPLIT + (value >> shift) as usize
}

/// Largest value of a bucket.
fn upper_edge(bucket: usize) -> u64 {
    debug_assert!(bucket < BUCKETS);
    if bucket < 2 * SPLIT {
        return bucket as u64;
    }
    let shift = (bucket / SPLIT - 1) as u32;
    let leading = (bucket % SPLIT + SPLIT) as u64;
    leading << shift | ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn from_values(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        histogram
    }

    #[test]
    fn an_empty_histogram_is_all_zero() {
        let empty = Histogram::new();
        assert_eq!((empty.count(), empty.min(), empty.max(), empty.quantile(0.5)), (0, 0, 0, 0));
        assert_eq!(empty.mean(), 0.0);
        assert_eq!(empty.iter().count(), 0);
    }

    #[test]
    fn buckets_cover_all_values_without_gap_or_overlap() {
        assert_eq!(bucket_of(0), 0);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        assert_eq!(upper_edge(BUCKETS - 1), u64::MAX);
        for bucket in 0..BUCKETS - 1 {
            assert_eq!(bucket_of(upper_edge(bucket)), bucket);
            assert_eq!(bucket_of(upper_edge(bucket) + 1), bucket + 1);
        }
    }

    #[test]
    fn a_value_counts_as_often_as_its_weight_says() {
        let mut weighted = Histogram::new();
        weighted.record_n(1000, 3);
        weighted.record_n(9, 0);
        assert_eq!(weighted, from_values(&[1000; 3]));
        assert_eq!(weighted.min(), 1000);
    }

    proptest! {
        #[test]
        fn statistics_agree_with_the_sorted_sample(
            mut values in prop::collection::vec((0u32..64, any::<u64>()).prop_map(|(s, v)| v >> s), 1..200),
            q in 0.0..=1.0f64,
        ) {
            let histogram = from_values(&values);
            values.sort_unstable();
            prop_assert_eq!(histogram.min(), values[0]);
            prop_assert_eq!(histogram.max(), values[values.len() - 1]);
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let (exact, bound) = (values[rank - 1], histogram.quantile(q));
            prop_assert!(bound >= exact && bound - exact <= exact / SPLIT as u64, "{exact} {bound}");
            prop_assert_eq!(histogram.iter().map(|(_, n)| n).sum::<u64>(), values.len() as u64);
        }

        #[test]
        fn a_merged_histogram_counts_both(a in prop::collection::vec(any::<u64>(), 0..50),
                                    b in prop::collection::vec(0u64..5000, 0..50)) {
            let mut merged = from_values(&a);
            merged.merge(&from_values(&b));
            prop_assert_eq!(merged, from_values(&[a, b].concat()));
        }
    }
}
