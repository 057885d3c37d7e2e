//! Normal frames and copies.

use super::{RoundTrips, SendingSide};
use crate::fallback::Level;
use crate::frame::{DataHeader, FrameHandle};
use crate::link_end::shared::Shared;
use crate::link_end::{Admission, Transmit};
use crate::mode::{Mode, PerMode};
use crate::sequence::SequenceNumber;
use crate::session::TransmitState;
use crate::time::Instant;

impl SendingSide {
    /// See [`LinkEnd::admission`](crate::LinkEnd::admission).
    #[inline]
    pub(in crate::link_end) fn admission(&self, shared: &Shared, mode: Mode, bytes: u32) -> Admission {
        match self.transmit.state {
            TransmitState::Active => {
                let mode = self.effective_mode(mode);
                let sender = &self.senders[mode];
                if sender.paused || !sender.has_room(bytes) || self.is_other_lane_in_use(shared, mode) {
                    Admission::Held
                } else {
                    Admission::Protected
                }
            }
            TransmitState::Draining => Admission::Held,
            TransmitState::Dormant | TransmitState::Opening => Admission::Unprotected,
        }
    }

    /// See [`LinkEnd::waits_for_lane`](crate::LinkEnd::waits_for_lane).
    pub(in crate::link_end) fn waits_for_lane(&self, shared: &Shared, mode: Mode) -> bool {
        self.transmit.state == TransmitState::Active
            && self.is_other_lane_in_use(shared, self.effective_mode(mode))
    }

    /// Numbers a frame that [`LinkEnd::admission`](crate::LinkEnd::admission) admits, in the mode that the fallback
    /// allows.
    #[inline(always)]
    pub(in crate::link_end) fn send(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        mode: Mode,
        frame: FrameHandle,
        bytes: u32,
    ) -> (Mode, SequenceNumber) {
        let mode = self.effective_mode(mode);
        if shared.is_compact() {
            self.before_compact_send(shared, now, mode);
        }
        let sequence = self.senders[mode].send(frame, bytes);
        shared.stats.protected_frames += 1;
        shared.stats.protected_bytes += u64::from(bytes);
        self.dummies.sent(now, mode);
        (mode, sequence)
    }

    #[inline]
    fn is_other_lane_in_use(&self, shared: &Shared, mode: Mode) -> bool {
        shared.is_compact() && mode != self.compact_lane && !self.is_drained()
    }

    /// See [`LinkEnd::poll_retransmission`](crate::LinkEnd::poll_retransmission).
    pub(in crate::link_end) fn poll_retransmission(&mut self, shared: &mut Shared) -> Option<Transmit> {
        Mode::ALL.into_iter().find_map(|mode| self.poll_copy(shared, mode))
    }

    /// See [`LinkEnd::poll_retransmission_of`](crate::LinkEnd::poll_retransmission_of).
    #[inline]
    pub(in crate::link_end) fn poll_retransmission_of(
        &mut self,
        shared: &mut Shared,
        frame: FrameHandle,
    ) -> Option<Transmit> {
        let waits_in = |mode: &Mode| {
            let sender = &mut self.senders[*mode];
            sender.has_retransmissions() && sender.prefer_retransmission(frame)
        };
        let mode = Mode::ALL.into_iter().find(waits_in)?;
        self.poll_copy(shared, mode)
    }

    /// See [`LinkEnd::change_path`](crate::LinkEnd::change_path).
    pub(in crate::link_end) fn change_path(&mut self, shared: &mut Shared, now: Instant) -> u64 {
        self.round_trips = RoundTrips::default();
        self.begin_path(shared, now);
        if !matches!(self.transmit.state, TransmitState::Active | TransmitState::Draining) {
            return 0;
        }
        let mut frames = 0;
        for mode in Mode::ALL {
            let resent = self.senders[mode].resend_all();
            if resent > 0 {
                // The stamp of a dummy that the previous path has lost proves nothing; another follows the last copy.
                self.dummies.sent(now, mode);
            }
            frames += resent;
        }
        shared.stats.resent_frames += frames;
        frames
    }

    /// When copies must go: immediately.
    pub(in crate::link_end) fn copies_due_at(&self, shared: &Shared) -> Option<Instant> {
        Mode::ALL.iter().any(|&mode| self.senders[mode].has_retransmissions()).then_some(shared.now)
    }

    fn poll_copy(&mut self, shared: &mut Shared, mode: Mode) -> Option<Transmit> {
        let stamp = self.dummies.stamp;
        let copy = self.senders[mode].poll_retransmission(self.copies, stamp, &mut shared.stats);
        let (frame, sequence) = copy?;
        if shared.is_sessionless() {
            self.senders[mode].forget_retransmitted(sequence, &mut self.released);
        }
        self.dummies.copied(shared.now, mode, &shared.config);
        let header = DataHeader { sequence, mode, retransmitted: true, ack: None };
        Some(Transmit::Retransmission { frame, header })
    }

    #[inline]
    fn effective_mode(&self, mode: Mode) -> Mode {
        if self.fallback.level() == Level::Full { mode } else { Mode::NonBlocking }
    }

    /// See [`LinkEnd::is_paused`](crate::LinkEnd::is_paused).
    #[inline]
    pub(in crate::link_end) fn is_paused(&self) -> bool {
        self.senders[Mode::Ordered].paused
    }

    /// See [`LinkEnd::outstanding`](crate::LinkEnd::outstanding).
    #[inline]
    pub(in crate::link_end) fn outstanding(&self) -> u64 {
        self.outstanding_in(Mode::Ordered) + self.outstanding_in(Mode::NonBlocking)
    }

    /// See [`LinkEnd::outstanding_in`](crate::LinkEnd::outstanding_in).
    #[inline]
    pub(in crate::link_end) fn outstanding_in(&self, mode: Mode) -> u64 {
        self.senders[mode].outstanding()
    }

    /// Frames in the Tx buffers.
    pub(super) fn unreleased(&self) -> u64 {
        Mode::ALL.iter().map(|&mode| self.senders[mode].buffer().frames).sum()
    }

    pub(super) fn is_drained(&self) -> bool {
        Mode::ALL.iter().all(|&mode| self.senders[mode].is_drained())
    }

    #[inline]
    pub(super) fn lanes_outstanding(&self) -> PerMode<bool> {
        PerMode([!self.senders[Mode::Ordered].is_drained(), !self.senders[Mode::NonBlocking].is_drained()])
    }
}
