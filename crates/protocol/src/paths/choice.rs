//! The rules by which an end chooses the path on which it sends.
//!
//! - A path without a carrier is left immediately. A path on which the peer hears nothing is left when the peer reports
//!   this.
//! - A path that carries frames is left for a better one, judged by full-size frames, loss and delay.
//! - The preferred path is used again when it has been as good as the other one for long enough.
//!
//! A decision stands for a detection time, unless the carrier is lost, because it takes that long to see its effect. A
//! decision about quality stands longer, and longer still if the previous one did not help: frames may be lost on
//! either path because there is too much traffic.

use super::change::{ChangeReason, Failover, PathChange};
use super::{Decision, Path, PathReport, Paths, Preference};
use crate::time::Instant;

/// Out of 128 frames: a path that loses this many is left for one that loses at most a third as many. This is slightly
/// below the loss at which the fallback gives up ordering.
const LOSSY: u8 = 6;
/// A path that loses at most this many is clean enough to switch to or to return to.
const CLEAN: u8 = LOSSY / 3;
const FIT: u8 = LOSSY / 2;
/// A path on which frames take this much longer is left.
const LATE_US: u32 = 100_000;
/// The hold after a change for quality doubles, up to this factor, if the next one follows within as many holds.
const HOLD_FACTOR_MAX: u64 = 64;
const HOLDS_THAT_PROVE: u64 = 16;

impl PathReport {
    /// Why this path would be left for another one that also carries frames.
    pub(super) fn is_worse_than(&self, other: &PathReport) -> Option<ChangeReason> {
        if self.loses_full != other.loses_full {
            self.loses_full.then_some(ChangeReason::FullSize)
        } else if self.lost >= LOSSY && other.lost <= self.lost / 3 {
            Some(ChangeReason::Loss)
        } else {
            (self.later_us >= LATE_US && other.lost < LOSSY).then_some(ChangeReason::Delay)
        }
    }

    /// Whether the preferred path, which this is, is as good as another.
    fn is_as_good_as(&self, other: &PathReport) -> bool {
        self.loses_full <= other.loses_full && self.lost <= FIT.max(other.lost) && self.later_us < LATE_US / 2
    }
}

impl Paths {
    /// What is known about a path on which this end might send: what its peer reports, and what it has measured itself.
    pub fn sees(&self, path: Path) -> PathReport {
        let mut report =
            self.peer.as_ref().map_or_else(PathReport::default, |peer| peer.reports[path as usize]);
        report.fails |= !self.has_carrier(path) || self.is_foreign(path);
        if path == self.decision.active {
            report.lost = report.lost.max(self.measured_lost);
        }
        report
    }

    /// Whether the path that is not in use would carry full-size frames without much loss: in that case there is no
    /// reason yet to give up ordering or protection on the one in use.
    pub fn has_clean_other(&self) -> bool {
        let other = self.sees(self.decision.active.other());
        self.peer_watches()
            && self.now >= self.hold_until
            && !other.fails
            && !other.loses_full
            && other.lost <= CLEAN
            && other.later_us < LATE_US
    }

    /// Whether either path carries full-size frames without much loss, if both are used.
    pub fn has_clean(&self) -> bool {
        let is_clean = |path: Path| {
            let PathReport { fails, loses_full, lost, later_us, .. } = self.sees(path);
            !fails && !loses_full && lost <= CLEAN && later_us < LATE_US
        };
        self.peer_watches() && Path::ALL.into_iter().any(is_clean)
    }

    /// Uses a path from now on while both are up, at both ends, and immediately if it can be used. `false` if it
    /// cannot.
    pub fn prefer(&mut self, now: Instant, path: Path) -> bool {
        self.advance(now);
        let usable = self.is_fit(path);
        if self.preference.path != path || (usable && self.decision.active != path) {
            let number = self.preference.number.wrapping_add(1);
            self.adopt(now, Preference { number, by: self.own, path }, ChangeReason::Request);
        }
        usable
    }

