//! Evidence from codewords, of which an idle link has as many as a busy one.
//!
//! A port that counts uncorrectable codewords says twice what its link does: codewords that could not be corrected, out of
//! all that came, and frames with a wrong check sequence. Most of these frames were in those codewords, so only frames beyond
//! what codewords can explain are evidence of their own. Each of the two is tried against chance, and counts for half of the
//! allowed probability.

use super::evidence::{Evidence, Of};
use super::window::Window;
use crate::counters::Codewords;
use std::time::Duration;

/// Codewords, and frames beyond them.
const TRIED: f64 = 2.0;

/// The codewords of the recent past.
#[derive(Debug, Clone, Default)]
pub(super) struct CodewordWindow {
    as_frames: Window,
    beyond: Window,
}

impl CodewordWindow {
    /// Takes what came from the last poll, at `since`, up to now; `None` if the port did not tell.
    pub(super) fn push(&mut self, since: Duration, codewords: Option<Codewords>) {
        let Some(Codewords { as_frames, beyond }) = codewords else {
            self.clear();
            return;
        };
        self.as_frames.push(since, as_frames);
        self.beyond.push(since, beyond);
    }

    pub(super) fn forget_before(&mut self, moment: Duration) {
        self.as_frames.forget_before(moment);
        self.beyond.forget_before(moment);
    }

    pub(super) fn clear(&mut self) {
        *self = CodewordWindow::default();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.as_frames.is_empty()
    }

    /// What speaks most for a loss rate above this one: codewords, or frames beyond them. If each does, rates are added.
    pub(super) fn above(&self, rate: f64, false_alarm: f64) -> Option<Evidence> {
        let of = |of, window| Evidence::above(rate, of, window, false_alarm / TRIED).map(halved);
        let (codewords, frames) = (of(Of::Codewords, &self.as_frames), of(Of::Frames, &self.beyond));
        let (Some(codewords), Some(frames)) = (codewords, frames) else { return codewords.or(frames) };
        let are_both = codewords.rules_out_chance(false_alarm) && frames.rules_out_chance(false_alarm);
        let (first, second) =
            if frames.chance < codewords.chance { (frames, codewords) } else { (codewords, frames) };
        Some(if are_both { first.with(second) } else { first })
    }
}

fn halved(evidence: Evidence) -> Evidence {
    Evidence { chance: (evidence.chance * TRIED).min(1.0), ..evidence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Increment;

    /// Polls of a link of 100 Gbit/s, with so many uncorrectable codewords each.
    fn window(polls: impl IntoIterator<Item = u64>) -> CodewordWindow {
        let mut window = CodewordWindow::default();
        for (second, corrupted) in (0..).zip(polls) {
            let as_frames = Increment { frames: 5_800_000, corrupted };
            window.push(Duration::from_secs(second), Some(Codewords { as_frames, ..Codewords::default() }));
        }
        window
    }

    fn rules_out(window: &CodewordWindow) -> bool {
        window.above(1e-8, 1e-6).is_some_and(|evidence| evidence.rules_out_chance(1e-6))
    }

    #[test]
    fn one_burst_is_one_event_wherever_polls_cut_it() {
        for burst in [vec![5_000], vec![2_500, 2_500], vec![1, 4_999]] {
            let polls: Vec<u64> = std::iter::repeat_n(0, 600).chain(burst.clone()).collect();
            assert!(!rules_out(&window(polls)), "{burst:?}");
        }
    }

    #[test]
    fn bursts_weigh_less_than_as_many_codewords_one_by_one() {
        let steady = window((0..600).map(|second| u64::from(second % 6 == 0)));
        let bursts = window((0..600).map(|second| if second % 200 == 199 { 33 } else { 0 }));
        assert!(rules_out(&steady));
        assert!(!rules_out(&bursts), "three events in ten minutes, at a rate that allows for 35 codewords");
        let steady = steady.above(1e-8, 1e-6).expect("there is some");
        let bursts = bursts.above(1e-8, 1e-6).expect("there is some");
        assert!(bursts.interval().1 - bursts.interval().0 > steady.interval().1 - steady.interval().0);
    }

    #[test]
    fn a_high_rate_is_found_in_three_polls_behind_a_healthy_hour() {
        let polls = std::iter::repeat_n(0, 3_600).chain([2_000, 5_800, 5_700]);
        let found = window(polls).above(1e-8, 1e-6).expect("there is some");
        assert!(found.rules_out_chance(1e-6), "{found:?}");
        assert!((5e-4..1.2e-3).contains(&found.loss_rate()), "{found:?}");
    }

    #[test]
    fn frames_beyond_codewords_are_evidence_too() {
        let mut window = CodewordWindow::default();
        for second in 0..10 {
            let as_frames = Increment { frames: 5_800_000, corrupted: 0 };
            let beyond = Increment { frames: 1_000_000, corrupted: 10 };
            window.push(Duration::from_secs(second), Some(Codewords { as_frames, beyond }));
        }
        let found = window.above(1e-8, 1e-6).expect("there is some");
        assert_eq!(found.of, Of::Frames);
        assert!(found.rules_out_chance(1e-6) && (found.loss_rate() / 1e-5 - 1.0).abs() < 1e-9, "{found:?}");
    }
}
