//! Measures the actual loss rate from the counts in the peer's feedback frames.

/// If a window's rate is below the held one by less than this factor, it counts as the same rate, measured again.
const FALL_FACTOR: f64 = 1.5;
/// How many windows in a row must be lower before the held rate follows.
const FALL_WINDOWS: u8 = 4;

/// A finished window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measured {
    pub(crate) loss: f64,
    pub(crate) rx_overflows: u32,
}

/// Counts frames and losses until a window is full.
#[derive(Debug, Clone, Default)]
pub(crate) struct LossWindow {
    size: u64,
    frames: u64,
    lost: u64,
    overflows: u32,
    estimate: Option<f64>,
    /// The rate from which the number of copies is chosen.
    held: Option<f64>,
    /// How many windows in a row were clearly below the held rate, and their highest rate.
    low_windows: u8,
    low_max: f64,
}

impl LossWindow {
    pub(crate) fn new(size: u32) -> LossWindow {
        LossWindow { size: size.into(), frames: 0, lost: 0, overflows: 0, ..LossWindow::default() }
    }

    /// Changes the size of the window, and keeps what it has counted.
    pub(crate) fn set_size(&mut self, size: u32) {
        self.size = size.into();
    }

    /// Adds the counts of one feedback. Returns `Some` when they fill the window. A window also ends early when it has
    /// enough losses (a tenth of its size) to be sure of a bad rate, so that a link that breaks down need not wait.
    pub(crate) fn add(&mut self, frames: u64, lost: u64, overflows: u32) -> Option<Measured> {
        self.frames += frames;
        self.lost += lost;
        self.overflows = self.overflows.saturating_add(overflows);
        if self.frames < self.size && self.lost < (self.size / 10).max(10) {
            return None;
        }
        let loss = (self.lost as f64 / self.frames.max(1) as f64).min(1.0);
        let measured = Measured { loss, rx_overflows: self.overflows };
        // Copies follow a rising rate immediately and a falling one by half each window.
        self.estimate = Some(loss.max(self.estimate.unwrap_or(0.0) / 2.0));
        self.hold(loss);
        (self.frames, self.lost, self.overflows) = (0, 0, 0);
        Some(measured)
    }

    /// Updates the rate from which copies are chosen. It follows a rising rate immediately, because too few copies lose
    /// frames, and a falling one when several windows in a row are clearly lower. Otherwise a rate at the edge between
    /// two numbers of copies (1e-2 is the edge between 3 and 4 for a target of 1e-8) would change the number with the
    /// noise of every window.
    fn hold(&mut self, loss: f64) {
        let held = self.held.unwrap_or(0.0);
        if loss >= held || loss * FALL_FACTOR > held {
            self.held = Some(loss.max(held));
            (self.low_windows, self.low_max) = (0, 0.0);
            return;
        }
        self.low_windows += 1;
        self.low_max = self.low_max.max(loss);
        if self.low_windows == FALL_WINDOWS {
            // It falls by at most half in each window, because windows without any loss say little about the rate.
            self.held = Some(self.low_max.max(held / f64::from(1 << FALL_WINDOWS)));
            (self.low_windows, self.low_max) = (0, 0.0);
        }
    }

    /// Actual loss rate as last measured, once one window is full.
    pub(crate) fn estimate(&self) -> Option<f64> {
        self.estimate
    }

    /// Actual loss rate for choosing the number of copies, once one window is full.
    pub(crate) fn held(&self) -> Option<f64> {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_window_gives_the_rate() {
        let mut window = LossWindow::new(1_000);
        assert_eq!(window.add(600, 1, 0), None);
        assert_eq!(window.add(400, 1, 3), Some(Measured { loss: 2e-3, rx_overflows: 3 }));
        assert_eq!(window.estimate(), Some(2e-3));
        window.add(1_000, 0, 0);
        assert_eq!(window.estimate(), Some(1e-3));
    }

    /// A regression: the number of copies alternated between 3 and 4 with every window of a link that loses 1e-2.
    #[test]
    fn a_rate_at_the_edge_between_two_numbers_of_copies_does_not_change_them_with_its_noise() {
        let copies = crate::Copies::Target { target_loss: 1e-8, initial_loss: 1e-3 };
        let mut window = LossWindow::new(100_000);
        let mut noise: u32 = 1;
        let (mut before, mut changes) = (0, 0);
        for _ in 0..1_000 {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // 1,000 losses, give or take three standard deviations.
            window.add(100_000, u64::from(905 + noise / (u32::MAX / 190)), 0);
            let number = copies.number(window.held());
            changes += u32::from(number != before && before != 0);
            before = number;
        }
        assert_eq!(before, 4, "enough for the worst that was measured");
        assert!(changes <= 1, "{changes} changes in 1,000 windows");
    }

    #[test]
    fn copies_follow_a_rising_rate_at_once_and_a_falling_one_within_a_few_windows() {
        let mut window = LossWindow::new(1_000);
        window.add(1_000, 1, 0);
        window.add(1_000, 30, 0);
        assert_eq!(window.held(), Some(3e-2));
        for _ in 0..3 {
            window.add(1_000, 2, 0);
            assert_eq!(window.held(), Some(3e-2), "a few good windows are chance");
        }
        window.add(1_000, 2, 0);
        assert_eq!(window.held(), Some(2e-3));
        for _ in 0..4 {
            window.add(1_000, 0, 0);
        }
        assert_eq!(window.held(), Some(2e-3 / 16.0));
    }

    #[test]
    fn a_breakdown_is_noticed_early() {
        let mut window = LossWindow::new(100_000);
        let measured = window.add(20_000, 10_000, 0).expect("a tenth of the window is lost");
        assert_eq!(measured.loss, 0.5);
    }

    #[test]
    fn a_window_ends_when_it_is_full_or_a_tenth_of_it_is_lost() {
        let mut window = LossWindow::new(1_000);
        assert_eq!((window.estimate(), window.add(999, 99, 1)), (None, None));
        assert_eq!(window.add(0, 1, 2), Some(Measured { loss: 100.0 / 999.0, rx_overflows: 3 }));
        // Nothing is left of it.
        assert_eq!(window.add(999, 0, 0), None);
        assert_eq!(window.add(1, 0, 0), Some(Measured { loss: 0.0, rx_overflows: 0 }));
    }

    #[test]
    fn a_small_window_needs_ten_losses_to_end_early() {
        let mut window = LossWindow::new(50);
        assert_eq!(window.add(20, 9, 0), None);
        assert_eq!(window.add(0, 1, 0), Some(Measured { loss: 0.5, rx_overflows: 0 }));
    }

    #[test]
    fn the_estimate_rises_at_once_and_falls_by_half() {
        let mut window = LossWindow::new(100);
        let mut after = |lost: u64| {
            window.add(100, lost, 0);
            window.estimate()
        };
        assert_eq!([8, 0, 0, 3, 0].map(&mut after), [0.08, 0.04, 0.02, 0.03, 0.015].map(Some));
        // More losses than frames: the frames of the losses are reported later.
        assert_eq!(window.add(0, 10, 0), Some(Measured { loss: 1.0, rx_overflows: 0 }));
    }
}
