//! What failures cost the protocol's link ends.

use super::super::build::Watched;
use super::super::config::PRIMARY;
use super::super::report::{CutRow, PairReport};
use super::{CutWatch, ENDS};
use crate::link::Scheme;
use crate::network::{Failures, Hosts};
use linkmend_protocol::Mode;

/// What has been counted at a moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    lost: u64,
    resent: u64,
    duplicates: u64,
}

impl Counts {
    fn now<H: Hosts>(network: &Watched<H>) -> Counts {
        let [sender, receiver] = ENDS.map(|port| network.link_end(port).map(|end| end.stats()));
        Counts {
            lost: network.second_link_stats(ENDS[0]).map_or(0, |stats| stats.frames_cut),
            resent: sender.map_or(0, |stats| stats.resent_frames),
            duplicates: receiver.map_or(0, |stats| stats.duplicates_dropped),
        }
    }
}

impl CutWatch<'_> {
    /// Takes note of a link that has failed, or works again.
    pub(super) fn look_at_link_ends<H: Hosts>(&mut self, network: &mut Watched<H>) {
        let Some(Failures { is_down, cut_at, path, in_use, changes }) = network.failures(PRIMARY) else {
            return;
        };
        if changes == self.changes {
            return;
        }
        self.changes = changes;
        let counts = Counts::now(network);
        if is_down {
            self.end_row(network);
            self.before = Counts { lost: self.mended.lost, ..counts };
            self.begin_row(network, cut_at, CutRow { link: path, in_use, ..CutRow::default() });
        } else if let Some(row) = self.report.cuts.last_mut() {
            row.frames_lost = counts.lost - self.before.lost;
            row.frames_resent = counts.resent - self.before.resent;
            row.duplicates_dropped = counts.duplicates - self.before.duplicates;
            self.mended = counts;
        }
        self.note_levels(network, !is_down);
    }

    /// Takes note of the buffers until now, when a link has been down or none.
    pub(super) fn note_levels<H: Hosts>(&mut self, network: &mut Watched<H>, was_down: bool) {
        let report = &mut self.report;
        if let Some(sender) = network.link_end_mut(ENDS[0]) {
            let stats = sender.stats();
            let bytes = Mode::ALL.into_iter().map(|mode| stats.tx_buffer[mode].max).max().unwrap_or(0);
            sender.reset_buffer_extremes();
            let max =
                if was_down { &mut report.failed_buffer_bytes } else { &mut report.steady_buffer_bytes };
            *max = bytes.max(*max);
        }
        if let Some(receiver) = network.link_end_mut(ENDS[1]) {
            report.rx_buffer_bytes = report.rx_buffer_bytes.max(receiver.stats().rx_buffer.max);
            receiver.reset_buffer_extremes();
        }
    }

    /// Whether the last failure is over, and everything was delivered and acknowledged.
    pub(super) fn is_drained<H: Hosts>(&self, network: &Watched<H>) -> bool {
        let is_down = network.failures(PRIMARY).is_some_and(|failures| failures.is_down);
        let mut ways = self.sources.iter().zip(&network.observer.watch.streams);
        self.report.cuts.len() as u64 == self.pair.cuts.failures_max
            && !is_down
            && ways.all(|(source, stream)| stream.delivered() == source.frames)
            && ENDS.iter().all(|&port| network.scheme(port).is_drained())
    }

    pub(super) fn measure_link_ends<H: Hosts>(&mut self, network: &mut Watched<H>) {
        self.note_levels(network, network.failures(PRIMARY).is_some_and(|failures| failures.is_down));
        let counts = Counts::now(network);
        let links = network.second_link_stats(ENDS[0]).unwrap_or_default();
        self.report = PairReport {
            frames_cut: counts.lost,
            frames_corrupted: links.frames_corrupted,
            frames_resent: counts.resent,
            copies_sent: network.link_end(ENDS[0]).map_or(0, |end| end.stats().retransmitted_copies),
            duplicates_dropped: counts.duplicates,
            late_frames: links.frames_late,
            queue_bytes: network.normal_queue(ENDS[0]).2,
            failovers: links.failovers,
            returns: links.returns,
            ..std::mem::take(&mut self.report)
        };
    }
}
