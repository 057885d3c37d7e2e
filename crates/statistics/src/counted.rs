//! Sums of rare events.

use crate::TAIL;
use statrs::distribution::{ContinuousCDF, Gamma};
use statrs::function::gamma::gamma_lr;

/// With fewer clusters than this, their sizes say too little about larger ones that could have come.
const CLUSTERS_LEAST: f64 = 5.0;
/// How much larger than the largest cluster seen, divided by the number of clusters, the next one may be.
const UNSEEN: f64 = 4.0;
/// Clusters beyond which the quantiles of the gamma distribution are approximated, to a millionth.
const EXACT_MAX: f64 = 10_000.0;
/// The quantile of the normal distribution that a share of [`TAIL`] is above.
const DEVIATIONS: f64 = 1.959_963_984_540_054;

/// Events that come in clusters of different sizes or count with different weights. Clusters are rare and independent of
/// each other; the events of a cluster are not.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counted {
    clusters: f64,
    sum: f64,
    squares: f64,
    largest: f64,
}

impl Counted {
    /// So many independent events, each with this weight.
    pub fn single(events: u64, weight: f64) -> Counted {
        let mut counted = Counted::default();
        counted.add_many(events, weight);
        counted
    }

    /// Adds a cluster of this size, or an event of this weight.
    pub fn add(&mut self, size: f64) {
        self.add_many(1, size);
    }

    /// Adds so many clusters of the same size.
    pub fn add_many(&mut self, clusters: u64, size: f64) {
        if clusters == 0 {
            return;
        }
        let number = clusters as f64;
        self.clusters += number;
        self.sum += number * size;
        self.squares += number * size * size;
        self.largest = self.largest.max(size);
    }

    /// Adds what another run counted.
    pub fn merge(&mut self, other: &Counted) {
        self.clusters += other.clusters;
        self.sum += other.sum;
        self.squares += other.squares;
        self.largest = self.largest.max(other.largest);
    }

    /// Everything it knows, for files: the number of clusters, the sums of their sizes and of the squares, and the largest size.
    pub fn sums(&self) -> [f64; 4] {
        [self.clusters, self.sum, self.squares, self.largest]
    }

    /// What has these [`sums`](Counted::sums).
    pub fn from_sums([clusters, sum, squares, largest]: [f64; 4]) -> Counted {
        Counted { clusters, sum, squares, largest }
    }

    /// The sum of all sizes.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// The interval of the expected sum (Fay and Feuer 1997). `single` is the usual size of an event, 0 if that is not
    /// known: if no cluster is larger, this is the interval of a Poisson distribution (Garwood 1936). It is unbounded above if
    /// there were too few clusters to know their sizes.
    pub fn interval(&self, single: f64) -> (f64, f64) {
        if self.clusters == 0.0 {
            return (
                0.0,
                if single > 0.0 { single * gamma_quantile(1.0, 1.0 - TAIL) } else { f64::INFINITY },
            );
        }
        if self.largest <= single {
            let low = single * gamma_quantile(self.sum / single, TAIL);
            return (low, single * gamma_quantile(self.sum / single + 1.0, 1.0 - TAIL));
        }
        let low = self.squares / self.sum * gamma_quantile(self.sum * self.sum / self.squares, TAIL);
        if self.clusters < CLUSTERS_LEAST {
            return (low, f64::INFINITY);
        }
        // Fay and Feuer add one cluster of the largest size. Sizes are themselves a sample here, so it is larger than any.
        let unseen = self.largest * (1.0 + UNSEEN / self.clusters);
        let (sum, squares) = (self.sum + unseen, self.squares + unseen * unseen);
        (low, squares / sum * gamma_quantile(sum * sum / squares, 1.0 - TAIL))
    }
}

