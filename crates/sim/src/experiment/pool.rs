//! Reports of line-rate traffic, pooled as if they were one run's.

use crate::measure::{Percentiles, Quartiles};
use crate::stress::StressReport;
use crate::sums::add_fields;

/// Several reports, combined into one.
#[derive(Debug)]
pub struct Pool {
    sum: StressReport,
    /// Sums that are divided by the simulated time in the end.
    over_time: TimeIntegrals,
    /// Sum of all delays, ns.
    delays_ns: f64,
    /// Sum over all frames sent of what Equation 1 expects; `None` if it says nothing about one of the reports.
    expected_losses: Option<f64>,
    /// Sums of the reports' weights over all frames that count with them, and over all frames sent.
    weights_counted: f64,
    weights_sent: f64,
    reports: u64,
}

#[derive(Debug, Default)]
struct TimeIntegrals {
    speed_gbps: f64,
    speed_pct: f64,
    tx_recirculation_pct: f64,
    rx_recirculation_pct: f64,
}

impl Pool {
    /// Begins with one report.
    pub fn new(first: &StressReport) -> Pool {
        let sum = StressReport {
            retransmission_delay_ns: Percentiles::default(),
            seed: first.seed,
            ..StressReport::default()
        };
        let mut pool = Pool {
            sum,
            over_time: TimeIntegrals::default(),
            delays_ns: 0.0,
            expected_losses: Some(0.0),
            weights_counted: 0.0,
            weights_sent: 0.0,
            reports: 0,
        };
        pool.add(first);
        pool
    }

    /// Adds a report.
    pub fn add(&mut self, report: &StressReport) {
        let sum = &mut self.sum;
        let first = self.reports == 0;
        self.reports += 1;
        sum.tx_buffer_bytes = spread(first, sum.tx_buffer_bytes, report.tx_buffer_bytes);
        sum.rx_buffer_bytes = spread(first, sum.rx_buffer_bytes, report.rx_buffer_bytes);
        let (before, now) = (sum.simulated_ns, report.simulated_ns);
        sum.tx_buffer_levels = weighted(&sum.tx_buffer_levels, before, &report.tx_buffer_levels, now);
        sum.rx_buffer_levels = weighted(&sum.rx_buffer_levels, before, &report.rx_buffer_levels, now);
        add_fields!(sum, report; frames_sent, frames_lost, frames_undelivered, frames_reordered, frames_weighted);
        add_fields!(sum, report; recovery_timeouts, loss_events, retransmitted_copies, rx_buffer_overflows);
        add_fields!(sum, report; pauses, paused_ns, simulated_ns, events, wall_s);
        sum.undelivered.add(report.undelivered);
        sum.missing.merge(&report.missing);
        sum.burst_frames = sum.burst_frames.max(report.burst_frames);
        sum.copies = sum.copies.max(report.copies);
        sum.resume_flight_max_ns = sum.resume_flight_max_ns.max(report.resume_flight_max_ns);
        add_holes(&mut sum.hole_lengths, &report.hole_lengths);
        let delays = report.retransmission_delay_ns;
        if delays.count > 0 {
            let all = &mut sum.retransmission_delay_ns;
            all.min = if all.count == 0 { delays.min } else { all.min.min(delays.min) };
            all.max = all.max.max(delays.max);
            all.count += delays.count;
            self.delays_ns += delays.mean * delays.count as f64;
        }
        sum.retransmission_delays = added(&sum.retransmission_delays, &report.retransmission_delays);
        let expected = report.effective_loss_rate_expected.map(|rate| rate * report.frames_sent as f64);
        self.expected_losses = self.expected_losses.zip(expected).map(|(sum, more)| sum + more);
        self.weights_counted += report.weight * report.frames_weighted as f64;
        self.weights_sent += report.weight * report.frames_sent as f64;
        self.over_time.speed_gbps += report.effective_speed_gbps * now;
        self.over_time.speed_pct += report.effective_speed_pct * now;
        self.over_time.tx_recirculation_pct += report.tx_recirculation_pct * now;
        self.over_time.rx_recirculation_pct += report.rx_recirculation_pct * now;
    }

