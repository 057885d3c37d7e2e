//! A loss rate that changes, and the automatic fallback that follows it (section 5, "Automatic fallback").

use super::buckets::Buckets;
use super::build::Watched;
use super::config::Course;
use crate::corruption::Corruption;
use crate::link::config::ParameterError;
use crate::network::{Hosts, PortId};
use crate::random::Random;
use crate::time::Time;
use linkmend_protocol::Level;
use serde::Serialize;

const PS_PER_US: u64 = 1_000_000;

/// The link in the time before `at_us`, since the sample before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// End of the sample, since the traffic began, us.
    pub at_us: u64,
    /// Loss rate in force.
    pub loss: f64,
    /// Level at the end: `full`, `non-blocking` or `dormant`.
    pub level: &'static str,
    /// Copies of a lost frame at the end.
    pub copies: u8,
    /// Loss rate as the link end measures it, at the end.
    pub measured_loss: Option<f64>,
    /// Share of original frames corrupted.
    pub actual_loss: f64,
    /// Share of the frames produced in this time that never arrived.
    pub effective_loss: f64,
    /// Octets delivered in this time, Gbit/s.
    pub speed_gbps: f64,
}

/// A change of the level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LevelChange {
    /// When, since the traffic began, us.
    pub at_us: f64,
    /// The new level: `full`, `non-blocking` or `dormant`.
    pub level: &'static str,
    /// Loss rate in force.
    pub loss: f64,
}

/// Changes the loss rate of the port that sends, and takes down what can only be seen while the network runs.
#[derive(Debug)]
pub(super) struct Follower<'a> {
    course: &'a Course,
    port: PortId,
    seed: u64,
    /// Phases that have begun, and when the latest ends.
    phases: usize,
    phase_end: Time,
    began: Time,
    sample_end: Time,
    level: &'static str,
    changes: Vec<LevelChange>,
    samples: Vec<Sample>,
}

impl<'a> Follower<'a> {
    /// The first phase begins with the traffic.
    pub(super) fn new(course: &'a Course, port: PortId, seed: u64, began: Time) -> Follower<'a> {
        let (changes, samples) = (Vec::new(), Vec::new());
        let sample_end = began + course.sample;
        Follower {
            course,
            port,
            seed,
            phases: 0,
            phase_end: began,
            began,
            sample_end,
            level: "full",
            changes,
            samples,
        }
    }

    /// Looks at the network after an event. `false` if all phases are over.
    ///
    /// # Errors
    /// A loss rate that cannot be; they have been checked.
    pub(super) fn look<H: Hosts>(&mut self, network: &mut Watched<H>) -> Result<bool, ParameterError> {
        let latest = self.phases.checked_sub(1).map(|phase| self.course.phases[phase].loss);
        if let Some(loss) = latest.filter(|_| !self.is_over()) {
            self.check_level(network, loss);
            while network.now() >= self.sample_end {
                self.sample(network, loss);
                self.sample_end += self.course.sample;
            }
        }
        if network.now() >= self.phase_end
            && let Some(phase) = self.course.phases.get(self.phases)
        {
            let random = Random::new(self.seed, &format!("phase {} corruption", self.phases));
            network.set_corruption(self.port, &Corruption::iid(phase.loss), random)?;
            self.phase_end += phase.duration;
            self.phases += 1;
        } else if network.now() >= self.phase_end {
            self.phases = self.course.phases.len() + 1;
        }
        Ok(!self.is_over())
    }

    fn is_over(&self) -> bool {
        self.phases > self.course.phases.len()
    }

    fn check_level<H: Hosts>(&mut self, network: &Watched<H>, loss: f64) {
        let level = network.status(self.port).map_or(self.level, |status| name(status.level));
        if level != self.level {
            self.level = level;
            let at_us = (network.now() - self.began).as_micros();
            self.changes.push(LevelChange { at_us, level, loss });
        }
    }

    fn sample<H: Hosts>(&mut self, network: &Watched<H>, loss: f64) {
        let Some(status) = network.status(self.port) else { return };
        self.samples.push(Sample {
            at_us: (self.sample_end - self.began).0 / PS_PER_US,
            loss,
            level: name(status.level),
            copies: status.copies,
            measured_loss: status.measured_loss,
            actual_loss: 0.0,
            effective_loss: 0.0,
            speed_gbps: 0.0,
        });
    }

    /// Fills in what is known only at the end: a frame may arrive after the sample in which it was produced.
    pub(super) fn finish(mut self, buckets: &Buckets) -> (Vec<LevelChange>, Vec<Sample>) {
        for (sample, bucket) in self.samples.iter_mut().zip(&buckets.buckets) {
            let share = |of: u64, all: u64| if all == 0 { 0.0 } else { of as f64 / all as f64 };
            sample.actual_loss = share(bucket.lost, bucket.sent);
            sample.effective_loss = share(bucket.produced.saturating_sub(bucket.arrived), bucket.produced);
            sample.speed_gbps = bucket.bytes as f64 * 8e3 / buckets.sample.0 as f64;
        }
        (self.changes, self.samples)
    }
}

fn name(level: Level) -> &'static str {
    match level {
        Level::Full => "full",
        Level::NonBlocking => "non-blocking",
        Level::Dormant => "dormant",
    }
}
