//! A run with the protocol's link ends.

use super::config::Setting;
use super::network::{ENDS, PRIMARY, SOURCES, TwoLinksNetwork, build};
use super::report::{CutRow, Delivered, TwoLinksRow, micros};
use crate::link::Scheme;
use crate::network::{Failures, OPENING_MAX, Opening};
use crate::scenario::{ParameterError, Progress};
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

/// The most that was in buffers.
#[derive(Debug, Clone, Copy, Default)]
struct Levels {
    /// Of the sender, while both links worked, and while one did not.
    steady_bytes: u64,
    failed_bytes: u64,
    /// Of the receiver.
    rx_bytes: u64,
}

/// A run, and what has been measured of it so far.
#[derive(Debug)]
struct Run<'a> {
    setting: &'a Setting<'a>,
    network: TwoLinksNetwork,
    began: Time,
    rows: Vec<CutRow>,
    /// What had been counted when the latest failure began, and when the one before was over.
    before: Counts,
    mended: Counts,
    levels: Levels,
}

/// Simulates.
///
/// # Errors
/// The parameter that cannot be used.
pub(super) fn run(setting: &Setting<'_>, progress: &mut Progress<'_>) -> Result<TwoLinksRow, ParameterError> {
    let mut network = build(setting, false)?;
    let mut wanted = match network.open_sessions(&mut || progress(0)) {
        Opening::Open => true,
        Opening::Unwanted => false,
        Opening::Failed { .. } => return Err(setting.link.not_opened(OPENING_MAX)),
    };
    network.start_traffic();
    let began = network.now();
    let mut run = Run {
        setting,
        network,
        began,
        rows: Vec::new(),
        before: Counts::default(),
        mended: Counts::default(),
        levels: Levels::default(),
    };
    run.note_levels(false);
    run.levels = Levels::default();
    while wanted && run.until_change(progress) {
        run.note_change();
        wanted = progress(run.produced());
    }
    let drained = run.is_drained();
    run.end_row();
    run.note_levels(run.failures().is_some_and(|failures| failures.is_down));
    Ok(run.measure(drained, !wanted))
}

impl Run<'_> {
    fn failures(&self) -> Option<Failures> {
        self.network.failures(PRIMARY)
    }

    fn produced(&self) -> u64 {
        self.network.produced(SOURCES[0])
    }

    /// Simulates until a link fails or works again. `false` if neither will happen: all is delivered, or the run has stalled
    /// or is not wanted.
    fn until_change(&mut self, progress: &mut Progress<'_>) -> bool {
        let lasts = self.setting.lasts();
        let deadline = self.began + lasts + lasts + PATIENCE;
        let changes = |network: &TwoLinksNetwork| network.failures(PRIMARY).map(|failures| failures.changes);
        let (before, produced) = (changes(&self.network), self.produced());
        let is_last = self.rows.len() as u64 == self.setting.config.cuts;
        let setting = self.setting;
        let goes_on = |network: &mut TwoLinksNetwork| {
            changes(network) == before && !(is_last && is_drained(network, setting))
        };
        self.network.run_while(deadline, goes_on, &mut || progress(produced))
            && changes(&self.network) != before
    }

    /// Takes note of a link that has failed, or works again.
    fn note_change(&mut self) {
        let Some(failures) = self.failures() else { return };
        let counts = self.counts();
        if failures.is_down {
            self.end_row();
            self.before = Counts { lost: self.mended.lost, ..counts };
            self.rows.push(CutRow {
                at_us: micros(failures.cut_at - self.began),
                link: failures.path,
                in_use: failures.in_use,
                ..CutRow::default()
            });
            let passed = failures.cut_at + self.setting.link.ingress_latency();
            self.network.observer.tallies.iter_mut().for_each(|tally| tally.cut(passed));
        } else if let Some(row) = self.rows.last_mut() {
            row.frames_lost = counts.lost - self.before.lost;
            row.frames_resent = counts.resent - self.before.resent;
            row.duplicates_dropped = counts.duplicates - self.before.duplicates;
            self.mended = counts;
        }
        self.note_levels(!failures.is_down);
    }

    /// Takes down how long the latest failure was felt.
    fn end_row(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.recovery_us = self.network.observer.tallies[1].recovery().map(micros);
        }
    }

    /// Takes note of the buffers until now, when a link has been down or none.
    fn note_levels(&mut self, was_down: bool) {
        if let Some(sender) = self.network.link_end_mut(ENDS[0]) {
            let stats = sender.stats();
            let bytes = Mode::ALL.into_iter().map(|mode| stats.tx_buffer[mode].max).max().unwrap_or(0);
            sender.reset_buffer_extremes();
            let levels = &mut self.levels;
            let max = if was_down { &mut levels.failed_bytes } else { &mut levels.steady_bytes };
            *max = bytes.max(*max);
        }
        if let Some(receiver) = self.network.link_end_mut(ENDS[1]) {
            self.levels.rx_bytes = self.levels.rx_bytes.max(receiver.stats().rx_buffer.max);
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

    fn is_drained(&self) -> bool {
        let is_last = self.rows.len() as u64 == self.setting.config.cuts;
        let is_down = self.failures().is_some_and(|failures| failures.is_down);
        is_last && !is_down && is_drained(&self.network, self.setting)
    }

    fn measure(self, drained: bool, interrupted: bool) -> TwoLinksRow {
        let Run { setting, network, rows, levels, .. } = &self;
        let counts = self.counts();
        let links = network.second_link_stats(ENDS[0]).unwrap_or_default();
        let [backward, forward] = &network.observer.tallies;
        let has_reverse = setting.config.reverse_load > 0.0;
        TwoLinksRow {
            forward: Delivered::new(network.produced(SOURCES[0]), forward),
            reverse: has_reverse.then(|| Delivered::new(network.produced(SOURCES[1]), backward)),
            frames_cut: counts.lost,
            frames_corrupted: links.corrupted_frames,
            frames_resent: counts.resent,
            copies_sent: network.link_end(ENDS[0]).map_or(0, |end| end.stats().retransmitted_copies),
            duplicates_dropped: counts.duplicates,
            late_frames: links.late_frames,
            steady_buffer_bytes: levels.steady_bytes,
            failed_buffer_bytes: levels.failed_bytes,
            rx_buffer_bytes: levels.rx_bytes,
            queue_bytes: network.normal_queue(ENDS[0]).2,
            failovers: links.failovers,
            returns: links.returns,
            drained,
            interrupted,
            ..TwoLinksRow::new(setting, "linkguardian", rows.clone())
        }
    }
}

/// Whether everything was sent, delivered and acknowledged, and no link is down.
fn is_drained(network: &TwoLinksNetwork, setting: &Setting<'_>) -> bool {
    let loads = [setting.config.load, setting.config.reverse_load];
    let is_down = network.failures(PRIMARY).is_some_and(|failures| failures.is_down);
    let mut ways = loads.into_iter().enumerate().filter(|(_, load)| *load > 0.0);
    !is_down
        && ways.all(|(end, load)| network.observer.tallies[1 - end].delivered == setting.frames(load))
        && ENDS.iter().all(|&port| network.scheme(port).is_drained())
}
