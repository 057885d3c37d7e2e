//! Two links between the same two ends: which of them is in use, and when that changes.
//!
//! A session is independent of paths. Frames that a failed path has lost are unacknowledged, and are retransmitted on
//! the other path, in order ([`LinkEnd::change_path`](crate::LinkEnd::change_path)); the receiver recognises duplicates
//! by their number. All numbered frames of an end are on one path, and each path is a queue. The protocol relies on the
//! fact that frames sent later arrive later. This still holds if an end accepts no more frames from the path that its
//! peer has left: it changes the path from which it accepts numbered and control frames when a newer decision of its
//! peer arrives *on the path that the decision names*, ahead of the frames that follow it there.
//!
//! Both ends send [`Probe`]s on both paths. Each end decides for its own direction ([`Decision`]), based on what its
//! peer reports about the two paths ([`PathReport`]); `choice` contains the rules. An end that does not hear its peer
//! on either path (there is no daemon, or none that supports two paths) follows only the carriers.
//!
//! Paths may delay frames for any time, including frames from or to an end that has restarted since. An end therefore
//! believes probes only from a writer that has repeated its latest challenge, and accepts numbered frames only
//! according to such a writer's decisions (`peer`).
//!
//! A driver reports what it hears and the state of its carriers, and polls for probes and changes:
//! [`Paths::handle_timeout`] when [`Paths::next_timeout`] has passed, then [`Paths::poll_change`] and, for each path,
//! [`Paths::poll_probe`] until `None`, before it sends anything else.

mod arrivals;
mod change;
mod choice;
mod config;
mod peer;
mod probe;
#[cfg(test)]
mod tests;
mod watch;

pub use change::{ChangeReason, Failover, PathChange, PathStats};
pub use config::PathsConfig;
pub use probe::{Decision, Path, PathReport, Preference, Probe};

use crate::config_error::ConfigError;
use crate::time::{Instant, Ticks};
use config::quick_interval;
use peer::Peer;
use watch::Watch;

/// Number of probes that immediately announce a change, so that the loss of one does no harm.
const ANNOUNCEMENTS: u8 = 3;

/// Both paths of a link end; see the module documentation.
#[derive(Debug)]
pub struct Paths {
    config: PathsConfig,
    detection: Ticks,
    now: Instant,
    /// Identifies this end to its peer.
    own: u32,
    /// What an end must repeat to be accepted as the peer, and what to repeat to it.
    challenge: u32,
    echo: u32,
    decision: Decision,
    changed_at: Instant,
    /// Until when no path is left because of its quality, and how long that is after such a change.
    hold_until: Instant,
    hold: Ticks,
    preference: Preference,
    watches: [Watch; 2],
    peer: Option<Peer>,
    /// What the peer was told last: whether each path fails, and whether it loses full-size frames.
    told: [(bool, bool); 2],
    /// When the first frame after the latest probe arrived.
    unprobed_from: Option<Instant>,
    /// Of 128 numbered frames, how many the path in use loses.
    measured_lost: u8,
    change: Option<PathChange>,
    last_failover: Option<Failover>,
    stats: PathStats,
}

impl Paths {
    /// Two paths with carriers, of which nothing else is known, and no session. `own` must be random: it distinguishes
    /// the ends, and an end from the same end before a restart.
    ///
    /// # Errors
    /// The first parameter that is out of its bounds.
    pub fn new(config: PathsConfig, own: u32) -> Result<Paths, ConfigError> {
        config.validate()?;
        let own = own.max(1);
        Ok(Paths {
            config,
            detection: config.silence(true),
            now: Instant(0),
            own,
            challenge: own,
            echo: 0,
            decision: Decision { number: 1, active: config.preferred },
            changed_at: Instant(0),
            hold_until: Instant(0),
            hold: Ticks::ZERO,
            preference: Preference { number: 0, by: 0, path: config.preferred },
            watches: [Watch::new(); 2],
            peer: None,
            told: [(false, false); 2],
            unprobed_from: None,
            measured_lost: 0,
            change: None,
            last_failover: None,
            stats: PathStats::default(),
        })
    }

    /// The path on which everything is sent.
    #[inline]
    pub const fn active(&self) -> Path {
        self.decision.active
    }

    /// The path to use while both are up.
    pub const fn preferred(&self) -> Path {
        self.preference.path
    }

