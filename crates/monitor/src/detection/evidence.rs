//! How much speaks for corruption.

use super::window::{Stretch, Window};
use linkmend_statistics::{Counted, poisson_at_least};

/// Corrupted frames in one poll may be one event, such as a hand on the cable. Corruption lasts.
const POLLS_LEAST: u32 = 2;
/// A burst of codewords that lasts no longer than a poll interval may be in two polls. In three, there are two, or a long one.
pub(super) const CODEWORD_POLLS_LEAST: u32 = 3;

/// What a stretch counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Of {
    #[default]
    Frames,
    /// Codewords, in frames of a link that is full: see [`Codewords`](crate::counters::Codewords).
    Codewords,
}

/// The stretch up to now that speaks most for corruption above some rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    pub stretch: Stretch,
    /// The probability that this many frames or more are corrupted in some stretch of the window, if the rate is no higher
    /// than the one it was held against.
    pub chance: f64,
    pub of: Of,
    /// How many of what was counted are one event, at least 1.
    pub dispersion: f64,
    /// The loss rate that the other of frames and codewords shows in addition.
    pub also: f64,
}

impl Evidence {
    /// Looks for the stretch up to now whose corrupted frames are least likely at this rate; `None` if none has more of them
    /// than expected. One with corrupted frames in several polls, if it rules out chance at `false_alarm`, comes before one
    /// that may be a single event: bursts that come again are corruption, although the latest alone weighs more. The
    /// likelihood ratio finds it (the scan statistic of Kulldorff, 1997, in one dimension), and its probability, exact for a
    /// Poisson distribution, counts once for each stretch that was tried (Bonferroni).
    pub fn above(rate: f64, window: &Window, false_alarm: f64) -> Option<Evidence> {
        let mut tried = 0;
        let mut best: Option<(f64, Stretch)> = None;
        let mut lasting = best;
        for stretch in window.up_to_now() {
            tried += 1;
            let ratio = log_likelihood_ratio(stretch, rate);
            let take = |place: &mut Option<(f64, Stretch)>| {
                if ratio > place.map_or(0.0, |(ratio, _)| ratio) {
                    *place = Some((ratio, stretch));
                }
            };
            take(&mut best);
            if stretch.corrupted_polls >= POLLS_LEAST {
                take(&mut lasting);
            }
        }
        let evidence = |(_, stretch): (f64, Stretch)| {
            let expected = rate * stretch.frames as f64;
            let chance = (poisson_at_least(stretch.corrupted, expected) * f64::from(tried)).min(1.0);
            Evidence { stretch, chance, of: Of::Frames, dispersion: 1.0, also: 0.0 }
        };
        lasting
            .map(evidence)
            .filter(|found| found.rules_out_chance(false_alarm))
            .or_else(|| best.map(evidence))
    }

    /// Whether chance is ruled out, at this probability, and one event as well.
    pub fn rules_out_chance(&self, false_alarm: f64) -> bool {
        let polls = match self.of {
            Of::Frames => POLLS_LEAST,
            Of::Codewords => CODEWORD_POLLS_LEAST,
        };
        self.stretch.corrupted_polls >= polls && self.chance <= false_alarm
    }

    /// This evidence, with another of losses that it does not count.
    pub(super) fn with(self, other: Evidence) -> Evidence {
        Evidence { also: other.loss_rate(), ..self }
    }

    /// Share of the stretch's frames that were corrupted, and what others show in addition.
    pub fn loss_rate(&self) -> f64 {
        (self.stretch.loss_rate().unwrap_or(0.0) + self.also).min(1.0)
    }

    /// The 95 % confidence interval of the loss rate (Garwood 1936), of events and not of all that one event corrupts.
    pub fn interval(&self) -> (f64, f64) {
        let frames = self.stretch.frames.max(1) as f64;
        let events = libm::floor(self.stretch.corrupted as f64 / self.dispersion) as u64;
        let (low, high) = Counted::single(events, 1.0).interval(1.0);
        let of = |count: f64| (count * self.dispersion / frames + self.also).min(1.0);
        (of(low), of(high))
    }
}

/// How much more likely the corrupted frames of a stretch are at the rate that they show than at this one, as a
/// logarithm; 0 if they are fewer.
pub(super) fn log_likelihood_ratio(stretch: Stretch, rate: f64) -> f64 {
    let (corrupted, expected) = (stretch.corrupted as f64, rate * stretch.frames as f64);
    if stretch.corrupted == 0 || corrupted <= expected {
        return 0.0;
    }
    corrupted * libm::log(corrupted / expected) - (corrupted - expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Increment;
    use std::time::Duration;

    fn above(rate: f64, window: &Window) -> Option<Evidence> {
        Evidence::above(rate, window, 1e-6)
    }

    /// 5,000 corrupted frames in one poll of 8 million, every half an hour.
    #[test]
    fn bursts_that_come_again_are_corruption() {
        let mut polls = vec![(8_000_000, 0); 3_600];
        (polls[1_700].1, polls[3_599].1) = (5_000, 5_000);
        let evidence = above(1e-8, &window(&polls)).expect("there is some");
        assert!(evidence.rules_out_chance(1e-6), "{evidence:?}");
        assert_eq!(evidence.stretch.corrupted, 10_000);
    }

    fn window(polls: &[(u64, u64)]) -> Window {
        let mut window = Window::default();
        for (number, &(frames, corrupted)) in polls.iter().enumerate() {
            window.push(Duration::from_secs(number as u64), Increment { frames, corrupted });
        }
        window
    }

    #[test]
    fn a_single_corrupted_frame_is_no_proof_and_not_hidden() {
        for frames in [1, 1_000, 100_000_000] {
            let evidence = above(1e-8, &window(&[(frames, 0), (frames, 1)]));
            if let Some(evidence) = evidence {
                assert!(!evidence.rules_out_chance(1e-6), "{evidence:?}");
            }
        }
        assert!(above(1e-8, &window(&[(1_000, 0), (1_000, 1)])).is_some());
        // Many in one poll are one event, and two events are proof on a link as quiet as this.
        assert!(!above(1e-8, &window(&[(1_000, 0), (1_000, 90)])).unwrap().rules_out_chance(1e-6));
        assert!(above(1e-8, &window(&[(1_000, 1), (1_000, 1)])).unwrap().rules_out_chance(1e-6));
    }

    #[test]
    fn a_new_rate_is_found_at_once_behind_a_long_healthy_past() {
        let mut polls = vec![(8_000_000, 0); 3_600];
        polls.extend([(8_000_000, 8_000), (8_000_000, 8_010)]);
        let evidence = above(1e-8, &window(&polls)).expect("there is some");
        assert!(evidence.rules_out_chance(1e-6));
        assert_eq!((evidence.stretch.frames, evidence.stretch.corrupted), (16_000_000, 16_010));
        let (low, high) = evidence.interval();
        assert!((0.98e-3..1e-3).contains(&low) && (1e-3..1.03e-3).contains(&high), "{low} {high}");
    }

    #[test]
    fn as_many_as_expected_or_fewer_are_no_evidence() {
        assert_eq!(above(1e-8, &window(&[(100_000_000, 1), (200_000_000, 2)])), None);
        assert_eq!(above(1e-8, &window(&[(100_000_000, 0)])), None);
        assert_eq!(above(1e-8, &Window::default()), None);
    }
}
