//! What protection would spare, over many traces.

use super::{Spared, SparedLoss};
use crate::simulate::{Settings, simulate};
use crate::strategy::Strategy;
use crate::trace::Trace;
use linkmend_experiment::run_each;
use linkmend_topology::Topology;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// A window that covers the whole run.
pub const ALWAYS: Range<u64> = 0..u64::MAX;

/// What protection would spare in each window of a run, in seconds since the trace began. The strategy of the settings
/// determines what is disabled; what it protects does not matter. A protected run spares the same if its optimizer
/// minimises the penalty, nothing limits its protection, and protected links are disabled at once.
pub fn spared_in(
    topology: &Topology,
    trace: &Trace,
    settings: &Settings,
    windows_s: &[Range<u64>],
) -> Vec<Spared> {
    let strategy = match settings.strategy {
        Strategy::ProtectCorrOpt => Strategy::CorrOpt,
        Strategy::Protect => Strategy::DoNothing,
        other => other,
    };
    let settings = Settings { strategy, ..settings.clone() };
    let mut watching: Vec<SparedLoss> = windows_s
        .iter()
        .map(|window_s| SparedLoss::new(topology, &settings.protection, window_s.clone()))
        .collect();
    simulate(topology, trace, &settings, &mut |step, network| {
        watching.iter_mut().for_each(|spared| spared.observe(step, network));
    });
    watching.into_iter().map(SparedLoss::finish).collect()
}

/// Does the same for traces of several seeds from `first_seed` on, on `threads` threads. The result is sorted by seed
/// and does not depend on the number of threads. `done` is called after each trace. If `stop` becomes true, the result
/// is `None`.
pub fn spared_by_seed(
    topology: &Topology,
    settings: &Settings,
    seeds: Range<u64>,
    trace: impl Fn(u64) -> Trace + Sync,
    windows_s: &[Range<u64>],
    (threads, stop, done): (usize, &AtomicBool, &(impl Fn() + Sync)),
) -> Option<Vec<Vec<Spared>>> {
    run_each((seeds.end - seeds.start) as usize, threads, stop, done, |index| {
        let seed = seeds.start + index as u64;
        spared_in(topology, &trace(seed), &Settings { seed, ..settings.clone() }, windows_s)
    })
}
