//! What line-rate traffic measures: the values in the JSON of `linkmend sim stress`, and a few computed from them.

use super::outcome::{Metric, Optics, Outcome, metrics};
use crate::stress::StressReport;
use linkmend_experiment::{Counted, Measurement, Quantity};

/// A number of the report, in the unit that the name states.
fn number(outcome: &Outcome, scale: f64, read: fn(&StressReport) -> f64) -> Option<Measurement> {
    Measurement::exact(read(outcome.report()?) * scale)
}

/// The share of frames that the link corrupted. Frames in a row count as one event.
fn actual_loss(outcome: &Outcome, _scale: f64) -> Option<Measurement> {
    let report = outcome.report()?;
    let mut lost = Counted::default();
    for (length, holes) in (1..).zip(&report.hole_lengths) {
        lost.add_many(*holes, f64::from(length));
    }
    of_frames(&lost, report.frames_lost, report.burst_frames, report.frames_sent)
}

/// The share of frames lost that the receiver gave up. Frames missing in a row count as one event.
fn timeouts(outcome: &Outcome, _scale: f64) -> Option<Measurement> {
    let report = outcome.report()?;
    of_frames(&report.missing, report.recovery_timeouts, report.burst_frames, report.frames_lost)
}

/// The share of frames that something happened to. The interval is as wide as that of the events, which may miss a few frames.
fn of_frames(events: &Counted, happened: u64, usual: f64, frames: u64) -> Option<Measurement> {
    if frames == 0 {
        return None;
    }
    let value = happened as f64 / frames as f64;
    let scale = if happened == 0 || events.sum() == 0.0 { 1.0 / frames as f64 } else { value / events.sum() };
    let (low, high) = events.interval(usual);
    Some(Measurement { value, interval: Some((low * scale, (high * scale).min(1.0))) })
}

/// The share of frames undelivered, each with the weight of importance sampling.
fn effective_loss(outcome: &Outcome, _scale: f64) -> Option<Measurement> {
    let report = outcome.report()?;
    let interval = Some(report.effective_loss_interval());
    (report.frames_sent > 0).then_some(Measurement { value: report.effective_loss(), interval })
}

/// A value of an attenuated link, which is computed.
fn optics(outcome: &Outcome, scale: f64, read: fn(Optics) -> f64) -> Option<Measurement> {
    match outcome {
        Outcome::LineRate { optics, .. } => Measurement::exact(read((*optics)?) * scale),
        _ => None,
    }
}

fn delay_or_nan(report: &StressReport, value: f64) -> f64 {
    if report.retransmission_delay_ns.count == 0 { f64::NAN } else { value }
}

const NANO: f64 = 1e-9;
const PERCENT: f64 = 0.01;
const GIGA: f64 = 1e9;

