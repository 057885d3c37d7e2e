//! Who the peer is, and what it says.
//!
//! A path may delay probes for any time, including those of an end that has restarted since. A writer is therefore
//! believed only once it has repeated this end's challenge. The challenge is chosen at startup and changes whenever a
//! writer is accepted, so a writer that has been replaced cannot have heard the current one.

use super::config::quick_interval;
use super::watch::Watch;
use super::{Decision, Path, PathReport, Paths, Probe};
use crate::time::{Instant, Ticks};

/// What is known about the peer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    writer: u32,
    /// What it must be told so that it believes this end.
    pub(super) challenge: u32,
    /// The decision by which it sends, once that has arrived on the path that it names.
    pub(super) sends_by: Option<Decision>,
    /// Stamp and arrival of the newest probe.
    stamp_us: u32,
    pub(super) reported_at: Instant,
    /// When it sent a probe last, on either path.
    pub(super) heard_at: Instant,
    /// The decision of this end that it follows when accepting frames, its detection time, and its reports.
    pub(super) takes: u32,
    pub(super) needs: Ticks,
    pub(super) reports: [PathReport; 2],
    /// Whether it sends on both paths.
    uses_both: bool,
}

/// A peer that sends on both paths sends at least one control frame in the time of this many probes.
const PROBES_ALONE_MAX: u8 = 100;

impl Paths {
    /// Handles a probe that arrived on `path`; `false` if it was not meant for it.
    pub fn handle_probe(&mut self, now: Instant, path: Path, probe: &Probe) -> bool {
        self.advance(now);
        let is_own = probe.writer == self.own;
        if !is_own && self.is_stranger(now, probe) {
            self.watches[path as usize].foreign_at = Some(now);
            self.stats.probes_unproven += 1;
            return false;
        }
        let watch = &mut self.watches[path as usize];
        watch.is_crossed = probe.path != path && !is_own;
        if is_own || watch.is_crossed {
            self.stats.probes_rejected += 1;
            return false;
        }
        if self.peer.as_ref().is_some_and(|peer| peer.writer != probe.writer) {
            // The peer is gone, so there is nobody to be foreign to.
            self.watches.iter_mut().for_each(|watch| watch.foreign_at = None);
        }
        let watch = &mut self.watches[path as usize];
        watch.foreign_at = None;
        watch.hear(now, self.detection);
        self.unprobed_from = None;
        self.echo = probe.challenge;
        if self.believes(now, probe) {
            self.take_word(now, path, probe);
            self.decide(now);
        } else {
            self.stats.probes_unproven += 1;
            // The answer allows it to prove itself. There may be many old probes to answer.
            for watch in &mut self.watches {
                let soon = (watch.probed_at + quick_interval(self.config.detection)).max(now);
                watch.probe_at = watch.probe_at.min(soon);
            }
        }
        true
    }

