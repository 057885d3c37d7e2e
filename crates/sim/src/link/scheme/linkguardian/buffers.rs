//! The buffers of a link end: copies of frames that were sent, and frames that arrived out of order.

use super::LinkGuardian;
use crate::link::frame::Frame;
use crate::link::scheme::{Buffer, Loops, Round, SchemeContext};
use crate::time::Time;
use linkmend_protocol::{DataHeader, FrameHandle, Transmit};

/// If the Tx buffer had less room than this, a frame may have been waiting: it is more than two of the longest frames.
const NEARLY_FULL_BYTES: u64 = 20_000;

/// A frame in the Tx buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct TxFrame {
    pub(super) frame: Frame,
    /// Whether the protocol no longer needs it.
    pub(super) released: bool,
    /// Whether it is still circulating.
    pub(super) circling: bool,
}

impl LinkGuardian {
    /// Releases what the protocol no longer needs in the Tx buffer.
    #[inline(always)]
    pub(super) fn release<C: SchemeContext>(&mut self, context: &mut C) {
        if self.release_acknowledged() {
            context.tx_level(self.tx_bytes);
        }
    }

    /// The same; returns whether the Tx buffer now holds less than before.
    #[inline]
    fn release_acknowledged(&mut self) -> bool {
        let before = self.tx_bytes;
        while let Some(FrameHandle(slot)) = self.end.poll_release() {
            let held = self.tx.at(slot);
            held.released = true;
            if !held.circling {
                let bytes = u64::from(held.frame.bytes);
                self.tx.free(slot);
                if self.recirculation.is_none() {
                    self.tx_bytes -= bytes;
                }
            }
        }
        self.tx_bytes < before
    }

    /// Holds a frame that may not be delivered yet.
    #[inline(never)]
    pub(super) fn hold<C: SchemeContext>(&mut self, context: &mut C, slot: u32, frame: Frame) {
        self.rx.put(frame);
        self.rx_bytes += u64::from(frame.bytes);
        if let Some(at) = self.recirculation {
            context.circulate(at, Buffer::Rx, slot, &frame, self.header_bytes);
        }
        context.rx_level(self.rx_bytes);
    }

    /// Figure 18: a copy is dropped once acknowledged, retransmitted once requested, and otherwise sent through the
    /// loop again. It leaves with its retransmission (appendix A.2), unless it may be requested again.
    #[inline(always)]
    pub(super) fn tx_round<C: SchemeContext>(&mut self, context: &mut C, slot: u32) -> Round {
        let copied = std::mem::take(&mut self.copied);
        let held = *self.tx.at(slot);
        if !(held.released || copied && self.end.config().max_rounds == 1) {
            return Round::Stays;
        }
        self.tx_bytes -= u64::from(held.frame.bytes);
        context.tx_level(self.tx_bytes);
        self.tx.at(slot).circling = false;
        if held.released {
            self.tx.free(slot);
        }
        // A normal frame may have been waiting for room.
        Round::Leaves { made_room: self.tx_bytes + NEARLY_FULL_BYTES > self.tx_bytes_max }
    }

    /// Algorithm 1 for a buffered frame: it is delivered when its turn comes.
    #[inline(always)]
    pub(super) fn rx_round<C: SchemeContext>(&mut self, context: &mut C, slot: u32) -> Round {
        if self.end.next_delivery() != Some(FrameHandle(slot)) {
            return Round::Stays;
        }
        self.end.poll_deliver();
        let urgent = self.end.is_urgent();
        if urgent {
            context.request_service();
        }
        let frame = self.rx.free(slot);
        self.rx_bytes -= u64::from(frame.bytes);
        context.rx_level(self.rx_bytes);
        Round::Delivers { frame, more: self.rx.used() == 0, urgent }
    }
}

impl Loops<DataHeader> for LinkGuardian {
    #[inline(always)]
    fn poll_retransmission_of(&mut self, slot: u32) -> Option<(DataHeader, Frame)> {
        let held = *self.tx.at(slot);
        if held.released {
            return None;
        }
        match self.end.poll_retransmission_of(FrameHandle(slot))? {
            Transmit::Retransmission { header, .. } => {
                self.copied = true;
                Some((header, held.frame))
            }
            Transmit::Control(_) => None,
        }
    }

    #[inline(always)]
    fn handle_round<C: SchemeContext>(&mut self, context: &mut C, buffer: Buffer, slot: u32) -> Round {
        match buffer {
            Buffer::Tx => self.tx_round(context, slot),
            Buffer::Rx => self.rx_round(context, slot),
        }
    }

    fn keeps_circulating(&mut self, now: Time, buffer: Buffer, slot: u32) -> bool {
        match buffer {
            Buffer::Tx => {
                let due = self.end.next_timeout();
                !self.tx.get(slot).released && due.is_none_or(|at| at.0 > now.0)
            }
            Buffer::Rx => self.end.next_delivery() != Some(FrameHandle(slot)),
        }
    }
}