    /// Whether the peer is heard on a path.
    pub fn is_heard(&self, path: Path) -> bool {
        self.watches[path as usize].is_heard(self.now, self.detection)
    }

    /// Whether the port of a path has a carrier.
    pub const fn has_carrier(&self, path: Path) -> bool {
        self.watches[path as usize].has_carrier
    }

    /// Whether probes of the other path arrive on this one.
    pub const fn is_crossed(&self, path: Path) -> bool {
        self.watches[path as usize].is_crossed
    }

    /// Whether the peer has said that it monitors both paths, and is heard on at least one.
    pub fn peer_watches(&self) -> bool {
        self.peer.is_some() && Path::ALL.iter().any(|&path| self.is_heard(path))
    }

    /// Why the current path is in use, and what the last change cost.
    pub const fn last_failover(&self) -> Option<&Failover> {
        self.last_failover.as_ref()
    }

    /// What was counted since this end began.
    pub const fn stats(&self) -> &PathStats {
        &self.stats
    }

    /// The times and the preference with which this end started.
    pub const fn config(&self) -> &PathsConfig {
        &self.config
    }

    /// Records whether anything is protected, in either direction. If nothing is, paths are probed less often.
    pub fn set_dormant(&mut self, now: Instant, dormant: bool) {
        self.advance(now);
        let detection = self.config.silence(dormant);
        if detection != self.detection {
            self.detection = detection;
            for watch in &mut self.watches {
                watch.probe_at = now;
            }
        }
    }

    /// Whether to accept numbered and control frames that arrive on a path. Others are late, and are counted here.
    #[inline]
    pub fn takes(&mut self, path: Path) -> bool {
        let takes = self.taken() == Some(path) || (self.is_unprobed() && !self.is_foreign(path));
        self.stats.late_frames += u64::from(!takes);
        takes
    }

    /// Records that something was heard on a path, which is the peer's unless the path leads to another end.
    #[inline]
    pub fn heard(&mut self, now: Instant, path: Path) {
        self.advance(now);
        if self.is_foreign_lately(path) {
            return;
        }
        self.watches[path as usize].hear(now, self.detection);
        if self.unprobed_from.is_none() {
            self.unprobed_from = Some(now);
        }
    }

    /// Records whether the port of a path has a carrier.
    pub fn handle_carrier(&mut self, now: Instant, path: Path, has_carrier: bool) {
        self.advance(now);
        let watch = &mut self.watches[path as usize];
        if watch.has_carrier != has_carrier {
            watch.has_carrier = has_carrier;
            // What was heard before says nothing about the current state of the path, and a time without a carrier does
            // not count as silence.
            (watch.heard_from, watch.fit_from) = (now, None);
            watch.probe_at = now;
            if has_carrier {
                watch.heard_at = None;
                watch.interrupted();
                if let Some(peer) = &mut self.peer {
                    peer.reports[path as usize].fails = false;
                }
            }
            self.decide(now);
        }
    }

    /// Records the loss rate of what this end has sent on the path in use
    /// ([`LinkEnd::path_loss`](crate::LinkEnd::path_loss)).
    pub fn set_measured_loss(&mut self, now: Instant, loss: Option<f64>) {
        let lost = (loss.unwrap_or(0.0) * 128.0) as u8;
        if core::mem::replace(&mut self.measured_lost, lost) != lost {
            self.advance(now);
            self.decide(now);
        }
    }

    /// When [`Paths::handle_timeout`] or [`Paths::poll_probe`] has something to do.
    pub fn next_timeout(&self) -> Instant {
        let probes = self.watches.iter().filter(|watch| watch.has_carrier).map(|watch| watch.probe_at);
        let told = Path::ALL.into_iter().filter_map(|path| self.report_changes_at(path));
        let choice = self.choice().map(|(at, ..)| at.max(self.now));
        probes.chain(told).chain(choice).min().unwrap_or(Instant(u64::MAX))
    }

