//! What waits for the other path, and when it need not wait any longer.

use super::side::Side;
use super::{Arrival, CONFIRMATION_FRAMES, Merge, PLAUSIBLE_AHEAD, SAMPLE_WAITS, Sample};
use crate::link_end::Control;
use crate::mode::Mode;
use crate::paths::Path;
use crate::sequence::WINDOW_MAX;
use crate::time::{Instant, Ticks};
use alloc::collections::BTreeMap;

/// The frames of one lane that wait.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// The next number to pass to the link end. What is missing before it, the link end knows to be missing.
    pub(super) next: u64,
    held: BTreeMap<u64, (Instant, Arrival)>,
}

impl Lane {
    pub(super) fn has(&self, number: u64) -> bool {
        self.held.contains_key(&number)
    }

    pub(super) fn hold(&mut self, number: u64, now: Instant, arrival: Arrival) {
        self.held.insert(number, (now, arrival));
    }

    pub(super) fn frames(&self) -> usize {
        self.held.len()
    }

    /// The first number that waits, and since when.
    pub(super) fn first(&self) -> Option<(u64, Instant)> {
        self.held.first_key_value().map(|(&number, &(at, _))| (number, at))
    }
}

impl Merge {
    /// Whether a number can be of the session: it is within the window, and not far ahead of all others unless the frame
    /// before it was there, too. A single wrong number would take the place of a frame that is still to be sent.
    pub(super) fn is_plausible(&mut self, path: Path, mode: Mode, number: u64) -> bool {
        let next = self.lanes[mode].next;
        let front = self.sides.iter().map(|side| side.seen[mode]).fold(next, u64::max);
        if number >= next + u64::from(WINDOW_MAX) {
            return false;
        }
        if number < front + PLAUSIBLE_AHEAD {
            return true;
        }
        let expected = core::mem::replace(&mut self.sides[path as usize].unconfirmed[mode], number + 1);
        (expected..expected + CONFIRMATION_FRAMES).contains(&number)
    }

    /// Records how far a path has come, and measures how late the other one is.
    pub(super) fn note_seen(&mut self, now: Instant, path: Path, mode: Mode, seen: u64) {
        let [own, other] = [path, path.other()].map(|path| self.sides[path as usize].seen[mode]);
        if seen <= own {
            return;
        }
        let has_other = self.sides[path.other() as usize].has_joined;
        let side = &mut self.sides[path as usize];
        side.seen[mode] = seen;
        match self.sample {
            Some(sample) if sample.path != path && sample.mode == mode && seen >= sample.seen => {
                side.note_lag(now, now.since(sample.at), &self.config);
                self.sample = None;
            }
            Some(sample) if now.since(sample.at) < self.config.wait_max * SAMPLE_WAITS => {}
            _ if has_other && seen > other => {
                side.is_behind = false;
                self.sample = Some(Sample { path, mode, seen, at: now });
            }
            _ => {}
        }
    }

    /// How long to wait for those of the paths that are waited for and of which `lacks` holds.
    pub(super) fn awaited(&self, lacks: impl Fn(&Side) -> bool) -> impl Iterator<Item = Ticks> {
        let config = self.config;
        let awaited = self.sides.iter().filter(move |side| side.is_awaited() && lacks(side));
        awaited.map(move |side| side.patience(&config))
    }

    /// Stops waiting for paths that have not passed the first hole of a lane and of which `is_late` holds.
    pub(super) fn stop_waiting(&mut self, mode: Mode, is_late: impl Fn(&Side, Path) -> bool) {
        let Some((first, _)) = self.lanes[mode].first() else { return };
        for path in Path::ALL {
            let side = &mut self.sides[path as usize];
            if side.is_awaited() && side.seen[mode] < first && is_late(side, path) {
                side.is_behind = true;
                self.stats.waits_given_up[path as usize] += 1;
            }
        }
    }

    /// Everything before this has arrived or is lost on every path that is waited for.
    fn passed(&self, mode: Mode) -> u64 {
        let awaited = self.sides.iter().filter(|side| side.is_awaited()).map(|side| side.seen[mode]);
        awaited.min().unwrap_or(u64::MAX)
    }

    /// Hands on the held frames whose turn has come: the next ones, and those behind a hole that all paths have passed.
    pub(super) fn settle(&mut self, mode: Mode) {
        while let Some((first, _)) = self.lanes[mode].first() {
            if first > self.lanes[mode].next && self.passed(mode) < first {
                break;
            }
            self.hand_on(mode);
        }
        if self.sides.iter().any(|side| side.dummy.is_some()) {
            self.release_dummies();
        }
    }

    /// Hands on the first held frame of a lane.
    fn hand_on(&mut self, mode: Mode) {
        let lane = &mut self.lanes[mode];
        let Some((number, (_, arrival))) = lane.held.pop_first() else { return };
        lane.next = number + 1;
        if let Arrival::Frame { bytes, .. } = arrival {
            self.held_bytes -= u64::from(bytes);
        }
        self.out.push_back(arrival);
    }

    /// Hands on everything held of a lane, in order.
    pub(super) fn flush(&mut self, mode: Mode) {
        while self.lanes[mode].first().is_some() {
            self.hand_on(mode);
        }
    }

    /// Stops waiting for the other path with a dummy. If frames come on either path, this path alone may carry dummies at
    /// the beginning of a session, which does not mean that the other one is late.
    pub(super) fn stop_holding_dummy(&mut self, now: Instant, path: Path) {
        let config = self.config;
        let Some((at, control)) = self.sides[path as usize].dummy else { return };
        let other = &mut self.sides[path.other() as usize];
        if !other.is_awaited() || now < at + other.patience_of_dummies(&config) {
            return;
        }
        self.stats.waits_given_up[path.other() as usize] += 1;
        if config.is_shared {
            self.sides[path as usize].dummy = None;
            self.out.push_back(Arrival::Control { path, control });
        } else {
            other.is_behind = true;
        }
    }

    /// Hands on the dummies that the other path has passed, or for which nothing waits any longer.
    pub(super) fn release_dummies(&mut self) {
        for path in Path::ALL {
            let Some((_, control)) = self.sides[path as usize].dummy else { continue };
            let Control::Dummy { stamp, next, .. } = control else { continue };
            let other = &self.sides[path.other() as usize];
            let has_passed = |mode: Mode| {
                let ahead = next[mode].0.wrapping_sub(other.seen[mode] as u32) as i32;
                ahead <= 0
            };
            let passed = other.stamp.wrapping_sub(stamp) as i16 >= 0 && Mode::ALL.into_iter().all(has_passed);
            if passed || !other.is_awaited() {
                self.sides[path as usize].dummy = None;
                self.out.push_back(Arrival::Control { path, control });
            }
        }
    }
}
