//! Measures the actual loss rate from what the peer's feedbacks count.

/// A finished window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measured {
    pub(crate) loss: f64,
    pub(crate) rx_overflows: u32,
}

/// Counts frames and losses until a window is full.
#[derive(Debug, Clone)]
pub(crate) struct LossWindow {
    size: u64,
    frames: u64,
    lost: u64,
    overflows: u32,
    estimate: Option<f64>,
}

impl LossWindow {
    pub(crate) fn new(size: u32) -> LossWindow {
        LossWindow { size: size.into(), frames: 0, lost: 0, overflows: 0, estimate: None }
    }

    /// Changes its size, and keeps what it has counted.
    pub(crate) fn set_size(&mut self, size: u32) {
        self.size = size.into();
    }

    /// Adds what one feedback brought. `Some` when that filled the window. A window also ends early when it holds
    /// losses enough (a tenth of its size) to be sure of a bad rate: a link that breaks down should not wait.
    pub(crate) fn add(&mut self, frames: u64, lost: u64, overflows: u32) -> Option<Measured> {
        self.frames += frames;
        self.lost += lost;
        self.overflows = self.overflows.saturating_add(overflows);
        if self.frames < self.size && self.lost < (self.size / 10).max(10) {
            return None;
        }
        let loss = (self.lost as f64 / self.frames.max(1) as f64).min(1.0);
        let measured = Measured { loss, rx_overflows: self.overflows };
        // Copies follow a rising rate at once and a falling one by half each window.
        self.estimate = Some(loss.max(self.estimate.unwrap_or(0.0) / 2.0));
        (self.frames, self.lost, self.overflows) = (0, 0, 0);
        Some(measured)
    }

    /// Actual loss rate for choosing the number of copies, once one window is full.
    pub(crate) fn estimate(&self) -> Option<f64> {
        self.estimate
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