    /// Applies a preference.
    pub(super) fn adopt(&mut self, now: Instant, preference: Preference, reason: ChangeReason) {
        self.preference = preference;
        self.announce(now);
        if preference.path != self.decision.active && self.is_fit(preference.path) {
            self.change_to(now, preference.path, reason);
        }
    }

    /// Tells the peer what it must know, and changes the path if it is time to do so.
    pub(super) fn decide(&mut self, now: Instant) {
        self.tell(now);
        for path in Path::ALL {
            let is_fit = self.is_fit(path);
            let fit_from = &mut self.watches[path as usize].fit_from;
            *fit_from = if is_fit { Some(fit_from.unwrap_or(now)) } else { None };
        }
        if let Some((at, to, reason)) = self.choice()
            && now >= at
        {
            self.change_to(now, to, reason);
        }
    }

    /// The next change, if everything stays as it is: when, to which path, and why.
    pub(super) fn choice(&self) -> Option<(Instant, Path, ChangeReason)> {
        let from = self.decision.active;
        let to = from.other();
        let [here, there] = [from, to].map(|path| self.sees(path));
        if !self.has_carrier(from) {
            let leads_to_peer = self.has_carrier(to) && !self.is_foreign_lately(to);
            return leads_to_peer.then_some((Instant(0), to, ChangeReason::NoCarrier));
        }
        if there.fails {
            return None;
        }
        let settled = self.changed_at + self.detection;
        if here.fails {
            return Some((settled, to, ChangeReason::Silence));
        }
        if let Some(reason) = here.is_worse_than(&there) {
            return Some((settled.max(self.hold_until), to, reason));
        }
        let fit_from = self.watches[to as usize].fit_from.filter(|_| to == self.preference.path)?;
        Some(((fit_from + self.config.return_after).max(self.hold_until), to, ChangeReason::Return))
    }

    /// Whether this end would send on a path if it were the preferred one.
    fn is_fit(&self, path: Path) -> bool {
        let [it, other] = [path, path.other()].map(|path| self.sees(path));
        let is_heard = !self.peer_watches() || it.silent_us < u32::MAX;
        !it.fails && is_heard && (other.fails || it.is_as_good_as(&other))
    }

    fn change_to(&mut self, now: Instant, to: Path, reason: ChangeReason) {
        let before = self.decision.active;
        let passed_at = self.passed_at(before, reason);
        self.decision = Decision { number: self.decision.number.wrapping_add(1).max(1), active: to };
        self.measured_lost = 0;
        if reason.is_quality() {
            let proven = self.hold_until + self.hold * HOLDS_THAT_PROVE;
            let most = self.config.return_after * HOLD_FACTOR_MAX;
            self.hold = if now < proven { (self.hold * 2).min(most) } else { self.config.return_after };
            self.hold_until = now + self.hold;
        }
        *match reason {
            _ if reason.is_quality() => &mut self.stats.quality_changes,
            _ if reason.is_failure() => &mut self.stats.failovers,
            _ => &mut self.stats.moves,
        } += 1;
        self.changed_at = now;
        self.last_failover = Some(Failover { at: now, to, reason, passed_at, resent_frames: 0, gap: None });
        // Switching there and back before anybody asked is not a change, but frames sent in the meantime may still be
        // lost.
        self.change = Some(PathChange { to, reason, silence: now.since(passed_at) });
        self.announce(now);
    }

    /// The last sign that a path that is being left passed frames. A path that fails in one direction may still carry
    /// frames from the peer.
    fn passed_at(&self, path: Path, reason: ChangeReason) -> Instant {
        let heard_at = self.watches[path as usize].heard_at.unwrap_or(self.now);
        let Some(peer) = &self.peer else { return heard_at };
        let PathReport { silent_us, .. } = peer.reports[path as usize];
        let reported = peer.reported_at - self.config.tick.micros(silent_us.into());
        match reason {
            _ if silent_us == u32::MAX => heard_at,
            ChangeReason::Silence => reported,
            _ => reported.max(heard_at),
        }
    }
}

const _: () = assert!(LOSSY as f64 / 128.0 < 0.05, "the path is left before the fallback acts");
