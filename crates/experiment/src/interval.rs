//! Confidence intervals of counted rates.

/// Two-sided confidence of the intervals in the report of a run.
pub const CONFIDENCE: f64 = 0.95;
/// The largest count for which the interval is computed exactly. Beyond it, the approximation is good to a millionth.
const EXACT_MAX: u64 = 10_000;
/// Terms of a tail below this share of its first one are too small for the precision of a float.
const TERM_LEAST: f64 = 1e-18;
/// How often an interval is halved; afterwards a float is as exact as it gets.
const HALVINGS: usize = 100;

/// The two-sided interval of the mean of a Poisson distribution of which `count` was observed (Garwood 1936).
///
/// # Panics
/// If `confidence` does not lie above 0 and below 1.
pub fn poisson_interval(count: u64, confidence: f64) -> (f64, f64) {
    assert!(confidence > 0.0 && confidence < 1.0, "a confidence is above 0 and below 1");
    let tail = 0.5 * (1.0 - confidence);
    let (low, high) = wilson_hilferty(count, tail);
    if count > EXACT_MAX {
        return (low, high);
    }
    // As many or more would be as rare as the tail at the lower bound, as many or fewer at the upper one.
    let lower = if count == 0 { 0.0 } else { solve(count as f64, |mean| at_least(count, mean) >= tail) };
    (lower, solve(2.0 * high + 1.0 / tail, |mean| mean > count as f64 && at_most(count, mean) <= tail))
}

/// The same, approximately, for large counts (Wilson and Hilferty 1931).
fn wilson_hilferty(count: u64, tail: f64) -> (f64, f64) {
    let quantile = solve(40.0, |z| 0.5 * libm::erfc(z / std::f64::consts::SQRT_2) <= tail);
    let bound = |n: f64, z: f64| {
        let root = 1.0 - 1.0 / (9.0 * n) + z / (3.0 * n.sqrt());
        n * root * root * root
    };
    (bound(count as f64, -quantile), bound(count as f64 + 1.0, quantile))
}

/// Probability of `count` or fewer at a mean above it: a sum of falling terms.
fn at_most(count: u64, mean: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for k in (1..=count).rev() {
        term *= k as f64 / mean;
        sum += term;
        if term < TERM_LEAST {
            break;
        }
    }
    sum * exactly(count, mean)
}

/// Probability that a Poisson distribution with this mean gives `count` or more. It is exact for means up to `count`, and 1
/// beyond it, where it is at least one half.
pub fn poisson_at_least(count: u64, mean: f64) -> f64 {
    if mean <= 0.0 || count == 0 {
        return if count == 0 { 1.0 } else { 0.0 };
    }
    if mean > count as f64 { 1.0 } else { at_least(count, mean).min(1.0) }
}

/// Probability of `count` or more at a mean of at most that.
fn at_least(count: u64, mean: f64) -> f64 {
    let (mut term, mut sum, mut k) = (1.0, 1.0, count);
    while term >= TERM_LEAST {
        k += 1;
        term *= mean / k as f64;
        sum += term;
    }
    sum * exactly(count, mean)
}

/// Probability of `count` at this mean.
fn exactly(count: u64, mean: f64) -> f64 {
    let n = count as f64;
    let log_power = if count == 0 { 0.0 } else { n * libm::log(mean) };
    libm::exp(log_power - mean - libm::lgamma(n + 1.0))
}

/// The smallest number up to `most` for which `reached` holds; it must hold from some number on.
fn solve(most: f64, reached: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, most);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if reached(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        // From Garwood 1936 and tables of it; those of 99.9 % from the chi-square distribution.
        for (count, confidence, lower, upper) in [
            (0, 0.95, 0.0, 3.689),
            (1, 0.95, 0.0253, 5.572),
            (5, 0.95, 1.623, 11.668),
            (10, 0.95, 4.795, 18.390),
            (100, 0.95, 81.364, 121.627),
            (0, 0.999, 0.0, 7.601),
            (1, 0.999, 0.0005, 9.999),
            (0, 0.9, 0.0, 2.996),
            (10, 0.9, 5.425, 16.962),
        ] {
            let (low, high) = poisson_interval(count, confidence);
            assert!((low - lower).abs() < 1e-3 && (high - upper).abs() < 1e-3, "{count}: {low} {high}");
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
        ] {
            let tail = poisson_at_least(count, mean);
            assert!((tail - expected).abs() <= 1e-6 * expected, "{count}, {mean}: {tail}");
        }
        assert_eq!(poisson_at_least(5, 6.0), 1.0);
    }

    #[test]
    fn bounds_are_as_rare_as_the_tail() {
        for count in [1, 7, 100, 1_234, EXACT_MAX] {
            for confidence in [0.5, 0.95, 0.999] {
                let (low, high) = poisson_interval(count, confidence);
                let tail = 0.5 * (1.0 - confidence);
                let close = |probability: f64| (probability / tail - 1.0).abs() < 1e-8;
                assert!(close(at_least(count, low)) && close(at_most(count, high)), "{count}: {low} {high}");
            }
        }
    }

    #[test]
    fn the_approximation_joins_smoothly() {
        for confidence in [0.95, 0.999] {
            let exact = poisson_interval(EXACT_MAX, confidence);
            let approximate = wilson_hilferty(EXACT_MAX, 0.5 * (1.0 - confidence));
            let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
            assert!(
                close(exact.0, approximate.0) && close(exact.1, approximate.1),
                "{exact:?} {approximate:?}"
            );
        }
    }
}