    /// Whether the writer of a probe is the peer, which has proved that it hears this end.
    pub fn is_peers(&self, probe: &Probe) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.writer == probe.writer)
    }

    /// Whether the writer of a probe is not the peer, although the peer was heard recently. It may be a real end with
    /// its own peer, to which one of the paths leads, so nothing that it says or hears counts.
    pub fn is_stranger(&self, now: Instant, probe: &Probe) -> bool {
        let lately = |peer: &Peer| now < peer.heard_at + self.config.replaced_after(self.detection);
        self.peer.as_ref().is_some_and(|peer| peer.writer != probe.writer && lately(peer))
    }

    /// Whether a path leads to another end, or also to a third end, while only the peer is heard on the other path.
    pub fn is_foreign(&self, path: Path) -> bool {
        let [it, other] = [path, path.other()];
        let is_strangers = self.is_foreign_lately(it) && !self.is_heard(it);
        let is_peers = self.is_heard(other) && !self.is_foreign_lately(other) && !self.is_shared(other);
        (is_strangers || self.is_shared(it)) && is_peers
    }

    /// Whether there is a third end on a path.
    fn is_shared(&self, path: Path) -> bool {
        self.watches[path as usize].is_shared
    }

    /// Records whether there is a third end on a path.
    pub fn set_shared(&mut self, now: Instant, path: Path, is_shared: bool) {
        if core::mem::replace(&mut self.watches[path as usize].is_shared, is_shared) != is_shared {
            self.advance(now);
            self.decide(now);
        }
    }

    /// Whether the latest probe on a path was a stranger's.
    #[inline]
    pub(super) fn is_foreign_lately(&self, path: Path) -> bool {
        let foreign_at = self.watches[path as usize].foreign_at;
        foreign_at.is_some_and(|at| self.now < at + self.config.silence(true))
    }

    /// Whether the writer of a probe is the peer, or proves to be the new one.
    fn believes(&mut self, now: Instant, probe: &Probe) -> bool {
        if self.peer.as_ref().is_some_and(|peer| peer.writer == probe.writer) {
            return true;
        }
        if probe.echo != self.challenge {
            return false;
        }
        self.challenge = self.challenge.wrapping_add(1).max(1);
        self.watches.iter_mut().for_each(Watch::forget);
        self.peer = Some(Peer {
            writer: probe.writer,
            challenge: probe.challenge,
            sends_by: None,
            stamp_us: probe.stamp_us,
            reported_at: now,
            heard_at: now,
            takes: 0,
            needs: self.detection,
            reports: [PathReport::default(); 2],
            uses_both: false,
        });
        self.announce(now);
        true
    }

    fn take_word(&mut self, now: Instant, path: Path, probe: &Probe) {
        let interval = self.interval();
        let config = &self.config;
        let watch = &mut self.watches[path as usize];
        let way_us = config.micros(Ticks(now.0)).wrapping_sub(probe.stamp_us);
        let missing = watch.note_arrival(probe.number, way_us);
        let peers_interval = config.tick.nanos(probe.interval_ns.into());
        watch.note_probe(now, peers_interval, config.full_turn(peers_interval), probe.is_full);
        self.stats.probes_received[path as usize] += 1;
        self.stats.probes_lost[path as usize] += u64::from(missing);
        let Some(peer) = &mut self.peer else { return };
        peer.heard_at = now;
        watch.is_other_named = probe.decision.active != path;
        if watch.is_other_named {
            watch.probes_alone = watch.probes_alone.saturating_add(1);
            peer.uses_both &= watch.probes_alone < PROBES_ALONE_MAX;
        }
        if probe.decision.active == path && peer.sends_by.is_none_or(|known| probe.decision.is_newer(&known))
        {
            peer.sends_by = Some(probe.decision);
        }
        // News arrives late on the longer path.
        if (probe.stamp_us.wrapping_sub(peer.stamp_us) as i32) < 0 {
            return;
        }
        (peer.stamp_us, peer.reported_at) = (probe.stamp_us, now);
        (peer.challenge, peer.takes, peer.reports) = (probe.challenge, probe.takes, probe.reports);
        peer.needs = config.tick.nanos(probe.needs_ns.into());
        if self.interval() < interval {
            self.watches.iter_mut().for_each(|watch| watch.probe_at = now);
        }
        self.note_confirmation(now, probe.takes);
        if probe.preference.is_newer(&self.preference) {
            self.adopt(now, probe.preference, super::ChangeReason::Peer);
        }
    }

    /// Records a control frame of the peer that only goes out on a path that is in use: neither a probe nor a hello. A path
    /// is a queue, so a peer whose latest probe there names the other path uses both.
    #[inline]
    pub fn note_control(&mut self, path: Path) {
        let watch = &mut self.watches[path as usize];
        if let Some(peer) = self.peer.as_mut().filter(|_| watch.is_other_named) {
            (watch.probes_alone, peer.uses_both) = (0, true);
        }
    }

    /// Whether the peer sends on both paths.
    #[inline]
    pub fn peer_uses_both(&self) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.uses_both)
    }

    /// Records that the peer follows a decision of this end when accepting frames.
    fn note_confirmation(&mut self, now: Instant, takes: u32) {
        if let Some(failover) = &mut self.last_failover
            && failover.gap.is_none()
            && takes == self.decision.number
        {
            failover.gap = Some(now.since(failover.passed_at));
        }
    }

    /// The path from which frames are accepted: the one on which the peer says it sends.
    #[inline]
    pub(super) fn taken(&self) -> Option<Path> {
        Some(self.peer.as_ref()?.sends_by?.active)
    }

    /// Whether frames have been arriving without a probe for so long that their writer must have only one path. Frames
    /// that a path has delayed arrive together with the probes behind them.
    pub(super) fn is_unprobed(&self) -> bool {
        self.unprobed_from.is_some_and(|from| self.now >= from + self.config.silence(true) * 2)
    }
}
