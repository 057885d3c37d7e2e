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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
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
        let (mut phase, mut elapsed) = (Phase::default(), 0.0);
        let mut begin = 0.0;
        // A sample's end may differ from the phase's by rounding.
        let within = 1e-9;
        for sample in samples {
            let length = sample.at_s - begin;
            if begin + within >= (from_s + to_s) / 2.0 && sample.at_s <= to_s + within {
                elapsed += length;
                phase.add(sample, length);
            }
            begin = sample.at_s;
        }
        (elapsed > 0.0).then(|| phase.divided_by(elapsed))
    }

    fn add(&mut self, sample: &Sample, length: f64) {
        self.goodput_gbps += sample.goodput_gbps * length;
        self.effective_link_speed_gbps += sample.effective_link_speed_gbps * length;
        for (sum, level) in [
            (&mut self.queue_bytes, &sample.queue_bytes),
            (&mut self.tx_buffer_bytes, &sample.tx_buffer_bytes),
            (&mut self.rx_buffer_bytes, &sample.rx_buffer_bytes),
        ] {
            sum.mean += level.mean * length;
            sum.max = sum.max.max(level.max);
        }
        self.retransmissions_per_s += sample.retransmissions as f64;
        self.rx_buffer_overflows_per_s += sample.rx_buffer_overflows as f64;
        self.pauses_per_s += sample.pauses as f64;
    }

    fn divided_by(mut self, elapsed: f64) -> Phase {
        for sum in [
            &mut self.goodput_gbps,
            &mut self.effective_link_speed_gbps,
            &mut self.queue_bytes.mean,
            &mut self.tx_buffer_bytes.mean,
            &mut self.rx_buffer_bytes.mean,
            &mut self.retransmissions_per_s,
            &mut self.rx_buffer_overflows_per_s,
            &mut self.pauses_per_s,
        ] {
            *sum /= elapsed;
        }
        self
    }
}
