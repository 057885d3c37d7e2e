//! Two links between the same two ends: which of them is in use, and when they change.
//!
//! A session does not know paths. What a failed one has lost is what was not acknowledged, and goes out again on the other one,
//! in order ([`LinkEnd::change_path`](crate::LinkEnd::change_path)); the receiver knows by its number what it has already. All
//! numbered frames of an end are on one path, and each path is a queue. So the protocol's premise that what was sent later
//! arrives later still holds, if frames of the path that was left are not taken any more: an end changes the path of which it
//! takes numbered and control frames when a newer decision of its peer arrives *on the path that it names*, ahead of the
//! frames that follow it there.
//!
//! Both ends send [`Probe`]s on both paths. A path has failed when its carrier is gone, or when the peer is heard on the other
//! one for [`PathsConfig::detection`] and not on this one. Either end then decides for both ([`Decision`]). An end that does
//! not hear its peer on either path (there is no daemon, or none that knows of two paths) follows the carriers alone.
//!
//! A driver reports what it hears and its carriers, and asks for probes and changes:
//! [`Paths::handle_timeout`] when [`Paths::next_timeout`] has passed, then [`Paths::poll_change`] and, for each path,
//! [`Paths::poll_probe`] until `None`, before it sends anything else.

mod change;
mod config;
mod probe;
#[cfg(test)]
mod tests;
mod watch;

pub use change::{ChangeReason, Failover, PathChange, PathStats};
pub use config::PathsConfig;
pub use probe::{Decision, Path, Probe};

use crate::config_error::ConfigError;
use crate::time::{Instant, Ticks};
use config::probe_interval;
use watch::Watch;

/// Probes that announce a change at once, so that the loss of one costs nothing.
const ANNOUNCEMENTS: u8 = 3;

/// What is known of the peer.
#[derive(Debug, Clone, Copy)]
struct Peer {
    writer: u32,
    /// The decision by which it sends, once it has arrived on the path that it names.
    sends_by: Option<Decision>,
    hears: [bool; 2],
    takes: Path,
}

/// Both paths of a link end; see the module documentation.
#[derive(Debug)]
pub struct Paths {
    config: PathsConfig,
    detection: Ticks,
    now: Instant,
    /// Identifies this end to its peer.
    own: u32,
    decision: Decision,
    watches: [Watch; 2],
    peer: Option<Peer>,
    change: Option<PathChange>,
    last_failover: Option<Failover>,
    stats: PathStats,
}

impl Paths {
    /// Two paths of which nothing is known, with carriers and without a session. `own` must be random: it tells the ends apart,
    /// and an end from the one before its restart.
    ///
    /// # Errors
    /// The first parameter that is out of its bounds.
    pub fn new(config: PathsConfig, own: u32) -> Result<Paths, ConfigError> {
        config.validate()?;
        let decision = Decision {
            number: 0,
            by: 0,
            active: config.preferred,
            preferred: config.preferred,
            failed: false,
        };
        Ok(Paths {
            config,
            detection: config.silence(true),
            now: Instant(0),
            own: own.max(1),
            decision,
            watches: [Watch::new(); 2],
            peer: None,
            change: None,
            last_failover: None,
            stats: PathStats::default(),
        })
    }

    /// The path on which everything goes out.
    #[inline]
    pub const fn active(&self) -> Path {
        self.decision.active
    }

