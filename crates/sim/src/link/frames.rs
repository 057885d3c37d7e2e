//! The normal frames of a port: its queues, and the line-rate generator that feeds them.

use super::frame::Frame;
use super::generator::Generator;
use linkmend_protocol::Mode;
use linkmend_protocol::schedule::{ClassQueues, NormalFrames, QueueLimits, Waiting};

/// The queue of each class at a port: 1 MB, marking (ECN) at the paper's 100 KB (section 4).
pub const PORT_QUEUE: QueueLimits =
    QueueLimits { class_bytes: 1_000_000, ecn_bytes: 100_000, ..QueueLimits::UNLIMITED };

/// What a port may send next. A line-rate generator has a frame ready whenever no frame of its class is waiting.
pub(crate) struct PortFrames<'a> {
    pub(crate) queues: &'a mut ClassQueues<Frame>,
    pub(crate) generator: &'a mut Generator,
}

impl NormalFrames for PortFrames<'_> {
    type Frame = Frame;

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.queues.is_empty() && !self.generator.is_ready()
    }

    #[inline(always)]
    fn turn(&self) -> Mode {
        if self.queues.is_empty() { self.generator.mode() } else { self.queues.turn() }
    }

    #[inline(always)]
    fn overtaken(&self, mode: Mode) -> u32 {
        self.queues.overtaken(mode)
    }

    #[inline(always)]
    fn front_bytes(&self, mode: Mode) -> Option<u32> {
        if !self.queues.is_empty()
            && let Some(bytes) = self.queues.front_bytes(mode)
        {
            return Some(bytes);
        }
        let is_next = self.generator.is_ready() && self.generator.mode() == mode;
        is_next.then(|| u32::from(self.generator.frame_bytes()))
    }

    #[inline(always)]
    fn pop(&mut self, mode: Mode) -> Option<Waiting<Frame>> {
        let frame = if self.queues.is_empty() { self.generator.take() } else { self.pop_beside_others(mode) };
        Some(Waiting { frame, bytes: u32::from(frame.bytes), mode })
    }
}

impl PortFrames<'_> {
    /// Takes the first waiting frame of a class. It returns only the frame, which fits into registers: the processor
    /// stalls (5 ns per frame) if a frame is read from memory that was written in pieces.
    #[inline(never)]
    fn pop_beside_others(&mut self, mode: Mode) -> Frame {
        if let Some(waiting) = self.queues.pop(mode) {
            return waiting.frame;
        }
        let frame = self.generator.take();
        self.queues.turns_mut().leave(mode, u32::from(frame.bytes));
        frame
    }
}