/// The quantile of a gamma distribution of this shape and scale 1.
fn gamma_quantile(shape: f64, share: f64) -> f64 {
    if shape > EXACT_MAX {
        // Wilson and Hilferty 1931.
        let deviations = if share < 0.5 { -DEVIATIONS } else { DEVIATIONS };
        let root = 1.0 - 1.0 / (9.0 * shape) + deviations / (3.0 * libm::sqrt(shape));
        return shape * root * root * root;
    }
    Gamma::new(shape, 1.0).map_or(f64::NAN, |gamma| gamma.inverse_cdf(share))
}

/// Probability that a Poisson distribution with this mean gives `count` or more.
pub fn poisson_at_least(count: u64, mean: f64) -> f64 {
    match (count, mean > 0.0) {
        (0, _) => 1.0,
        (_, false) => 0.0,
        (count, true) => gamma_lr(count as f64, mean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_events_have_the_interval_of_garwood() {
        for (count, lower, upper) in [
            (0, 0.0, 3.689),
            (1, 0.0253, 5.572),
            (5, 1.623, 11.668),
            (10, 4.795, 18.390),
            (100, 81.364, 121.627),
        ] {
            let (low, high) = Counted::single(count, 1.0).interval(1.0);
            assert!((low - lower).abs() < 1e-3 && (high - upper).abs() < 1e-3, "{count}: {low} {high}");
            let (light_low, light_high) = Counted::single(count, 1e-6).interval(1e-6);
            assert!((light_low - 1e-6 * low).abs() < 1e-12 && (light_high - 1e-6 * high).abs() < 1e-12);
        }
    }

    #[test]
    fn clusters_widen_the_interval_as_if_there_were_fewer_events() {
        let reach = |counted: Counted| {
            let (low, high) = counted.interval(1.0);
            (high - low) / counted.sum()
        };
        let single = reach(Counted::single(1_600, 1.0));
        let of_sixteen = reach(Counted::single(100, 16.0));
        assert!((3.9..4.4).contains(&(of_sixteen / single)), "{single} {of_sixteen}");
        // One large cluster among many single events: both ends know it.
        let mut mixed = Counted::single(1_500, 1.0);
        mixed.add(100.0);
        assert!(reach(mixed) > 2.0 * single);
    }

    #[test]
    fn few_clusters_have_no_upper_bound_unless_they_are_single() {
        let mut four = Counted::single(3, 1.0);
        four.add(2.0);
        assert_eq!(four.interval(1.0).1, f64::INFINITY);
        four.add(1.0);
        assert!(four.interval(1.0).1 < 40.0);
        assert!(Counted::single(4, 1.0).interval(1.0).1 < 11.0);
        assert_eq!(Counted::single(2, 3.0).interval(1.0).1, f64::INFINITY);
    }

    #[test]
    fn what_several_runs_counted_is_what_one_would_have_counted() {
        let (mut one, mut other) = (Counted::single(3, 1.0), Counted::single(4, 2.0));
        other.add(9.0);
        one.merge(&other);
        let mut whole = Counted::default();
        [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 9.0].into_iter().for_each(|size| whole.add(size));
        assert_eq!(one, whole);
        assert_eq!(Counted::single(0, 7.0), Counted::default());
    }

    #[test]
    fn the_approximation_joins_smoothly() {
        for share in [TAIL, 1.0 - TAIL] {
            let exact = gamma_quantile(EXACT_MAX, share);
            let approximate = gamma_quantile(EXACT_MAX * (1.0 + 1e-12), share);
            assert!((exact / approximate - 1.0).abs() < 1e-6, "{exact} {approximate}");
        }
    }

    #[test]
    fn tails_are_those_of_the_distribution() {
        for (count, mean, expected) in [
            (1, 1.0, 0.632_120_6),
            (6, 1.0, 5.941_85e-4),
            (2, 1e-6, 4.999_997e-13),
            (0, 3.0, 1.0),
            (3, 0.0, 0.0),
            (5, 6.0, 0.714_943_5),
            (1_000_000, 1.01e6, 1.0),
        ] {
            let tail = poisson_at_least(count, mean);
            assert!((tail - expected).abs() <= 1e-6 * expected, "{count}, {mean}: {tail}");
        }
    }
}
