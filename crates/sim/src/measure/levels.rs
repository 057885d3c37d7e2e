//! How long a buffer was at each level.

use super::time_series::TimeSeries;
use crate::kernel::divisor::Divisor;
use crate::time::Time;

/// The time that a buffer spent at each level, in steps of `unit` bytes, rounded up.
#[derive(Debug, Clone)]
pub struct Levels {
    unit: Divisor,
    /// Current level, in units.
    now: u64,
    since: Time,
    recording: bool,
    /// Picoseconds by level.
    time_at: Vec<u64>,
    /// The level over time, if it is recorded.
    series: Option<Box<TimeSeries>>,
}

impl Levels {
    /// An empty buffer, not recorded yet. If all frames have the same length, that length is the natural `unit`.
    pub fn new(unit: u64) -> Levels {
        Levels {
            unit: Divisor::new(unit.max(1)),
            now: 0,
            since: Time::ZERO,
            recording: false,
            time_at: vec![0; 64],
            series: None,
        }
    }

    /// Records that the buffer holds `bytes` from `at` on.
    #[inline]
    pub fn set(&mut self, at: Time, bytes: u64) {
        self.account(at);
        self.now = self.unit.ceiling(bytes);
        if let Some(series) = &mut self.series {
            series.record(at, bytes);
        }
    }

    /// Also records the level over time, except for what fast-forward skips.
    pub(super) fn watch(&mut self, series: TimeSeries) {
        self.series = Some(Box::new(series));
    }

    /// The level over time until `at`, if it was recorded.
    pub(super) fn series(&mut self, at: Time) -> Option<TimeSeries> {
        let mut series = self.series.take()?;
        series.advance(at);
        Some(*series)
    }

    /// Records from `at` on.
    pub fn start(&mut self, at: Time) {
        self.recording = true;
        self.since = at;
    }

    /// Records until `at` and no longer.
    pub fn stop(&mut self, at: Time) {
        self.account(at);
        self.recording = false;
    }

    /// Adds the time since the last change to that of the current level.
    #[inline]
    pub(super) fn account(&mut self, at: Time) {
        if self.recording {
            let elapsed = at.0 - self.since.0;
            self.since = at;
            match self.time_at.get_mut(self.now as usize) {
                Some(time) => *time += elapsed,
                None => self.grow(elapsed),
            }
        }
    }

    #[cold]
    fn grow(&mut self, elapsed: u64) {
        self.time_at.resize((self.now as usize + 1).next_power_of_two(), 0);
        self.time_at[self.now as usize] += elapsed;
    }

    /// The quantile `q` of the level over time, in bytes.
    pub fn quantile(&self, q: f64) -> u64 {
        let total: u64 = self.time_at.iter().sum();
        let mut left = (q.clamp(0.0, 1.0) * total as f64) as u64;
        let mut last = 0;
        for (level, time) in self.time_at.iter().enumerate().filter(|(_, time)| **time > 0) {
            last = level as u64;
            if left <= *time {
                break;
            }
            left -= time;
        }
        last * self.unit.value
    }

    /// Bytes and picoseconds at each level that was ever held, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let held = self.time_at.iter().enumerate().filter(|(_, time)| **time > 0);
        held.map(|(level, time)| (level as u64 * self.unit.value, *time))
    }

    /// Mean over the recorded time in bytes, for levels that are whole units.
    pub fn mean(&self) -> f64 {
        let (weighted, total) = self.iter().fold((0.0, 0u64), |(sum, total), (bytes, time)| {
            (sum + bytes as f64 * time as f64, total + time)
        });
        if total == 0 { 0.0 } else { weighted / total as f64 }
    }

    /// Repeats what was recorded between two moments `times` times, which takes `elapsed`. All records must be complete up
    /// to their moments, because otherwise a level that does not change is in none of them.
    pub(super) fn repeat(&mut self, (before, after): (&Levels, &Levels), times: u64, elapsed: Time) {
        for (level, (time, is)) in self.time_at.iter_mut().zip(&after.time_at).enumerate() {
            *time += (is - before.time_at.get(level).copied().unwrap_or(0)) * times;
        }
        self.since += elapsed;
    }
}
