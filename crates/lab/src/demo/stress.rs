//! The stress test: frames at the rate of the link, or as fast as the path takes them, with their losses counted at
//! both ends.

use std::collections::BTreeMap;

use linkmend_control::LinkReport;
use linkmend_control::report::{BufferReport, HistogramReport};
use linkmend_protocol::wire::{FULL_FRAME_BYTES_IN_MEMORY, wire_bytes};
use serde::{Deserialize, Serialize};

use super::slots::{Demo, DemoError};
use super::turns::{NoiseSummary, Turns};
use super::{Condition, DemoOptions};
use crate::generator::{self, GeneratorOptions, GeneratorReport};
use crate::packet::FramePath;
use crate::statistics::MedianInterval;

/// Size of the generator's frames.
const FRAME_BYTES: u64 = FULL_FRAME_BYTES_IN_MEMORY as u64;

/// The stress tests of one condition. Counts cover all its undisturbed slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StressColumn {
    /// The state of the link.
    pub condition: Condition,
    /// Frames sent by the generator.
    pub frames_sent: u64,
    /// Frames that did not arrive at the other host.
    pub frames_lost: u64,
    /// Frames that arrived twice.
    pub frames_duplicated: u64,
    /// Frames that arrived after a later one.
    pub frames_reordered: u64,
    /// Frames that arrived changed.
    pub frames_changed: u64,
    /// Frames that did not arrive in slots that the machine disturbed. No other count includes these slots.
    pub frames_lost_disturbed: u64,
    /// Frames lost on the link for the first time, as a share of those sent; before recovery.
    pub actual_loss: f64,
    /// Frames lost for good, as a share of those sent; after recovery.
    pub effective_loss: f64,
    /// The effective loss that Equation 1 predicts.
    pub predicted_loss: f64,
    /// Delivered frames, bit/s without check sequence: the median of the slots.
    pub speed_bps: f64,
    /// The interval of that median.
    pub speed: Option<MedianInterval>,
    /// The same as a share of the unprotected link's. `None` for the healthy link, which the kernel forwards.
    pub effective_speed: Option<f64>,
    /// Retransmitted copies for each lost frame.
    pub copies: u8,
    pub retransmitted_copies: u64,
    /// Frames given up.
    pub recovery_timeouts: u64,
    /// Median and 99th percentile of the time from noticing a loss to its recovery, ns.
    pub recovery_ns: Option<(u64, u64)>,
    /// Bytes in the Tx buffer.
    pub tx_buffer: BufferReport,
    /// Bytes in the Rx buffer.
    pub rx_buffer: BufferReport,
}

/// The measurement of one slot.
struct Run {
    traffic: GeneratorReport,
    lost_at_first: u64,
    copies: u8,
    retransmitted_copies: u64,
    recovery_timeouts: u64,
    recovery: HistogramReport,
    tx_buffer: BufferReport,
    rx_buffer: BufferReport,
}

pub(super) fn run(demo: &mut Demo) -> Result<(Vec<StressColumn>, NoiseSummary), DemoError> {
    let plan = demo.options.turns(Condition::ALL.len());
    let conditions = Condition::ALL.map(|condition| (condition.label().to_owned(), condition));
    let (turns, calm) = demo.in_turns("stress test", &plan, &conditions, |demo, &condition| {
        demo.set(condition, demo.options.loss)?;
        measure(demo, condition)
    })?;
    let conditions = Condition::ALL.into_iter().enumerate();
    let mut columns: Vec<_> = conditions.map(|(index, condition)| column(condition, index, &turns)).collect();
    let unprotected = columns.iter().find(|column| column.condition == Condition::Unprotected);
    if let Some(reference) = unprotected.map(|column| column.speed_bps) {
        for column in columns.iter_mut().filter(|column| column.condition != Condition::Healthy) {
            column.effective_speed = Some(column.speed_bps / reference);
        }
    }
    Ok((columns, calm))
}

/// Sends at the link's rate, if it is known, with no more frames in transit than may wait in front of it, so that a
/// missing frame was not dropped by a full queue.
fn generator_options(options: &DemoOptions) -> GeneratorOptions {
    let frames = |rate_bps: u64| rate_bps / (wire_bytes(FRAME_BYTES) * 8);
    let default = GeneratorOptions::default();
    let queue_frames = options.impairments.queue_bytes().map(|bytes| bytes / (2 * FRAME_BYTES));
    let window = queue_frames.map_or(default.window_frames, |frames| {
        u32::try_from(frames).unwrap_or(u32::MAX).clamp(1, default.window_frames)
    });
    GeneratorOptions {
        count: options.stress_frames,
        duration: Some(options.stress_time),
        frame_bytes: FRAME_BYTES as usize,
        frames_per_second: options
            .impairments
            .rate_bps
            .map(|rate| u32::try_from(frames(rate)).unwrap_or(u32::MAX).max(1)),
        window_frames: window,
        ..default
    }
}