    /// The path to use while both are up.
    pub const fn preferred(&self) -> Path {
        self.decision.preferred
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

    /// Whether the peer has said that it watches both paths, and is heard on at least one.
    pub fn peer_watches(&self) -> bool {
        self.peer.is_some() && Path::ALL.iter().any(|&path| self.is_heard(path))
    }

    /// Why the path in use is what it is, and what the last change away from a failed path cost.
    pub const fn last_failover(&self) -> Option<&Failover> {
        self.last_failover.as_ref()
    }

    /// What was counted since this end began.
    pub const fn stats(&self) -> &PathStats {
        &self.stats
    }

    /// The times and the preference that this end began with.
    pub const fn config(&self) -> &PathsConfig {
        &self.config
    }

    /// Notes whether anything is protected, in either direction. Without, paths are watched at leisure.
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

    /// Whether numbered and control frames that arrive on a path are to be taken. Others are late, and are counted here.
    #[inline]
    pub fn takes(&mut self, path: Path) -> bool {
        let takes = self.taken().is_none_or(|taken| taken == path);
        if !takes {
            self.stats.late_frames += 1;
        } else if let Some(failover) = &mut self.last_failover
            && failover.gap.is_none()
            && failover.to == path
        {
            failover.gap = Some(self.now.since(failover.heard_at));
        }
        takes
    }

    /// The path that the peer sends on, if it has said so.
    #[inline]
    fn taken(&self) -> Option<Path> {
        Some(self.peer.as_ref()?.sends_by?.active)
    }

    /// Notes that the peer was heard on a path.
    #[inline]
    pub fn heard(&mut self, now: Instant, path: Path) {
        self.advance(now);
        self.watches[path as usize].hear(now, self.detection);
    }

    /// Notes whether the port of a path has a carrier.
    pub fn handle_carrier(&mut self, now: Instant, path: Path, has_carrier: bool) {
        self.advance(now);
        let watch = &mut self.watches[path as usize];
        if watch.has_carrier != has_carrier {
            watch.has_carrier = has_carrier;
            // Whatever was heard before says nothing about the path as it is now, and it was no silence without a carrier.
            (watch.heard_from, watch.good_from) = (now, None);
            if has_carrier {
                watch.heard_at = None;
            }
            watch.probe_at = now;
            self.decide(now);
        }
    }

    /// Uses a path from now on while both are up, at both ends, and at once if it can be used. `false` if it cannot.
    pub fn prefer(&mut self, now: Instant, path: Path) -> bool {
        self.advance(now);
        let usable = if self.peer_watches() { self.is_heard(path) } else { self.has_carrier(path) };
        let active = if usable { path } else { self.decision.active };
        if self.decision.preferred != path || active != self.decision.active {
            self.change_to(now, active, path, ChangeReason::Request);
        }
        usable
    }

    /// Handles a probe that arrived on `path`; `false` if it was not meant for it.
    pub fn handle_probe(&mut self, now: Instant, path: Path, probe: &Probe) -> bool {
        self.advance(now);
        let watch = &mut self.watches[path as usize];
        watch.is_crossed = probe.path != path && probe.writer != self.own;
        if probe.path != path || probe.writer == self.own {
            self.stats.probes_rejected += 1;
            return false;
        }
        watch.hear(now, self.detection);
        let peer = match &mut self.peer {
            Some(peer) if peer.writer == probe.writer => peer,
            peer => {
                self.watches.iter_mut().for_each(|watch| watch.peer_number = None);
                peer.insert(Peer {
                    writer: probe.writer,
                    sends_by: None,
                    hears: [false; 2],
                    takes: probe.takes,
                })
            }
        };
        let missing = self.watches[path as usize].count(probe.number);
        self.stats.probes_received[path as usize] += 1;
        self.stats.probes_lost[path as usize] += u64::from(missing);
        (peer.hears, peer.takes) = (probe.hears, probe.takes);
        if probe.decision.active == path && peer.sends_by.is_none_or(|known| probe.decision.is_newer(&known))
        {
            peer.sends_by = Some(probe.decision);
        }
        if probe.decision.is_newer(&self.decision) {
            self.adopt(now, probe.decision, ChangeReason::Peer);
        }
        self.decide(now);
        true
    }

    /// When [`Paths::handle_timeout`] or [`Paths::poll_probe`] has something to do.
    pub fn next_timeout(&self) -> Instant {
        let active = self.decision.active;
        let [mine, other] = [active, active.other()].map(|path| &self.watches[path as usize]);
        let fails_at = other.is_heard(self.now, self.detection).then(|| {
            // What is due already was decided, or waits for the other path.
            mine.fails_at(other, self.detection).max(self.now)
        });
        let returns_at = self.returns_at();
        let probes = self.watches.iter().filter(|watch| watch.has_carrier).map(|watch| watch.probe_at);
        probes.chain(fails_at).chain(returns_at).min().unwrap_or(Instant(u64::MAX))
    }

    /// Changes the path if the one in use has failed, or if it is time to return.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
        self.decide(now);
    }

    /// The change to carry out now.
    pub fn poll_change(&mut self) -> Option<PathChange> {
        self.change.take()
    }

