//! Frames on both paths: how the end that receives makes one queue out of two.
//!
//! The peer sends each numbered frame, dummy and report on both paths, with the same numbers, and the first copy of a frame
//! counts. Or it sends each numbered frame on either path ([`crate::share`]), and dummies and reports on both. Each path is a queue, but the two together are not: a number that is missing on one path is not lost as long
//! as the other path may still deliver it. A [`Merge`] stands between the paths and a [`LinkEnd`](crate::LinkEnd), and
//! hands on what the link end would see on a single path that loses only what both paths lose:
//!
//! - A frame whose turn it is passes without delay. A frame behind a hole is held until the other path fills the hole or
//!   has passed it; in the latter case it is lost, and the link end finds the hole and reports it.
//! - If everything comes on both paths, nothing waits for a path that takes longer than it recently did, or longer than
//!   [`MergeConfig::wait_max`]. Such a path is *behind*, until a frame arrives on it in time. A wait that ends too soon costs a
//!   needless retransmission.
//! - If it comes on either ([`MergeConfig::sharing`]), waiting for the slower path is the rule, and ends when the path fails
//!   ([`Merge::handle_failure`]) or has passed the hole. A path that works passes all numbers, because its probes name them.
//! - A dummy passes when both paths have passed it.
//!
//! **Numbers.** A frame carries 17 bits of its number. Since a path is a queue, and the sender repeats nothing that is a
//! window old, the number is the smallest one with these bits that is less than a window before the highest that has arrived *on
//! this path*. It is never too high, however late the path is. It is too low if more than an era was lost on
//! this path alone; such a frame seems to be a duplicate, until the next dummy on this path names the whole number
//! ([`LinkEnd::position`](crate::LinkEnd::position)).
//!
//! **Sessions.** A frame does not name its session. A path therefore *joins* a session when a start or dummy of that
//! session arrives on it: everything older was ahead of it. Until then, its numbered frames are dropped.
//!
//! The driver calls [`Merge::follow`], then [`Merge::handle_data`] or [`Merge::handle_control`] for each arrival, and then
//! [`Merge::poll`] until `None`; [`Merge::handle_timeout`] when [`Merge::next_timeout`] has passed; and [`Merge::poll_release`].

mod held;
mod side;
#[cfg(test)]
mod tests;

use crate::frame::{DataHeader, FrameHandle};
use crate::link_end::Control;
use crate::mode::{Mode, PerMode};
use crate::paths::{Path, PathsConfig};
use crate::sequence::{LongSequenceNumber, WINDOW_MAX};
use crate::session::SessionNumber;
use crate::time::{Instant, Ticks};
use alloc::collections::VecDeque;
use held::Lane;
use side::Side;

/// How far ahead of all others a single frame is believed; see decision 0015.
const PLAUSIBLE_AHEAD: u64 = 2_048;
/// How far the second frame may be ahead of the first and still confirm it.
const CONFIRMATION_FRAMES: u64 = 16;
/// A frame that leads is not waited for longer than this many of the longest waits, to measure how late the other path is.
const SAMPLE_WAITS: u64 = 4;

/// How long anything waits for a path that has not failed if frames come on either.
const SHARED_WAIT_MAX_MS: u64 = 1_000;

/// The limits of a [`Merge`].
#[derive(Debug, Clone, Copy)]
pub struct MergeConfig {
    /// Whether frames come on either path, and not on both.
    pub is_shared: bool,
    /// The detection time of a failure.
    pub detection: Ticks,
    /// The longest time that anything waits for the other path.
    pub wait_max: Ticks,
    /// The bytes that may wait. With more, nothing waits for the path that is late.
    pub held_bytes_max: u64,
}

impl MergeConfig {
    /// For every frame on both paths: waits end with the detection time of a failure.
    pub const fn duplicating(paths: &PathsConfig, held_bytes_max: u64) -> MergeConfig {
        let detection = paths.detection;
        MergeConfig { is_shared: false, detection, wait_max: detection, held_bytes_max }
    }

    /// For frames on either path.
    pub const fn sharing(paths: &PathsConfig, held_bytes_max: u64) -> MergeConfig {
        let detection = paths.detection;
        let wait_max = paths.tick.millis(SHARED_WAIT_MAX_MS);
        MergeConfig { is_shared: true, detection, wait_max, held_bytes_max }
    }
}

/// What to do with a numbered frame that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merged {
    /// Give it to the link end now.
    Pass,
    /// It is kept, and will be returned by [`Merge::poll`].
    Held,
    /// Drop it: it is a later copy, or cannot be of the session.
    Drop,
}

/// What passes on to the link end later than it arrived.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::large_enum_variant, reason = "few wait, and a box would be allocated for each dummy")]
pub enum Arrival {
    /// For [`LinkEnd::handle_data`](crate::LinkEnd::handle_data).
    Frame { header: DataHeader, frame: FrameHandle, bytes: u32 },
    /// For [`LinkEnd::handle_control`](crate::LinkEnd::handle_control); afterwards tell [`Merge::joins`].
    Control { path: Path, control: Control },
}

