//! Random numbers of the tests: one stream of the project's generator for each seed.

#[derive(Debug, Clone)]
pub struct Random(linkmend_random::Random);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(linkmend_random::Random::new(seed, "protocol tests"))
    }

    pub fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Below `bound`, which is above 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// In `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// In `low..=high`, every order of magnitude equally likely.
    pub fn log_between(&mut self, low: u64, high: u64) -> u64 {
        let (low_bits, high_bits) = (low.max(1).ilog2(), high.max(1).ilog2());
        let bits = self.between(low_bits.into(), high_bits.into());
        let value = (1 << bits) | self.below(1 << bits);
        value.clamp(low, high)
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.0.uniform() < probability
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}
