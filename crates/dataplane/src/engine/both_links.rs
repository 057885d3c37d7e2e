//! Frames on both links ([decision 0067](../../../../docs/decisions/0067-both-links.md)): what the loop does for a [`Merge`].
//!
//! What is numbered goes out on the link in use and, marked as a copy, on the other one; or on either of them
//! ([`super::share`]). What arrives on either link passes through the merge before the protocol sees it.

use super::Engine;
use super::link_side::LinkSide;
use super::share::Share;
use super::to_link::URGENT_ROOM;
use linkmend_control::report::{DuplicateReport, ShareReport};
use linkmend_protocol::merge::{Arrival, Merge, MergeConfig, Merged};
use linkmend_protocol::paths::Path;
use linkmend_protocol::wire::{self, Decapsulation};
use linkmend_protocol::{Control, DataHeader, FrameHandle, Instant, SessionNumber};

/// The other link gets no copy while its port holds this many chunks: behind a long queue, copies would be of no use.
const QUEUED_COPIES_MAX: usize = 512;

/// What an end that sends on both links has besides.
#[derive(Debug)]
pub(super) struct BothLinks {
    pub(super) merge: Merge,
    /// If each frame goes out on one of them.
    pub(super) share: Option<Share>,
    /// The frame that is being copied.
    copy: Vec<u8>,
    copies_sent: u64,
    copies_skipped: u64,
}

impl BothLinks {
    pub(super) fn new(config: MergeConfig, share: Option<Share>) -> BothLinks {
        BothLinks { merge: Merge::new(config), share, copy: Vec::new(), copies_sent: 0, copies_skipped: 0 }
    }

    /// If every frame goes out on both.
    pub(super) fn duplicate_report(&self) -> Option<DuplicateReport> {
        let (merge, stats) = (&self.merge, self.merge.stats());
        self.share.is_none().then(|| DuplicateReport {
            copies_sent: self.copies_sent,
            copies_skipped: self.copies_skipped,
            first_copies: stats.first_copies,
            later_copies: stats.duplicates,
            refused_frames: stats.refused,
            waits_given_up: stats.waits_given_up,
            held_frames: stats.held,
            held_now: merge.held_frames(),
            joined: Path::ALL.map(|path| merge.has_joined(path)),
            behind: Path::ALL.map(|path| merge.is_behind(path)),
            lag_ns: Path::ALL.map(|path| merge.longest_lag(path).0),
        })
    }

    /// If each frame goes out on one of them.
    pub(super) fn share_report(&self) -> Option<ShareReport> {
        let (merge, stats) = (&self.merge, self.merge.stats());
        self.share.as_ref().map(|share| ShareReport {
            sent_frames: share.sent_frames,
            marks_sent: share.marks_sent,
            received_frames: stats.first_copies,
            repeated_frames: stats.duplicates,
            refused_frames: stats.refused,
            waits_given_up: stats.waits_given_up,
            held_frames: stats.held,
            held_now: merge.held_frames(),
            joined: Path::ALL.map(|path| merge.has_joined(path)),
            behind: Path::ALL.map(|path| merge.is_behind(path)),
            lag_ns: Path::ALL.map(|path| merge.longest_lag(path).0),
        })
    }
}

/// Sending.
impl Engine {
    #[inline]
    pub(super) fn uses_both(&self) -> bool {
        self.failover.as_ref().is_some_and(|failover| failover.both.is_some())
    }

    /// Sends a numbered frame or a retransmission on the link in use and, as a copy, on the other one, or on either of them.
    #[inline]
    pub(super) fn post_numbered(&mut self, now: u64, frame: FrameHandle, header: &DataHeader) {
        if !self.uses_both() {
            self.post(now, frame);
        } else if self.shares() {
            self.post_shared(now, frame, header);
        } else {
            self.post(now, frame);
            // Before the first acknowledgement, it could overtake frames that were sent unprotected.
            if self.end.is_confirmed() {
                self.send_copy(now, frame);
            }
        }
    }

    fn send_copy(&mut self, now: u64, frame: FrameHandle) {
        let path = self.active.other();
        let is_open = self.leads_to_peer(path) && {
            let LinkSide { port, shaper, .. } = &self.sides[path];
            let has_room = port.transmit_room() >= URGENT_ROOM + self.chunks_per_frame;
            has_room && port.in_flight() < QUEUED_COPIES_MAX && shaper.is_open(now)
        };
        let Some(both) = self.failover.as_mut().and_then(|failover| failover.both.as_mut()) else {
            return;
        };
        let copy = if is_open {
            // The frame itself must not be changed while the port of the link in use has it.
            self.pool.copy_out(frame, &mut both.copy);
            wire::mark_retransmitted(&mut both.copy);
            self.pool.copy_in(&both.copy)
        } else {
            None
        };
        let Some(copy) = copy else {
            both.copies_skipped += 1;
            return;
        };
        both.copies_sent += 1;
        self.post_on(now, path, copy);
        self.pool.release(copy);
    }

