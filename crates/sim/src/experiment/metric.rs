//! Measured values by name: those in the JSON of `linkmend sim stress`, and a few shares computed from them.

use super::file::Kind;
use super::outcome::Outcome;
use crate::stress::StressReport;
use linkmend_experiment::{Measurement, Quantity};

/// An experiment compares dozens of intervals, and one in twenty must not be off by chance; hence not the 95 % of a
/// single run's report.
const CONFIDENCE: f64 = 0.999;

/// Something that a run measures.
#[derive(Debug)]
pub struct Metric {
    /// Its name in experiment files, which ends in its unit.
    pub name: &'static str,
    /// Its name in tables and on axes.
    pub label: &'static str,
    /// The quantity that it measures.
    pub quantity: Quantity,
    /// Factor from the unit of the name to the unit of the quantity.
    pub scale: f64,
    read: Read,
}

#[derive(Debug)]
enum Read {
    /// A number of the report, in the unit that the name states.
    Number(fn(&StressReport) -> f64),
    /// Two counts of which it is the ratio, and which give it a confidence interval.
    Counted(fn(&StressReport) -> (u64, u64)),
    /// The share of frames undelivered, each with the weight of importance sampling.
    EffectiveLoss,
    /// A value of an attenuated link, computed from bit error rate and frame loss.
    Optics(fn(f64, f64) -> f64),
}

impl Metric {
    /// The metric of this name.
    pub fn named(name: &str) -> Option<&'static Metric> {
        METRICS.iter().find(|metric| metric.name == name)
    }

    /// What the points of a kind measure, in the order in which tables show it.
    pub fn of_kind(kind: Kind) -> impl Iterator<Item = &'static Metric> {
        METRICS.iter().filter(move |metric| metric.is_of_stress() == (kind == Kind::Stress))
    }

    /// Whether runs of links under stress measure it, or else attenuated links do.
    pub fn is_of_stress(&self) -> bool {
        !matches!(self.read, Read::Optics(_))
    }

    /// Its name without the unit, for columns whose heading gives the unit.
    pub fn name_without_unit(&self) -> String {
        let (name, part) = self.name.split_once('.').unwrap_or((self.name, ""));
        let unit = ["_bytes", "_ns", "_gbps", "_pct"].iter().find_map(|unit| name.strip_suffix(unit));
        let name = unit.unwrap_or(name);
        if part.is_empty() { name.to_owned() } else { format!("{name}.{part}") }
    }

    /// The measurement; `None` if there was nothing to measure, such as the mean of no delays.
    pub fn of(&self, outcome: &Outcome) -> Option<Measurement> {
        match (&self.read, outcome) {
            (Read::Number(read), Outcome::Stress(report)) => Measurement::exact(read(report) * self.scale),
            (Read::Counted(read), Outcome::Stress(report)) => {
                let (successes, trials) = read(report);
                Measurement::counted(successes, trials, self.scale, CONFIDENCE)
            }
            (Read::EffectiveLoss, Outcome::Stress(report)) => {
                let interval = Some(report.effective_loss_interval(CONFIDENCE));
                (report.frames_sent > 0).then_some(Measurement { value: report.effective_loss(), interval })
            }
            (Read::Optics(read), Outcome::Attenuation { frame_loss_rate, bit_error_rate }) => {
                Measurement::exact(read(*frame_loss_rate, *bit_error_rate) * self.scale)
            }
            _ => None,
        }
    }
}

/// No two metrics have the same name.
impl PartialEq for Metric {
    fn eq(&self, other: &Metric) -> bool {
        self.name == other.name
    }
}

fn delay_or_nan(report: &StressReport, value: f64) -> f64 {
    if report.retransmission_delay_ns.count == 0 { f64::NAN } else { value }
}

macro_rules! metrics {
    ($($name:literal, $label:literal, $quantity:ident, $scale:expr, $read:ident$(($function:expr))?;)*) => {
        &[$(Metric {
            name: $name,
            label: $label,
            quantity: Quantity::$quantity,
            scale: $scale,
            read: Read::$read$(($function))?,
        }),*]
    };
}

const NANO: f64 = 1e-9;
const PERCENT: f64 = 0.01;
const GIGA: f64 = 1e9;

