//! Every frame alike and on its own.

use crate::random::Random;

/// Draws how many frames pass between two corrupted ones, instead of tossing a coin for each.
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
