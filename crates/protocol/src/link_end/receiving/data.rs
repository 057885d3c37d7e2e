//! Handles frames that arrive, and those that the receiver held back.

use super::ReceivingSide;
use crate::config::Format;
use crate::frame::{DataHeader, FrameHandle};
use crate::link_end::Reception;
use crate::link_end::shared::Shared;
use crate::mode::Mode;
use crate::receiver::Verdict;
use crate::sequence::SequenceNumber;
use crate::time::Instant;

/// How often a change of the pause state is repeated, an ACK interval apart.
const PAUSE_REPEATS: u8 = 2;

impl ReceivingSide {
    /// See [`LinkEnd::handle_data`](crate::LinkEnd::handle_data).
    #[inline]
    pub(in crate::link_end) fn handle_data(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        header: &DataHeader,
        frame: FrameHandle,
        bytes: u32,
    ) -> Reception {
        if shared.is_compact() && self.acks.lane != Some(header.mode) {
            return self.handle_other_lane(shared, now, header, frame, bytes);
        }
        self.take_data(shared, now, header, frame, bytes)
    }

    /// Handles a frame in the authors' headers that is not of the lane in use: the peer may have changed lanes.
    #[inline(never)]
    fn handle_other_lane(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        header: &DataHeader,
        frame: FrameHandle,
        bytes: u32,
    ) -> Reception {
        if shared.is_sessionless() {
            self.follow_frame(shared, now, header);
        }
        let highest = self.receivers[header.mode].highest();
        let reception = self.take_data(shared, now, header, frame, bytes);
        if self.receivers[header.mode].highest() != highest {
            self.change_lane(shared, header.mode);
        }
        reception
    }

    #[inline]
    fn take_data(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        header: &DataHeader,
        frame: FrameHandle,
        bytes: u32,
    ) -> Reception {
        if self.receive.active.is_none() {
            return self.handle_orphan(shared, header);
        }
        shared.stats.received_frames += 1;
        self.receive.heard_at = now;
        if self.receivers[header.mode].accept_next(header.sequence) {
            self.acks.arrived(header.mode);
            shared.stats.delivered_frames += 1;
            shared.stats.delivered_bytes += u64::from(bytes);
            return Reception::Deliver;
        }
        self.handle_out_of_order(shared, now, header, frame, bytes)
    }

    /// Handles a frame behind a loss, a copy, or a frame of another time.
    fn handle_out_of_order(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        header: &DataHeader,
        frame: FrameHandle,
        bytes: u32,
    ) -> Reception {
        let lost = shared.stats.lost_frames;
        let take = |this: &mut Self, shared: &mut Shared| {
            let lane = &mut this.receivers[header.mode];
            lane.handle_data(now, header.sequence, frame, bytes, &mut shared.stats)
        };
        let mut verdict = take(self, shared);
        if shared.is_sessionless()
            && !header.retransmitted
            && matches!(verdict, Verdict::Duplicate | Verdict::OutOfWindow)
        {
            self.follow_restart(shared, now, header.sequence);
            verdict = take(self, shared);
        }
        if verdict == Verdict::OutOfWindow {
            shared.stats.out_of_window_frames += 1;
            return Reception::Drop;
        }
        self.acks.arrived(header.mode);
        let lost = shared.stats.lost_frames - lost;
        let overflow = shared.is_sessionless() && verdict == Verdict::Overflow && !header.retransmitted;
        if lost > 0 {
            let seen = header.sequence.plus(u64::from(!overflow));
            self.loss_found(shared, header.mode, header.sequence, lost, seen);
        }
        if overflow {
            self.sessionless.note_overflow(header.sequence);
        }
        match verdict {
            Verdict::Deliver => {
                shared.stats.delivered_frames += 1;
                shared.stats.delivered_bytes += u64::from(bytes);
                Reception::Deliver
            }
            Verdict::Buffered => {
                self.update_pause(shared);
                Reception::Buffered
            }
            Verdict::Duplicate => {
                shared.stats.duplicates_dropped += 1;
                Reception::Drop
            }
            Verdict::Overflow | Verdict::OutOfWindow => Reception::Drop,
        }
    }