/// What was counted, by path, since this end began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MergeStats {
    /// Frames whose first copy arrived on the path.
    pub first_copies: [u64; 2],
    /// Frames dropped because a copy had arrived before.
    pub duplicates: [u64; 2],
    /// Frames dropped because they could not be of the session.
    pub refused: [u64; 2],
    /// Times that a wait for the path was given up.
    pub waits_given_up: [u64; 2],
    /// Frames that had to wait for the other path.
    pub held: u64,
}

/// A frame that was first on one path, by which the lag of the other is measured.
#[derive(Debug, Clone, Copy)]
struct Sample {
    path: Path,
    mode: Mode,
    seen: u64,
    at: Instant,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Merge {
    config: MergeConfig,
    session: Option<SessionNumber>,
    lanes: PerMode<Lane>,
    held_bytes: u64,
    sides: [Side; 2],
    sample: Option<Sample>,
    out: VecDeque<Arrival>,
    released: VecDeque<FrameHandle>,
    stats: MergeStats,
}

impl Merge {
    /// Without a session.
    pub fn new(config: MergeConfig) -> Merge {
        Merge {
            config,
            session: None,
            lanes: PerMode::default(),
            held_bytes: 0,
            sides: Default::default(),
            sample: None,
            out: VecDeque::new(),
            released: VecDeque::new(),
            stats: MergeStats::default(),
        }
    }

    /// What was counted.
    pub const fn stats(&self) -> &MergeStats {
        &self.stats
    }

    /// Whether frames of the session arrive on a path.
    pub const fn has_joined(&self, path: Path) -> bool {
        self.sides[path as usize].has_joined
    }

    /// Whether a path is too late to wait for.
    pub const fn is_behind(&self, path: Path) -> bool {
        self.sides[path as usize].is_behind
    }

    /// How much later frames have recently arrived on a path than on the other one, at most.
    pub const fn longest_lag(&self, path: Path) -> Ticks {
        self.sides[path as usize].longest_lag()
    }

    /// Frames that wait.
    pub fn held_frames(&self) -> u64 {
        let waiting = self.out.iter().filter(|arrival| matches!(arrival, Arrival::Frame { .. }));
        (waiting.count() + Mode::ALL.into_iter().map(|mode| self.lanes[mode].frames()).sum::<usize>()) as u64
    }

    /// Hands on everything that waits, because the link end is going to leave its session.
    pub fn stop_holding(&mut self) {
        Mode::ALL.into_iter().for_each(|mode| self.flush(mode));
    }

    /// Follows the link end into the session in which it receives ([`LinkEnd::receives`](crate::LinkEnd::receives)).
    #[inline]
    pub fn follow(&mut self, session: Option<SessionNumber>) {
        if session != self.session {
            self.begin(session);
        }
    }

    fn begin(&mut self, session: Option<SessionNumber>) {
        self.session = session;
        Mode::ALL.into_iter().for_each(|mode| self.flush(mode));
        // Nothing of the session before may reach the link end in this one.
        for _ in 0..self.out.len() {
            match self.out.pop_front() {
                Some(Arrival::Frame { frame, .. }) => self.released.push_back(frame),
                Some(control) => self.out.push_back(control),
                None => {}
            }
        }
        self.sides.iter_mut().for_each(Side::leave);
        self.sample = None;
        for mode in Mode::ALL {
            self.lanes[mode].next = session.map_or(0, |session| session.first_sequence(mode));
        }
    }

    /// Records that the link end has handled a control frame: a path joins the session that the frame begins.
    pub fn joins(&mut self, path: Path, control: &Control) {
        if let Control::Start { session, .. } = control
            && self.session == Some(*session)
        {
            self.join(path);
        }
    }

    fn join(&mut self, path: Path) {
        let (side, Some(session)) = (&mut self.sides[path as usize], self.session) else { return };
        if !side.has_joined {
            (side.has_joined, side.carries) = (true, !self.config.is_shared);
            side.seen = PerMode(Mode::ALL.map(|mode| session.first_sequence(mode)));
        }
    }

    /// The session and the whole number of a frame that arrived on a path; `None` if the path has not joined a session.
    pub fn number(&self, path: Path, header: &DataHeader) -> Option<(SessionNumber, u64)> {
        let side = &self.sides[path as usize];
        let session = self.session.filter(|_| side.has_joined)?;
        Some((session, header.sequence.absolute_near(side.seen[header.mode] - u64::from(WINDOW_MAX))))
    }

