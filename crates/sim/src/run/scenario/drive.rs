//! Runs a network from the first handshake to the last delivery, and decides when to stop waiting.

use super::Watched;
use super::delivery::Watch;
use super::{ParameterError, Progress};
use crate::link::LinkConfig;
use crate::network::{Network, OPENING_MAX, Observer, Opening, PortId};
use crate::time::Time;
use serde::Serialize;

/// Frames of the first source before buffer levels are recorded.
const WARM_UP_FRAMES: u64 = 1_000;
/// Frames between two calls of the progress function.
const PROGRESS_FRAMES: u64 = 1 << 16;
/// A run may take this many times as long as its traffic would at full speed, plus the time below; then it has stalled.
const PATIENCE: u64 = 100;
/// See [`PATIENCE`]: 10 ms.
const PATIENCE_LEAST: Time = Time(10_000_000_000);

/// How a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Completion {
    /// Whether every frame was produced, and delivered or given up. If not, the run stalled or was ended early.
    pub drained: bool,
    /// From the last frame produced until then, ns.
    pub drained_after_ns: f64,
    /// Simulated time of the traffic, ns.
    pub simulated_ns: f64,
    pub events: u64,
}

/// Opens the sessions; `link_of` is the link that leaves a port. `false` if that was ended early.
///
/// # Errors
/// Which parameter of a link kept its session from opening.
pub(super) fn open<O: Observer>(
    network: &mut Network<O>,
    link_of: &dyn Fn(PortId) -> LinkConfig,
    progress: &mut Progress<'_>,
) -> Result<bool, ParameterError> {
    match network.open_sessions(&mut || progress(0)) {
        Opening::Open => Ok(true),
        Opening::Unwanted => Ok(false),
        Opening::Failed { port } => Err(link_of(port).not_opened(OPENING_MAX)),
    }
}

/// A network to be driven, and what to expect of it.
pub(super) struct Drive<'a> {
    /// The ports that have traffic.
    pub sources: &'a [PortId],
    /// What each of them produces.
    pub frames: u64,
    /// How long that takes at full speed.
    pub expected: Time,
    /// The link that leaves a port, for errors.
    pub link_of: &'a dyn Fn(PortId) -> LinkConfig,
}

impl Drive<'_> {
    /// Opens the sessions, lets the sources produce their frames, and waits until all are delivered or given up.
    ///
    /// # Errors
    /// See [`open`].
    pub(super) fn run(
        &self,
        network: &mut Watched<Watch>,
        progress: &mut Progress<'_>,
    ) -> Result<Completion, ParameterError> {
        let mut wanted = open(network, self.link_of, progress)?;
        let began = network.now();
        let deadline = Time(began.0 + self.expected.0.saturating_mul(PATIENCE)) + PATIENCE_LEAST;
        network.observer.watch.begin(began);
        network.start_traffic();
        let (first, frames) = (self.sources[0], self.frames);
        wanted = wanted && produce(network, first, WARM_UP_FRAMES.min(frames / 10), deadline, progress);
        network.observer.links.start_recording(network.now());
        while wanted && network.produced(first) < frames {
            let next = (network.produced(first) / PROGRESS_FRAMES + 1) * PROGRESS_FRAMES;
            if !produce(network, first, next.min(frames), deadline, progress) {
                break;
            }
            wanted = progress(network.produced(first));
        }
        network.observer.links.stop_recording(network.now());
        let produced =
            wanted && self.sources.iter().all(|&source| produce(network, source, frames, deadline, progress));
        let produced_at = network.now();
        if produced {
            network.run_while(deadline, |network| !network.is_drained(), &mut || progress(frames));
        }
        network.observer.links.finish();
        Ok(Completion {
            drained: produced && network.is_drained(),
            drained_after_ns: (network.now() - produced_at).as_nanos(),
            simulated_ns: (network.now() - began).as_nanos(),
            events: network.events(),
        })
    }
}

/// Simulates until `source` has produced `frames`. `false` if it does not happen in time, or is not wanted any more.
fn produce(
    network: &mut Watched<Watch>,
    source: PortId,
    frames: u64,
    deadline: Time,
    progress: &mut Progress<'_>,
) -> bool {
    let so_far = network.produced(source);
    network.run_while(deadline, |network| network.produced(source) < frames, &mut || progress(so_far))
        && network.produced(source) >= frames
}