fn measure(demo: &Demo, condition: Condition) -> Result<Run, DemoError> {
    let before = demo.ends.report()?;
    let traffic =
        generator::generate(&FramePath::forward(demo.lab), &generator_options(demo.options), &demo.control)?;
    let after = demo.ends.report()?;
    let since = |count: fn(&LinkReport) -> u64| count(&after.1) - count(&before.1);
    let lost_at_first = match condition {
        Condition::Healthy => traffic.lost_on_path(),
        Condition::Unprotected => since(|report| report.counters.corrupted_frames),
        Condition::Ordered | Condition::NonBlocking => since(|report| report.counters.lost_frames),
    };
    Ok(Run {
        traffic,
        lost_at_first,
        copies: after.0.copies,
        retransmitted_copies: after.0.counters.retransmitted_copies - before.0.counters.retransmitted_copies,
        recovery_timeouts: since(|report| report.counters.given_up_frames()),
        recovery: after.1.recovery_latency_ns.since(&before.1.recovery_latency_ns),
        tx_buffer: after.0.tx_buffer,
        rx_buffer: after.1.rx_buffer,
    })
}

fn column(condition: Condition, index: usize, turns: &Turns<Run>) -> StressColumn {
    let runs = || turns.usable(index);
    let sum = |count: fn(&Run) -> u64| runs().map(count).sum::<u64>();
    let sent = sum(|run| run.traffic.sent);
    let share = |count: u64| count as f64 / sent.max(1) as f64;
    let lost = sum(|run| run.traffic.lost_on_path());
    let actual_loss = share(sum(|run| run.lost_at_first));
    let speeds: Vec<f64> = runs().map(|run| run.traffic.bits_per_second).collect();
    let speed = MedianInterval::from_values(&speeds);
    let protected = matches!(condition, Condition::Ordered | Condition::NonBlocking);
    let copies = if protected { runs().map(|run| run.copies).max().unwrap_or(0) } else { 0 };
    StressColumn {
        condition,
        frames_sent: sent,
        frames_lost: lost,
        frames_duplicated: sum(|run| run.traffic.duplicated),
        frames_reordered: sum(|run| run.traffic.reordered),
        frames_changed: sum(|run| run.traffic.corrupted),
        frames_lost_disturbed: turns.disturbed(index).map(|run| run.traffic.lost_on_path()).sum(),
        actual_loss,
        effective_loss: share(lost),
        predicted_loss: match protected {
            true => linkmend_protocol::effective_loss(actual_loss, copies),
            false => actual_loss,
        },
        speed_bps: speed.map_or(0.0, |speed| speed.median),
        speed,
        effective_speed: None,
        copies,
        retransmitted_copies: sum(|run| run.retransmitted_copies),
        recovery_timeouts: sum(|run| run.recovery_timeouts),
        recovery_ns: if protected { quantiles(runs().map(|run| &run.recovery)) } else { None },
        tx_buffer: extremes(runs().map(|run| run.tx_buffer)),
        rx_buffer: extremes(runs().map(|run| run.rx_buffer)),
    }
}

/// The median and the 99th percentile of all histograms together, as upper edges of their buckets.
fn quantiles<'a>(histograms: impl Iterator<Item = &'a HistogramReport>) -> Option<(u64, u64)> {
    let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
    for (edge, count) in histograms.flat_map(|histogram| &histogram.buckets) {
        *buckets.entry(*edge).or_default() += count;
    }
    let total: u64 = buckets.values().sum();
    let quantile = |per_cent: u64| {
        let rank = (total * per_cent).div_ceil(100);
        let mut below = 0;
        buckets.iter().find_map(|(edge, count)| {
            below += count;
            (below >= rank).then_some(*edge)
        })
    };
    (total > 0).then(|| Some((quantile(50)?, quantile(99)?))).flatten()
}

fn extremes(buffers: impl Iterator<Item = BufferReport>) -> BufferReport {
    let join = |one: BufferReport, other: BufferReport| BufferReport {
        now: other.now,
        min: one.min.min(other.min),
        max: one.max.max(other.max),
    };
    buffers.reduce(join).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::Part;

    #[test]
    fn histograms_of_several_slots_are_one() {
        let of = |buckets: &[(u64, u64)]| HistogramReport { buckets: buckets.to_vec(), ..Default::default() };
        let (one, other) = (of(&[(8, 60), (16, 1)]), of(&[(16, 37), (1024, 2)]));
        assert_eq!(quantiles([&one, &other].into_iter()), Some((8, 1024)));
        assert_eq!(quantiles([&one].into_iter()), Some((8, 16)));
        assert_eq!(quantiles([&of(&[])].into_iter()), None);
    }

    #[test]
    fn the_generator_offers_the_rate_of_the_link_and_fits_its_queue() {
        let options = generator_options(&DemoOptions::standard(Part::Link));
        let offered = u64::from(options.frames_per_second.expect("paced")) * wire_bytes(FRAME_BYTES) * 8;
        assert!((299_980_000..=300_000_000).contains(&offered), "{offered}");
        assert!(options.window_frames as usize * options.frame_bytes <= 1 << 20);
        assert_eq!(generator_options(&DemoOptions::standard(Part::Fast)).frames_per_second, None);
    }
}
