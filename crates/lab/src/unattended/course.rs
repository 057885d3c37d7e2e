//! What happens to the link, with traffic on it.

use std::time::{Duration, Instant};

use linkmend_control::CorruptionModel;
use linkmend_control::report::TransmitState;

use super::stage::Stage;
use super::{FramesCourse, GoodputSample, Moments, TransferCourse, UnattendedError, UnattendedOptions};
use crate::generator::{self, GeneratorOptions};
use crate::packet::FramePath;
use crate::stop::RunControl;
use crate::tcp::{self, BulkOptions, BulkReport, TrafficPath};

/// How often the link is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// Frames of a run with numbered ones, a second: two fifths of what the link carries.
const FRAMES_PER_SECOND: u32 = 10_000;
/// How long TCP may take to find its rate, at the beginning of each part of the transfer.
const SETTLE: Duration = Duration::from_secs(1);

/// What was seen of the link.
#[derive(Default)]
struct Seen {
    moments: Moments,
    corrupted_unprotected: u64,
    corrupted: u64,
    stalls: u64,
}

/// One transfer, and what `corruptd` decided meanwhile.
pub(super) fn transfer(
    stage: &Stage,
    options: &UnattendedOptions,
    control: &RunControl,
) -> Result<(TransferCourse, Vec<String>), UnattendedError> {
    let bulk = BulkOptions {
        duration: options.duration(),
        warm_up: Duration::ZERO,
        sample_interval: SAMPLE_INTERVAL,
        ..BulkOptions::default()
    };
    let path = TrafficPath::ipv4(&stage.lab);
    let (report, seen) = with_traffic(stage, options, control, || tcp::bulk(&path, &bulk, control))?;
    let course = transfer_course(&report?, seen.moments, options);
    Ok((course, stage.decisions()))
}

/// Numbered frames through the whole course, and what became of them.
pub(super) fn frames(
    stage: &Stage,
    options: &UnattendedOptions,
    control: &RunControl,
) -> Result<FramesCourse, UnattendedError> {
    let frames = GeneratorOptions {
        count: u64::MAX,
        duration: Some(options.duration()),
        frames_per_second: Some(FRAMES_PER_SECOND),
        ..GeneratorOptions::default()
    };
    let path = FramePath::forward(&stage.lab);
    let (report, seen) =
        with_traffic(stage, options, control, || generator::generate(&path, &frames, control))?;
    let report = report?;
    Ok(FramesCourse {
        moments: seen.moments,
        sent: report.sent,
        lost: report.lost_on_path(),
        duplicated: report.duplicated,
        reordered: report.reordered,
        corrupted_unprotected: seen.corrupted_unprotected,
        corrupted: seen.corrupted,
        stalls: seen.stalls,
    })
}

/// Runs the traffic in a thread, and the course of the link beside it.
fn with_traffic<T: Send>(
    stage: &Stage,
    options: &UnattendedOptions,
    control: &RunControl,
    traffic: impl FnOnce() -> T + Send,
) -> Result<(T, Seen), UnattendedError> {
    std::thread::scope(|scope| {
        let started = Instant::now();
        let traffic = scope.spawn(traffic);
        let seen = course(stage, options, control, started);
        let report = traffic.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((report, seen?))
    })
}

fn course(
    stage: &Stage,
    options: &UnattendedOptions,
    control: &RunControl,
    started: Instant,
) -> Result<Seen, UnattendedError> {
    let (mut left, mut right) = (stage.left()?, stage.right()?);
    let mut seen = Seen::default();
    let corruption = started + options.healthy;
    let repair = corruption + options.corrupting;
    let end = started + options.duration();
    let (mut corrupts, mut repaired) = (false, false);
    loop {
        let now = Instant::now();
        if now >= end {
            let reports = [left.status(Some("left"))?, right.status(Some("right"))?].concat();
            seen.stalls = reports.iter().map(|report| report.counters.stalls).sum();
            return Ok(seen);
        }
        if !control.stop.sleep(LOOK_INTERVAL) || !stage.is_watched() {
            return Err(UnattendedError::Stopped);
        }
        let at_s = || started.elapsed().as_secs_f64();
        if now >= corruption && !corrupts {
            corrupts = true;
            seen.moments.corruption_s = at_s();
            right.corrupt("right", Some(CorruptionModel::Iid { rate: options.loss }))?;
        }
        if now >= repair && !repaired {
            repaired = true;
            seen.corrupted = corrupted(&mut right)?;
            right.corrupt("right", None)?;
            seen.moments.repair_s = at_s();
        }
        let reports = left.status(Some("left"))?;
        let active = reports.first().is_some_and(|report| report.transmit_state == TransmitState::Active);
        if active && seen.moments.protected_s.is_none() {
            seen.moments.protected_s = Some(at_s());
            seen.corrupted_unprotected = corrupted(&mut right)?;
        }
        if !active && seen.moments.protected_s.is_some() && seen.moments.unprotected_s.is_none() {
            seen.moments.unprotected_s = Some(at_s());
        }
    }
}

/// Frames that the link has corrupted so far.
fn corrupted(right: &mut linkmend_control::Client) -> Result<u64, UnattendedError> {
    let reports = right.status(Some("right"))?;
    Ok(reports.first().map_or(0, |report| report.counters.corrupted_frames))
}

fn transfer_course(report: &BulkReport, moments: Moments, options: &UnattendedOptions) -> TransferCourse {
    let mut retransmitted_before = 0;
    let samples = report.samples.iter().map(|sample| {
        let at_s = sample.at_ns as f64 / 1e9;
        let retransmitted = u64::from(sample.sender.retransmitted_segments);
        let new = retransmitted.saturating_sub(retransmitted_before);
        retransmitted_before = retransmitted;
        let since = |moment: Option<f64>| moment.is_some_and(|moment| at_s > moment);
        GoodputSample {
            at_s,
            goodput_bps: sample.goodput_bits_per_second,
            retransmitted_segments: new,
            protected: since(moments.protected_s) && !since(moments.unprotected_s),
        }
    });
    let samples: Vec<GoodputSample> = samples.collect();
    let mean = |from: f64, to: f64| {
        let within = samples.iter().filter(|sample| sample.at_s > from && sample.at_s <= to);
        let values: Vec<f64> = within.map(|sample| sample.goodput_bps).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let settle = SETTLE.as_secs_f64();
    let protected = moments.protected_s.unwrap_or(f64::INFINITY);
    TransferCourse {
        healthy_bps: mean(settle, options.healthy.as_secs_f64()).unwrap_or(0.0),
        unprotected_bps: mean(moments.corruption_s, protected.min(moments.repair_s)),
        protected_bps: mean(protected + settle, moments.repair_s),
        moments,
        samples,
    }
}
