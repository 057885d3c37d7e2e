//! When a link fails: the same times for everything that is compared.

use crate::random::Random;
use crate::time::Time;

/// The times at which a link fails, one after the other.
#[derive(Debug, Clone)]
pub(crate) struct FailureTimes {
    random: Random,
    every: Time,
    jitter: Time,
    at: Time,
}

impl FailureTimes {
    /// For the link with this number: `first`, and then every `every` on average, randomly up to `jitter` earlier or
    /// later.
    pub(crate) fn new(seed: u64, link: u32, first: Time, every: Time, jitter: Time) -> FailureTimes {
        FailureTimes {
            random: Random::new(seed, &format!("failures of link {link}")),
            every,
            jitter,
            at: first,
        }
    }

    /// The time drawn last.
    pub(crate) fn at(&self) -> Time {
        self.at
    }

    /// Draws times until one is later than `now`.
    pub(crate) fn skip_to(&mut self, now: Time) {
        while self.at <= now {
            let later = (2.0 * self.jitter.0 as f64 * self.random.uniform()) as u64;
            self.at += self.every - self.jitter + Time(later);
        }
    }
}
