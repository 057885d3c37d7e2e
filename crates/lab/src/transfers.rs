//! Transfers of the kernel's TCP over a path of given rate, delay, queue and losses, to be compared with those of a model.
//!
//! Link ends are bridges here, so that only the delay lines decide what happens to a frame. Transfers take turns, and a
//! transfer that the machine disturbed is repeated, within a budget.

use std::sync::Arc;
use std::time::Duration;

use linkmend_corruption::Corruption;
use linkmend_diagnose::Diagnose;
use serde::{Deserialize, Serialize};

use crate::delay_line::{DelayLineError, DelayLines, LineReport};
use crate::demo::turns::{NoiseSummary, Slot, TurnPlan, take_turns};
use crate::demo::{Observer, Step};
use crate::impairments::Impairments;
use crate::noise::{NoiseWatch, Tolerance, Watch};
use crate::stop::{RunControl, StopFlag};
use crate::tcp::{self, BulkOptions, BulkReport, TcpError, TrafficPath};
use crate::topology::{Lab, LabError, LabOptions};

/// How long the first connection may take.
const REACH_TIMEOUT: Duration = Duration::from_secs(5);
/// What is left of a connection that was reset has passed the queue and the path after as many round trips.
const ROUND_TRIPS_BETWEEN: u32 = 4;

/// A machine that disturbs a transfer by less than this changes what waits in its queue by a part of it, and nothing else:
/// frames leave a delay line by their time of arrival, so that those that leave late cost no capacity.
const TOLERANCE: Tolerance = Tolerance {
    stolen_share: 0.05,
    held_up_share: 0.05,
    worst_wakeup_ns: 15_000_000,
    // Ordinary threads, those that send and receive among them, have a socket buffer before anybody waits for them.
    worst_thread_ns: 40_000_000,
};

/// A connection that sends as fast as it may, on a path that loses some of its frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// What it is called while it runs.
    pub label: String,
    /// Congestion control of the sender.
    pub congestion_control: String,
    /// Numbers of the data frames that are lost, in ascending order, the first frame being number 0.
    pub lost: Arc<[u64]>,
}

/// What to transfer, over which path, and how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferOptions {
    /// Prefix of the laboratory's namespaces.
    pub prefix: String,
    /// Rate, delay and queue of the link.
    pub impairments: Impairments,
    /// How long each connection sends.
    pub duration: Duration,
    /// Time between two samples.
    pub sample_interval: Duration,
    /// Transfers that may be repeated because the machine disturbed them.
    pub repeats: usize,
    /// When a transfer counts as disturbed.
    pub tolerance: Tolerance,
}

impl TransferOptions {
    /// Transfers over a link of this rate, one-way delay and queue.
    pub fn new(prefix: &str, impairments: Impairments, duration: Duration) -> TransferOptions {
        TransferOptions {
            prefix: prefix.to_owned(),
            impairments,
            duration,
            sample_interval: Duration::from_millis(10),
            repeats: 0,
            tolerance: TOLERANCE,
        }
    }
}

/// What one transfer did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferReport {
    /// Goodput and samples of `tcp_info`.
    pub bulk: BulkReport,
    /// Data frames that the link lost on purpose.
    pub frames_lost: u64,
    /// Frames of either direction that found no room in the queue.
    pub queue_drops: u64,
    /// Frames that the laboratory lost by itself, because this process did not run: they make a transfer useless.
    pub overflow_drops: u64,
    /// The largest delay beyond its due time with which a frame has left the path, ns.
    pub worst_late_ns: u64,
}

/// What all transfers did, and on which machine.
#[derive(Clone, Debug, PartialEq)]
pub struct TransfersReport {
    /// Release of the kernel.
    pub kernel: String,
    /// Whether the delay lines ran at real-time priority.
    pub real_time: bool,
    /// One for each transfer, in their order; `None` if the kernel does not have the congestion control.
    pub transfers: Vec<Slot<Option<TransferReport>>>,
    /// How the machine disturbed them.
    pub noise: NoiseSummary,
}

