//! The largest of the samples of the last rounds.

/// Rounds that a sample counts for (BBR's BtlBwFilterLen).
pub const ROUNDS: usize = 10;

/// The exact maximum over the last [`ROUNDS`] rounds: the largest sample of each round is kept.
#[derive(Debug, Clone, Default)]
pub struct MaxFilter {
    /// By the round's number modulo [`ROUNDS`].
    largest: [u64; ROUNDS],
    round: u64,
    maximum: u64,
}

impl MaxFilter {
    /// The largest sample, or 0 if there is none.
    pub fn maximum(&self) -> u64 {
        self.maximum
    }

    /// Adds a sample of round `round`, which is no earlier than those before.
    pub fn update(&mut self, round: u64, sample: u64) {
        self.advance(round);
        let place = &mut self.largest[index(self.round)];
        *place = sample.max(*place);
        self.maximum = self.maximum.max(sample);
    }

    /// Forgets what is older than [`ROUNDS`] rounds.
    fn advance(&mut self, round: u64) {
        let passed = round.saturating_sub(self.round);
        if passed == 0 {
            return;
        }
        for step in 1..=passed.min(ROUNDS as u64) {
            self.largest[index(self.round.wrapping_add(step))] = 0;
        }
        if passed > ROUNDS as u64 {
            self.largest = [0; ROUNDS];
        }
        self.round = round;
        self.maximum = self.largest.iter().copied().max().unwrap_or(0);
    }
}

fn index(round: u64) -> usize {
    (round % ROUNDS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_largest_sample_of_ten_rounds(steps in prop::collection::vec((0_u64..14, 0_u64..1_000), 1..200)) {
            let (mut filter, mut round, mut all) = (MaxFilter::default(), 0, Vec::new());
            for (step, sample) in steps {
                round += step;
                all.push((round, sample));
                filter.update(round, sample);
                let recent = all.iter().filter(|(at, _)| at + ROUNDS as u64 > round);
                prop_assert_eq!(Some(filter.maximum()), recent.map(|(_, sample)| *sample).max());
            }
        }
    }
}