/// All of them, in the order in which tables show them.
pub(super) const ALL: [Metric; 38] = metrics! {
    "frames_sent", "frames sent", Count, 1.0, number(|r| r.frames_sent as f64);
    "frames_lost", "frames lost on the link, not counting copies", Count, 1.0, number(|r| r.frames_lost as f64);
    "actual_loss_rate", "actual loss rate", LossRate, 1.0, actual_loss;
    "copies", "copies", Count, 1.0, number(|r| r.copies.map_or(f64::NAN, f64::from));
    "frames_undelivered", "frames undelivered", Count, 1.0, number(|r| r.frames_undelivered as f64);
    "effective_loss_rate", "effective loss rate", LossRate, 1.0, effective_loss;
    "effective_loss_rate_expected", "expected by Equation 1", LossRate, 1.0,
        number(|r| r.effective_loss_rate_expected.unwrap_or(f64::NAN));
    "frames_reordered", "frames reordered", Count, 1.0, number(|r| r.frames_reordered as f64);
    "effective_speed_gbps", "effective speed", Rate, GIGA, number(|r| r.effective_speed_gbps);
    "effective_speed_pct", "effective link speed", Share, PERCENT, number(|r| r.effective_speed_pct);
    "tx_buffer_bytes.min", "Tx buffer, minimum", Size, 1.0, number(|r| r.tx_buffer_bytes.min as f64);
    "tx_buffer_bytes.p50", "Tx buffer, median", Size, 1.0, number(|r| r.tx_buffer_bytes.p50 as f64);
    "tx_buffer_bytes.max", "Tx buffer, maximum", Size, 1.0, number(|r| r.tx_buffer_bytes.max as f64);
    "rx_buffer_bytes.min", "Rx buffer, minimum", Size, 1.0, number(|r| r.rx_buffer_bytes.min as f64);
    "rx_buffer_bytes.p50", "Rx buffer, median", Size, 1.0, number(|r| r.rx_buffer_bytes.p50 as f64);
    "rx_buffer_bytes.max", "Rx buffer, maximum", Size, 1.0, number(|r| r.rx_buffer_bytes.max as f64);
    "recovery_timeouts", "recovery timeouts", Count, 1.0, number(|r| r.recovery_timeouts as f64);
    "timeouts_per_loss", "timeouts per lost frame", LossRate, 1.0, timeouts;
    "retransmitted_copies", "copies sent", Count, 1.0, number(|r| r.retransmitted_copies as f64);
    "rx_buffer_overflows", "Rx buffer overflows", Count, 1.0, number(|r| r.rx_buffer_overflows as f64);
    "rx_buffer_overflow_rate", "share of frames dropped by a full Rx buffer", LossRate, 1.0,
        number(|r| r.rx_buffer_overflows as f64 / r.frames_sent as f64);
    "pauses", "pauses", Count, 1.0, number(|r| r.pauses as f64);
    "paused_pct", "time paused", Share, PERCENT, number(|r| 100.0 * r.paused_ns / r.simulated_ns);
    "retransmission_delay_ns.min", "retransmission delay, shortest", Time, NANO,
        number(|r| delay_or_nan(r, r.retransmission_delay_ns.min));
    "retransmission_delay_ns.p50", "retransmission delay, median", Time, NANO,
        number(|r| delay_or_nan(r, r.retransmission_delay_ns.p50));
    "retransmission_delay_ns.p99", "retransmission delay, 99 %", Time, NANO,
        number(|r| delay_or_nan(r, r.retransmission_delay_ns.p99));
    "retransmission_delay_ns.max", "retransmission delay, longest", Time, NANO,
        number(|r| delay_or_nan(r, r.retransmission_delay_ns.max));
    "resume_flight_max_ns", "flight time of a resume packet, maximum", Time, NANO,
        number(|r| if r.pauses == 0 { f64::NAN } else { r.resume_flight_max_ns });
    "tx_recirculation_pct", "Tx recirculation", Share, PERCENT, number(|r| r.tx_recirculation_pct);
    "rx_recirculation_pct", "Rx recirculation", Share, PERCENT, number(|r| r.rx_recirculation_pct);
    "recirculation_pct", "recirculation at the busier switch", Share, PERCENT,
        number(|r| r.tx_recirculation_pct.max(r.rx_recirculation_pct));
    "loss_events", "loss events", Count, 1.0, number(|r| r.loss_events as f64);
    "losses_within_5_pct", "loss events of at most 5 frames", Share, PERCENT,
        number(|r| 100.0 * r.hole_lengths.iter().take(5).sum::<u64>() as f64 / r.loss_events as f64);
    "longest_loss_frames", "maximum number of consecutive frames lost", Count, 1.0,
        number(|r| r.hole_lengths.iter().rposition(|count| *count > 0).map_or(0.0, |last| last as f64 + 1.0));
    "simulated_ns", "simulated time", Time, NANO, number(|r| r.simulated_ns);
    "events", "events simulated", Count, 1.0, number(|r| r.events as f64);
    "frame_loss_rate", "frame loss rate", LossRate, 1.0, optics(|of| of.frame_loss_rate);
    "optical_bit_error_rate", "bit error rate before correction", LossRate, 1.0, optics(|of| of.bit_error_rate);
};

#[cfg(test)]
mod tests {
    use super::super::metric_named;
    use super::*;

    fn outcome(report: StressReport) -> Outcome {
        Outcome::line_rate(report, None)
    }

    #[test]
    fn counted_shares_have_an_interval() {
        let report = StressReport {
            frames_sent: 1_000,
            frames_undelivered: 2,
            missing: Counted::single(2, 1.0),
            burst_frames: 1.0,
            weight: 1.0,
            ..StressReport::default()
        };
        let one = outcome(report.clone());
        let metric = metric_named("effective_loss_rate").expect("it exists");
        let measured = metric.value(&one).expect("measured");
        let (low, high) = measured.interval.expect("counted");
        assert!((measured.value - 2e-3).abs() < 1e-5 && low < 3e-4 && high > 7e-3, "{measured:?}");
        let rare = StressReport { frames_weighted: 2, weight: 1e-4, ..report };
        let rare = metric.value(&outcome(rare)).expect("measured");
        assert!((rare.value - 2e-7).abs() < 1e-9, "{rare:?}");
        let (rare_low, rare_high) = rare.interval.expect("counted");
        assert!((rare_low / low - 1e-4).abs() < 1e-9 && (rare_high / high - 1e-4).abs() < 1e-9, "{rare:?}");
    }

    #[test]
    fn frames_lost_in_a_row_count_as_one_event() {
        let relative_width = |hole_lengths: Vec<u64>, burst_frames: f64| {
            let report = StressReport {
                frames_sent: 1_000_000,
                frames_lost: 1_600,
                hole_lengths,
                burst_frames,
                ..StressReport::default()
            };
            let measured = metric_named("actual_loss_rate").expect("it exists").value(&outcome(report));
            let measured = measured.expect("measured");
            assert_eq!(measured.value, 1.6e-3);
            let (low, high) = measured.interval.expect("counted");
            (high - low) / measured.value
        };
        let single = relative_width(vec![1_600], 1.0);
        let in_bursts = relative_width([vec![0; 15], vec![100]].concat(), 16.0);
        assert!((3.5..4.5).contains(&(in_bursts / single)), "{single} {in_bursts}");
    }

    #[test]
    fn without_measurements_there_is_no_number() {
        let empty = outcome(StressReport::default());
        for name in
            ["retransmission_delay_ns.max", "effective_loss_rate", "resume_flight_max_ns", "paused_pct"]
        {
            assert_eq!(metric_named(name).expect(name).value(&empty), None, "{name}");
        }
    }
}