    /// Tells the peer what has changed, and changes the path if it is time to.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
        self.decide(now);
    }

    /// The change to carry out now.
    pub fn poll_change(&mut self) -> Option<PathChange> {
        self.change.take()
    }

    /// Records how many frames are retransmitted because of the change that was carried out.
    pub fn note_resent(&mut self, frames: u64) {
        self.stats.resent_frames += frames;
        if let Some(failover) = &mut self.last_failover {
            failover.resent_frames += frames;
        }
    }

    /// A probe to send now on a path, ahead of everything else, and padded if it says so.
    pub fn poll_probe(&mut self, now: Instant, path: Path) -> Option<Probe> {
        self.advance(now);
        let watch = &self.watches[path as usize];
        if !watch.has_carrier || now < watch.probe_at {
            return None;
        }
        let peer = self.peer.as_ref();
        let is_unconfirmed =
            path == self.decision.active && peer.is_some_and(|peer| peer.takes != self.decision.number);
        let interval = self.interval();
        let wait = if is_unconfirmed { interval.min(quick_interval(self.detection)) } else { interval };
        let takes = peer.filter(|peer| peer.challenge == self.echo).and_then(|peer| peer.sends_by);
        let turn = self.config.full_turn(interval);
        let reports = Path::ALL.map(|path| self.report(path));
        let (number, is_full) = self.watches[path as usize].probed(now, wait, turn);
        self.stats.probes_sent += 1;
        Some(Probe {
            writer: self.own,
            challenge: self.challenge,
            echo: self.echo,
            path,
            is_full,
            number,
            stamp_us: self.config.micros(Ticks(now.0)),
            decision: self.decision,
            takes: takes.map_or(0, |decision| decision.number),
            preference: self.preference,
            needs_ns: self.config.nanos(self.detection),
            interval_ns: self.config.nanos(interval),
            reports,
        })
    }

    /// Records that a probe could not be sent, because its port was full.
    pub fn probe_dropped(&mut self, probe: &Probe) {
        self.watches[probe.path as usize].probe_dropped(probe.number, probe.is_full);
        self.stats.probes_sent -= 1;
    }

    /// Interval between probes.
    fn interval(&self) -> Ticks {
        self.config.interval(self.detection, self.peer.as_ref().map_or(self.detection, |peer| peer.needs))
    }

    /// Advances the time. If this end was not listening for a while, at most half a detection time of that counts as
    /// silence of the peer.
    #[inline]
    fn advance(&mut self, now: Instant) {
        let gap = now.since(self.now);
        if gap.0 > self.detection.0 / 2 {
            self.excuse(gap);
        }
        self.now = self.now.max(now);
    }

    #[inline(never)]
    fn excuse(&mut self, gap: Ticks) {
        let silence = Ticks(gap.0 - self.detection.0 / 2);
        if let Some(peer) = &mut self.peer {
            peer.heard_at = peer.heard_at + silence;
        }
        for watch in &mut self.watches {
            watch.skip(silence);
            if gap > self.detection {
                watch.arrivals.excuse();
            }
        }
    }

    /// What this end knows about a path as a receiver.
    fn report(&self, path: Path) -> PathReport {
        let [watch, other] = [path, path.other()].map(|path| &self.watches[path as usize]);
        let silent_us = watch.heard_at.map_or(u32::MAX, |at| {
            let silence = self.now.since(at).min(self.config.tick.micros(u32::MAX.into()));
            self.config.micros(silence).min(u32::MAX - 1)
        });
        PathReport {
            fails: watch.fails(other, self.now, self.detection),
            loses_full: watch.loses_full(),
            silent_us,
            lost: watch.arrivals.lost(),
            later_us: watch.arrivals.later_us(&other.arrivals),
        }
    }

    /// When the peer must be told that a path fails, if nothing arrives until then.
    fn report_changes_at(&self, path: Path) -> Option<Instant> {
        let [watch, other] = [path, path.other()].map(|path| &self.watches[path as usize]);
        let may_fail =
            !self.told[path as usize].0 && watch.has_carrier && other.is_heard(self.now, self.detection);
        may_fail.then(|| watch.fails_at(other, self.detection).max(self.now))
    }

    /// Tells the peer immediately what it must know to choose its path.
    fn tell(&mut self, now: Instant) {
        let flags = Path::ALL.map(|path| {
            let PathReport { fails, loses_full, .. } = self.report(path);
            (fails, loses_full)
        });
        if core::mem::replace(&mut self.told, flags) != flags {
            self.announce(now);
        }
    }

    fn announce(&mut self, now: Instant) {
        self.watches.iter_mut().for_each(|watch| watch.announce(now, ANNOUNCEMENTS - 1));
    }
}
