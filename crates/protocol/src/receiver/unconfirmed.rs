//! Which numbers are not believed from a single frame.
//!
//! A number far ahead of all others means that all the frames in between were lost. But the number may be wrong: a
//! broken device or an attacker may send it with a correct check sequence. If it were believed, it would take the
//! places of frames that are still to be sent. Such a frame is therefore dropped until the next one confirms it, or a
//! dummy, which names the session. If the number was right, the frame is missing like those before it, and is resent
//! with them. This costs a frame for each run of at least as many lost frames. With independent losses there are none:
//! `loss^64`.

use super::Receiver;

/// How far the second frame may be ahead of the first and still confirm it: one less may be lost between the two.
const CONFIRMATION_FRAMES: u64 = 16;

/// How far ahead any frame is believed, at least.
const PLAUSIBLE_MIN: u64 = 64;

/// The share of the window within which any frame is believed.
const PLAUSIBLE_SHARE: u64 = 16;

/// How far ahead of the highest number seen a frame is believed immediately, with a window of this many frames.
pub(super) fn plausible_ahead(window_frames: u32) -> u64 {
    (u64::from(window_frames) / PLAUSIBLE_SHARE).max(PLAUSIBLE_MIN)
}

/// A frame that was not believed.
#[derive(Debug, Default)]
pub(super) struct UnconfirmedFrame {
    /// The value of [`Receiver::highest`] at the time. If anything has arrived in the right order since, the frame was
    /// wrong.
    highest: u64,
    /// The frame claimed that everything before this had been sent.
    next: u64,
}

impl Receiver {
    /// Whether a frame must not be believed yet. It claims that everything before `next` has been sent, and is itself
    /// number `first` or later.
    pub(super) fn is_unconfirmed(&mut self, first: u64, next: u64) -> bool {
        if first - self.highest <= self.limits.plausible_ahead {
            return false;
        }
        let unconfirmed =
            core::mem::replace(&mut self.unconfirmed, UnconfirmedFrame { highest: self.highest, next });
        let agreed = unconfirmed.highest == self.highest
            && (unconfirmed.next..unconfirmed.next + CONFIRMATION_FRAMES).contains(&first);
        !agreed
    }
}
