//! Random numbers: one seed per run, split into a stream per component.
//!
//! The same seed and stream name give the same numbers on every machine. The generator is xoshiro256++ (Blackman and
//! Vigna, 2019), and logarithms come from `libm`, because the standard library's may differ from one platform to the
//! next.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// 2^-53, the spacing of the uniform numbers.
const UNIFORM_STEP: f64 = 1.0 / (1_u64 << 53) as f64;

/// One component's stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random {
    generator: Xoshiro256PlusPlus,
}

impl Random {
    /// The stream named `stream` of the run with this seed. Streams with different names are independent: a component
    /// that draws more numbers leaves those of the others unchanged.
    pub fn new(seed: u64, stream: &str) -> Random {
        // Neighbouring seeds are made to differ in all bits before they are combined with the name; the generator's own
        // seeding then expands the result to its 256 bits of state.
        let seed = mix(seed) ^ fnv1a(stream.as_bytes());
        Random { generator: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform from 0, included, to 1, excluded, in steps of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * UNIFORM_STEP
    }

    /// Uniform from 0, excluded, to 1, included, in steps of 2^-53: its logarithm is finite.
    pub fn uniform_open(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * UNIFORM_STEP
    }

    /// Exponentially distributed with mean 1; 0 to 36.8.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform_open())
    }

    /// How many trials fail before the first success, when each succeeds with probability `p`. Values that do not fit
    /// are `u64::MAX`.
    ///
    /// # Panics
    /// If `p` is not above 0 and at most 1.
    pub fn geometric(&mut self, p: f64) -> u64 {
        assert!(p > 0.0 && p <= 1.0, "a success needs a probability above 0 and at most 1, not {p}");
        // Inversion: an exponential number in units of the trial's hazard, rounded down. At p = 1 the hazard is
        // infinite and the quotient zero. The cast saturates.
        (self.exponential() / -libm::log1p(-p)) as u64
    }
}

/// Mixes the bits of a number, for hashes that need no secret: one step of SplitMix64 (Steele, Lea and Flood, OOPSLA
/// 2014), a bijection in which every input bit reaches every output bit.
#[inline]
pub const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// 64-bit FNV-1a.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From an independent implementation of the generator and of its seeding.
    #[test]
    fn the_numbers_of_a_seed_and_a_name_never_change() {
        let mut random = Random::new(1, "corruption");
        assert_eq!([random.next_u64(), random.next_u64()], [0x0ea1_fd46_d1d2_0855, 0x87d7_b0d1_1382_13ae]);
        assert_eq!([1e-3, 1e-9, 0.5].map(|p| random.geometric(p)), [679, 348_206_606, 0]);
    }

    #[test]
    fn seeds_and_names_give_streams_of_their_own() {
        let mut firsts: Vec<u64> = Vec::new();
        for seed in 0..100 {
            for stream in ["", "a", "b", "link", "link 1", "link 2"] {
                firsts.push(Random::new(seed, stream).next_u64());
            }
        }
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 600);
    }

    #[test]
    fn uniform_numbers_stay_within_their_bounds_and_fill_them() {
        let mut random = Random::new(2, "uniform");
        let numbers: Vec<f64> = (0..100_000).map(|_| random.uniform()).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        assert!((0..100_000).map(|_| random.uniform_open()).all(|number| number > 0.0 && number <= 1.0));
        // Variance 1/12; five standard deviations of the mean.
        let mean = numbers.iter().sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 5.0 * libm::sqrt(1.0 / 12.0 / 1e5), "{mean}");
        // Each of a hundred equal parts holds a binomially distributed number of them.
        let mut parts = [0_u32; 100];
        for number in numbers {
            parts[(number * 100.0) as usize] += 1;
        }
        let bound = 5.0 * libm::sqrt(1e5 * 0.01 * 0.99);
        assert!(parts.iter().all(|&count| (f64::from(count) - 1e3).abs() < bound), "{parts:?}");
    }

    #[test]
    fn geometric_numbers_have_their_distribution() {
        for p in [0.9, 0.5, 0.05] {
            let mut random = Random::new(3, "geometric");
            let draws = 200_000;
            let mut at_least = [0_u32; 8];
            for _ in 0..draws {
                let failures = random.geometric(p);
                for (least, count) in at_least.iter_mut().enumerate() {
                    *count += u32::from(failures >= least as u64);
                }
            }
            for (least, &count) in at_least.iter().enumerate() {
                let share = libm::pow(1.0 - p, least as f64);
                // Five standard deviations of a binomial number, and half a draw where it is nearly constant.
                let bound = 5.0 * libm::sqrt(f64::from(draws) * share * (1.0 - share)) + 0.5;
                let error = f64::from(count) - f64::from(draws) * share;
                assert!(error.abs() < bound, "p {p}: at least {least} in {count} of {draws}");
            }
        }
    }

    #[test]
    fn the_exponential_mean_is_one_and_small_probabilities_scale_it() {
        let mut random = Random::new(4, "exponential");
        let draws = 100_000;
        let mean = (0..draws).map(|_| random.exponential()).sum::<f64>() / f64::from(draws);
        // Standard deviation 1; five of the mean's.
        assert!((mean - 1.0).abs() < 5.0 / libm::sqrt(f64::from(draws)), "{mean}");
        let mean = (0..draws).map(|_| random.geometric(1e-12) as f64).sum::<f64>() / f64::from(draws);
        assert!((mean * 1e-12 - 1.0).abs() < 5.0 / libm::sqrt(f64::from(draws)), "{mean}");
    }

    #[test]
    fn geometric_numbers_at_the_ends_of_the_range() {
        let mut random = Random::new(5, "ends");
        assert!((0..1_000).all(|_| random.geometric(1.0) == 0));
        assert!((0..1_000).all(|_| random.geometric(f64::MIN_POSITIVE) == u64::MAX));
    }

    #[test]
    #[should_panic(expected = "a success needs a probability above 0 and at most 1, not 0")]
    fn a_success_that_never_comes_is_refused() {
        Random::new(6, "never").geometric(0.0);
    }
}
