//! Bulk goodput by congestion control, loss rate and protection (Table 3, Figure 21).

use serde::{Deserialize, Serialize};

use super::slots::{Demo, DemoError};
use super::turns::NoiseSummary;
use super::{Condition, DemoOptions};
use crate::statistics::MedianInterval;
use crate::tcp::{self, BulkOptions, TcpError, TrafficPath};

/// The transfers of one cell of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoodputRow {
    /// Congestion control of the sender.
    pub congestion_control: String,
    /// Injected loss rate.
    pub loss: f64,
    /// Protection; the healthy link is the one without loss.
    pub condition: Condition,
    /// Payload received, bit/s: the median of the transfers. `None` if this kernel does not have the congestion control.
    pub goodput_bps: Option<f64>,
    /// The interval of that median.
    pub interval: Option<MedianInterval>,
    /// Segments that the host's kernel retransmitted.
    pub retransmitted_segments: u64,
}

/// The conditions of one transfer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cell {
    congestion_control: String,
    loss: f64,
    condition: Condition,
}

const PROTECTIONS: [Condition; 3] = [Condition::Unprotected, Condition::Ordered, Condition::NonBlocking];

/// All cells: for each congestion control the healthy link, and each loss rate in three conditions.
pub(super) fn cells(options: &DemoOptions) -> Vec<(String, Cell)> {
    let mut cells = Vec::new();
    for control in &options.congestion_controls {
        let mut add = |loss, condition: Condition| {
            let label = format!("{control}, loss {loss:e}, {}", condition.label());
            cells.push((label, Cell { congestion_control: control.clone(), loss, condition }));
        };
        add(0.0, Condition::Healthy);
        for &loss in &options.goodput_losses {
            PROTECTIONS.into_iter().for_each(|condition| add(loss, condition));
        }
    }
    cells
}

pub(super) fn run(demo: &mut Demo) -> Result<(Vec<GoodputRow>, NoiseSummary), DemoError> {
    let cells = cells(demo.options);
    let plan = demo.options.turns(cells.len());
    let (turns, calm) = demo.in_turns("goodput", &plan, &cells, |demo, cell| {
        demo.set(cell.condition, cell.loss)?;
        measure(demo, &cell.congestion_control)
    })?;
    let row = |(index, (_, cell)): (usize, (String, Cell))| {
        let transfers = || turns.usable(index).flatten();
        let goodputs: Vec<f64> = transfers().map(|(goodput, _)| *goodput).collect();
        let interval = MedianInterval::from_values(&goodputs);
        GoodputRow {
            congestion_control: cell.congestion_control,
            loss: cell.loss,
            condition: cell.condition,
            goodput_bps: interval.map(|interval| interval.median),
            interval,
            retransmitted_segments: transfers().map(|(_, retransmitted)| retransmitted).sum(),
        }
    };
    Ok((cells.into_iter().enumerate().map(row).collect(), calm))
}

/// Goodput and retransmitted segments of one transfer; `None` without the congestion control.
fn measure(demo: &Demo, congestion_control: &str) -> Result<Option<(f64, u64)>, DemoError> {
    let options = BulkOptions {
        duration: demo.options.goodput_time,
        warm_up: demo.options.goodput_warm_up,
        congestion_control: congestion_control.to_owned(),
        ..BulkOptions::default()
    };
    match tcp::bulk(&TrafficPath::ipv4(demo.lab), &options, &demo.control) {
        Ok(report) => Ok(Some((report.goodput_bits_per_second, report.retransmitted_segments))),
        // The table shows it as "not available".
        Err(TcpError::CongestionControl { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
