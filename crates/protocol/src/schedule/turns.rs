//! Whose turn it is when frames of both classes may go: shares by bytes, as in deficit round robin (Shreedhar and
//! Varghese, SIGCOMM 1995).

use crate::mode::{Mode, PerMode};

/// How far one class is ahead of the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Turns {
    /// Bytes by which ordered frames are ahead, negative if the others are. Never more than the last frame of the class
    /// that is ahead, so a class that was held has no claim to more than one frame.
    pub lead_bytes: i64,
    /// Frames of the other class that have left since the first frame of this one became the first.
    pub overtaken: PerMode<u32>,
}

impl Turns {
    /// The class that is behind, and goes first.
    #[inline]
    pub const fn next(&self) -> Mode {
        if self.lead_bytes > 0 { Mode::NonBlocking } else { Mode::Ordered }
    }

    /// Frames of this class begin to wait.
    #[inline]
    pub(super) fn begin_to_wait(&mut self, mode: Mode) {
        self.overtaken[mode] = 0;
    }

    /// Counts a frame that leaves while others wait. A frame that leaves none behind takes no turn.
    #[inline]
    pub fn leave(&mut self, mode: Mode, bytes: u32) {
        let bytes = i64::from(bytes);
        self.lead_bytes = match mode {
            Mode::Ordered => (self.lead_bytes + bytes).min(bytes),
            Mode::NonBlocking => (self.lead_bytes - bytes).max(-bytes),
        };
        let overtaken = &mut self.overtaken[mode.other()];
        *overtaken = overtaken.saturating_add(1);
        self.overtaken[mode] = 0;
    }
}
