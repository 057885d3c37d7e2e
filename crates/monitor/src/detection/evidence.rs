//! How much speaks for corruption.
//!
//! Frames and codewords are lost in bursts, which are not independent trials. How much more the counts of polls vary than by
//! chance (the index of dispersion) says how many of what was counted are one event, and so many fewer events are held against
//! chance (quasi-Poisson, McCullagh and Nelder 1989).

use super::window::{Stretch, Window};
use linkmend_statistics::{Counted, poisson_at_least};

/// What a stretch counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Of {
    #[default]
    Frames,
    /// Codewords, in frames of a link that is full: see [`Codewords`](crate::counters::Codewords).
    Codewords,
}

impl Of {
    /// In how many polls something must be corrupted. In one poll, it may be a single event, such as a hand on the cable;
    /// corruption lasts. An idle link has codewords in every poll, so that a single burst may well be in two of them.
    const fn polls_least(self) -> u32 {
        match self {
            Of::Frames => 2,
            Of::Codewords => 3,
        }
    }
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
    /// Poisson distribution of events, counts once for each stretch that was tried (Bonferroni).
    pub(super) fn above(rate: f64, of: Of, window: &Window, false_alarm: f64) -> Option<Evidence> {
        let mut tried = 0_u32;
        let (mut best, mut lasting): (Option<Candidate>, Option<Candidate>) = (None, None);
        for stretch in window.up_to_now() {
            tried += 1;
            let dispersion = dispersion(stretch);
            let found =
                Candidate { stretch, dispersion, ratio: log_likelihood_ratio(stretch, rate) / dispersion };
            found.replace(&mut best);
            if stretch.corrupted_polls >= of.polls_least() {
                found.replace(&mut lasting);
            }
        }
        let evidence = |Candidate { stretch, dispersion, .. }| {
            let expected = rate * stretch.frames as f64 / dispersion;
            let chance = poisson_at_least(events(stretch, dispersion), expected) * f64::from(tried);
            Evidence { stretch, chance: chance.min(1.0), of, dispersion, also: 0.0 }
        };
        let lasting = lasting.map(evidence).filter(|found| found.rules_out_chance(false_alarm));
        lasting.or_else(|| best.map(evidence))
    }

    /// Whether chance is ruled out, at this probability, and one event as well.
    pub fn rules_out_chance(&self, false_alarm: f64) -> bool {
        self.stretch.corrupted_polls >= self.of.polls_least() && self.chance <= false_alarm
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
        let (low, high) = Counted::single(events(self.stretch, self.dispersion), 1.0).interval(1.0);
        let of = |count: f64| (count * self.dispersion / frames + self.also).min(1.0);
        (of(low), of(high))
    }
}

/// A stretch that may be the one.
#[derive(Clone, Copy)]
struct Candidate {
    stretch: Stretch,
    dispersion: f64,
    ratio: f64,
}

impl Candidate {
    fn replace(self, place: &mut Option<Candidate>) {
        if self.ratio > place.map_or(0.0, |found| found.ratio) {
            *place = Some(self);
        }
    }
}

fn events(stretch: Stretch, dispersion: f64) -> u64 {
    libm::floor(stretch.corrupted as f64 / dispersion) as u64
}

/// Pearson's statistic of the polls over its degrees of freedom: how much more what each has counted differs from its share
/// of the stretch's loss rate than independent events would. At least 1, and at most all that was counted. Polls with fewer
/// frames have a smaller share, so that traffic that comes and goes is no burst.
fn dispersion(stretch: Stretch) -> f64 {
    if stretch.polls < 2 || stretch.corrupted == 0 {
        return 1.0;
    }
    let (count, polls) = (stretch.corrupted as f64, f64::from(stretch.polls));
    let statistic = stretch.squares_by_frames * stretch.frames as f64 / count - count;
    (statistic / (polls - 1.0)).clamp(1.0, count)
}

/// How much more likely the corrupted frames of a stretch are at the rate that they show than at this one, as a
/// logarithm; 0 if they are fewer.
fn log_likelihood_ratio(stretch: Stretch, rate: f64) -> f64 {
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
        Evidence::above(rate, Of::Frames, window, 1e-6)
    }

    /// An outside tester's trace: 5,000 corrupted frames in one poll of 8 million, every half an hour. Two such bursts in an hour
    /// are chance once in 600 hours.
    #[test]
    fn bursts_that_come_again_are_corruption() {
        let bursts = |count: usize| {
            let burst = |second| if second % 1_800 == 1_799 { 5_000 } else { 0 };
            let polls: Vec<_> = (0..count * 1_800).map(|second| (8_000_000, burst(second))).collect();
            above(1e-8, &window(&polls)).is_some_and(|found| found.rules_out_chance(1e-6))
        };
        assert_eq!((2..20).find(|&count| bursts(count)), Some(7));
    }

    /// A link that loses a frame every three minutes, and 5,000 while somebody holds its cable.
    #[test]
    fn a_hand_on_the_cable_is_one_event_among_single_ones() {
        let polls: Vec<_> = (0..3_600)
            .map(|second| (4_000_000, if second == 3_000 { 5_000 } else { u64::from(second % 180 == 0) }))
            .collect();
        let evidence = above(1e-8, &window(&polls));
        assert!(evidence.is_none_or(|found| !found.rules_out_chance(1e-6)), "{evidence:?}");
    }

    /// A link that loses a thousandth of what it carries, under traffic that stops and starts.
    #[test]
    fn traffic_that_comes_and_goes_is_no_burst() {
        let polls: Vec<_> = (0..60_u64).map(|second| (20_000 * (second % 5), 20 * (second % 5))).collect();
        let evidence = above(1e-8, &window(&polls)).expect("there is some");
        assert!(evidence.rules_out_chance(1e-6) && evidence.dispersion < 1.5, "{evidence:?}");
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
