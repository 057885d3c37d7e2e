//! Bulk goodput by congestion control, loss rate and protection (Table 3, Figure 21).

use serde::{Deserialize, Serialize};

use super::run::{Demo, DemoError};
use super::{Condition, DemoOptions};
use crate::tcp::{self, BulkOptions, TcpError, TrafficPath};

/// One transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoodputRow {
    /// Congestion control of the sender.
    pub congestion_control: String,
    /// Injected loss rate.
    pub loss: f64,
    /// Protection.
    pub condition: Condition,
    /// Payload received, bit/s. `None` if this kernel does not have the congestion control.
    pub goodput_bps: Option<f64>,
    /// Segments that the host's kernel retransmitted.
    pub retransmitted_segments: u64,
}

/// Columns of the table: the healthy link is the row without loss of the other three.
const CONDITIONS: [Condition; 3] = [Condition::Unprotected, Condition::Ordered, Condition::NonBlocking];

/// Transfers for one congestion control.
pub(super) fn cells(options: &DemoOptions) -> usize {
    CONDITIONS.len() * (1 + options.goodput_losses.len())
}

pub(super) fn run(demo: &mut Demo) -> Result<Vec<GoodputRow>, DemoError> {
    let mut rows = Vec::new();
    let losses: Vec<f64> = std::iter::once(0.0).chain(demo.options.goodput_losses.iter().copied()).collect();
    for congestion_control in demo.options.congestion_controls.clone() {
        for &loss in &losses {
            for condition in CONDITIONS {
                demo.step(&format!("goodput, {congestion_control}, loss {loss:e}, {}", condition.label()))?;
                demo.set(condition, loss)?;
                rows.push(measure(demo, &congestion_control, loss, condition)?);
            }
        }
    }
    Ok(rows)
}

fn measure(
    demo: &Demo,
    congestion_control: &str,
    loss: f64,
    condition: Condition,
) -> Result<GoodputRow, DemoError> {
    let options = BulkOptions {
        duration: demo.options.goodput_time,
        warm_up: demo.options.goodput_warm_up,
        congestion_control: congestion_control.to_owned(),
        ..BulkOptions::default()
    };
    let row = |goodput_bps, retransmitted_segments| GoodputRow {
        congestion_control: congestion_control.to_owned(),
        loss,
        condition,
        goodput_bps,
        retransmitted_segments,
    };
    match tcp::bulk(&TrafficPath::ipv4(demo.lab), &options, &demo.control) {
        Ok(report) => Ok(row(Some(report.goodput_bits_per_second), report.retransmitted_segments)),
        // Said in the table as "not available".
        Err(TcpError::CongestionControl { .. }) => Ok(row(None, 0)),
        Err(error) => Err(error.into()),
    }
}
