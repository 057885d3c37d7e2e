//! Estimates the work of a point, for progress bars and for the list of experiments.

use super::parameters::StressParameters;
use super::task::Task;
use crate::corruption::Corruption;
use crate::stress::StressConfig;
use linkmend_experiment::Point;

/// Frames that are simulated one by one after each loss, before the link is steady again.
const FRAMES_PER_LOSS: f64 = 300.0;
/// The cost of a run that sends nothing, in frames.
const FRAMES_PER_RUN: f64 = 500.0;
/// The number of frames that one core of an ordinary machine simulates in a second, one by one (measured: 3 to 6
/// million).
pub(super) const FRAMES_PER_SECOND: f64 = 4e6;
/// Work of one point at which a quick run stops.
const QUICK_WORK: f64 = 150_000.0;
/// Frames of one point at which a quick run stops.
const QUICK_FRAMES: f64 = 5_000_000.0;
/// Independent runs of one point at which a quick run stops.
const QUICK_RUNS: u64 = 50;

/// How many frames of a run must be simulated one by one, roughly.
pub(super) fn work(task: &Task) -> f64 {
    match task {
        Task::Stress(config) => work_of(config) + FRAMES_PER_RUN,
        Task::Attenuation { .. } => 1.0,
    }
}

/// The same point with so few frames that it takes a fraction of a second.
#[must_use]
pub(super) fn quick(point: &Point<StressParameters, Task>) -> Point<StressParameters, Task> {
    let mut quick = point.clone();
    if let Task::Stress(config) = &mut quick.task {
        quick.runs = quick.runs.min(QUICK_RUNS);
        let share = QUICK_WORK / (quick.runs as f64 * work_of(config));
        let frames = config.frames as f64;
        let fewer = (frames * share).min(QUICK_FRAMES / quick.runs as f64).min(frames).ceil().max(1.0);
        config.frames = fewer as u64;
        quick.parameters.frames = Some(linkmend_quantity::Count(config.frames));
    }
    quick
}

fn work_of(config: &StressConfig) -> f64 {
    let frames = config.frames as f64;
    let loss = |corruption: &Corruption| match corruption {
        Corruption::Recorded(numbers) => numbers.len() as f64 / frames,
        corruption => corruption.frame_loss(config.link.frame_bytes),
    };
    // Lost ACKs disturb the steady state as lost data does.
    let losses = loss(&config.link.corruption) + loss(&config.link.reverse_corruption);
    let step_by_step = if config.full { 1.0 } else { (losses * FRAMES_PER_LOSS).min(1.0) };
    frames * step_by_step
}
