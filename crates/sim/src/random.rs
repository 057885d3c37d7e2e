//! Random numbers: one seed per run, split into a stream per component.
//!
//! The same seed and stream name give the same numbers on every machine. The generator is xoshiro256++, whose output
//! its crate guarantees across platforms and releases, and logarithms come from `libm`, because the standard library's
//! may differ from one platform to the next.

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
    /// The stream named `stream` of the run with this seed. Streams with different names do not follow from each other,
    /// so that a component which draws more numbers leaves the others' unchanged.
    pub fn new(seed: u64, stream: &str) -> Random {
        // Neighbouring seeds differ in all bits before they meet the name; the generator's own seeding then expands the
        // result to its 256 bits of state.
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
        // Inversion: an exponential number in units of the trial's hazard, rounded down. At p = 1 the hazard is infinite
        // and the quotient zero. The cast saturates.
        (self.exponential() / -libm::log1p(-p)) as u64
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a bijection in which every input bit reaches every
/// output bit.
fn mix(value: u64) -> u64 {
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

    #[test]
    fn streams_differ_and_repeat() {
        assert_eq!(Random::new(1, "link").next_u64(), Random::new(1, "link").next_u64());
        assert_ne!(Random::new(1, "link").next_u64(), Random::new(1, "host").next_u64());
        assert_ne!(Random::new(1, "link").next_u64(), Random::new(2, "link").next_u64());
    }
}
