//! How far a counted rate may be from the true one.

/// Two-sided 95 %: a fortieth on either side.
const TAIL: f64 = 0.025;
/// The normal quantile that leaves [`TAIL`] above it.
const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;
/// Up to this count the interval is found exactly; beyond it the approximation is good to one ten-thousandth.
const EXACT_MAX: u64 = 100;

/// The 95 % interval of the mean of a Poisson distribution of which `count` was observed (Garwood 1936).
pub fn poisson_interval(count: u64) -> (f64, f64) {
    let n = count as f64;
    if count > EXACT_MAX {
        // Wilson and Hilferty 1931.
        let bound = |n: f64, z: f64| {
            let root = 1.0 - 1.0 / (9.0 * n) + z / (3.0 * n.sqrt());
            n * root * root * root
        };
        return (bound(n, -NORMAL_QUANTILE), bound(n + 1.0, NORMAL_QUANTILE));
    }
    // So many or more would be as rare as TAIL at the lower bound, so many or fewer at the upper one.
    let lower = if count == 0 { 0.0 } else { solve(|mean| at_most(count - 1, mean) <= 1.0 - TAIL) };
    (lower, solve(|mean| at_most(count, mean) <= TAIL))
}

/// Probability of `count` or fewer at this mean.
fn at_most(count: u64, mean: f64) -> f64 {
    let mut term = libm::exp(-mean);
    let mut sum = term;
    for k in 1..=count {
        term *= mean / k as f64;
        sum += term;
    }
    sum
}

/// The least mean for which `reached` holds; it must hold from some mean on.
fn solve(reached: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 4.0 * EXACT_MAX as f64);
    for _ in 0..100 {
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
        // Garwood 1936 and any table of it.
        for (count, lower, upper) in [
            (0, 0.0, 3.689),
            (1, 0.0253, 5.572),
            (5, 1.623, 11.668),
            (10, 4.795, 18.390),
            (100, 81.364, 121.627),
        ] {
            let (low, high) = poisson_interval(count);
            assert!((low - lower).abs() < 1e-3 && (high - upper).abs() < 1e-3, "{count}: {low} {high}");
        }
    }

    #[test]
    fn the_approximation_joins_smoothly() {
        let (low, high) = poisson_interval(EXACT_MAX);
        let (next_low, next_high) = poisson_interval(EXACT_MAX + 1);
        assert!((next_low - low - 0.9).abs() < 0.2 && (next_high - high - 1.1).abs() < 0.2);
    }
}
