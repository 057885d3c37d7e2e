//! The failures and frames of link ends with SQR, whose switches keep copies.

use super::super::Progress;
use super::super::config::{BACKUP, PRIMARY, SOURCES_OF_TWO};
use super::super::report::{CutRow, LinksReport, PairReport};
use super::{PairNetwork, Setting, end_row, micros};
use crate::link::config::ParameterError;
use crate::link::{PortId, Side};
use crate::time::Time;

/// Simulates; the result has what SQR has of a report.
///
/// # Errors
/// The parameter that cannot be used.
pub(super) fn run(setting: &Setting<'_>, progress: &mut Progress<'_>) -> Result<LinksReport, ParameterError> {
    let mut network = setting.network()?;
    network.start_traffic();
    let cuts = setting.pair.cuts;
    let mut times = cuts.times(setting.config.seed, PRIMARY, Time::ZERO);
    let (mut rows, mut counted): (Vec<CutRow>, u64) = (Vec::new(), 0);
    let last = setting.pair.lasts();
    let mut wanted = true;
    while wanted && rows.len() < cuts.failures_max as usize && times.at() <= last {
        let at = times.at();
        wanted = run_until(&mut network, Time(at.0 + 1), progress);
        end_row(&mut rows, &network);
        // Where a switch is still busy with the failure before, the link has not been used again and does not fail.
        let failures = network.failover_stats().cuts;
        if failures > counted {
            counted = failures;
            network.observer.streams[0].cut(at + setting.link().ingress_latency());
            rows.push(CutRow { at_us: micros(at), in_use: true, ..CutRow::default() });
        }
        times.skip_to(at);
    }
    wanted = wanted && run_until(&mut network, last + cuts.every, progress);
    end_row(&mut rows, &network);
    let stats = network.failover_stats();
    let queue = |link| network.normal_queue(PortId::new(link, Side::A)).2;
    let measured = PairReport {
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
        cuts: rows,
        ..PairReport::default()
    };
    // What a link corrupts is not delivered.
    let all = setting.sources.iter().all(|source| network.produced(source.port) == source.frames);
    Ok(setting.report(&network, Time::ZERO, wanted && all, measured))
}

/// Simulates up to a moment. `false` if it is not wanted any more.
fn run_until(network: &mut PairNetwork, until: Time, progress: &mut Progress<'_>) -> bool {
    let source = SOURCES_OF_TWO[0];
    let produced = network.produced(source);
    network.run_while(until, |_| true, &mut || progress(produced)) && progress(network.produced(source))
}