    /// The combined report. Of one report alone, it is that report; percentiles of several are those of their bins.
    pub fn finish(self) -> StressReport {
        let mut sum = self.sum;
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let (sent, time) = (sum.frames_sent as f64, sum.simulated_ns);
        sum.actual_loss_rate = share(sum.frames_lost as f64, sent);
        sum.weight = match sum.frames_weighted {
            0 => share(self.weights_sent, sent),
            weighted => self.weights_counted / weighted as f64,
        };
        sum.effective_loss_rate = sum.effective_loss();
        sum.effective_loss_rate_interval = sum.effective_loss_interval();
        sum.effective_loss_rate_expected = self.expected_losses.map(|losses| share(losses, sent));
        sum.effective_speed_gbps = share(self.over_time.speed_gbps, time);
        sum.effective_speed_pct = share(self.over_time.speed_pct, time);
        sum.tx_recirculation_pct = share(self.over_time.tx_recirculation_pct, time);
        sum.rx_recirculation_pct = share(self.over_time.rx_recirculation_pct, time);
        quartiles(&mut sum.tx_buffer_bytes, &sum.tx_buffer_levels);
        quartiles(&mut sum.rx_buffer_bytes, &sum.rx_buffer_levels);
        let delays = &mut sum.retransmission_delay_ns;
        delays.mean = share(self.delays_ns, delays.count as f64);
        let quantile = |part: f64, exact: Percentiles| {
            quantile(&sum.retransmission_delays, part).clamp(exact.min, exact.max)
        };
        if !sum.retransmission_delays.is_empty() {
            let exact = *delays;
            (delays.p50, delays.p90) = (quantile(0.5, exact), quantile(0.9, exact));
            (delays.p99, delays.p999) = (quantile(0.99, exact), quantile(0.999, exact));
        }
        sum
    }
}

/// Least and most of both; quartiles come from the levels.
fn spread(first: bool, a: Quartiles, b: Quartiles) -> Quartiles {
    if first { b } else { Quartiles { min: a.min.min(b.min), max: a.max.max(b.max), ..a } }
}

fn quartiles(all: &mut Quartiles, levels: &[(u64, f64)]) {
    let at = |part: f64| {
        let mut below = 0.0;
        let reached = |(_, share): &&(u64, f64)| {
            below += share;
            below >= part
        };
        levels.iter().find(reached).map(|(level, _)| *level)
    };
    if let (Some(p25), Some(p50), Some(p75)) = (at(0.25), at(0.5), at(0.75)) {
        (all.p25, all.p50, all.p75) = (p25, p50, p75);
    }
}

/// Shares of the time at each level, of two spans of time.
fn weighted(a: &[(u64, f64)], a_time: f64, b: &[(u64, f64)], b_time: f64) -> Vec<(u64, f64)> {
    let time = a_time + b_time;
    if time <= 0.0 || a.is_empty() {
        return b.to_vec();
    }
    let (a_weight, b_weight) = (a_time / time, b_time / time);
    merged(a, b, |a, b| a.map_or(0.0, |share| share * a_weight) + b.map_or(0.0, |share| share * b_weight))
}

/// Counts in bins of equal bounds.
fn added(a: &[(f64, u64)], b: &[(f64, u64)]) -> Vec<(f64, u64)> {
    merged(a, b, |a, b| a.unwrap_or(0) + b.unwrap_or(0))
}

/// Two ascending lists as one.
fn merged<K: PartialOrd + Copy, V: Copy>(
    a: &[(K, V)],
    b: &[(K, V)],
    join: impl Fn(Option<V>, Option<V>) -> V,
) -> Vec<(K, V)> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut all = Vec::new();
    loop {
        let entry = match (a.peek(), b.peek()) {
            (Some((x, _)), Some((y, _))) if x < y => a.next().map(|(key, v)| (*key, join(Some(*v), None))),
            (Some((x, _)), Some((y, _))) if x > y => b.next().map(|(key, v)| (*key, join(None, Some(*v)))),
            (Some(_), Some(_)) => {
                let (left, right) = (a.next(), b.next());
                left.zip(right).map(|((key, v), (_, w))| (*key, join(Some(*v), Some(*w))))
            }
            (Some(_), None) => a.next().map(|(key, v)| (*key, join(Some(*v), None))),
            (None, Some(_)) => b.next().map(|(key, v)| (*key, join(None, Some(*v)))),
            (None, None) => None,
        };
        match entry {
            Some(entry) => all.push(entry),
            None => return all,
        }
    }
}

