//! Losses in bursts: the two-state chain of Gilbert (1960) and Elliott (1963), with a lossless good state and a bad
//! state in which every frame is lost.

use linkmend_random::Random;

/// Draws how long each state lasts. Both lengths are geometric and at least one frame.
#[derive(Debug, Clone)]
pub(super) struct GilbertElliott {
    loss: f64,
    /// Probability that a good frame is followed by a bad one, and the reverse.
    to_bad: f64,
    to_good: f64,
    /// Corrupted frames that this burst still has; drawn when its first frame is taken.
    bad_left: u64,
}

impl GilbertElliott {
    /// `loss` is the stationary share of the bad state, above 0 and below 1; a burst lasts `mean_burst_frames` on
    /// average, at least 1 and at least `loss / (1 - loss)`.
    pub(super) fn new(loss: f64, mean_burst_frames: f64) -> GilbertElliott {
        let to_good = 1.0 / mean_burst_frames;
        // In the stationary state as many frames enter the bad state as leave it. Rounding may exceed 1 at the limit.
        let to_bad = (to_good * loss / (1.0 - loss)).min(1.0);
        GilbertElliott { loss, to_bad, to_good, bad_left: 0 }
    }

    /// Clean frames before the first corrupted one. The chain begins in its stationary state. What remains of that
    /// state is as long as a whole one, because its length has no memory.
    pub(super) fn first_gap(&mut self, random: &mut Random) -> u64 {
        if random.uniform() < self.loss { 0 } else { self.good_frames(random) }
    }

    /// Takes one corrupted frame, and returns how many clean frames follow before the next.
    pub(super) fn gap(&mut self, random: &mut Random) -> u64 {
        if self.bad_left == 0 {
            self.bad_left = random.geometric(self.to_good).saturating_add(1);
        }
        self.bad_left -= 1;
        if self.bad_left > 0 { 0 } else { self.good_frames(random) }
    }

    fn good_frames(&self, random: &mut Random) -> u64 {
        random.geometric(self.to_bad).saturating_add(1)
    }
}