    /// Whether a control frame goes out on the other link, too.
    pub(super) fn is_for_both(&self, now: u64, control: &Control) -> bool {
        let other = self.active.other();
        // The receiver would take what a dummy announces for lost if only the dummy were on this link.
        let may_overtake = matches!(control, Control::Dummy { .. }) && !self.end.is_confirmed();
        let has_room = || {
            let LinkSide { port, shaper, .. } = &self.sides[other];
            port.transmit_room() > 0 && !shaper.is_overdrawn(now)
        };
        self.uses_both() && !may_overtake && self.leads_to_peer(other) && has_room()
    }

    /// Names the session and the whole numbers on a link, so that the peer can read those of the frames behind.
    pub(super) fn send_position(&mut self, now: u64, path: Path) {
        if self.uses_both()
            && self.end.is_confirmed()
            && self.leads_to_peer(path)
            && let Some(position) = self.end.position()
        {
            self.send_control_on(now, path, &position);
            if let Some(share) = self.share() {
                share.spread.marked(path);
            }
        }
    }

    pub(super) fn leads_to_peer(&self, path: Path) -> bool {
        let failover = self.failover.as_ref();
        failover.is_some_and(|failover| failover.paths.has_carrier(path) && !failover.paths.is_foreign(path))
    }
}

/// Receiving.
impl Engine {
    /// Session and whole number of a frame that has arrived on a link.
    pub(super) fn number_received(&self, path: Path, header: &DataHeader) -> Option<(SessionNumber, u64)> {
        match self.failover.as_ref().and_then(|failover| failover.both.as_ref()) {
            Some(both) => both.merge.number(path, header),
            None => self.end.number_received(header),
        }
    }

    /// Handles a numbered frame. Without a session, none is delivered: the other link may have brought it before.
    pub(super) fn merge_data(
        &mut self,
        now: u64,
        path: Path,
        frame: FrameHandle,
        header: &DataHeader,
        decapsulation: Decapsulation,
    ) {
        self.follow_session();
        let Some(header) = self.unwrap_data(path, frame, header, decapsulation) else { return };
        let bytes = self.pool.frame_length(frame) as u32;
        let lacking = self.end.first_lacking(header.mode);
        let Some(merge) = self.merge() else { return };
        match merge.handle_data(Instant(now), path, &header, frame, bytes, lacking) {
            Merged::Pass => self.take_data(now, frame, &header),
            Merged::Held => {}
            Merged::Drop => self.pool.release(frame),
        }
        self.hand_on(now);
    }

    /// Handles a control frame that belongs to a session.
    pub(super) fn take_control(&mut self, now: u64, path: Path, control: &Control) {
        if let Some(failover) = &mut self.failover {
            failover.paths.note_control(path);
        }
        if !self.uses_both() {
            if self.takes(path) {
                self.end.handle_control(Instant(now), control);
            }
            return;
        }
        let uses_both = self.failover.as_ref().is_some_and(|failover| failover.paths.peer_uses_both());
        if self.is_foreign(path) || !(uses_both || self.takes(path)) {
            return;
        }
        self.follow_session();
        let Some(merge) = self.merge() else { return };
        if merge.handle_control(Instant(now), path, control) {
            self.obey(now, path, control);
        }
    }

    fn obey(&mut self, now: u64, path: Path, control: &Control) {
        self.end.handle_control(Instant(now), control);
        self.follow_session();
        if let Some(merge) = self.merge() {
            merge.joins(path, control);
        }
    }

    fn merge(&mut self) -> Option<&mut Merge> {
        Some(&mut self.failover.as_mut()?.both.as_mut()?.merge)
    }

    fn follow_session(&mut self) {
        let session = self.end.receives();
        if let Some(merge) = self.merge() {
            merge.follow(session);
        }
    }

    /// Gives the protocol what no longer waits, as far as the inner port has room for it.
    pub(super) fn hand_on(&mut self, now: u64) {
        while (self.inner_frames_room() > self.batch_left || self.is_inner_stuck(now))
            && let Some(arrival) = self.merge().and_then(Merge::poll)
        {
            match arrival {
                Arrival::Frame { header, frame, .. } => self.take_data(now, frame, &header),
                Arrival::Control { path, control } => self.obey(now, path, &control),
            }
        }
        self.follow_session();
        while let Some(frame) = self.merge().and_then(Merge::poll_release) {
            self.pool.release(frame);
        }
    }

    /// Hands on everything that waits, because this end is going to leave its session.
    pub(super) fn stop_holding(&mut self, now: u64) {
        if let Some(merge) = self.merge() {
            merge.stop_holding();
            self.hand_on(now);
        }
    }

    /// Stops waiting for a link that takes too long. `timeouts`: everything that arrived before `began` was handled.
    pub(super) fn service_merge(&mut self, began: u64, now: u64, timeouts: bool) {
        let Some(merge) = self.merge() else { return };
        if timeouts && merge.next_timeout().is_some_and(|at| at.0 <= began) {
            merge.handle_timeout(Instant(began));
        }
        self.hand_on(now);
    }
}
