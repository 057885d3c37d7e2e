//! The paper's rule: the share of corrupted frames among the latest ones.

use crate::counters::Increment;
use crate::detection::{Settings, Window};
use std::time::Duration;

/// Corrupting while at least the activation rate of the latest 100 million frames was corrupted (appendix C).
#[derive(Default)]
pub(super) struct PaperRule {
    window: Window,
    corrupting: bool,
}

impl PaperRule {
    /// Takes a poll; whether the link counts as corrupting from now on, and did not before.
    pub(super) fn alarm(&mut self, settings: &Settings, since: Duration, increment: Increment) -> bool {
        self.window.push(since, increment);
        self.window.forget_before(since.saturating_sub(settings.window_time));
        let latest = self.window.latest(settings.window_frames);
        // Stretches of polls have a few frames more than 100 million, which must not count.
        let frames = latest.frames.min(settings.window_frames);
        let corrupting = latest.corrupted > 0 && latest.corrupted as f64 >= settings.activate * frames as f64;
        let before = std::mem::replace(&mut self.corrupting, corrupting);
        corrupting && !before
    }
}
