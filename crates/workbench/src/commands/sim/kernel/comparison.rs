//! The two sides of each transfer, and how they compare.

use super::losses::LossPattern;
use linkmend_lab::Impairments;
use linkmend_lab::demo::NoiseSummary;
use linkmend_lab::transfers::{self, TransfersReport};
use linkmend_sim::flows::TransportKind;
use linkmend_sim::transfer;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// How far the simulated goodput may be from the kernel's, as a share of the latter.
pub const TOLERANCE: f64 = 0.2;

/// What one row compares.
#[derive(Debug, Clone)]
pub struct Cell {
    pub kind: TransportKind,
    pub pattern: LossPattern,
    /// Numbers of the lost frames.
    pub lost: Arc<[u64]>,
}

impl Cell {
    /// Its name while it runs.
    pub fn label(&self) -> String {
        format!("{}, {}", self.kind.name(), self.pattern.name())
    }
}

/// All transfers; `--json` prints it.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    pub version: &'static str,
    /// Release of the kernel; `None` if only the simulated side ran.
    pub kernel: Option<String>,
    pub path: Impairments,
    pub queue_bytes: u64,
    pub duration_s: f64,
    pub seed: u64,
    /// How the machine disturbed the kernel's side.
    pub noise: Option<NoiseSummary>,
    pub rows: Vec<Row>,
}

/// One congestion control under one pattern of loss.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub congestion_control: &'static str,
    pub losses: LossPattern,
    /// `None` if the kernel does not have the congestion control, or only the simulated side ran.
    pub kernel: Option<Side>,
    pub simulated: Side,
    /// Whether the machine disturbed the kernel's transfer, even when it was repeated: it is then not judged.
    pub disturbed: bool,
    /// Simulated goodput as a share of the kernel's.
    pub goodput_ratio: Option<f64>,
    pub verdict: Verdict,
}

/// Whether the two sides agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The goodput differs by at most [`TOLERANCE`].
    Inside,
    Outside,
    /// The machine disturbed the kernel's side.
    Disturbed,
    /// There is no kernel's side.
    NotMeasured,
}

/// What one transfer did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    pub goodput_bps: f64,
    pub retransmitted_segments: u64,
    /// Of these, segments that had arrived, as the receiver reported (DSACK).
    pub needlessly_retransmitted_segments: u64,
    pub timeouts: u64,
    /// Data frames that the path lost on purpose, and frames that found no room in its queue.
    pub frames_lost: u64,
    pub queue_drops: u64,
    pub congestion_window_mean_segments: f64,
    pub congestion_window_max_segments: u32,
    pub trace: Vec<Point>,
}

/// A sample of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    pub at_s: f64,
    pub congestion_window_segments: u32,
    pub retransmitted_segments: u64,
    pub delivered_bytes: u64,
    pub rtt_s: f64,
}

impl Comparison {
    /// Puts each kernel's transfer beside the simulated one of the same cell.
    pub fn new(
        path: &Impairments,
        duration: Duration,
        seed: u64,
        cells: &[Cell],
        kernel: Option<TransfersReport>,
        simulated: Vec<transfer::TransferReport>,
    ) -> Comparison {
        let rows = cells.iter().zip(simulated).enumerate().map(|(index, (cell, simulated))| {
            let slot = kernel.as_ref().map(|report| &report.transfers[index]);
            let side = slot.and_then(|slot| slot.value.as_ref()).map(Side::of_kernel);
            Row::new(cell, side, slot.is_some_and(|slot| slot.disturbed), Side::of_simulated(&simulated))
        });
        Comparison {
            version: env!("CARGO_PKG_VERSION"),
            rows: rows.collect(),
            noise: kernel.as_ref().map(|report| report.noise),
            kernel: kernel.map(|report| report.kernel),
            queue_bytes: path.queue_bytes().unwrap_or_default(),
            path: path.clone(),
            duration_s: duration.as_secs_f64(),
            seed,
        }
    }

    /// The same without the samples of the connections.
    pub fn without_samples(&self) -> Comparison {
        let mut without = self.clone();
        for row in &mut without.rows {
            row.simulated.trace = Vec::new();
            if let Some(kernel) = &mut row.kernel {
                kernel.trace = Vec::new();
            }
        }
        without
    }

    /// Number of rows with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }
}

impl Row {
    fn new(cell: &Cell, kernel: Option<Side>, disturbed: bool, simulated: Side) -> Row {
        let goodput_ratio = kernel.as_ref().map(|kernel| simulated.goodput_bps / kernel.goodput_bps);
        let verdict = match goodput_ratio {
            None => Verdict::NotMeasured,
            Some(_) if disturbed => Verdict::Disturbed,
            Some(ratio) if (ratio - 1.0).abs() <= TOLERANCE => Verdict::Inside,
            Some(_) => Verdict::Outside,
        };
        let congestion_control = cell.kind.name();
        Row { congestion_control, losses: cell.pattern, kernel, simulated, disturbed, goodput_ratio, verdict }
    }
}

impl Side {
    fn new(goodput_bps: f64, trace: Vec<Point>) -> Side {
        let windows = || trace.iter().map(|point| point.congestion_window_segments);
        Side {
            goodput_bps,
            retransmitted_segments: trace.last().map_or(0, |point| point.retransmitted_segments),
            needlessly_retransmitted_segments: 0,
            timeouts: 0,
            frames_lost: 0,
            queue_drops: 0,
            congestion_window_mean_segments: windows().map(f64::from).sum::<f64>()
                / trace.len().max(1) as f64,
            congestion_window_max_segments: windows().max().unwrap_or(0),
            trace,
        }
    }

    fn of_kernel(report: &transfers::TransferReport) -> Side {
        let mut delivered_bytes = 0;
        let points = report.bulk.samples.iter().map(|sample| {
            delivered_bytes += sample.received_bytes;
            Point {
                at_s: sample.at_ns as f64 / 1e9,
                congestion_window_segments: sample.sender.congestion_window_segments,
                retransmitted_segments: u64::from(sample.sender.retransmitted_segments),
                delivered_bytes,
                rtt_s: f64::from(sample.sender.rtt_us) / 1e6,
            }
        });
        let last = report.bulk.samples.last().map(|sample| sample.sender).unwrap_or_default();
        Side {
            needlessly_retransmitted_segments: report.bulk.needlessly_retransmitted_segments,
            timeouts: u64::from(last.timeouts),
            frames_lost: report.frames_lost,
            queue_drops: report.queue_drops,
            ..Side::new(report.bulk.goodput_bits_per_second, points.collect())
        }
    }

    fn of_simulated(report: &transfer::TransferReport) -> Side {
        let points = report.samples.iter().map(|sample| Point {
            at_s: sample.at_s,
            congestion_window_segments: sample.congestion_window_segments,
            retransmitted_segments: sample.retransmitted_segments,
            delivered_bytes: sample.delivered_bytes,
            rtt_s: sample.rtt_s.unwrap_or(0.0),
        });
        Side {
            needlessly_retransmitted_segments: report.needlessly_retransmitted_segments,
            timeouts: report.timeouts,
            frames_lost: report.frames_lost,
            queue_drops: report.queue_drops,
            ..Side::new(report.delivered_bytes as f64 * 8.0 / report.seconds, points.collect())
        }
    }
}
