//! Ordered and non-blocking traffic on one link (section 5, "LinkGuardian vs. LinkGuardianNB").
//!
//! The two classes share the port by bytes. A lost ordered frame holds its class back, and may pause it; the other goes
//! on.

use super::delivery::Watch;
use super::drive::Drive;
use super::link::{LinkReport, RECEIVER, SENDER, frame_time, one_link, set_protocol};
use super::{Completion, Delivery, ParameterError, Progress, check, check_link, check_load, network};
use crate::link::LinkConfig;
use crate::network::Traffic;
use crate::time::Time;
use linkmend_protocol::{Format, Mode};
use serde::Serialize;

/// Frames after which the order of the classes repeats.
const PATTERN_FRAMES: u64 = 1_000;

/// A link with traffic of both classes.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassesConfig {
    /// Seed of everything random.
    pub seed: u64,
    /// Frames of both classes together.
    pub frames: u64,
    /// The link; the mode of its protection is that of neither class.
    pub link: LinkConfig,
    /// Share of the link that ordered traffic takes, above 0; with the other, at most 1.
    pub ordered_load: f64,
    /// The same of non-blocking traffic.
    pub non_blocking_load: f64,
}

/// What a run measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassesReport {
    /// The seed it was run with.
    pub seed: u64,
    pub ordered: Delivery,
    pub non_blocking: Delivery,
    /// What the link did.
    pub link: LinkReport,
    /// How it ended.
    pub ending: Completion,
}

impl ClassesConfig {
    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        check_link(&self.link, self.frames)?;
        check(self.link.protection.is_some(), "protection", "off", "the classes are those of protection")?;
        check_load("ordered-load", self.ordered_load, &self.link, self.frames)?;
        check_load("non-blocking-load", self.non_blocking_load, &self.link, self.frames)?;
        let load = self.load();
        check(
            load <= 1.0,
            "non-blocking-load",
            self.non_blocking_load,
            "both loads must be at most 1 together",
        )
    }

    fn load(&self) -> f64 {
        self.ordered_load + self.non_blocking_load
    }

    /// How many of the first `count` frames are ordered.
    fn ordered_of(&self, count: u64) -> u64 {
        (count as f64 * self.ordered_load / self.load()).round() as u64
    }

    /// The classes of successive frames, as evenly mixed as whole frames can be.
    fn pattern(&self) -> Vec<Mode> {
        let mode = |index: u64| {
            if self.ordered_of(index + 1) > self.ordered_of(index) {
                Mode::Ordered
            } else {
                Mode::NonBlocking
            }
        };
        (0..PATTERN_FRAMES).map(mode).collect()
    }
}

/// Checks, simulates, and reports.
///
/// # Errors
/// [`ParameterError`] names the parameter that cannot be used.
pub fn run(config: &ClassesConfig, progress: &mut Progress<'_>) -> Result<ClassesReport, ParameterError> {
    config.validate()?;
    let link = &config.link;
    let modes = config.pattern();
    let interval = Time((frame_time(link).0 as f64 / config.load()).ceil() as u64);
    let bytes = link.frame_bytes as u16;
    let traffic = Traffic::Paced { frames: config.frames, bytes, modes: modes.clone(), interval };
    let mut ports = link.ports([0, 1]);
    // The authors' headers know one class at a time.
    ports.iter_mut().for_each(|port| set_protocol(port, |protocol| protocol.format = Format::Transparent));
    let watch = Watch::new([(SENDER, RECEIVER, Some(interval))]);
    let mut network = network(config.seed, link, one_link(link, ports, traffic), watch)?;
    let expected = Time(config.frames.saturating_mul(interval.0));
    let drive = Drive { sources: &[SENDER], frames: config.frames, expected, link_of: &|_| link.clone() };
    let ending = drive.run(&mut network, progress)?;
    let produced = network.produced(SENDER);
    let ordered = (0..produced).filter(|id| modes[(id % PATTERN_FRAMES) as usize] == Mode::Ordered).count();
    let ordered = ordered as u64;
    Ok(ClassesReport {
        seed: config.seed,
        ordered: network.observer.watch.delivery(0, Some(Mode::Ordered), ordered),
        non_blocking: network.observer.watch.delivery(0, Some(Mode::NonBlocking), produced - ordered),
        link: LinkReport::measure(&network, SENDER),
        ending,
    })
}
