//! A level over time (a queue, a buffer), in a bounded number of samples however long the run.

use crate::time::Time;

/// The level during one interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// When the interval begins.
    pub at: Time,
    /// How long it is; the last one may be shorter.
    pub length: Time,
    pub min: u64,
    /// Mean level, weighted by time.
    pub mean: f64,
    pub max: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Interval {
    min: u64,
    max: u64,
    /// Level times picoseconds.
    area: u128,
}

impl Interval {
    fn at_level(level: u64) -> Interval {
        Interval { min: level, max: level, area: 0 }
    }

    fn merged(self, next: Interval) -> Interval {
        Interval { min: self.min.min(next.min), max: self.max.max(next.max), area: self.area + next.area }
    }
}

/// Records a level that changes in steps. If the samples do not cover the time that has passed, the interval doubles
/// and neighbours are merged; the minimum, maximum and mean of each remain exact.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeSeries {
    begin: Time,
    interval: Time,
    samples_max: usize,
    closed: Vec<Interval>,
    open: Interval,
    level: u64,
    now: Time,
}

impl TimeSeries {
    /// Begins at `begin`, at level 0, with at most `samples_max` samples (rounded up to an even number, at least 2),
    /// each of `interval` (at least a picosecond), until more time has to be covered.
    pub fn new(begin: Time, interval: Time, samples_max: usize) -> TimeSeries {
        let samples_max = samples_max.max(2).next_multiple_of(2);
        TimeSeries {
            begin,
            interval: interval.max(Time(1)),
            samples_max,
            closed: Vec::with_capacity(samples_max),
            open: Interval::at_level(0),
            level: 0,
            now: begin,
        }
    }

    /// Records that the level is `level` from `at` on. A time before the latest one counts as the latest.
    pub fn record(&mut self, at: Time, level: u64) {
        self.advance(at);
        if self.now == self.begin_of_open() && self.open.area == 0 && self.now == self.begin {
            // There was nothing before the first level.
            self.open = Interval::at_level(level);
        }
        self.level = level;
        self.open.min = self.open.min.min(level);
        self.open.max = self.open.max.max(level);
    }

    /// Records that time has passed at the same level.
    pub fn advance(&mut self, to: Time) {
        while to > self.now {
            let end = self.begin_of_open() + self.interval;
            let until = to.min(end);
            self.open.area += u128::from(self.level) * u128::from((until - self.now).0);
            self.now = until;
            if until == end {
                self.close();
            }
        }
    }

    /// The samples so far, in order of time. Call [`TimeSeries::advance`] with the end of the run first.
    pub fn samples(&self) -> impl Iterator<Item = Sample> + '_ {
        let last = (self.now > self.begin_of_open()).then_some(self.open);
        (0u64..).zip(self.closed.iter().copied().chain(last)).map(|(index, interval)| {
            let at = self.begin + Time(self.interval.0 * index);
            let length = self.interval.min(self.now - at);
            let mean = interval.area as f64 / length.0 as f64;
            Sample { at, length, min: interval.min, mean, max: interval.max }
        })
    }

    /// Current length of a sample.
    pub fn interval(&self) -> Time {
        self.interval
    }

    fn begin_of_open(&self) -> Time {
        self.begin + Time(self.interval.0 * self.closed.len() as u64)
    }

    fn close(&mut self) {
        self.closed.push(std::mem::replace(&mut self.open, Interval::at_level(self.level)));
        if self.closed.len() == self.samples_max {
            // An even number: the open interval begins at a multiple of the doubled one.
            self.closed = self.closed.chunks(2).map(|pair| pair[0].merged(pair[1])).collect();
            self.interval = Time(self.interval.0 * 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_run_keeps_few_samples_and_exact_extremes() {
        let mut series = TimeSeries::new(Time::ZERO, Time(10), 4);
        series.record(Time(0), 5);
        series.record(Time(15), 100);
        series.record(Time(16), 5);
        series.advance(Time(100));
        let samples: Vec<Sample> = series.samples().collect();
        assert_eq!(series.interval(), Time(40));
        assert_eq!(samples.len(), 3);
        assert_eq!((samples[0].min, samples[0].max), (5, 100));
        assert_eq!(samples[0].mean, (5.0 * 39.0 + 100.0) / 40.0);
        assert_eq!((samples[2].at, samples[2].length, samples[2].mean), (Time(80), Time(20), 5.0));
    }

    #[test]
    fn a_long_silence_costs_little() {
        let mut series = TimeSeries::new(Time(7), Time(1), 100);
        series.record(Time(8), 1);
        series.record(Time(1 << 62), 2);
        series.advance(Time((1 << 62) + 5));
        assert!(series.samples().count() <= 100);
        assert_eq!(series.samples().map(|sample| sample.max).max(), Some(2));
    }

    proptest! {
        #[test]
        fn area_and_extremes_are_those_of_the_steps(
            steps in prop::collection::vec((1u64..500, 0u64..1000), 1..100),
            interval in 1u64..50,
            samples_max in 0usize..20,
        ) {
            let mut series = TimeSeries::new(Time(3), Time(interval), samples_max);
            let (mut now, mut area, mut level) = (3, 0u128, 0);
            for &(after, next) in &steps {
                area += u128::from(level) * u128::from(after);
                now += after;
                level = next;
                series.record(Time(now), next);
            }
            area += u128::from(level) * 17;
            series.advance(Time(now + 17));
            let samples: Vec<Sample> = series.samples().collect();
            prop_assert!(samples.len() <= samples_max.max(2).next_multiple_of(2));
            let lengths: u64 = samples.iter().map(|sample| sample.length.0).sum();
            prop_assert_eq!(lengths, now + 17 - 3);
            let seen: f64 = samples.iter().map(|sample| sample.mean * sample.length.0 as f64).sum();
            prop_assert!((seen - area as f64).abs() <= 1e-6 * area as f64 + 1e-6, "{seen} {area}");
            let most = steps.iter().map(|&(_, level)| level).max();
            prop_assert_eq!(samples.iter().map(|sample| sample.max).max(), most);
        }
    }
}
