//! The normal queue of a port (section 3, Figure 5), one for each class: finite, with ECN marking.

use super::{NormalFrames, Turns};
use crate::mode::{Mode, PerMode};
use crate::stats::BufferStats;
use alloc::collections::VecDeque;

/// Bounds of the normal queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Maximum number of bytes of one class. A frame that would exceed it is dropped, unless it is the only one.
    pub class_bytes: u64,
    /// Maximum number of frames of one class.
    pub class_frames: usize,
    /// Maximum number of frames of both classes.
    pub frames: usize,
    /// A frame that finds more bytes than this in its class is marked (ECN, RFC 3168), as in DCTCP: not the frames that
    /// already wait, and not by an average. `u64::MAX` marks none.
    pub ecn_bytes: u64,
}

impl QueueLimits {
    /// No bounds at all.
    pub const UNLIMITED: QueueLimits = QueueLimits {
        class_bytes: u64::MAX,
        class_frames: usize::MAX,
        frames: usize::MAX,
        ecn_bytes: u64::MAX,
    };

    /// What to do with a frame of `bytes` that finds `class_frames` of its class, which have `class_bytes` together, and
    /// `frames` of both classes.
    #[inline]
    pub const fn arrival(&self, bytes: u32, class_frames: usize, class_bytes: u64, frames: usize) -> Arrival {
        let too_many = class_frames >= self.class_frames || frames >= self.frames;
        let too_long = class_frames > 0 && class_bytes + bytes as u64 > self.class_bytes;
        if too_many || too_long {
            Arrival::Drop
        } else if class_bytes > self.ecn_bytes {
            Arrival::Mark
        } else {
            Arrival::Queue
        }
    }
}

/// A frame in the queue of its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting<F> {
    /// The driver's own value: a handle, or a simulated frame.
    pub frame: F,
    /// Its length in bytes.
    pub bytes: u32,
    /// Its traffic class.
    pub mode: Mode,
}

/// What to do with a frame that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Add it to its queue.
    Queue,
    /// Add it to its queue, and mark it if it is ECN-capable.
    Mark,
    /// Drop it, because it does not fit.
    Drop,
}

/// The frames of one class.
#[derive(Debug)]
struct ClassQueue<F> {
    frames: VecDeque<Waiting<F>>,
    bytes: u64,
    bytes_max: u64,
}

/// A first-in-first-out queue for each class. Classes do not affect each other: a class that is held fills its own
/// queue and drops its own frames.
#[derive(Debug)]
pub struct ClassQueues<F> {
    classes: PerMode<ClassQueue<F>>,
    limits: QueueLimits,
    turns: Turns,
    both: BufferStats,
}

impl<F> ClassQueues<F> {
    /// Empty queues with these bounds.
    pub fn new(limits: QueueLimits) -> ClassQueues<F> {
        let class = || ClassQueue { frames: VecDeque::new(), bytes: 0, bytes_max: 0 };
        ClassQueues {
            classes: PerMode([class(), class()]),
            limits,
            turns: Turns::default(),
            both: BufferStats::default(),
        }
    }

    /// What they were made with.
    pub const fn limits(&self) -> &QueueLimits {
        &self.limits
    }

    /// Allocates room for this many frames of each class in advance.
    pub fn reserve(&mut self, frames: usize) {
        self.classes.0.iter_mut().for_each(|class| class.frames.reserve(frames));
    }

    /// What to do with a frame of `bytes` that arrives now for class `mode`.
    #[inline]
    pub fn arrival(&self, mode: Mode, bytes: u32) -> Arrival {
        let class = &self.classes[mode];
        self.limits.arrival(bytes, class.frames.len(), class.bytes, self.both.frames as usize)
    }

    /// Queues a frame, whatever [`ClassQueues::arrival`] says.
    #[inline]
    pub fn push(&mut self, waiting: Waiting<F>) {
        let bytes = u64::from(waiting.bytes);
        let class = &mut self.classes[waiting.mode];
        if class.frames.is_empty() {
            self.turns.begin_to_wait(waiting.mode);
        }
        class.bytes += bytes;
        class.bytes_max = class.bytes_max.max(class.bytes);
        class.frames.push_back(waiting);
        self.both.add(bytes);
    }

    /// How far one class is ahead of the other.
    #[inline]
    pub const fn turns(&self) -> &Turns {
        &self.turns
    }

    /// The same, for a driver whose frames need not wait here but take the turns of their class.
    #[inline]
    pub const fn turns_mut(&mut self) -> &mut Turns {
        &mut self.turns
    }

    /// Whether no frame waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.both.frames == 0
    }

    /// The first frame of a class.
    #[inline]
    pub fn front(&self, mode: Mode) -> Option<&F> {
        self.classes[mode].frames.front().map(|waiting| &waiting.frame)
    }

    /// Number of frames of a class.
    pub fn frames(&self, mode: Mode) -> usize {
        self.classes[mode].frames.len()
    }

    /// Maximum number of bytes that a class held.
    pub fn bytes_max(&self, mode: Mode) -> u64 {
        self.classes[mode].bytes_max
    }

    /// Levels of both classes together.
    pub const fn buffer(&self) -> &BufferStats {
        &self.both
    }

    /// Resets the extremes of both classes together.
    pub fn reset_extremes(&mut self) {
        self.both.reset_extremes();
    }
}

impl<F> NormalFrames for ClassQueues<F> {
    type Frame = F;

    #[inline]
    fn is_empty(&self) -> bool {
        ClassQueues::is_empty(self)
    }

    #[inline]
    fn turn(&self) -> Mode {
        self.turns.next()
    }

    #[inline]
    fn overtaken(&self, mode: Mode) -> u32 {
        self.turns.overtaken[mode]
    }

    #[inline]
    fn front_bytes(&self, mode: Mode) -> Option<u32> {
        self.classes[mode].frames.front().map(|waiting| waiting.bytes)
    }

    #[inline]
    fn pop(&mut self, mode: Mode) -> Option<Waiting<F>> {
        let class = &mut self.classes[mode];
        let waiting = class.frames.pop_front()?;
        class.bytes -= u64::from(waiting.bytes);
        self.both.remove(u64::from(waiting.bytes));
        if !self.is_empty() {
            self.turns.leave(mode, waiting.bytes);
        }
        Some(waiting)
    }
}
