//! Frames that arrive, and those that the receiver held back.

use crate::config::Format;
use crate::frame::{DataHeader, FrameHandle, Mode, PiggybackAck};
use crate::link_end::{LinkEnd, Reception};
use crate::receiver::Verdict;
use crate::sequence::SequenceNumber;
use crate::time::Instant;

/// How often a change of the pause state is repeated, an ACK interval apart.
const PAUSE_REPEATS: u8 = 2;

impl LinkEnd {
    /// Takes a frame with a data header from the link. Its acknowledgement, if it carries one, is used as well.
    #[inline]
    pub fn handle_data(
        &mut self,
        now: Instant,
        header: &DataHeader,
        frame: FrameHandle,
        bytes: u32,
    ) -> Reception {
        let now = self.advance(now);
        // A copy repeats the ACK of its first sending, which may speak of an ended session.
        if let Some(ack) = header.ack
            && !header.retransmitted
        {
            self.acknowledged(now, ack);
        }
        if self.is_compact() && self.acks.lane != Some(header.mode) {
            return self.handle_other_lane(now, header, frame, bytes);
        }
        self.take_data(now, header, frame, bytes)
    }

    /// In the authors' headers, a frame that is not of the lane in use: the peer may have changed lanes.
    #[inline(never)]
    pub(in crate::link_end) fn handle_other_lane(
        &mut self,
        now: Instant,
        header: &DataHeader,
        frame: FrameHandle,
        bytes: u32,
    ) -> Reception {
        if self.is_sessionless() {
            self.follow_frame(now, header);
        }
        let highest = self.receivers[header.mode].highest();
        let reception = self.take_data(now, header, frame, bytes);
        if self.receivers[header.mode].highest() != highest {
            self.change_lane(header.mode);
        }
        reception
    }

    #[inline]
    pub(in crate::link_end) fn take_data(
        &mut self,
        now: Instant,
        header: &DataHeader,
        frame: FrameHandle,
        bytes: u32,
    ) -> Reception {
        if self.receive.active.is_none() {
            return self.handle_orphan(header);
        }
        self.stats.received_frames += 1;
        self.receive.heard_at = now;
        if self.receivers[header.mode].accept_next(header.sequence) {
            self.acks.arrived(header.mode);
            self.stats.delivered_frames += 1;
            self.stats.delivered_bytes += u64::from(bytes);
            return Reception::Deliver;
        }
        self.handle_out_of_order(now, header, frame, bytes)
    }

    /// A frame behind a loss, a copy, a frame of another time.
    pub(in crate::link_end) fn handle_out_of_order(
        &mut self,
        now: Instant,
        header: &DataHeader,
        frame: FrameHandle,
        bytes: u32,
    ) -> Reception {
        let lost = self.stats.lost_frames;
        let take = |this: &mut Self| {
            let lane = &mut this.receivers[header.mode];
            lane.handle_data(now, header.sequence, frame, bytes, &mut this.stats)
        };
        let mut verdict = take(self);
        if self.is_sessionless()
            && !header.retransmitted
            && matches!(verdict, Verdict::Duplicate | Verdict::OutOfWindow)
        {
            self.follow_restart(now, header.sequence);
            verdict = take(self);
        }
        if verdict == Verdict::OutOfWindow {
            self.stats.out_of_window_frames += 1;
            return Reception::Drop;
        }
        self.acks.arrived(header.mode);
        let lost = self.stats.lost_frames - lost;
        let overflow = self.is_sessionless() && verdict == Verdict::Overflow && !header.retransmitted;
        if lost > 0 {
            let seen = header.sequence.plus(u64::from(!overflow));
            self.loss_found(header.mode, header.sequence, lost, seen);
        }
        if overflow {
            self.sessionless.note_overflow(header.sequence);
        }
        match verdict {
            Verdict::Deliver => {
                self.stats.delivered_frames += 1;
                self.stats.delivered_bytes += u64::from(bytes);
                Reception::Deliver
            }
            Verdict::Buffered => {
                self.update_pause();
                Reception::Buffered
            }
            Verdict::Duplicate => {
                self.stats.duplicates_dropped += 1;
                Reception::Drop
            }
            Verdict::Overflow | Verdict::OutOfWindow => Reception::Drop,
        }
    }