    /// See [`LinkEnd::poll_deliver`](crate::LinkEnd::poll_deliver).
    #[inline]
    pub(in crate::link_end) fn poll_deliver(&mut self, shared: &mut Shared) -> Option<FrameHandle> {
        let (frame, bytes) = self.receivers[Mode::Ordered].poll_deliver()?;
        shared.stats.delivered_frames += 1;
        shared.stats.delivered_bytes += u64::from(bytes);
        self.update_pause(shared);
        Some(frame)
    }

    /// See [`LinkEnd::next_delivery`](crate::LinkEnd::next_delivery).
    #[inline]
    pub(in crate::link_end) fn next_delivery(&self) -> Option<FrameHandle> {
        self.receivers[Mode::Ordered].next_delivery()
    }

    /// See [`LinkEnd::next_expected`](crate::LinkEnd::next_expected).
    pub(in crate::link_end) fn next_expected(&self, mode: Mode) -> SequenceNumber {
        self.receivers[mode].cumulative()
    }

    /// See [`LinkEnd::is_urgent`](crate::LinkEnd::is_urgent).
    #[inline]
    pub(in crate::link_end) fn is_urgent(&self) -> bool {
        self.acks.urgent || self.has_holes_to_report()
    }

    /// See [`LinkEnd::next_recovery_timeout`](crate::LinkEnd::next_recovery_timeout).
    pub(in crate::link_end) fn next_recovery_timeout(&self) -> Option<Instant> {
        Mode::ALL.iter().filter_map(|&mode| self.receivers[mode].next_timeout()).min()
    }

    /// See [`LinkEnd::missing`](crate::LinkEnd::missing).
    #[inline]
    pub(in crate::link_end) fn missing(&self) -> u64 {
        self.receivers[Mode::Ordered].missing() + self.receivers[Mode::NonBlocking].missing()
    }

    /// Decides about a frame without a session: this end restarted, or its session has ended, and the peer does not
    /// know yet. An original travels once, so delivering it cannot duplicate it; a copy might.
    fn handle_orphan(&mut self, shared: &mut Shared, header: &DataHeader) -> Reception {
        if header.retransmitted {
            shared.stats.orphan_copies_dropped += 1;
            Reception::Drop
        } else {
            shared.stats.orphan_frames += 1;
            Reception::Deliver
        }
    }

    /// Makes `mode` the lane in use, because its highest number has advanced. In the compact format, the sender takes
    /// an ACK for one of the lane before until a feedback says otherwise.
    pub(super) fn change_lane(&mut self, shared: &mut Shared, mode: Mode) {
        let before = self.acks.lane.replace(mode);
        if before.is_some_and(|before| before != mode) && shared.config.format == Format::Compact {
            self.acks.urgent = true;
            self.acks.repeats = self.acks.repeats.max(1);
        }
    }

    /// Records that `lost` frames before `end` are missing; everything else before `seen` is not.
    pub(super) fn loss_found(
        &mut self,
        shared: &mut Shared,
        mode: Mode,
        end: SequenceNumber,
        lost: u64,
        seen: SequenceNumber,
    ) {
        if shared.is_sessionless() {
            return self.sessionless.note_hole(end, lost, seen);
        }
        self.acks.urgent = true;
        if shared.is_compact() {
            self.acks.notify = Some(mode);
        }
    }

    fn update_pause(&mut self, shared: &mut Shared) {
        if let Some(paused) = self.receivers[Mode::Ordered].update_pause() {
            self.acks.urgent = true;
            self.acks.repeats = PAUSE_REPEATS;
            shared.stats.pauses_sent += u64::from(paused);
        }
    }
}