    /// Notes how many frames go out again because of the change that was carried out.
    pub fn note_resent(&mut self, frames: u64) {
        self.stats.resent_frames += frames;
        if let Some(failover) = &mut self.last_failover {
            failover.resent_frames += frames;
        }
    }

    /// A probe to send now on a path, ahead of all else.
    pub fn poll_probe(&mut self, now: Instant, path: Path) -> Option<Probe> {
        self.advance(now);
        let is_unconfirmed =
            path == self.decision.active && self.peer.as_ref().is_some_and(|peer| peer.takes != path);
        let hears = Path::ALL.map(|path| self.is_heard(path));
        let takes = self.taken().unwrap_or(self.decision.active);
        let interval = probe_interval(self.detection, is_unconfirmed);
        let watch = &mut self.watches[path as usize];
        if !watch.has_carrier || now < watch.probe_at {
            return None;
        }
        if watch.repeats > 0 {
            watch.repeats -= 1;
        } else {
            watch.probe_at = now + interval;
        }
        let number = watch.probe_number;
        watch.probe_number = number.wrapping_add(1);
        self.stats.probes_sent += 1;
        Some(Probe { writer: self.own, path, number, decision: self.decision, hears, takes })
    }

    /// Moves the time. If this end did not listen for a while, that was not the peer's silence.
    #[inline]
    fn advance(&mut self, now: Instant) {
        let gap = now.since(self.now);
        if gap.0 > self.detection.0 / 2 {
            for watch in &mut self.watches {
                watch.skip(gap);
            }
        }
        self.now = self.now.max(now);
    }

    /// Decides what either end would: whether the path in use has failed, or the preferred one is up again.
    fn decide(&mut self, now: Instant) {
        let detection = self.detection;
        let alone = !self.peer_watches();
        for path in Path::ALL {
            let is_good = if alone {
                self.has_carrier(path)
            } else {
                self.is_heard(path) && self.peer.as_ref().is_some_and(|peer| peer.hears[path as usize])
            };
            let good_from = &mut self.watches[path as usize].good_from;
            *good_from = if is_good { Some(good_from.unwrap_or(now)) } else { None };
        }
        let Decision { active, preferred, .. } = self.decision;
        let [mine, other] = [active, active.other()].map(|path| &self.watches[path as usize]);
        if !mine.has_carrier && other.has_carrier {
            self.change_to(now, active.other(), preferred, ChangeReason::NoCarrier);
        } else if other.is_heard(now, detection) && now >= mine.fails_at(other, detection) {
            self.change_to(now, active.other(), preferred, ChangeReason::Silence);
        } else if self.returns_at().is_some_and(|at| now >= at) {
            self.change_to(now, preferred, preferred, ChangeReason::Return);
        }
    }

    /// When the preferred path is used again, if it stays as it is.
    fn returns_at(&self) -> Option<Instant> {
        let Decision { active, preferred, .. } = self.decision;
        let good_from = self.watches[preferred as usize].good_from.filter(|_| active != preferred)?;
        Some(good_from + self.config.return_after)
    }

    fn change_to(&mut self, now: Instant, active: Path, preferred: Path, reason: ChangeReason) {
        let number = self.decision.number.wrapping_add(1);
        let failed = matches!(reason, ChangeReason::NoCarrier | ChangeReason::Silence);
        self.adopt(now, Decision { number, by: self.own, active, preferred, failed }, reason);
    }

    fn adopt(&mut self, now: Instant, decision: Decision, reason: ChangeReason) {
        let before = core::mem::replace(&mut self.decision, decision).active;
        for watch in &mut self.watches {
            watch.probe_at = now;
        }
        let to = decision.active;
        if before == to {
            return;
        }
        self.watches[to as usize].repeats = ANNOUNCEMENTS - 1;
        let heard_at = self.watches[before as usize].heard_at;
        *(if decision.failed { &mut self.stats.failovers } else { &mut self.stats.moves }) += 1;
        self.last_failover = Some(Failover {
            at: now,
            to,
            reason,
            heard_at: heard_at.unwrap_or(now),
            resent_frames: 0,
            gap: None,
        });
        // There and back before anybody asked is no change, but what was sent meanwhile may be lost all the same.
        self.change = Some(PathChange { to, reason, silence: heard_at.map(|at| now.since(at)) });
    }
}