/// Why the transfers could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// See [`LabError`].
    #[error("laboratory")]
    Lab(#[from] LabError),
    /// See [`DelayLineError`].
    #[error("delay lines")]
    DelayLines(#[from] DelayLineError),
    /// The path has neither rate nor delay.
    #[error("the path has neither a rate nor a delay")]
    NoPath,
    /// See [`TcpError`].
    #[error("TCP traffic")]
    Tcp(#[from] TcpError),
    /// They were stopped.
    #[error("stopped before the end")]
    Stopped,
}

impl Diagnose for TransferError {
    fn hint(&self) -> Option<String> {
        match self {
            TransferError::Lab(error) => error.hint(),
            TransferError::DelayLines(error) => error.hint(),
            TransferError::Tcp(error) => error.hint(),
            TransferError::NoPath | TransferError::Stopped => None,
        }
    }
}

/// Runs all transfers in a laboratory, which is taken down afterwards.
///
/// # Errors
/// [`TransferError`]. The laboratory is taken down in that case, too.
pub fn run(
    options: &TransferOptions,
    transfers: &[Transfer],
    stop: &StopFlag,
    observer: &dyn Observer,
) -> Result<TransfersReport, TransferError> {
    let lab = Lab::up(LabOptions {
        prefix: options.prefix.clone(),
        impairments: options.impairments.clone(),
        rto_min_ms: None,
        remove_on_drop: true,
        ..LabOptions::default()
    })?;
    lab.bridge()?;
    let lines = DelayLines::start(&lab)?.ok_or(TransferError::NoPath)?;
    let control = RunControl { stop: stop.clone(), ..RunControl::default() };
    tcp::wait_until_reachable(&TrafficPath::ipv4(&lab), REACH_TIMEOUT, stop)?;
    let mut watch = NoiseWatch::start();
    let (mut begun, repeats) = (0, options.repeats);
    let plan = TurnPlan { rounds: 1, repeats, tolerance: options.tolerance };
    let (turns, noise) = take_turns(&plan, transfers.len(), |index, _| {
        let transfer = &transfers[index];
        let total = transfers.len().max(begun + 1);
        let step = Step { experiment: "kernel TCP", detail: &transfer.label, index: begun, total };
        observer.step(&step);
        begun += 1;
        stop.sleep(options.impairments.round_trip() * ROUND_TRIPS_BETWEEN);
        watch.begin();
        lines.report();
        let report = measure(&lab, &lines, options, transfer, &control)?;
        if stop.is_stopped() {
            return Err(TransferError::Stopped);
        }
        let mut disturbance = watch.end();
        if let Some(report) = &report {
            disturbance.worst_loop_ns = disturbance.worst_loop_ns.max(report.worst_late_ns);
            if report.overflow_drops > 0 {
                // For so long the lines did not run.
                disturbance.held_up_share = 1.0;
            }
        }
        Ok((report, disturbance))
    })?;
    Ok(TransfersReport {
        kernel: crate::kernel_release(),
        real_time: lines.is_real_time(),
        transfers: turns.slots.into_iter().flatten().collect(),
        noise,
    })
}

/// Runs one transfer; `None` without its congestion control.
fn measure(
    lab: &Lab,
    lines: &DelayLines,
    options: &TransferOptions,
    transfer: &Transfer,
    control: &RunControl,
) -> Result<Option<TransferReport>, TransferError> {
    let bulk = BulkOptions {
        duration: options.duration,
        warm_up: Duration::ZERO,
        sample_interval: options.sample_interval,
        congestion_control: transfer.congestion_control.clone(),
        ..BulkOptions::default()
    };
    lines.lose(&Corruption::Recorded(Arc::clone(&transfer.lost)), 0)?;
    let before = lines.report();
    let bulk = match tcp::bulk(&TrafficPath::ipv4(lab), &bulk, control) {
        Ok(report) => report,
        Err(TcpError::CongestionControl { .. }) => return Ok(None),
        Err(TcpError::Stopped) => return Err(TransferError::Stopped),
        Err(error) => return Err(error.into()),
    };
    let after = lines.report();
    let since = |count: fn(&LineReport) -> u64| {
        let sum = |reports: &[LineReport]| reports.iter().map(count).sum::<u64>();
        sum(&after) - sum(&before)
    };
    Ok(Some(TransferReport {
        bulk,
        frames_lost: since(|line| line.lost_frames),
        queue_drops: since(|line| line.queue_drops),
        overflow_drops: since(|line| line.overflow_drops),
        worst_late_ns: after.iter().map(|line| line.worst_late_ns).max().unwrap_or(0),
    }))
}
