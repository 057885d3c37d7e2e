//! A model of a path's losses: Gilbert and Elliott's two states, of which one loses everything and the other nothing.

/// How a path loses frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Losses {
    /// Share of frames that are lost, 0 to 1.
    pub rate: f64,
    /// Frames that are lost in a row on average, at least 1. With independent losses, it is `1 / (1 - rate)`.
    pub burst: f64,
}

impl Losses {
    /// Each frame is lost with this probability, whatever became of the one before it.
    pub fn independent(rate: f64) -> Losses {
        Losses { rate, burst: 1.0 / (1.0 - rate.min(0.99)) }
    }

    /// Probability that a frame is lost if the frame before it was.
    pub fn continues(self) -> f64 {
        1.0 - 1.0 / self.burst.max(1.0)
    }

    /// Probability that so many frames in a row are all lost.
    pub(crate) fn all_lost(self, frames: u8) -> f64 {
        self.rate * libm::pow(self.continues(), f64::from(frames) - 1.0)
    }

    /// Probability that a frame is lost if the frame before it was not.
    fn begins(self) -> f64 {
        let kept = (1.0 - self.rate).max(1e-9);
        (self.rate * (1.0 - self.continues()) / kept).clamp(0.0, 1.0)
    }

    /// For each number of frames from 1 to `frames_max`, the probability that 0, 1, ... of so many frames in a row are lost.
    pub(crate) fn distributions(self, frames_max: usize) -> Vec<Vec<f64>> {
        let (continues, begins) = (self.continues(), self.begins());
        let mut all = Vec::with_capacity(frames_max);
        // By the number of lost frames, and whether the last one was lost.
        let mut kept = vec![1.0 - self.rate, 0.0];
        let mut lost = vec![0.0, self.rate];
        for frames in 1..=frames_max {
            all.push(kept.iter().zip(&lost).map(|(kept, lost)| kept + lost).collect());
            let mut next_kept = vec![0.0; frames + 2];
            let mut next_lost = vec![0.0; frames + 2];
            for (count, (was_kept, was_lost)) in kept.iter().zip(&lost).enumerate() {
                next_kept[count] += was_kept * (1.0 - begins) + was_lost * (1.0 - continues);
                next_lost[count + 1] += was_kept * begins + was_lost * continues;
            }
            (kept, lost) = (next_kept, next_lost);
        }
        all
    }
}

/// Share of frames that remain lost in groups with this distribution of losses, of which `parity` are restored: all or
/// nothing.
pub(crate) fn unrestored(distribution: &[f64], parity: usize) -> f64 {
    let frames = distribution.len().saturating_sub(1).max(1) as f64;
    let beyond = distribution.iter().enumerate().skip(parity + 1);
    beyond.map(|(lost, probability)| probability * lost as f64 / frames).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_losses_are_binomial() {
        let all = Losses::independent(0.1).distributions(3);
        let expected = [0.729, 0.243, 0.027, 0.001];
        for (probability, expected) in all[2].iter().zip(expected) {
            assert!((probability - expected).abs() < 1e-12, "{probability}, not {expected}");
        }
        // A frame is not restored by one parity frame if it is lost together with another: 0.1 * (1 - 0.9 * 0.9).
        assert!((unrestored(&all[2], 1) - 0.019).abs() < 1e-12);
        assert!((unrestored(&all[2], 0) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn bursts_keep_the_rate_and_need_more_parity() {
        let losses = Losses { rate: 0.05, burst: 8.0 };
        let all = losses.distributions(30);
        for distribution in &all {
            assert!((distribution.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert!((unrestored(distribution, 0) - 0.05).abs() < 1e-9);
        }
        let independent = Losses::independent(0.05).distributions(30);
        assert!(unrestored(&all[29], 6) > 100.0 * unrestored(&independent[29], 6));
    }
}
