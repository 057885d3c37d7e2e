//! Normal frames and copies.

use crate::fallback::Level;
use crate::frame::{DataHeader, FrameHandle, Mode, PerMode};
use crate::link_end::{Admission, LinkEnd, Transmit};
use crate::session::TransmitState;
use crate::time::Instant;

impl LinkEnd {
    /// Whether a frame of `bytes` that is to go in `mode` may leave now.
    #[inline]
    pub fn admission(&self, mode: Mode, bytes: u32) -> Admission {
        match self.transmit.state {
            TransmitState::Active => {
                let mode = self.effective_mode(mode);
                let sender = &self.senders[mode];
                if sender.paused || !sender.has_room(bytes) || self.is_other_lane_in_use(mode) {
                    Admission::Held
                } else {
                    Admission::Protected
                }
            }
            TransmitState::Draining => Admission::Held,
            TransmitState::Dormant | TransmitState::Opening => Admission::Unprotected,
        }
    }

    /// Whether a frame that is held in `mode` waits until all of the other lane is acknowledged, as the authors' headers
    /// name no lane. That never comes if more and more is sent there.
    pub fn waits_for_turn(&self, mode: Mode) -> bool {
        self.transmit.state == TransmitState::Active && self.is_other_lane_in_use(self.effective_mode(mode))
    }

    #[inline]
    pub(in crate::link_end) fn is_other_lane_in_use(&self, mode: Mode) -> bool {
        self.is_compact() && mode != self.compact_lane && !self.is_drained()
    }

    /// Numbers a frame and keeps its handle until [`LinkEnd::poll_release`] returns it. `None`: it is to go
    /// unprotected, and its handle stays with the driver. Ask [`LinkEnd::admission`] first; a frame that is held is
    /// treated as unprotected here, which loses its place.
    #[inline]
    pub fn send(&mut self, now: Instant, mode: Mode, frame: FrameHandle, bytes: u32) -> Option<DataHeader> {
        if self.admission(mode, bytes) != Admission::Protected {
            self.advance(now);
            self.stats.unprotected_frames += 1;
            return None;
        }
        Some(self.send_admitted(now, mode, frame, bytes))
    }

    /// The same for a frame that [`LinkEnd::admission`] has just found [`Admission::Protected`], and without asking it
    /// again.
    ///
    /// # Panics
    /// In debug builds, if it is not.
    #[inline]
    pub fn send_admitted(&mut self, now: Instant, mode: Mode, frame: FrameHandle, bytes: u32) -> DataHeader {
        debug_assert_eq!(self.admission(mode, bytes), Admission::Protected, "ask for admission first");
        let now = self.advance(now);
        let mode = self.effective_mode(mode);
        let compact = self.is_compact();
        if compact {
            self.before_compact_send(now, mode);
        }
        let sequence = self.senders[mode].send(frame, bytes);
        self.stats.protected_frames += 1;
        self.stats.protected_bytes += u64::from(bytes);
        self.dummies.sent(now, mode);
        let ack = if compact { None } else { self.take_piggyback(now) };
        DataHeader { sequence, mode, retransmitted: false, ack }
    }

    /// The next copy of [`Priority::High`](crate::Priority::High), for drivers that cannot retransmit at every moment.
    pub fn poll_retransmission(&mut self) -> Option<Transmit> {
        Mode::ALL.into_iter().find_map(|mode| self.poll_copy(mode))
    }

    /// The next copy of `frame`, if it waits for retransmission. For drivers that can reach a frame of the Tx buffer only
    /// at certain times: on the Tofino, when it comes round (appendix A.2).
    #[inline]
    pub fn poll_retransmission_of(&mut self, frame: FrameHandle) -> Option<Transmit> {
        let waits_in = |mode: &Mode| {
            let sender = &mut self.senders[*mode];
            sender.has_retransmissions() && sender.prefer_retransmission(frame)
        };
        let mode = Mode::ALL.into_iter().find(waits_in)?;
        self.poll_copy(mode)
    }

    pub(in crate::link_end) fn poll_copy(&mut self, mode: Mode) -> Option<Transmit> {
        let stamp = self.dummies.stamp;
        let copy = self.senders[mode].poll_retransmission(self.copies, stamp, &mut self.stats);
        let (frame, sequence) = copy?;
        if self.is_sessionless() {
            self.senders[mode].forget_retransmitted(sequence, &mut self.released);
        }
        self.dummies.copied(self.now, mode, &self.config);
        let header = DataHeader { sequence, mode, retransmitted: true, ack: None };
        Some(Transmit::Retransmission { frame, header })
    }

    #[inline]
    pub(in crate::link_end) fn effective_mode(&self, mode: Mode) -> Mode {
        if self.fallback.level() == Level::Full { mode } else { Mode::NonBlocking }
    }

    /// Whether the peer holds the ordered lane back (Algorithm 2).
    #[inline]
    pub fn is_paused(&self) -> bool {
        self.senders[Mode::Ordered].paused
    }

    /// Frames sent and not yet acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.outstanding_in(Mode::Ordered) + self.outstanding_in(Mode::NonBlocking)
    }

    /// Those of one lane.
    #[inline]
    pub fn outstanding_in(&self, mode: Mode) -> u64 {
        self.senders[mode].outstanding()
    }

    /// Frames in the Tx buffers.
    pub(in crate::link_end) fn unreleased(&self) -> u64 {
        Mode::ALL.iter().map(|&mode| self.senders[mode].buffer().frames).sum()
    }

    pub(in crate::link_end) fn is_drained(&self) -> bool {
        Mode::ALL.iter().all(|&mode| self.senders[mode].is_drained())
    }

    #[inline]
    pub(in crate::link_end) fn lanes_outstanding(&self) -> PerMode<bool> {
        PerMode([!self.senders[Mode::Ordered].is_drained(), !self.senders[Mode::NonBlocking].is_drained()])
    }
}
