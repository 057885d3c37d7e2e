//! What a timeline shows.

use super::config::TimelineConfig;
use crate::measure;
use crate::time::Time;
use serde::Serialize;

/// A level during a sample, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Level {
    /// Mean over time.
    pub mean: f64,
    pub max: u64,
}

impl From<measure::Sample> for Level {
    fn from(sample: measure::Sample) -> Level {
        Level { mean: sample.mean, max: sample.max }
    }
}

/// The time before `at_s`, since the sample before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Sample {
    /// End of the sample, since the flow began, s.
    pub at_s: f64,
    /// Bytes that arrived in order at the receiving application, Gbit/s.
    pub goodput_gbps: f64,
    /// What the corrupting link delivers if it is sent as many frames as it takes, with their preambles and gaps, Gbit/s:
    /// measured separately, with the same corruption and protection.
    pub effective_link_speed_gbps: f64,
    /// Normal queue of the switch before the corrupting link.
    pub queue_bytes: Level,
    /// Buffer of that link's sending end.
    pub tx_buffer_bytes: Level,
    /// Buffer of its receiving end.
    pub rx_buffer_bytes: Level,
    /// Segments that the sending host retransmitted, and its retransmission timeouts.
    pub retransmissions: u64,
    pub timeouts: u64,
    /// Frames that the link corrupted, of any kind.
    pub frames_corrupted: u64,
    /// Copies that the link's sending end sent.
    pub copies_sent: u64,
    /// Frames that the receiving end had no room for.
    pub rx_buffer_overflows: u64,
    /// Frames that found no room in the queue before the link, and those that were marked there (ECN).
    pub frames_dropped: u64,
    pub frames_marked: u64,
    /// How often the sending end paused, and for which share of the time it did.
    pub pauses: u64,
    pub paused_share: f64,
}

/// A part of the run, without its first half, in which the flow adapts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Phase {
    pub goodput_gbps: f64,
    pub effective_link_speed_gbps: f64,
    pub queue_bytes: Level,
    pub tx_buffer_bytes: Level,
    pub rx_buffer_bytes: Level,
    /// In a second.
    pub retransmissions_per_s: f64,
    /// Frames without room in the Rx buffer, in a second.
    pub rx_buffer_overflows_per_s: f64,
    pub pauses_per_s: f64,
}

/// What a run showed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineReport {
    /// The seed it was run with.
    pub seed: u64,
    /// When corruption began and when protection did, s.
    pub corruption_at_s: f64,
    pub protection_at_s: f64,
    /// When the link end had finished its handshake; `None` if it never did.
    pub protected_at_s: Option<f64>,
    /// The second half of the time before corruption, of that with corruption alone, and of that with protection. `None` if no
    /// sample is that short.
    pub healthy: Option<Phase>,
    pub corrupting: Option<Phase>,
    pub protected: Option<Phase>,
    pub samples: Vec<Sample>,
    /// Events simulated, without the measurement of the effective link speed.
    pub events: u64,
}

impl TimelineReport {
    pub(super) fn new(
        config: &TimelineConfig,
        samples: Vec<Sample>,
        protected_at: Option<Time>,
        events: u64,
    ) -> TimelineReport {
        let [corruption, protection, end] =
            [config.corruption_at, config.protection_at, config.duration()].map(Time::as_secs);
        TimelineReport {
            seed: config.flows.seed,
            corruption_at_s: corruption,
            protection_at_s: protection,
            protected_at_s: protected_at.map(Time::as_secs),
            healthy: Phase::of(&samples, 0.0, corruption),
            corrupting: Phase::of(&samples, corruption, protection),
            protected: Phase::of(&samples, protection, end),
            samples,
            events,
        }
    }
}

impl Phase {
    /// The second half of this time.
    fn of(samples: &[Sample], from_s: f64, to_s: f64) -> Option<Phase> {
        // A sample's end may differ from the phase's by rounding.
        let within = 1e-9;
        let begins = [0.0].into_iter().chain(samples.iter().map(|sample| sample.at_s));
        let is_within = |(begin, sample): &(f64, &Sample)| {
            begin + within >= (from_s + to_s) / 2.0 && sample.at_s <= to_s + within
        };
        let own: Vec<(f64, &Sample)> = begins.zip(samples).filter(is_within).collect();
        let sum = |value: &dyn Fn(f64, &Sample) -> f64| {
            own.iter().fold(0.0, |sum, (begin, sample)| sum + value(sample.at_s - begin, sample))
        };
        let elapsed = sum(&|length, _| length);
        let mean = |value: fn(&Sample) -> f64| sum(&|length, sample| value(sample) * length) / elapsed;
        let per_s = |value: fn(&Sample) -> u64| sum(&|_, sample| value(sample) as f64) / elapsed;
        let level = |of: fn(&Sample) -> Level| Level {
            mean: sum(&|length, sample| of(sample).mean * length) / elapsed,
            max: own.iter().map(|(_, sample)| of(sample).max).max().unwrap_or(0),
        };
        (elapsed > 0.0).then(|| Phase {
            goodput_gbps: mean(|sample| sample.goodput_gbps),
            effective_link_speed_gbps: mean(|sample| sample.effective_link_speed_gbps),
            queue_bytes: level(|sample| sample.queue_bytes),
            tx_buffer_bytes: level(|sample| sample.tx_buffer_bytes),
            rx_buffer_bytes: level(|sample| sample.rx_buffer_bytes),
            retransmissions_per_s: per_s(|sample| sample.retransmissions),
            rx_buffer_overflows_per_s: per_s(|sample| sample.rx_buffer_overflows),
            pauses_per_s: per_s(|sample| sample.pauses),
        })
    }
}
