//! Runs a timeline: the flow, and beside it the line-rate traffic that measures the effective link speed.

use super::config::TimelineConfig;
use super::course::{Course, Ended};
use super::observer::LinkWatch;
use super::report::{Level, Sample, TimelineReport};
use super::speed::effective_link_speed;
use crate::link::config::ParameterError;
use crate::link::scheme::{Account, Scheme};
use crate::measure::TimeSeries;
use crate::run::flows::{FlowNetwork, FlowObserver, build_flow};
use crate::time::Time;
use linkmend_experiment::run_each;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs the flow, and on a second thread, if there may be one, the measurement of the effective link speed; the report does
/// not depend on the number of threads. `done` is called after each sample of either. `None` if `stop` ended it.
///
/// # Errors
/// [`ParameterError`] names the parameter that cannot be used.
pub fn run(
    config: &TimelineConfig,
    threads: usize,
    stop: &AtomicBool,
    done: &(impl Fn() + Sync),
) -> Result<Option<TimelineReport>, ParameterError> {
    config.validate()?;
    let wanted = || {
        done();
        !stop.load(Ordering::Relaxed)
    };
    let work = |index| {
        if index == 0 {
            run_flow(config, &mut || wanted()).map(|result| result.map(Part::Flow))
        } else {
            effective_link_speed(config, &mut || wanted()).map(|result| result.map(Part::Speed))
        }
    };
    let Some(parts) = run_each(2, threads, stop, &|| (), work) else { return Ok(None) };
    let (mut report, mut speeds) = (None, Vec::new());
    for part in parts {
        match part? {
            None => return Ok(None),
            Some(Part::Flow(flow)) => report = Some(flow),
            Some(Part::Speed(measured)) => speeds = measured,
        }
    }
    Ok(report.map(|(mut samples, protected_at, events)| {
        for (sample, speed) in samples.iter_mut().zip(&speeds) {
            sample.effective_link_speed_gbps = *speed;
        }
        TimelineReport::new(config, samples, protected_at, events)
    }))
}

/// Samples of the flow, when its link was protected, and how many events there were.
type Flow = (Vec<Sample>, Option<Time>, u64);

enum Part {
    Flow(Flow),
    Speed(Vec<f64>),
}

/// Runs the flow; `None` if `wanted` ended it.
fn run_flow(
    config: &TimelineConfig,
    wanted: &mut dyn FnMut() -> bool,
) -> Result<Option<Flow>, ParameterError> {
    let plan = config.flows.plan_dormant()?;
    let observer = LinkWatch::new(config, Time::ZERO);
    let mut network = build_flow(plan, &config.flows, observer)?;
    let Some(course) = Course::begin(config, &mut network, wanted)? else { return Ok(None) };
    let began = network.now();
    network.observer = LinkWatch::new(config, began);
    network.hosts.begin_at(began);
    network.start_traffic();
    let mut samples = Vec::with_capacity(config.samples() as usize);
    let mut before = Sample::default();
    let mut take = |network: &mut FlowNetwork<LinkWatch>, at: Time, length: Time| {
        network.observer.advance(began + at);
        let counted = Sample::counted(config, network);
        samples.push(counted.since(&before, at, length));
        before = counted;
    };
    let ended = course.run(config, &mut network, wanted, &LinkWatch::after_event, &mut take)?;
    let Ended::Done { protected_at } = ended else { return Ok(None) };
    let LinkWatch { queue, tx, rx, .. } = &network.observer;
    let levels = [queue, tx, rx].map(TimeSeries::samples);
    let [queue, tx, rx] = levels.map(|samples| samples.map(Level::from).collect::<Vec<_>>());
    for (index, sample) in samples.iter_mut().enumerate() {
        let at = |levels: &[Level]| levels.get(index).copied().unwrap_or_default();
        (sample.queue_bytes, sample.tx_buffer_bytes, sample.rx_buffer_bytes) = (at(&queue), at(&tx), at(&rx));
    }
    Ok(Some((samples, protected_at, network.events())))
}

impl Sample {
    /// What has been counted since the beginning: instead of rates, bytes and picoseconds.
    fn counted(config: &TimelineConfig, network: &FlowNetwork<LinkWatch>) -> Sample {
        let port = config.port();
        let (delivered_bytes, retransmissions, timeouts) = network.hosts.under_way(network.now(), 0);
        let (frames_dropped, frames_marked, _) = network.normal_queue(port);
        let watch = &network.observer;
        Sample {
            goodput_gbps: delivered_bytes as f64,
            retransmissions,
            timeouts,
            frames_corrupted: network.corrupted_frames(port),
            copies_sent: watch.copies,
            rx_buffer_overflows: network.scheme(port.peer()).account().map_or(0, Account::overflows),
            frames_dropped,
            frames_marked,
            pauses: watch.pauses,
            paused_share: watch.paused.0 as f64,
            ..Sample::default()
        }
    }

    /// The sample that ends at `at`, from what had been counted then and at its beginning.
    fn since(&self, before: &Sample, at: Time, length: Time) -> Sample {
        Sample {
            at_s: at.as_secs(),
            goodput_gbps: (self.goodput_gbps - before.goodput_gbps) * 8e3 / length.0 as f64,
            retransmissions: self.retransmissions - before.retransmissions,
            timeouts: self.timeouts - before.timeouts,
            frames_corrupted: self.frames_corrupted - before.frames_corrupted,
            copies_sent: self.copies_sent - before.copies_sent,
            rx_buffer_overflows: self.rx_buffer_overflows - before.rx_buffer_overflows,
            frames_dropped: self.frames_dropped - before.frames_dropped,
            frames_marked: self.frames_marked - before.frames_marked,
            pauses: self.pauses - before.pauses,
            paused_share: (self.paused_share - before.paused_share) / length.0 as f64,
            ..Sample::default()
        }
    }
}
