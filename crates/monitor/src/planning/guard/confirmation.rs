//! Whether what a link has counted since the plan wants it disabled confirms the rate that it was found with.

use crate::PortName;
use crate::findings::Counted;
use linkmend_statistics::poisson_at_least;
use std::collections::BTreeMap;

/// What times in whole seconds may be wrong by.
pub(super) const ROUNDING_S: u64 = 2;
/// Frames that a link has corrupted meanwhile confirm that it is to be disabled once they rule out, at this probability, that it
/// corrupts no more than a tenth of the rate it was found with ...
const CONFIRMED: f64 = 1e-6;
const SHARE_LEAST: f64 = 0.1;
/// ... and were found in several polls: those of a single one may be one event.
const POLLS_LEAST: u64 = 2;

/// A link that is to be disabled.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Since when, without a break. So long, no other link could explain what it counts.
    pub since_s: u64,
    /// When it counted the latest corrupted frame, as its own agents find.
    pub corrupted_at_s: Option<u64>,
    /// The rate it was found with.
    pub loss_rate: f64,
    /// What each of its ports had counted before, and has counted since.
    pub counted: BTreeMap<PortName, (Counted, Counted)>,
}

impl Wanted {
    /// Takes what a port has counted by now.
    pub fn count(&mut self, port: &PortName, corrupted_at_s: u64, counted: Counted) {
        let is_before = corrupted_at_s <= self.since_s + ROUNDING_S;
        let (before, now) = self.counted.entry(port.clone()).or_insert((counted, counted));
        *now = counted;
        // Of the latest poll, it is not known when in it frames were corrupted.
        if is_before || counted.since(*before).is_none() {
            *before = counted;
        }
    }

    /// What speaks most for it of what a port has counted since; `None` if that confirms the rate it was found with.
    pub fn unconfirmed(&self) -> Option<Counted> {
        let since = |(before, now): &(Counted, Counted)| now.since(*before).unwrap_or_default();
        let chance = |new: &Counted| {
            let expected = self.loss_rate * SHARE_LEAST * new.frames as f64;
            if new.corrupted_polls < POLLS_LEAST { 1.0 } else { poisson_at_least(new.corrupted, expected) }
        };
        let best =
            self.counted.values().map(since).min_by(|one, other| chance(one).total_cmp(&chance(other)));
        let best = best.unwrap_or_default();
        (chance(&best) > CONFIRMED).then_some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{guard, verdict};
    use super::super::{Hold, Verdict};
    use super::*;
    use crate::findings::{Finding, PortFinding};
    use crate::planning::Known;

    /// What is known of a link that has been found with a rate of 1e-2, and by a time has corrupted so many of so many frames.
    fn confirming(at_s: u64, link: &Verdict, counted: Counted) -> Known {
        let of = PortFinding { counted: Some(counted), ..PortFinding::new(Finding::Corrupting, None) };
        let findings = BTreeMap::from([(link.ports[0].clone(), of)]);
        Known { at_s, heard_at_s: at_s, findings, ..Known::default() }
    }

    /// A single corrupted frame was enough, however many frames there were beside it.
    #[test]
    fn a_few_corrupted_frames_among_many_do_not_confirm_the_rate_that_was_found() {
        let hold = |frames: u64, corrupted: u64, corrupted_polls: u64| {
            let (mut guard, link) = (guard(), verdict(1, 1));
            for round in 0..=30 {
                let so_far = |count: u64| 1_000 + count * round / 30;
                let counted = Counted {
                    frames: so_far(frames),
                    corrupted: so_far(corrupted),
                    corrupted_polls: so_far(corrupted_polls),
                };
                guard.want(
                    1_000 + 10 * round,
                    std::slice::from_ref(&link),
                    &confirming(1_000 + 10 * round, &link, counted),
                );
            }
            guard.hold(1_300, &link.ports)
        };
        let too_few = |hold: Option<Hold>| matches!(hold, Some(Hold::TooFew(_)));
        assert_eq!(hold(1_000_000, 10_000, 30), None);
        assert_eq!(hold(2_000, 20, 20), None, "twenty frames at the rate that was found");
        assert!(too_few(hold(300_000_000, 30, 30)), "a ten-thousandth of it");
        assert!(too_few(hold(1_000_000, 1_000, 30)), "a tenth of it");
        assert!(too_few(hold(300, 3, 3)), "three frames say nothing");
        assert!(too_few(hold(1_000_000, 10_000, 1)), "a single poll may be one event");
    }

    /// How often a link is disabled that corrupts a tenth of what it was found with, and how often one is that goes on as it was.
    #[test]
    fn the_confirmation_errs_as_rarely_as_it_says() {
        let confirms = |expected: f64, rate: f64| {
            let most = (expected * rate * 20.0 + 40.0) as u64;
            let new = |corrupted| Counted { frames: (expected / 1e-2) as u64, corrupted, corrupted_polls: 9 };
            let least = (0..most).find(|corrupted| {
                let counted =
                    BTreeMap::from([(verdict(1, 1).ports[0].clone(), (Counted::default(), new(*corrupted)))]);
                let wanted = Wanted { since_s: 0, corrupted_at_s: None, loss_rate: 1e-2, counted };
                wanted.unconfirmed().is_none()
            });
            let exactly = |count: u64| {
                let mean = expected * rate;
                libm::exp(count as f64 * libm::log(mean) - mean - libm::lgamma(count as f64 + 1.0))
            };
            // The tail is as small as what is to be shown, so that it is added up by itself.
            least.map_or(0.0, |least| (least..most + 200).map(exactly).sum::<f64>())
        };
        // So many corrupted frames are expected at the rate that was found.
        for expected in [1.0, 10.0, 30.0, 100.0] {
            assert!(confirms(expected, 0.1) <= 1e-6, "{expected}");
        }
        let goes_on = [10.0, 20.0, 30.0, 40.0].map(|expected| confirms(expected, 1.0));
        let told = [0.5421, 0.9610, 0.9991, 0.99997];
        assert!(goes_on.iter().zip(told).all(|(is, told)| (is - told).abs() < 1e-4), "{goes_on:?}");
    }

    /// Its agent was restarted, and counts from the beginning.
    #[test]
    fn counts_that_go_back_are_counted_from_there() {
        let (mut guard, link) = (guard(), verdict(1, 1));
        for round in 0..=31 {
            let of = if round < 30 { 1_000_000 * round } else { 10 * (round - 29) };
            let counted = Counted { frames: of, corrupted: of / 100, corrupted_polls: of / 10 };
            guard.want(
                1_000 + 10 * round,
                std::slice::from_ref(&link),
                &confirming(1_000 + 10 * round, &link, counted),
            );
        }
        assert!(matches!(guard.hold(1_310, &link.ports), Some(Hold::TooFew(_))));
    }
}
