//! Runs a network from the first handshake to the last delivery, and decides when to stop waiting.

use super::Progress;
use super::build::Watched;
use super::config::{LinksConfig, Source};
use super::course::Follower;
use super::report::{Completion, LinksReport};
use crate::link::config::ParameterError;
use crate::network::{OPENING_MAX, Opening};
use crate::time::Time;

/// Frames of the first source before buffer levels are recorded.
const WARM_UP_FRAMES: u64 = 1_000;
/// A run may take this many times as long as its traffic would at full speed, plus the time below; then it has stalled.
const PATIENCE: u64 = 100;
/// See [`PATIENCE`]: 10 ms.
const PATIENCE_LEAST: Time = Time(10_000_000_000);
/// Frames between two calls of the progress function.
const PROGRESS_FRAMES: u64 = 1 << 16;

/// Simulates.
///
/// # Errors
/// Which parameter of a link kept its session from opening.
pub(super) fn run(config: &LinksConfig, progress: &mut Progress<'_>) -> Result<LinksReport, ParameterError> {
    let sources = config.sources();
    let first = &sources[0];
    let mut network = config.network()?;
    if config.fixed_dummies {
        network.set_replenishing(first.port, false);
    }
    let mut wanted = match network.open_sessions(&mut || progress(0)) {
        Opening::Open => true,
        Opening::Unwanted => false,
        Opening::Failed { port } => return Err(config.link_of(port).not_opened(OPENING_MAX)),
    };
    let began = network.now();
    network.observer.watch.begin(began);
    network.start_traffic();
    let follower = config.course.as_ref().map(|course| Follower::new(course, first.port, config.seed, began));
    let mut pace = Pace { sources: &sources, follower, recording: None, produced_at: None };
    let deadline = Time(began.0 + config.expected(&sources).0.saturating_mul(PATIENCE)) + PATIENCE_LEAST;
    let mut error = None;
    while wanted && !pace.is_over(&network) && network.now() < deadline {
        let before = network.events();
        let next = (network.produced(first.port) / PROGRESS_FRAMES + 1) * PROGRESS_FRAMES;
        let goes_on = |network: &mut Watched| match pace.look(network) {
            Ok(is_over) => !is_over && network.produced(first.port) < next,
            Err(wrong) => {
                error = Some(wrong);
                false
            }
        };
        let so_far = network.produced(first.port);
        wanted = network.run_while(deadline, goes_on, &mut || progress(so_far));
        if let Some(wrong) = error {
            return Err(wrong);
        }
        wanted = wanted && progress(network.produced(first.port));
        if network.events() == before {
            break;
        }
    }
    let now = network.now();
    network.observer.links.stop_recording(now);
    network.observer.links.finish();
    let ending = Completion {
        drained: pace.is_over(&network),
        drained_after_ns: (now - pace.produced_at.unwrap_or(now)).as_nanos(),
        simulated_ns: (now - began).as_nanos(),
        events: network.events(),
    };
    let mut report = config.measure(&network, &sources, ending);
    if let (Some(follower), Some(buckets)) = (pace.follower, &network.observer.watch.buckets) {
        (report.changes, report.samples) = follower.finish(buckets);
    }
    Ok(report)
}

impl LinksConfig {
    /// How long the traffic takes at full speed.
    fn expected(&self, sources: &[Source]) -> Time {
        let lasts =
            |source: &Source| source.frames.saturating_mul(source.interval.unwrap_or(self.frame_time()).0);
        Time(sources.iter().map(lasts).max().unwrap_or(0))
    }
}

/// What is done at certain frames.
struct Pace<'a> {
    sources: &'a [Source],
    follower: Option<Follower<'a>>,
    /// Whether buffer levels are being recorded; `None` before.
    recording: Option<bool>,
    /// When all frames had been produced, and all phases were over.
    produced_at: Option<Time>,
}

impl Pace<'_> {
    /// Looks at the network before each event. `true` if everything has been delivered or given up.
    fn look(&mut self, network: &mut Watched) -> Result<bool, ParameterError> {
        let Source { port, frames, .. } = self.sources[0];
        let produced = network.produced(port);
        match self.recording {
            None if produced >= WARM_UP_FRAMES.min(frames / 10) => {
                network.observer.links.start_recording(network.now());
                self.recording = Some(true);
            }
            Some(true) if produced >= frames => {
                network.observer.links.stop_recording(network.now());
                self.recording = Some(false);
            }
            _ => {}
        }
        if self.produced_at.is_none() {
            let goes_on = match &mut self.follower {
                Some(follower) => follower.look(network)?,
                None => false,
            };
            let all = self.sources.iter().all(|source| network.produced(source.port) >= source.frames);
            self.produced_at = (all && !goes_on).then(|| network.now());
        }
        Ok(self.is_over(network))
    }

    fn is_over(&self, network: &Watched) -> bool {
        self.produced_at.is_some() && network.is_drained()
    }
}
