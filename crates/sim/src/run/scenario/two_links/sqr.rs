//! The same failures and frames with SQR, whose switches keep copies.

use super::config::Setting;
use super::network::{BACKUP, PRIMARY, SOURCES, TwoLinksNetwork, build};
use super::report::{CutRow, Delivered, TwoLinksRow, micros};
use crate::link::{PortId, Side};
use crate::scenario::{ParameterError, Progress};
use crate::time::Time;

/// Simulates; the result has what SQR has of a row.
///
/// # Errors
/// The parameter that cannot be used.
pub(super) fn run(setting: &Setting<'_>, progress: &mut Progress<'_>) -> Result<TwoLinksRow, ParameterError> {
    let mut network = build(setting, true)?;
    let source = SOURCES[0];
    network.start_traffic();
    let mut times = setting.cuts().times(setting.config.seed, PRIMARY, Time::ZERO);
    let (mut rows, mut counted): (Vec<CutRow>, u64) = (Vec::new(), 0);
    let last = setting.lasts();
    let mut wanted = true;
    while wanted && rows.len() < setting.config.cuts as usize && times.at() <= last {
        let at = times.at();
        wanted = run_until(&mut network, Time(at.0 + 1), source, progress);
        end_row(&mut rows, &network);
        // Where a switch is still busy with the failure before, the link has not been used again and does not fail.
        let cuts = network.failover_stats().cuts;
        if cuts > counted {
            counted = cuts;
            network.observer.tallies[1].cut(at + setting.link.ingress_latency());
            rows.push(CutRow { at_us: micros(at), in_use: true, ..CutRow::default() });
        }
        times.skip_to(at);
    }
    let until = last + setting.config.every;
    wanted = wanted && run_until(&mut network, until, source, progress);
    end_row(&mut rows, &network);
    let stats = network.failover_stats();
    let queue = |link| network.normal_queue(PortId::new(link, Side::A)).2;
    let forward = Delivered::new(network.produced(source), &network.observer.tallies[1]);
    Ok(TwoLinksRow {
        forward,
        frames_cut: stats.lost_frames,
        // What a failed link has is corrupted as well.
        frames_corrupted: network.hosts.corrupted.saturating_sub(stats.lost_frames),
        frames_resent: stats.recovered_frames + stats.duplicate_frames,
        copies_sent: stats.recovered_frames + stats.duplicate_frames,
        steady_buffer_bytes: stats.steady_bytes_max,
        // Until it knows of a failure, a switch keeps what it always keeps.
        failed_buffer_bytes: stats.failed_bytes_max.max(stats.steady_bytes_max),
        queue_bytes: queue(PRIMARY).max(queue(BACKUP)),
        failovers: rows.len() as u64,
        drained: wanted && network.produced(source) == setting.frames(setting.config.load),
        interrupted: !wanted,
        ..TwoLinksRow::new(setting, "sqr", rows)
    })
}

/// Simulates up to a moment. `false` if it is not wanted any more.
fn run_until(
    network: &mut TwoLinksNetwork,
    until: Time,
    source: PortId,
    progress: &mut Progress<'_>,
) -> bool {
    let produced = network.produced(source);
    network.run_while(until, |_| true, &mut || progress(produced)) && progress(network.produced(source))
}

fn end_row(rows: &mut [CutRow], network: &TwoLinksNetwork) {
    if let Some(row) = rows.last_mut() {
        row.recovery_us = network.observer.tallies[1].recovery().map(micros);
    }
}
