//! The recent past of a link.

use linkmend_control::LinkReport;
use linkmend_control::report::Rates;
use std::collections::VecDeque;
use std::time::Instant;

/// The number of intervals that are kept; more than a terminal is wide.
const INTERVALS_MAX: usize = 240;

/// A link and its recent past.
#[derive(Debug)]
pub struct History {
    /// The latest report.
    pub report: LinkReport,
    /// The rates of the last interval.
    pub rates: Rates,
    /// Loss before recovery in parts per million, oldest first.
    pub losses_ppm: VecDeque<u64>,
    at: Instant,
}

impl History {
    /// Begins the history of a link with its first report.
    pub fn new(report: LinkReport, at: Instant) -> History {
        History { report, rates: Rates::default(), losses_ppm: VecDeque::new(), at }
    }

    /// Adds a newer report of the same link.
    pub fn push(&mut self, report: LinkReport, at: Instant) {
        let seconds = at.saturating_duration_since(self.at).as_secs_f64();
        if seconds > 0.0 {
            self.rates = Rates::between(&self.report, &report, seconds);
            let loss = self.rates.loss_before.unwrap_or(0.0);
            self.losses_ppm.push_back((loss * 1e6).round() as u64);
            if self.losses_ppm.len() > INTERVALS_MAX {
                self.losses_ppm.pop_front();
            }
        }
        (self.report, self.at) = (report, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn report(delivered_frames: u64, lost_frames: u64) -> LinkReport {
        let mut report = LinkReport::default();
        (report.counters.delivered_frames, report.counters.lost_frames) = (delivered_frames, lost_frames);
        report
    }

    #[test]
    fn a_history_has_the_rates_of_the_last_interval_and_the_losses_of_all_that_are_kept() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut history = History::new(report(0, 0), start);
        history.push(report(1_000, 10), at(2));
        assert_eq!(history.rates, Rates::between(&report(0, 0), &report(1_000, 10), 2.0));
        history.push(report(1_000, 10), at(3));
        assert_eq!(history.rates, Rates::default());
        assert_eq!(history.losses_ppm, [10_000, 0]);
        // Two reports of one moment have no rates between them.
        history.push(report(2_000, 10), at(3));
        assert_eq!((history.report.counters.delivered_frames, history.losses_ppm.len()), (2_000, 2));
        for interval in 0..INTERVALS_MAX as u64 {
            history.push(report(2_100 + 100 * interval, 11 + interval), at(4 + interval));
        }
        assert_eq!(history.losses_ppm, [10_000; INTERVALS_MAX]);
    }
}
