//! The recent past of a link.

use linkmend_dataplane::LinkReport;
use linkmend_dataplane::report::Rates;
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

    #[test]
    fn rates_are_differences_over_time() {
        let start = Instant::now();
        let mut history = History::new(LinkReport::default(), start);
        let mut report = LinkReport::default();
        report.inner.tx_bytes = 900;
        report.link.bypassed_bytes = 100;
        report.counters.delivered_frames = 999;
        report.counters.recovery_timeouts = 1;
        report.counters.lost_frames = 10;
        history.push(report.clone(), start + Duration::from_secs(2));
        assert_eq!(history.rates.rx_bps, 4_000.0);
        assert_eq!((history.rates.loss_before, history.rates.loss_after), (Some(0.01), Some(0.001)));
        assert_eq!(history.losses_ppm, [10_000]);
        history.push(report, start + Duration::from_secs(3));
        assert_eq!((history.rates.rx_bps, history.rates.loss_before), (0.0, None));
    }
}
