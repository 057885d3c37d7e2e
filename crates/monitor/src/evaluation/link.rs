//! A generated link.

use crate::counters::{Increment, Reading};
use linkmend_random::Random;

/// A link with frames at a steady rate, each corrupted independently.
pub(super) struct Link {
    random: Random,
    loss_rate: f64,
    frames_per_poll: u64,
    /// Frames before the next corrupted one.
    gap: u64,
    reading: Reading,
}

impl Link {
    /// A link that corrupts nothing yet.
    pub(super) fn new(random: Random, frames_per_poll: u64) -> Link {
        let reading = Reading { corrupted_frames: Some(0), ..Reading::default() };
        Link { random, loss_rate: 0.0, frames_per_poll, gap: u64::MAX, reading }
    }

    pub(super) fn corrupt(&mut self, loss_rate: f64) {
        self.loss_rate = loss_rate;
        self.gap = self.random.geometric(loss_rate);
    }

    /// What arrives until the next poll, of which only a share may be corrupted already.
    pub(super) fn poll(&mut self, share: f64) -> Increment {
        let at_risk = (self.frames_per_poll as f64 * share) as u64;
        let (mut left, mut corrupted) = (at_risk, 0);
        while self.gap < left {
            left -= self.gap + 1;
            corrupted += 1;
            self.gap = self.random.geometric(self.loss_rate);
        }
        self.gap = self.gap.saturating_sub(left);
        self.reading.good_frames += self.frames_per_poll - corrupted;
        self.reading.corrupted_frames = self.reading.corrupted_frames.map(|count| count + corrupted);
        Increment { frames: self.frames_per_poll, corrupted }
    }

    /// What the port has counted.
    pub(super) fn reading(&self) -> Reading {
        self.reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrupted_frames_have_their_rate() {
        let mut link = Link::new(Random::new(1, "link"), 1_000_000);
        assert_eq!(link.poll(1.0), Increment { frames: 1_000_000, corrupted: 0 });
        link.corrupt(1e-4);
        let corrupted: u64 = (0..100).map(|_| link.poll(1.0).corrupted).sum();
        // 10,000 of them, give or take four standard deviations.
        assert!((9_600..10_400).contains(&corrupted), "{corrupted}");
        assert_eq!(link.reading().corrupted_frames, Some(corrupted));
    }
}