    /// Handles a numbered frame. `cumulative`: the first number of its lane that the link end lacks
    /// ([`LinkEnd::first_lacking`](crate::LinkEnd::first_lacking)).
    pub fn handle_data(
        &mut self,
        now: Instant,
        path: Path,
        header: &DataHeader,
        frame: FrameHandle,
        bytes: u32,
        cumulative: u64,
    ) -> Merged {
        let mode = header.mode;
        let number = self.number(path, header).map(|(_, number)| number);
        let Some(number) = number.filter(|&number| self.is_plausible(path, mode, number)) else {
            self.stats.refused[path as usize] += 1;
            return Merged::Drop;
        };
        self.sides[path as usize].carries = true;
        self.note_seen(now, path, mode, number + 1);
        let lane = &mut self.lanes[mode];
        if number < cumulative || lane.has(number) {
            self.stats.duplicates[path as usize] += 1;
            self.settle(mode);
            return Merged::Drop;
        }
        self.stats.first_copies[path as usize] += 1;
        let arrival = Arrival::Frame { header: *header, frame, bytes };
        if number <= lane.next {
            // What fills a hole that the link end knows, or is next.
            let is_next = number == lane.next;
            lane.next += u64::from(is_next);
            if self.out.is_empty() {
                self.settle_next(mode, is_next);
                return Merged::Pass;
            }
            self.out.push_back(arrival);
            self.settle_next(mode, is_next);
            return Merged::Held;
        }
        self.stats.held += 1;
        self.held_bytes += u64::from(bytes);
        self.lanes[mode].hold(number, now, arrival);
        if self.held_bytes > self.config.held_bytes_max {
            self.stop_waiting(mode, |_, _| true);
        }
        self.settle(mode);
        Merged::Held
    }

    fn settle_next(&mut self, mode: Mode, is_next: bool) {
        if is_next {
            self.settle(mode);
        }
    }

    /// Handles a control frame. `true` if the link end gets it now; otherwise [`Merge::poll`] returns it in its turn.
    pub fn handle_control(&mut self, now: Instant, path: Path, control: &Control) -> bool {
        match *control {
            Control::Dummy { session, stamp, next, .. } if Some(session) == self.session => {
                self.handle_dummy(now, path, stamp, next, control);
                false
            }
            Control::Start { session, .. } if Some(session) != self.session => self.end_with(path, control),
            Control::Fin { session } if Some(session) == self.session => self.end_with(path, control),
            _ => true,
        }
    }

    /// Hands on what is held, and then the frame that ends the session. The sender has given up what is missing.
    fn end_with(&mut self, path: Path, control: &Control) -> bool {
        Mode::ALL.into_iter().for_each(|mode| self.flush(mode));
        self.out.push_back(Arrival::Control { path, control: *control });
        false
    }

    fn handle_dummy(
        &mut self,
        now: Instant,
        path: Path,
        stamp: u16,
        next: PerMode<LongSequenceNumber>,
        control: &Control,
    ) {
        self.join(path);
        let side = &mut self.sides[path as usize];
        side.carries = true;
        let is_news = stamp.wrapping_sub(side.stamp) as i16 > 0;
        if is_news {
            side.stamp = stamp;
            side.dummy = Some((now, *control));
        }
        for mode in Mode::ALL {
            let lane = &self.lanes[mode];
            let ahead = next[mode].0.wrapping_sub(lane.next as u32) as i32;
            let next = lane.next.saturating_add_signed(ahead.into());
            if next <= lane.next + u64::from(WINDOW_MAX) {
                self.note_seen(now, path, mode, next);
                self.settle(mode);
            }
        }
        self.release_dummies();
    }

    /// What is to be given to the link end next.
    #[inline]
    pub fn poll(&mut self) -> Option<Arrival> {
        self.out.pop_front()
    }

    /// A held frame that is dropped, because its session has ended.
    pub fn poll_release(&mut self) -> Option<FrameHandle> {
        self.released.pop_front()
    }

    /// When [`Merge::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        let holes = Mode::ALL.into_iter().filter_map(|mode| {
            let (first, at) = self.lanes[mode].first()?;
            self.awaited(|side| side.seen[mode] < first).map(|wait| at + wait).min()
        });
        let dummies = Path::ALL.into_iter().filter_map(|path| {
            let (at, _) = self.sides[path as usize].dummy?;
            let other = &self.sides[path.other() as usize];
            other.is_awaited().then(|| at + other.patience_of_dummies(&self.config))
        });
        holes.chain(dummies).min()
    }

    /// Stops waiting for a path that takes too long.
    pub fn handle_timeout(&mut self, now: Instant) {
        let config = self.config;
        for mode in Mode::ALL {
            let Some((_, at)) = self.lanes[mode].first() else { continue };
            self.stop_waiting(mode, |side, _| now >= at + side.patience(&config));
            self.settle(mode);
        }
        for path in Path::ALL {
            self.stop_holding_dummy(now, path);
        }
        Mode::ALL.into_iter().for_each(|mode| self.settle(mode));
        self.release_dummies();
    }

    /// Stops waiting for a path that has failed: it has no carrier, or is silent.
    pub fn handle_failure(&mut self, path: Path) {
        if !self.sides[path as usize].is_awaited() {
            return;
        }
        self.sides[path as usize].is_behind = true;
        Mode::ALL.into_iter().for_each(|mode| self.settle(mode));
        self.release_dummies();
    }
}
