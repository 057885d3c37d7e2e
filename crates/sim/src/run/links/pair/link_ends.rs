//! A run with the protocol's link ends.

use super::super::Progress;
use super::super::config::{PRIMARY, SOURCES_OF_TWO};
use super::super::report::{CutRow, LinksReport, PairReport};
use super::{ENDS, PairNetwork, Setting, end_row, micros};
use crate::link::Scheme;
use crate::link::config::ParameterError;
use crate::network::{Failures, OPENING_MAX, Opening};
use crate::time::Time;
use linkmend_protocol::Mode;

/// How much longer than its traffic a run may last, besides as long again; then it has stalled.
const PATIENCE: Time = Time::from_nanos(10_000_000);

/// What has been counted at a moment.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    lost: u64,
    resent: u64,
    duplicates: u64,
}

/// A run, and what has been measured of it so far.
#[derive(Debug)]
struct Run<'a> {
    setting: &'a Setting<'a>,
    network: PairNetwork,
    began: Time,
    /// What had been counted when the latest failure began, and when the one before was over.
    before: Counts,
    mended: Counts,
    report: PairReport,
}

/// Simulates.
///
/// # Errors
/// The parameter that cannot be used.
pub(super) fn run(setting: &Setting<'_>, progress: &mut Progress<'_>) -> Result<LinksReport, ParameterError> {
    let mut network = setting.network()?;
    let mut wanted = match network.open_sessions(&mut || progress(0)) {
        Opening::Open => true,
        Opening::Unwanted => false,
        Opening::Failed { .. } => return Err(setting.link().not_opened(OPENING_MAX)),
    };
    network.start_traffic();
    let began = network.now();
    network.observer.begin(began);
    let (before, mended, report) = (Counts::default(), Counts::default(), PairReport::default());
    let mut run = Run { setting, network, began, before, mended, report };
    run.note_levels(false);
    run.report = PairReport::default();
    while wanted && run.until_change(progress) {
        run.note_change();
        wanted = progress(run.network.produced(SOURCES_OF_TWO[0]));
    }
    let drained = run.is_last() && setting.is_drained(&run.network);
    end_row(&mut run.report.cuts, &run.network);
    run.note_levels(run.network.failures(PRIMARY).is_some_and(|failures| failures.is_down));
    let measured = run.measure();
    Ok(setting.report(&run.network, began, drained, measured))
}

impl Run<'_> {
    /// Whether the last failure has begun.
    fn is_last(&self) -> bool {
        self.report.cuts.len() as u64 == self.setting.pair.cuts.failures_max
    }

    /// Simulates until a link fails or works again. `false` if neither will happen: all is delivered, or the run has stalled
    /// or is not wanted.
    fn until_change(&mut self, progress: &mut Progress<'_>) -> bool {
        let lasts = self.setting.pair.lasts();
        let deadline = self.began + lasts + lasts + PATIENCE;
        let changes = |network: &PairNetwork| network.failures(PRIMARY).map(|failures| failures.changes);
        let (before, produced) = (changes(&self.network), self.network.produced(SOURCES_OF_TWO[0]));
        let (is_last, setting) = (self.is_last(), self.setting);
        let goes_on = |network: &mut PairNetwork| {
            changes(network) == before && !(is_last && setting.is_drained(network))
        };
        self.network.run_while(deadline, goes_on, &mut || progress(produced))
            && changes(&self.network) != before
    }

    /// Takes note of a link that has failed, or works again.
    fn note_change(&mut self) {
        let Some(Failures { is_down, cut_at, path, in_use, .. }) = self.network.failures(PRIMARY) else {
            return;
        };
        let counts = self.counts();
        if is_down {
            end_row(&mut self.report.cuts, &self.network);
            self.before = Counts { lost: self.mended.lost, ..counts };
            let at_us = micros(cut_at - self.began);
            self.report.cuts.push(CutRow { at_us, link: path, in_use, ..CutRow::default() });
            let passed = cut_at + self.setting.link().ingress_latency();
            self.network.observer.streams.iter_mut().for_each(|stream| stream.cut(passed));
        } else if let Some(row) = self.report.cuts.last_mut() {
            row.frames_lost = counts.lost - self.before.lost;
            row.frames_resent = counts.resent - self.before.resent;
            row.duplicates_dropped = counts.duplicates - self.before.duplicates;
            self.mended = counts;
        }
        self.note_levels(!is_down);
    }

    /// Takes note of the buffers until now, when a link has been down or none.
    fn note_levels(&mut self, was_down: bool) {
        let report = &mut self.report;
        if let Some(sender) = self.network.link_end_mut(ENDS[0]) {
            let stats = sender.stats();
            let bytes = Mode::ALL.into_iter().map(|mode| stats.tx_buffer[mode].max).max().unwrap_or(0);
            sender.reset_buffer_extremes();
            let max =
                if was_down { &mut report.failed_buffer_bytes } else { &mut report.steady_buffer_bytes };
            *max = bytes.max(*max);
        }
        if let Some(receiver) = self.network.link_end_mut(ENDS[1]) {
            report.rx_buffer_bytes = report.rx_buffer_bytes.max(receiver.stats().rx_buffer.max);
            receiver.reset_buffer_extremes();
        }
    }

    fn counts(&self) -> Counts {
        let [sender, receiver] = ENDS.map(|port| self.network.link_end(port).map(|end| end.stats()));
        Counts {
            lost: self.network.second_link_stats(ENDS[0]).map_or(0, |stats| stats.cut_frames),
            resent: sender.map_or(0, |stats| stats.resent_frames),
            duplicates: receiver.map_or(0, |stats| stats.duplicates_dropped),
        }
    }

    fn measure(&self) -> PairReport {
        let counts = self.counts();
        let links = self.network.second_link_stats(ENDS[0]).unwrap_or_default();
        PairReport {
            frames_cut: counts.lost,
            frames_corrupted: links.corrupted_frames,
            frames_resent: counts.resent,
            copies_sent: self.network.link_end(ENDS[0]).map_or(0, |end| end.stats().retransmitted_copies),
            duplicates_dropped: counts.duplicates,
            late_frames: links.late_frames,
            queue_bytes: self.network.normal_queue(ENDS[0]).2,
            failovers: links.failovers,
            returns: links.returns,
            ..self.report.clone()
        }
    }
}

impl Setting<'_> {
    /// Whether everything was sent, delivered and acknowledged, and no link is down.
    fn is_drained(&self, network: &PairNetwork) -> bool {
        let is_down = network.failures(PRIMARY).is_some_and(|failures| failures.is_down);
        let mut ways = self.sources.iter().zip(&network.observer.streams);
        !is_down
            && ways.all(|(source, stream)| stream.delivered() == source.frames)
            && ENDS.iter().all(|&port| network.scheme(port).is_drained())
    }
}