    /// The next buffered frame whose turn has come.
    #[inline]
    pub fn poll_deliver(&mut self) -> Option<FrameHandle> {
        let (frame, bytes) = self.receivers[Mode::Ordered].poll_deliver()?;
        self.stats.delivered_frames += 1;
        self.stats.delivered_bytes += u64::from(bytes);
        self.update_pause();
        Some(frame)
    }

    /// The buffered frame that [`LinkEnd::poll_deliver`] would return. For drivers that can reach a buffered frame only
    /// at certain times: on the Tofino, when it comes round (section 3.3).
    #[inline]
    pub fn next_delivery(&self) -> Option<FrameHandle> {
        self.receivers[Mode::Ordered].next_delivery()
    }

    /// The first number of a lane that the receiver misses or has not seen: everything before it has arrived or was given
    /// up.
    pub fn awaited(&self, mode: Mode) -> SequenceNumber {
        self.receivers[mode].cumulative()
    }

    /// Whether something waits that [`LinkEnd::poll_urgent`] returns at once.
    #[inline]
    pub fn is_urgent(&self) -> bool {
        self.acks.urgent || self.has_holes_to_report()
    }

    /// When the receiver gives up what is missing (`ackNoTimeout`).
    pub fn next_recovery_timeout(&self) -> Option<Instant> {
        Mode::ALL.iter().filter_map(|&mode| self.receivers[mode].next_timeout()).min()
    }

    /// Frames missing now.
    #[inline]
    pub fn missing(&self) -> u64 {
        self.receivers[Mode::Ordered].missing() + self.receivers[Mode::NonBlocking].missing()
    }

    /// An acknowledgement to put on an unprotected frame, if one is owed (section 3.1: reverse traffic need not be
    /// protected to carry ACKs).
    pub fn poll_piggyback(&mut self, now: Instant) -> Option<PiggybackAck> {
        let now = self.advance(now);
        self.take_piggyback(now)
    }

    /// A frame without a session: this end restarted, or its session has ended, and the peer does not know yet. An
    /// original travels once, so delivering it cannot duplicate; a copy might.
    pub(in crate::link_end) fn handle_orphan(&mut self, header: &DataHeader) -> Reception {
        if header.retransmitted {
            self.stats.orphan_copies_dropped += 1;
            Reception::Drop
        } else {
            self.stats.orphan_frames += 1;
            Reception::Deliver
        }
    }

    /// The highest number of `mode` has moved on: that is the lane in use. In the compact format the sender takes an ACK for
    /// one of the lane before until a feedback says otherwise ([`LinkEnd::is_lane_confirmed`]).
    pub(in crate::link_end) fn change_lane(&mut self, mode: Mode) {
        let before = self.acks.lane.replace(mode);
        if before.is_some_and(|before| before != mode) && self.config.format == Format::Compact {
            self.acks.urgent = true;
            self.acks.repeats = self.acks.repeats.max(1);
        }
    }

    /// `lost` frames before `end` are missing; everything else before `seen` is not.
    pub(in crate::link_end) fn loss_found(
        &mut self,
        mode: Mode,
        end: SequenceNumber,
        lost: u64,
        seen: SequenceNumber,
    ) {
        if self.is_sessionless() {
            return self.sessionless.note_hole(end, lost, seen);
        }
        self.acks.urgent = true;
        if self.is_compact() {
            self.acks.notify = Some(mode);
        }
    }

    pub(in crate::link_end) fn update_pause(&mut self) {
        if let Some(paused) = self.receivers[Mode::Ordered].update_pause() {
            self.acks.urgent = true;
            self.acks.repeats = PAUSE_REPEATS;
            self.stats.pauses_sent += u64::from(paused);
        }
    }
}
