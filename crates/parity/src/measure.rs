//! Measures how a path loses frames, by the gaps in their numbers.

use crate::losses::Losses;

/// Frames after which older ones count half.
const HALF_LIFE_FRAMES: f64 = 8_192.0;
/// Frames, those of them that were lost, and bursts of losses; older ones count less.
#[derive(Debug, Clone, Copy)]
pub struct LossMeter {
    frames: f64,
    lost: f64,
    bursts: f64,
}

impl LossMeter {
    /// As if it had measured this on so many frames, so that the first loss does not change everything.
    pub fn new(initial: Losses, frames: f64) -> LossMeter {
        let lost = initial.rate * frames;
        LossMeter { frames, lost, bursts: lost / initial.burst.max(1.0) }
    }

    /// Counts `lost` missing frames in a row, and so many that have arrived after them.
    pub fn count(&mut self, lost: u64, arrived: u64) {
        let (lost, arrived) = (lost as f64, arrived as f64);
        let keep = libm::exp2(-(lost + arrived) / HALF_LIFE_FRAMES);
        self.frames = self.frames * keep + lost + arrived;
        self.lost = self.lost * keep + lost;
        self.bursts = self.bursts * keep + if lost > 0.0 { 1.0 } else { 0.0 };
    }

    /// A frame counted as lost has arrived late.
    pub fn uncount(&mut self) {
        self.lost = (self.lost - 1.0).max(0.0);
    }

    /// The losses to plan for: one standard deviation above what was measured, so that a rate which is underestimated by
    /// chance does not leave too little parity.
    pub fn losses(&self) -> Losses {
        let rate = (self.lost / self.frames).clamp(0.0, 1.0);
        let independent = Losses::independent(rate).burst;
        let burst = if self.bursts < 1e-9 { independent } else { self.lost / self.bursts };
        let burst = burst.max(1.0);
        let deviation = libm::sqrt(rate * (1.0 - rate) * (2.0 * burst - 1.0) / self.frames);
        Losses { rate: (rate + deviation).min(1.0), burst }
    }
}
