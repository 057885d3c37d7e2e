//! Differences between two reports.

use linkmend_dataplane::LinkReport;
use linkmend_dataplane::report::CountersReport;
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

/// Rates per second, unless a field says otherwise. Traffic is what the host sends and receives, counted at the inner
/// port and in the bypass. On the link port, dummies, acknowledgements and keep-alives would look like traffic of an
/// idle link.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Bits that the host received.
    pub rx_bps: f64,
    /// Bits that the host sent.
    pub tx_bps: f64,
    /// Frames that the host received.
    pub rx_fps: f64,
    /// Frames that the host sent.
    pub tx_fps: f64,
    /// Retransmitted copies sent.
    pub copies_ps: f64,
    /// Share of frames found missing; `None` without protected frames.
    pub loss_before: Option<f64>,
    /// Share of frames given up.
    pub loss_after: Option<f64>,
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

impl Rates {
    fn between(before: &LinkReport, after: &LinkReport, seconds: f64) -> Rates {
        // A counter that went backwards belongs to a link end that was restarted.
        let grown = |value: fn(&LinkReport) -> u64| value(after).saturating_sub(value(before)) as f64;
        let per_second = |value| grown(value) / seconds;
        let expected = grown(|report| expected(&report.counters));
        let share = |value| (expected > 0.0).then(|| (grown(value) / expected).min(1.0));
        Rates {
            rx_bps: per_second(|report| report.inner.tx_bytes + report.link.bypassed_bytes) * 8.0,
            tx_bps: per_second(|report| report.inner.rx_bytes + report.inner.bypassed_bytes) * 8.0,
            rx_fps: per_second(|report| report.inner.tx_frames + report.link.bypassed_frames),
            tx_fps: per_second(|report| report.inner.rx_frames + report.inner.bypassed_frames),
            copies_ps: per_second(|report| report.counters.retransmitted_copies),
            loss_before: share(|report| report.counters.lost_frames),
            loss_after: share(|report| report.counters.given_up_frames()),
        }
    }
}

/// Protected frames that were delivered, or should have been.
fn expected(counters: &CountersReport) -> u64 {
    counters.delivered_frames.saturating_add(counters.given_up_frames())
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

    #[test]
    fn keep_alives_of_an_idle_link_are_no_traffic() {
        let start = Instant::now();
        let mut history = History::new(LinkReport::default(), start);
        let mut report = LinkReport::default();
        (report.link.rx_frames, report.link.tx_frames) = (50, 50);
        (report.link.rx_bytes, report.link.tx_bytes) = (3_000, 3_000);
        history.push(report, start + Duration::from_secs(1));
        assert_eq!(history.rates, Rates::default());
    }

    #[test]
    fn a_restarted_counter_is_not_a_rate() {
        let start = Instant::now();
        let mut report = LinkReport::default();
        report.inner.rx_frames = 100;
        let mut history = History::new(report, start);
        history.push(LinkReport::default(), start + Duration::from_secs(1));
        assert_eq!(history.rates.tx_fps, 0.0);
    }
}
