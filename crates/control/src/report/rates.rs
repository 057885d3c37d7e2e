//! Differences between two reports of a link.

use super::LinkReport;

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

impl Rates {
    /// The rates between two reports of the same link, which are so many seconds apart.
    pub fn between(before: &LinkReport, after: &LinkReport, seconds: f64) -> Rates {
        // A counter that went backwards belongs to a link end that was restarted.
        let grown = |value: fn(&LinkReport) -> u64| value(after).saturating_sub(value(before)) as f64;
        let per_second = |value| grown(value) / seconds;
        let expected = grown(|report| report.counters.expected_frames());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_differences_over_time() {
        let mut report = LinkReport::default();
        report.inner.tx_bytes = 900;
        report.link.bypassed_bytes = 100;
        report.counters.delivered_frames = 999;
        report.counters.recovery_timeouts = 1;
        report.counters.lost_frames = 10;
        let rates = Rates::between(&LinkReport::default(), &report, 2.0);
        assert_eq!(rates.rx_bps, 4_000.0);
        assert_eq!((rates.loss_before, rates.loss_after), (Some(0.01), Some(0.001)));
        assert_eq!(Rates::between(&report, &report, 1.0), Rates::default());
    }

    #[test]
    fn keep_alives_of_an_idle_link_are_no_traffic() {
        let mut report = LinkReport::default();
        (report.link.rx_frames, report.link.tx_frames) = (50, 50);
        (report.link.rx_bytes, report.link.tx_bytes) = (3_000, 3_000);
        assert_eq!(Rates::between(&LinkReport::default(), &report, 1.0), Rates::default());
    }

    #[test]
    fn a_restarted_counter_is_not_a_rate() {
        let mut report = LinkReport::default();
        report.inner.rx_frames = 100;
        assert_eq!(Rates::between(&report, &LinkReport::default(), 1.0).tx_fps, 0.0);
    }
}
