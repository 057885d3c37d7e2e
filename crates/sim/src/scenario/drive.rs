//! Runs a network from the first handshake to the last delivery, and knows when to stop waiting.

use super::Progress;
use super::delivery::Watch;
use crate::network::Network;
use crate::time::Time;
use serde::Serialize;

/// Frames of the first source before buffer levels are recorded.
const WARM_UP_FRAMES: u64 = 1_000;
/// Frames between two calls of the progress function.
const PROGRESS_FRAMES: u64 = 1 << 16;
/// A run may take so many times as long as its traffic would at full speed, and the time below; then it has stalled.
const PATIENCE: u64 = 100;
/// See [`PATIENCE`]: 10 ms.
const PATIENCE_LEAST: Time = Time(10_000_000_000);

/// How a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Ending {
    /// Whether every frame was produced, and delivered or given up. If not, the run stalled or was ended early.
    pub drained: bool,
    /// From the last frame produced until then, ns.
    pub drained_after_ns: f64,
    /// Simulated time of the traffic, ns.
    pub simulated_ns: f64,
    /// Events simulated.
    pub events: u64,
}

/// Opens the sessions, lets the sources produce `frames` each, which takes `expected` at full speed, and waits until all
/// are delivered or given up.
pub(super) fn drive(
    network: &mut Network<Watch>,
    sources: &[usize],
    frames: u64,
    expected: Time,
    progress: &mut Progress<'_>,
) -> Ending {
    network.open_sessions();
    let began = network.now();
    let deadline = Time(began.0 + expected.0.saturating_mul(PATIENCE)) + PATIENCE_LEAST;
    network.observer.begin(began);
    network.start_traffic();
    let first = sources[0];
    let mut wanted = true;
    produce(network, first, WARM_UP_FRAMES.min(frames / 10), deadline);
    network.start_recording();
    while wanted && network.produced(first) < frames {
        let next = (network.produced(first) / PROGRESS_FRAMES + 1) * PROGRESS_FRAMES;
        if !produce(network, first, next.min(frames), deadline) {
            break;
        }
        wanted = progress(network.produced(first));
    }
    network.stop_recording();
    let produced = wanted && sources.iter().all(|&source| produce(network, source, frames, deadline));
    let produced_at = network.now();
    while produced && !network.is_drained() && network.now() < deadline && network.step() {}
    network.finish();
    Ending {
        drained: produced && network.is_drained(),
        drained_after_ns: (network.now() - produced_at).as_nanos(),
        simulated_ns: (network.now() - began).as_nanos(),
        events: network.events(),
    }
}

/// Simulates until `source` has produced `frames`. `false` if it does not happen in time.
fn produce(network: &mut Network<Watch>, source: usize, frames: u64, deadline: Time) -> bool {
    while network.produced(source) < frames {
        if network.now() >= deadline || !network.step() {
            return false;
        }
    }
    true
}
