//! Sums of loss rates that do not depend on the order of additions and subtractions.
//!
//! A year adds and removes a hundred thousand rates from 10^-18 to 10^-2. A floating-point sum would keep the rounding
//! errors of the large ones after they are removed. Here a rate is an integer multiple of 2^-94: exact for every rate
//! of at least 2^-42 (2 · 10^-13), and within 2^-94 below that.

/// A sum of numbers from 0 to 1. It may hold up to 2^31 of them at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExactSum(i128);

/// How many steps of 2^-94 make 1.
const SCALE: f64 = (1_u128 << 94) as f64;

impl ExactSum {
    /// Adds a number.
    pub fn add(&mut self, value: f64) {
        self.0 += steps(value);
    }

    /// Adds a number `times` times.
    pub fn add_times(&mut self, value: f64, times: u64) {
        self.0 += steps(value) * i128::from(times);
    }

    /// Removes a number that was added before.
    pub fn remove(&mut self, value: f64) {
        self.0 -= steps(value);
    }

    /// The sum, rounded once to a floating-point number.
    pub fn value(self) -> f64 {
        value(self.0)
    }
}

/// A number from 0 to 1 in steps of 2^-94.
pub(crate) fn steps(value: f64) -> i128 {
    (value * SCALE) as i128
}

/// The value of a number of steps of 2^-94, rounded once.
pub(crate) fn value(steps: i128) -> f64 {
    steps as f64 / SCALE
}

#[cfg(test)]
mod tests {
    use super::ExactSum;

    #[test]
    fn small_rates_survive_large_ones() {
        let mut sum = ExactSum::default();
        sum.add_times(1e-18, 100_224);
        let before = sum.value();
        for step in 1..10_000 {
            sum.add(1e-2 / f64::from(step));
        }
        for step in 1..10_000 {
            sum.remove(1e-2 / f64::from(step));
        }
        assert_eq!(sum.value(), before);
        assert!((before / (100_224.0 * 1e-18) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn two_to_the_31_of_the_largest_fit() {
        let mut sum = ExactSum::default();
        sum.add_times(1.0, 1 << 31);
        assert_eq!(sum.value(), f64::from(1_u32 << 31));
    }
}
