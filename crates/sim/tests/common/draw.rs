//! Random parameters.

use linkmend_sim::random::Random;

/// Draws from one stream of random numbers.
pub struct Draw(Random);

impl Draw {
    pub fn new(seed: u64, stream: &str) -> Draw {
        Draw(Random::new(seed, stream))
    }

    /// In `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = u128::from(high - low) + 1;
        low + ((u128::from(self.0.next_u64()) * span) >> 64) as u64
    }

    /// In `low..high`, every order of magnitude equally likely.
    pub fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        libm::exp(libm::log(low) + self.0.uniform() * libm::log(high / low))
    }

    /// The same among whole numbers.
    pub fn log_between(&mut self, low: u64, high: u64) -> u64 {
        (self.log_uniform(low as f64, (high + 1) as f64) as u64).clamp(low, high)
    }

    /// One time in `of`.
    pub fn one_in(&mut self, of: u64) -> bool {
        self.between(1, of) == 1
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.between(0, from.len() as u64 - 1) as usize]
    }

    /// In `low..high`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + self.0.uniform() * (high - low)
    }
}
