//! The polls of the recent past, the finer the more recent.

use crate::counters::Increment;
use std::collections::VecDeque;
use std::time::Duration;

/// Stretches of each length; beyond them, the two oldest become one of twice the length (Datar et al., SODA 2002). A
/// moment of the past is therefore known to a quarter of its age.
const PER_LEVEL: usize = 4;
/// By how many stretches the memory of a window grows. A switch has hundreds of windows, with some 75 stretches each.
const GROWTH: usize = 8;

/// What arrived in some polls in a row.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stretch {
    /// When it began: the poll before its first.
    pub since: Duration,
    /// All frames, corrupted ones among them.
    pub frames: u64,
    pub corrupted: u64,
    pub polls: u32,
    /// Polls with a corrupted frame.
    pub corrupted_polls: u32,
    /// The sum over the polls of the square of what was corrupted, divided by all frames.
    pub squares_by_frames: f64,
}

impl Stretch {
    /// This stretch and the one before it.
    fn with_earlier(self, earlier: Stretch) -> Stretch {
        Stretch {
            since: earlier.since,
            frames: self.frames.saturating_add(earlier.frames),
            corrupted: self.corrupted.saturating_add(earlier.corrupted),
            polls: self.polls.saturating_add(earlier.polls),
            corrupted_polls: self.corrupted_polls.saturating_add(earlier.corrupted_polls),
            squares_by_frames: self.squares_by_frames + earlier.squares_by_frames,
        }
    }

    /// Corrupted frames over all frames; `None` without frames.
    pub fn loss_rate(self) -> Option<f64> {
        (self.frames > 0).then(|| self.corrupted as f64 / self.frames as f64)
    }
}

/// The polls of the recent past. It takes four stretches for each doubling of the number of polls, and no more.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// From the oldest to the latest, each with the level that says how many stretches it was made of.
    stretches: VecDeque<(u8, Stretch)>,
}

impl Window {
    /// Takes what arrived from the last poll, at `since`, up to now.
    pub fn push(&mut self, since: Duration, increment: Increment) {
        let Increment { frames, corrupted } = increment;
        let corrupted_polls = u32::from(corrupted > 0);
        let squares_by_frames = corrupted as f64 * corrupted as f64 / frames.max(1) as f64;
        let stretch = Stretch { since, frames, corrupted, polls: 1, corrupted_polls, squares_by_frames };
        if self.stretches.len() == self.stretches.capacity() {
            self.stretches.reserve_exact(GROWTH);
        }
        self.stretches.push_back((0, stretch));
        self.merge();
    }

    /// Forgets what ended before this moment.
    pub fn forget_before(&mut self, moment: Duration) {
        // A stretch ends where the next one begins, and the latest ends now.
        while self.stretches.get(1).is_some_and(|(_, second)| second.since <= moment) {
            self.stretches.pop_front();
        }
    }

    /// Forgets all polls: they have served as evidence.
    pub fn clear(&mut self) {
        self.stretches.clear();
    }

    /// All stretches that reach up to now, from the shortest to the longest.
    pub fn up_to_now(&self) -> impl Iterator<Item = Stretch> + '_ {
        self.stretches.iter().rev().scan(None, |sum: &mut Option<Stretch>, &(_, earlier)| {
            let whole = sum.map_or(earlier, |later| later.with_earlier(earlier));
            *sum = Some(whole);
            Some(whole)
        })
    }

    /// The shortest stretch up to now with at least this many frames, or all there is.
    pub fn latest(&self, frames: u64) -> Stretch {
        let mut longest = Stretch::default();
        for stretch in self.up_to_now() {
            longest = stretch;
            if stretch.frames >= frames {
                break;
            }
        }
        longest
    }

    /// Number of stretches.
    pub fn len(&self) -> usize {
        self.stretches.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    fn merge(&mut self) {
        let mut level = 0;
        // Levels fall from the oldest to the latest, so that each is one run.
        let mut end = self.stretches.len();
        loop {
            let of_level = |entry: &(u8, Stretch)| entry.0 == level;
            let run = self.stretches.iter().take(end).rev().take_while(|entry| of_level(entry)).count();
            if run <= PER_LEVEL {
                return;
            }
            let oldest = end - run;
            let Some((_, later)) = self.stretches.remove(oldest + 1) else { return };
            if let Some((entry_level, entry)) = self.stretches.get_mut(oldest) {
                *entry_level = level.saturating_add(1);
                *entry = later.with_earlier(*entry);
            }
            end = oldest + 1;
            level = level.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn second(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    #[test]
    fn a_day_of_polls_takes_a_few_dozen_stretches() {
        let mut window = Window::default();
        for poll in 0..86_400 {
            window.push(second(poll), Increment { frames: 10, corrupted: u64::from(poll % 100 == 0) });
            assert!(window.len() <= 80);
        }
        let all = window.latest(u64::MAX);
        assert_eq!((all.since, all.frames, all.corrupted), (second(0), 864_000, 864));
        assert_eq!((all.polls, all.corrupted_polls), (86_400, 864));
        assert!((all.squares_by_frames - 86.4).abs() < 1e-6, "{all:?}");
        assert_eq!(window.latest(1).frames, 10);
    }

    proptest! {
        #[test]
        fn stretches_up_to_now_are_sums_of_the_latest_polls(
            polls in prop::collection::vec((0_u64..1_000, 0_u64..3), 1..600),
            kept in 1_u64..600,
        ) {
            let mut window = Window::default();
            for (number, &(good, corrupted)) in polls.iter().enumerate() {
                window.push(second(number as u64), Increment { frames: good + corrupted, corrupted });
            }
            let oldest = second((polls.len() as u64).saturating_sub(kept));
            window.forget_before(oldest);
            let mut last = None;
            for stretch in window.up_to_now() {
                let summed = &polls[stretch.since.as_secs() as usize..];
                prop_assert_eq!(stretch.frames, summed.iter().map(|poll| poll.0 + poll.1).sum::<u64>());
                prop_assert_eq!(stretch.corrupted, summed.iter().map(|poll| poll.1).sum::<u64>());
                prop_assert_eq!(stretch.corrupted_polls, summed.iter().filter(|poll| poll.1 > 0).count() as u32);
                last = Some(stretch.since);
            }
            // What is kept reaches back at least as far as asked, and at most a third further, and a few polls.
            let reached = polls.len() as u64 - last.expect("there are polls").as_secs();
            prop_assert!(reached >= kept.min(polls.len() as u64));
            prop_assert!(reached <= kept + kept / 3 + 4, "{} of {}", reached, kept);
        }
    }
}
