//! Runs a network from the first handshake to the last delivery, and decides when to stop waiting.

use super::Progress;
use super::build::Watched;
use super::config::{Layout, LinksConfig, Source};
use super::course::Follower;
use super::pair::CutWatch;
use super::report::{Completion, LinksReport};
use crate::link::config::ParameterError;
use crate::network::{Hosts, OPENING_MAX};
use crate::time::Time;

/// Frames of the first source before buffer levels are recorded.
const WARM_UP_FRAMES: u64 = 1_000;
/// A run may take this many times as long as its traffic would at full speed, plus the time below; then it has stalled.
const PATIENCE: u64 = 100;
/// See [`PATIENCE`]: 10 ms.
const PATIENCE_LEAST: Time = Time(10_000_000_000);
/// Frames between two calls of the progress function, which is also called after each failure.
const PROGRESS_FRAMES: u64 = 1 << 16;

/// Simulates.
///
/// # Errors
/// Which parameter of a link kept its session from opening.
pub(super) fn run(config: &LinksConfig, progress: &mut Progress<'_>) -> Result<LinksReport, ParameterError> {
    match &config.layout {
        Layout::Pair(pair) => simulate(config, config.network_of_two(pair)?, progress),
        _ => simulate(config, config.network(None, config.watch())?, progress),
    }
}

fn simulate<H: Hosts>(
    config: &LinksConfig,
    mut network: Watched<H>,
    progress: &mut Progress<'_>,
) -> Result<LinksReport, ParameterError> {
    let sources = config.sources();
    let first = &sources[0];
    if config.fixed_dummies {
        network.set_replenishing(first.port, false);
    }
    let opening = network.open_sessions(&mut || progress(0));
    let mut wanted = opening.goes_on(|port| config.link_of(port).not_opened(OPENING_MAX))?;
    let began = network.now();
    network.observer.watch.begin(began);
    network.start_traffic();
    let follower = config.course.as_ref().map(|course| Follower::new(course, first.port, config.seed, began));
    let cuts = CutWatch::new(config, &sources, &mut network);
    let mut pace = Pace { sources: &sources, follower, cuts, recording: None, produced_at: None };
    let deadline = Time(began.0 + config.expected(&sources).0.saturating_mul(PATIENCE)) + PATIENCE_LEAST;
    let deadline = pace.cuts.as_ref().and_then(CutWatch::ends_at).unwrap_or(deadline);
    let mut error = None;
    while wanted && !pace.is_over(&network) && network.now() < deadline {
        let before = network.events();
        let next = (network.produced(first.port) / PROGRESS_FRAMES + 1) * PROGRESS_FRAMES;
        let failures = pace.failures();
        let goes_on = |network: &mut Watched<H>| match pace.look(network) {
            Ok(is_over) => !is_over && network.produced(first.port) < next && pace.failures() == failures,
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
        drained: pace.is_over(&network) || pace.is_at_rest(&network),
        drained_after_ns: (now - pace.produced_at.unwrap_or(now)).as_nanos(),
        simulated_ns: (now - began).as_nanos(),
        events: network.events(),
    };
    let mut report = config.measure(&network, &sources, ending);
    if let (Some(follower), Some(buckets)) = (pace.follower, &network.observer.watch.buckets) {
        (report.changes, report.samples) = follower.finish(buckets);
    }
    report.second_link = pace.cuts.map(|cuts| cuts.finish(&mut network));
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

/// What is done at certain frames and times.
struct Pace<'a> {
    sources: &'a [Source],
    follower: Option<Follower<'a>>,
    cuts: Option<CutWatch<'a>>,
    /// Whether buffer levels are being recorded; `None` before.
    recording: Option<bool>,
    /// When all frames had been produced, and all phases were over.
    produced_at: Option<Time>,
}

impl Pace<'_> {
    /// Looks at the network before each event. `true` if everything has been delivered or given up.
    fn look<H: Hosts>(&mut self, network: &mut Watched<H>) -> Result<bool, ParameterError> {
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
        if let Some(cuts) = &mut self.cuts {
            cuts.look(network);
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

    fn is_over<H: Hosts>(&self, network: &Watched<H>) -> bool {
        self.produced_at.is_some()
            && self.cuts.as_ref().map_or_else(|| network.is_drained(), |cuts| cuts.is_over(network))
    }

    /// How often a link has failed.
    fn failures(&self) -> usize {
        self.cuts.as_ref().map_or(0, CutWatch::failures)
    }

    /// Whether nothing happens any more, although a run that lasts for a certain time would go on.
    fn is_at_rest<H: Hosts>(&self, network: &Watched<H>) -> bool {
        let lasts = self.cuts.as_ref().is_some_and(|cuts| cuts.ends_at().is_some());
        lasts && self.produced_at.is_some() && network.is_drained()
    }
}
