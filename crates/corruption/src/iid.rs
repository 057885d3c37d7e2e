//! Independent losses, with one probability for all frames.

use linkmend_random::Random;

/// Draws how many frames pass between two corrupted ones, instead of a random number for each frame.
#[derive(Debug, Clone)]
pub(super) struct Iid {
    /// Above 0, at most 1.
    pub(super) loss: f64,
}

impl Iid {
    /// Clean frames before the next corrupted one.
    pub(super) fn gap(&self, random: &mut Random) -> u64 {
        random.geometric(self.loss)
    }
}
