//! Runs the demo's experiments one after the other.

use std::time::{Duration, Instant};

use super::slots::{Demo, DemoError, Observer};
use super::{Condition, DemoOptions, DemoResult, Noise, fct, goodput, stress, timeline};
use crate::delay_line::DelayLines;
use crate::link_ends::LinkEnds;
use crate::noise::NoiseWatch;
use crate::stop::{RunControl, StopFlag};
use crate::tcp::{self, TrafficPath};
use crate::topology::{Lab, LabOptions};

/// How long the first connection may take.
const REACH_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs all experiments in a laboratory, which is taken down afterwards.
///
/// # Errors
/// [`DemoError`]. The laboratory is taken down in that case, too.
pub fn run(options: &DemoOptions, stop: &StopFlag, observer: &dyn Observer) -> Result<DemoResult, DemoError> {
    let started = Instant::now();
    let lab = Lab::up(LabOptions {
        prefix: options.prefix.clone(),
        impairments: options.impairments.clone(),
        rto_min_ms: options.rto_min_ms,
        remove_on_drop: true,
        ..LabOptions::default()
    })?;
    let lines = DelayLines::start(&lab)?;
    let ends = LinkEnds::start(&lab, options.ports(), options.seed)?;
    let control = RunControl { stop: stop.clone(), ..RunControl::default() };
    let watch = NoiseWatch::start();
    let cells = goodput::cells(options).len();
    let slots = options.rounds * (2 * Condition::ALL.len() + cells) + 1;
    let mut demo =
        Demo { options, lab: &lab, ends, control, lines, watch, observer, slots, steps_done: 0, repeats: 0 };
    tcp::wait_until_reachable(&TrafficPath::ipv4(&lab), REACH_TIMEOUT, stop)?;
    let ports = demo.ends.report()?.1.link.description;
    let (goodput, goodput_calm) = goodput::run(&mut demo)?;
    let (fct, fct_calm) = fct::run(&mut demo)?;
    let (stress, stress_calm) = stress::run(&mut demo)?;
    let (timeline, timeline_calm) = timeline::run(&mut demo)?;
    Ok(DemoResult {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        options: options.clone(),
        ports,
        kernel: crate::kernel_release(),
        noise: Noise { stress: stress_calm, fct: fct_calm, goodput: goodput_calm, timeline: timeline_calm },
        stress,
        fct,
        goodput,
        timeline,
        seconds: started.elapsed().as_secs_f64(),
    })
}
