//! The slow history of one quantity of one lane.

use std::time::Duration;

/// A block of readings, of which only the mean is kept.
pub(super) const BLOCK: Duration = Duration::from_hours(12);
/// Blocks that are kept: a week.
const BLOCKS_MOST: usize = 14;
/// Blocks that make a median worth comparing with: a day.
const BLOCKS_LEAST: usize = 2;
/// Readings in a block; with fewer, such as after a link was down for most of it, it is passed over.
const READINGS_LEAST: u16 = 10;
/// Steps of the values that are kept, per unit (dB or mA).
const STEPS: f32 = 100.0;

/// Means of a week. Values are kept in hundredths, so that a port with many lanes needs little memory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct History {
    blocks: [i16; BLOCKS_MOST],
    /// Blocks so far, at most [`BLOCKS_MOST`], and where the next one goes.
    kept: u8,
    next: u8,
    sum: f32,
    count: u16,
}

impl History {
    pub fn add(&mut self, value: f32) {
        self.sum += value;
        self.count = self.count.saturating_add(1);
    }

    /// Ends a block.
    pub fn end_block(&mut self) {
        if self.count >= READINGS_LEAST {
            let mean = self.sum / f32::from(self.count) * STEPS;
            // The cast saturates, so that a value beyond ±327 stays at the edge.
            self.blocks[usize::from(self.next)] = mean as i16;
            self.next = (self.next + 1) % BLOCKS_MOST as u8;
            self.kept = (self.kept + 1).min(BLOCKS_MOST as u8);
        }
        (self.sum, self.count) = (0.0, 0);
    }

    /// The median, and over how long; `None` if that is too short.
    pub fn median(&self) -> Option<(f32, Duration)> {
        let kept = usize::from(self.kept);
        if kept < BLOCKS_LEAST {
            return None;
        }
        let mut sorted = self.blocks;
        // The first blocks are the kept ones until all are.
        let sorted = &mut sorted[..kept];
        sorted.sort_unstable();
        let middle = f32::midpoint(f32::from(sorted[(kept - 1) / 2]), f32::from(sorted[kept / 2]));
        Some((middle / STEPS, BLOCK * u32::from(self.kept)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(means: &[f32]) -> History {
        let mut history = History::default();
        for mean in means {
            (0..READINGS_LEAST).for_each(|_| history.add(*mean));
            history.end_block();
        }
        history
    }

    #[test]
    fn the_median_is_of_the_last_week_and_does_not_heed_one_bad_day() {
        assert_eq!(after(&[-3.0]).median(), None);
        assert_eq!(after(&[-3.0, -4.0]).median(), Some((-3.5, 2 * BLOCK)));
        assert_eq!(after(&[-3.0, -3.0, -20.0, -20.0, -3.0]).median(), Some((-3.0, 5 * BLOCK)));
        let weeks: Vec<f32> = (0..40).map(|block| if block < 26 { -9.0 } else { -2.25 }).collect();
        assert_eq!(after(&weeks).median(), Some((-2.25, Duration::from_hours(7 * 24))));
    }

    #[test]
    fn a_block_with_few_readings_says_nothing_and_no_value_overflows() {
        let mut history = after(&[-3.0, -3.0]);
        history.add(-40.0);
        history.end_block();
        assert_eq!(history.median(), Some((-3.0, 2 * BLOCK)));
        assert_eq!(after(&[1e9, 1e9]).median(), Some((327.67, 2 * BLOCK)));
    }
}
