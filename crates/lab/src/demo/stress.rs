//! Stress test: frames as fast as the path takes them, with their losses counted at either end.

use linkmend_dataplane::report::{BufferReport, LinkReport};
use serde::{Deserialize, Serialize};

use super::Condition;
use super::run::{Demo, DemoError};
use crate::generator::{self, GeneratorOptions};
use crate::packet::FramePath;

/// One stress test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StressColumn {
    /// What the link was like.
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
    /// Frames lost on the link for the first time, as a share of those sent; before recovery.
    pub actual_loss: f64,
    /// Frames lost for good, as a share of those sent; after recovery.
    pub effective_loss: f64,
    /// What Equation 1 predicts for it.
    pub predicted_loss: f64,
    /// Delivered frames, bit/s without check sequence.
    pub speed_bps: f64,
    /// The same as a share of the unprotected link's. `None` for the healthy link, which the kernel forwards.
    pub effective_speed: Option<f64>,
    /// Retransmitted copies for one lost frame.
    pub copies: u8,
    /// Copies sent.
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

pub(super) fn run(demo: &mut Demo) -> Result<Vec<StressColumn>, DemoError> {
    let mut columns = Vec::new();
    for condition in Condition::ALL {
        demo.step(&format!("stress test, {}", condition.label()))?;
        demo.set(condition, demo.options.loss)?;
        columns.push(measure(demo, condition)?);
    }
    let unprotected = columns.iter().find(|column| column.condition == Condition::Unprotected);
    if let Some(reference) = unprotected.map(|column| column.speed_bps) {
        for column in columns.iter_mut().filter(|column| column.condition != Condition::Healthy) {
            column.effective_speed = Some(column.speed_bps / reference);
        }
    }
    Ok(columns)
}

fn measure(demo: &Demo, condition: Condition) -> Result<StressColumn, DemoError> {
    let options = GeneratorOptions {
        count: demo.options.stress_frames,
        duration: Some(demo.options.stress_time),
        ..GeneratorOptions::default()
    };
    let before = demo.ends.report()?;
    let traffic = generator::generate(&FramePath::forward(demo.lab), &options, &demo.control)?;
    let after = demo.ends.report()?;
    let sent = traffic.sent.max(1) as f64;
    let protected = matches!(condition, Condition::Ordered | Condition::NonBlocking);
    let since = |count: fn(&LinkReport) -> u64| count(&after.1) - count(&before.1);
    let lost_at_first = match condition {
        Condition::Healthy => traffic.lost_on_path(),
        Condition::Unprotected => since(|report| report.counters.corrupted_frames),
        Condition::Ordered | Condition::NonBlocking => since(|report| report.counters.lost_frames),
    };
    let actual_loss = lost_at_first as f64 / sent;
    let latency = after.1.recovery_latency_ns.since(&before.1.recovery_latency_ns);
    Ok(StressColumn {
        condition,
        frames_sent: traffic.sent,
        frames_lost: traffic.lost_on_path(),
        frames_duplicated: traffic.duplicated,
        frames_reordered: traffic.reordered,
        frames_changed: traffic.corrupted,
        actual_loss,
        effective_loss: traffic.lost_on_path() as f64 / sent,
        predicted_loss: if protected {
            linkmend_protocol::effective_loss(actual_loss, after.0.copies)
        } else {
            actual_loss
        },
        speed_bps: traffic.bits_per_second,
        effective_speed: None,
        copies: if protected { after.0.copies } else { 0 },
        retransmitted_copies: after.0.counters.retransmitted_copies - before.0.counters.retransmitted_copies,
        recovery_timeouts: since(|report| report.counters.recovery_timeouts),
        recovery_ns: (protected && latency.count > 0).then_some((latency.p50, latency.p99)),
        tx_buffer: after.0.tx_buffer,
        rx_buffer: after.1.rx_buffer,
    })
}
