//! What the same failures cost with SQR, whose switches keep copies.

use super::super::build::Watched;
use super::super::config::{BACKUP, PRIMARY};
use super::super::report::{CutRow, PairReport};
use super::CutWatch;
use crate::network::{Hosts, PortId, Side};

impl CutWatch<'_> {
    /// Takes note of a link that has failed.
    pub(super) fn look_at_switches<H: Hosts>(&mut self, network: &mut Watched<H>) {
        let (at, last) = (self.times.at(), self.began + self.pair.lasts());
        let is_next = network.now() > at && at <= last;
        if !is_next || self.report.cuts.len() as u64 >= self.pair.cuts.failures_max {
            return;
        }
        self.end_row(network);
        // Where a switch is still busy with the failure before, the link has not been used again and does not fail.
        let failures = network.failover_stats().failures;
        if failures > self.failures {
            self.failures = failures;
            self.begin_row(network, at, CutRow { in_use: true, ..CutRow::default() });
        }
        self.times.skip_to(at);
    }

    pub(super) fn measure_switches<H: Hosts>(&mut self, network: &Watched<H>) {
        let stats = network.failover_stats();
        let queue = |link| network.normal_queue(PortId::new(link, Side::A)).2;
        let corrupted = (0..network.port_count()).map(|port| network.corrupted_frames(PortId::at(port)));
        let cuts = std::mem::take(&mut self.report.cuts);
        self.report = PairReport {
            frames_cut: stats.frames_lost,
            frames_corrupted: corrupted.sum(),
            frames_resent: stats.frames_recovered + stats.frames_duplicated,
            copies_sent: stats.frames_recovered + stats.frames_duplicated,
            steady_buffer_bytes: stats.steady_buffer_bytes,
            // Until it knows of a failure, a switch keeps what it always keeps.
            failed_buffer_bytes: stats.failed_buffer_bytes.max(stats.steady_buffer_bytes),
            queue_bytes: queue(PRIMARY).max(queue(BACKUP)),
            failovers: cuts.len() as u64,
            cuts,
            ..PairReport::default()
        };
    }
}
