//! Traffic over one path with one repair.

use std::time::Duration;

use super::stage::{DSCP_IN_TIME, Stage};
use super::{Repair, WanColumn, WanDatagrams, WanError, WanOptions, WanTransfer};
use crate::datagrams::{self, DatagramOptions};
use crate::failover::GoodputSample;
use crate::stop::RunControl;
use crate::summary::Summary;
use crate::tcp::{self, BulkOptions, TrafficPath};

/// Time between two samples of the goodput.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(250);
/// Longer than several retransmissions over the longest path take.
const DRAIN: Duration = Duration::from_secs(2);
/// How long the connection may take: a lost SYN costs a second, and the second one two.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) fn run(
    stage: &Stage,
    options: &WanOptions,
    repair: Repair,
    control: &RunControl,
) -> Result<WanColumn, WanError> {
    let dscp = if repair == Repair::InTime { DSCP_IN_TIME } else { 0 };
    let datagrams = datagrams(stage, options, dscp, control)?;
    let transfer = if repair == Repair::InTime { None } else { Some(transfer(stage, options, control)?) };
    if control.stop.is_stopped() {
        return Err(WanError::Stopped);
    }
    Ok(WanColumn { repair, datagrams, transfer, path: stage.path_report(), cost: stage.cost()? })
}

fn datagrams(
    stage: &Stage,
    options: &WanOptions,
    dscp: u8,
    control: &RunControl,
) -> Result<WanDatagrams, WanError> {
    let numbered = DatagramOptions {
        duration: options.datagram_time,
        per_second: options.datagrams_per_second,
        drain: DRAIN,
        dscp,
        ..DatagramOptions::default()
    };
    let report = datagrams::send(&TrafficPath::ipv4(&stage.lab), &numbered, control)?;
    Ok(WanDatagrams {
        sent: report.sent,
        lost: report.lost,
        duplicated: report.duplicated,
        reordered: report.reordered,
        delay_ns: Summary::from_samples(&report.delays_ns),
        delays_ns: report.delays_ns,
    })
}

fn transfer(stage: &Stage, options: &WanOptions, control: &RunControl) -> Result<WanTransfer, WanError> {
    let bulk = BulkOptions {
        duration: options.transfer_time,
        warm_up: options.warm_up,
        sample_interval: SAMPLE_INTERVAL,
        connect_timeout: CONNECT_TIMEOUT,
        ..BulkOptions::default()
    };
    let report = tcp::bulk(&TrafficPath::ipv4(&stage.lab), &bulk, control)?;
    let sample = |sample: &tcp::BulkSample| GoodputSample {
        at_s: sample.at_ns as f64 / 1e9,
        goodput_bps: sample.goodput_bits_per_second,
    };
    Ok(WanTransfer {
        goodput_bps: report.goodput_bits_per_second,
        retransmitted_segments: report.retransmitted_segments,
        samples: report.samples.iter().map(sample).collect(),
    })
}