/// All metrics.
static METRICS: &[Metric] = metrics! {
    "frames_sent", "frames sent", Count, 1.0, Number(|r| r.frames_sent as f64);
    "frames_lost", "frames lost on the link", Count, 1.0, Number(|r| r.frames_lost as f64);
    "actual_loss_rate", "actual loss rate", LossRate, 1.0, Counted(|r| (r.frames_lost, r.frames_sent));
    "copies", "copies", Count, 1.0, Number(|r| f64::from(r.copies));
    "frames_undelivered", "frames undelivered", Count, 1.0, Number(|r| r.frames_undelivered as f64);
    "effective_loss_rate", "effective loss rate", LossRate, 1.0, EffectiveLoss;
    "effective_loss_rate_expected", "expected by Equation 1", LossRate, 1.0,
        Number(|r| r.effective_loss_rate_expected);
    "frames_reordered", "frames reordered", Count, 1.0, Number(|r| r.frames_reordered as f64);
    "effective_speed_gbps", "effective speed", Rate, GIGA, Number(|r| r.effective_speed_gbps);
    "effective_speed_pct", "effective link speed", Share, PERCENT, Number(|r| r.effective_speed_pct);
    "tx_buffer_bytes.min", "Tx buffer, least", Size, 1.0, Number(|r| r.tx_buffer_bytes.min as f64);
    "tx_buffer_bytes.p50", "Tx buffer, median", Size, 1.0, Number(|r| r.tx_buffer_bytes.p50 as f64);
    "tx_buffer_bytes.max", "Tx buffer, most", Size, 1.0, Number(|r| r.tx_buffer_bytes.max as f64);
    "rx_buffer_bytes.min", "Rx buffer, least", Size, 1.0, Number(|r| r.rx_buffer_bytes.min as f64);
    "rx_buffer_bytes.p50", "Rx buffer, median", Size, 1.0, Number(|r| r.rx_buffer_bytes.p50 as f64);
    "rx_buffer_bytes.max", "Rx buffer, most", Size, 1.0, Number(|r| r.rx_buffer_bytes.max as f64);
    "recovery_timeouts", "recovery timeouts", Count, 1.0, Number(|r| r.recovery_timeouts as f64);
    "timeouts_per_loss", "timeouts per lost frame", LossRate, 1.0,
        Counted(|r| (r.recovery_timeouts, r.frames_lost));
    "retransmitted_copies", "copies sent", Count, 1.0, Number(|r| r.retransmitted_copies as f64);
    "rx_buffer_overflows", "Rx buffer overflows", Count, 1.0, Number(|r| r.rx_buffer_overflows as f64);
    "rx_buffer_overflow_rate", "frames dropped by a full Rx buffer", LossRate, 1.0,
        Counted(|r| (r.rx_buffer_overflows, r.frames_sent));
    "pauses", "pauses", Count, 1.0, Number(|r| r.pauses as f64);
    "paused_pct", "time paused", Share, PERCENT, Number(|r| 100.0 * r.paused_ns / r.simulated_ns);
    "retransmission_delay_ns.min", "retransmission delay, shortest", Time, NANO,
        Number(|r| delay_or_nan(r, r.retransmission_delay_ns.min));
    "retransmission_delay_ns.p50", "retransmission delay, median", Time, NANO,
        Number(|r| delay_or_nan(r, r.retransmission_delay_ns.p50));
    "retransmission_delay_ns.p99", "retransmission delay, 99 %", Time, NANO,
        Number(|r| delay_or_nan(r, r.retransmission_delay_ns.p99));
    "retransmission_delay_ns.max", "retransmission delay, longest", Time, NANO,
        Number(|r| delay_or_nan(r, r.retransmission_delay_ns.max));
    "resume_flight_max_ns", "flight of a resume, longest", Time, NANO,
        Number(|r| if r.pauses == 0 { f64::NAN } else { r.resume_flight_max_ns });
    "tx_recirculation_pct", "Tx recirculation", Share, PERCENT, Number(|r| r.tx_recirculation_pct);
    "rx_recirculation_pct", "Rx recirculation", Share, PERCENT, Number(|r| r.rx_recirculation_pct);
    "recirculation_pct", "recirculation, the busier switch", Share, PERCENT,
        Number(|r| r.tx_recirculation_pct.max(r.rx_recirculation_pct));
    "loss_events", "loss events", Count, 1.0, Number(|r| r.loss_events as f64);
    "losses_within_5_pct", "loss events of at most 5 frames", Share, PERCENT,
        Number(|r| 100.0 * r.hole_lengths.iter().take(5).sum::<u64>() as f64 / r.loss_events as f64);
    "longest_loss_frames", "most consecutive frames lost", Count, 1.0,
        Number(|r| r.hole_lengths.iter().rposition(|count| *count > 0).map_or(0.0, |last| last as f64 + 1.0));
    "simulated_ns", "simulated time", Time, NANO, Number(|r| r.simulated_ns);
    "events", "events simulated", Count, 1.0, Number(|r| r.events as f64);
    "frame_loss_rate", "frame loss rate", LossRate, 1.0, Optics(|frame_loss, _| frame_loss);
    "optical_bit_error_rate", "bit error rate before correction", LossRate, 1.0, Optics(|_, bits| bits);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_shares_have_an_interval() {
        let report = StressReport {
            frames_sent: 1_000,
            frames_undelivered: 2,
            weight: 1.0,
            ..StressReport::default()
        };
        let report = Box::new(report);
        let outcome = Outcome::Stress(report.clone());
        let metric = Metric::named("effective_loss_rate").expect("it exists");
        let measured = metric.of(&outcome).expect("measured");
        let (low, high) = measured.interval.expect("counted");
        assert!((measured.value - 2e-3).abs() < 1e-5 && low < 2e-4 && high > 9e-3, "{measured:?}");
        let rare = StressReport { frames_weighted: 2, weight: 1e-4, ..*report };
        let rare = metric.of(&Outcome::Stress(Box::new(rare))).expect("measured");
        assert!((rare.value - 2e-7).abs() < 1e-9, "{rare:?}");
        let (rare_low, rare_high) = rare.interval.expect("counted");
        assert!((rare_low / low - 1e-4).abs() < 1e-9 && (rare_high / high - 1e-4).abs() < 1e-9, "{rare:?}");
    }

    #[test]
    fn nothing_measured_is_no_number() {
        let outcome = Outcome::Stress(Box::default());
        for name in
            ["retransmission_delay_ns.max", "effective_loss_rate", "resume_flight_max_ns", "paused_pct"]
        {
            assert_eq!(Metric::named(name).expect(name).of(&outcome), None, "{name}");
        }
    }

    #[test]
    fn a_name_loses_its_unit_and_keeps_its_part() {
        for (name, without) in [
            ("tx_buffer_bytes.max", "tx_buffer.max"),
            ("effective_speed_pct", "effective_speed"),
            ("frames_sent", "frames_sent"),
        ] {
            assert_eq!(Metric::named(name).expect(name).name_without_unit(), without);
        }
    }

    #[test]
    fn names_are_unique() {
        for metric in METRICS {
            assert_eq!(
                METRICS.iter().filter(|other| other.name == metric.name).count(),
                1,
                "{}",
                metric.name
            );
        }
    }
}