/// Lengths 1, 2, ...; the last entry counts all longer ones, and all reports have as many entries or fewer.
fn add_holes(sum: &mut Vec<u64>, more: &[u64]) {
    if sum.len() < more.len() {
        sum.resize(more.len(), 0);
    }
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}

fn quantile(bins: &[(f64, u64)], part: f64) -> f64 {
    let total: u64 = bins.iter().map(|(_, count)| count).sum();
    let wanted = part * total as f64;
    let mut below = 0;
    let reached = |(_, count): &&(f64, u64)| {
        below += count;
        below as f64 >= wanted
    };
    bins.iter().find(reached).or(bins.last()).map_or(0.0, |(delay, _)| *delay)
}

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::*;
    use linkmend_experiment::pooled;

    fn outcome(report: StressReport) -> Outcome {
        Outcome::line_rate(report, None)
    }

    fn report(frames: u64, lost: u64, speed: f64, level: u64) -> StressReport {
        StressReport {
            seed: frames,
            frames_sent: frames,
            frames_lost: lost,
            actual_loss_rate: lost as f64 / frames as f64,
            effective_speed_gbps: speed,
            effective_speed_pct: speed,
            simulated_ns: frames as f64 * 100.0,
            tx_buffer_bytes: Quartiles { min: 0, p25: level, p50: level, p75: level, max: level },
            tx_buffer_levels: vec![(0, 0.1), (level, 0.9)],
            hole_lengths: vec![lost],
            loss_events: lost,
            retransmission_delay_ns: Percentiles {
                count: lost,
                min: 1.0,
                mean: 2.0,
                max: speed,
                ..Default::default()
            },
            retransmission_delays: vec![(2.0, lost)],
            weight: 1.0,
            ..StressReport::default()
        }
    }

    #[test]
    fn pooling_one_outcome_changes_nothing() {
        let one = outcome(report(1_000, 10, 90.0, 5_000));
        assert_eq!(pooled([one.clone()]), Some(one));
        assert_eq!(pooled::<Outcome>([]), None);
    }

    #[test]
    fn pooled_frames_keep_their_weights() {
        let rare = StressReport {
            frames_undelivered: 4,
            frames_weighted: 3,
            weight: 1e-3,
            ..report(1_000, 10, 90.0, 1)
        };
        let rarer = StressReport { frames_undelivered: 5, frames_weighted: 5, weight: 1e-4, ..rare.clone() };
        let outcomes = [rare, rarer].map(outcome);
        let pooled = pooled(outcomes).expect("two");
        let pooled = pooled.report().expect("of stress");
        assert_eq!((pooled.frames_undelivered, pooled.frames_weighted), (9, 8));
        assert!((pooled.effective_loss_rate - (1.0 + 3e-3 + 5e-4) / 2_000.0).abs() < 1e-12);
        let (low, high) = pooled.effective_loss_rate_interval;
        assert!(low < pooled.effective_loss_rate && pooled.effective_loss_rate < high);
    }

    #[test]
    fn pooled_rates_are_those_of_sums_and_levels_those_of_all_the_time() {
        let outcomes = [outcome(report(1_000, 10, 90.0, 5_000)), outcome(report(3_000, 10, 98.0, 7_000))];
        let pooled = pooled(outcomes).expect("two");
        let pooled = pooled.report().expect("of stress");
        assert_eq!((pooled.frames_sent, pooled.frames_lost, pooled.actual_loss_rate), (4_000, 20, 0.005));
        assert_eq!(pooled.effective_speed_gbps, 96.0);
        assert_eq!((pooled.tx_buffer_bytes.p25, pooled.tx_buffer_bytes.p50), (5_000, 7_000));
        assert_eq!((pooled.tx_buffer_bytes.min, pooled.tx_buffer_bytes.max), (0, 7_000));
        let total: f64 = pooled.tx_buffer_levels.iter().map(|(_, share)| share).sum();
        assert!((total - 1.0).abs() < 1e-12);
        let delays = pooled.retransmission_delay_ns;
        assert_eq!((delays.count, delays.mean, delays.p50, delays.max), (20, 2.0, 2.0, 98.0));
    }
}
