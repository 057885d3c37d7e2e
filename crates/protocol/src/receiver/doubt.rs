//! What one frame alone is not believed.
//!
//! A number far ahead of all others says that as many frames were lost in a row. It may be wrong: made by a broken device
//! or an attacker, with a good check sequence. Believed, it would take the places of frames that are still to be sent. So
//! such a frame is dropped, until the next one agrees with it, or a dummy does, which names the session: if the number was
//! right, the frame is missing like those before it, and comes back with them. That costs a frame for each stretch of at
//! least so many lost frames. With independent losses there are none: `loss^64`.

use super::Receiver;

/// How far a second frame may be ahead of the first to agree with it: so many less one may be lost between the two.
const AGREEMENT: u64 = 16;

/// Numbers that all frames are believed.
const BELIEVED_MIN: u64 = 64;

/// The share of the window that all frames are believed.
const BELIEVED_SHARE: u64 = 16;

/// How far ahead of the highest number seen a frame is believed at once, with a window of so many frames.
pub(crate) fn believed_ahead(window_frames: u32) -> u64 {
    (u64::from(window_frames) / BELIEVED_SHARE).max(BELIEVED_MIN)
}

/// A frame that was not believed.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// What [`Receiver::highest`] was then: with anything in the right order since, the frame was wrong.
    highest: u64,
    /// The frame said that everything before this had been sent.
    next: u64,
}

impl Receiver {
    /// Whether a frame that says that everything before `next` has been sent, and that is itself `first` or later, is not
    /// to be believed yet.
    pub(super) fn is_doubted(&mut self, first: u64, next: u64) -> bool {
        if first - self.highest <= self.limits.believed_ahead {
            return false;
        }
        let doubt = core::mem::replace(&mut self.doubt, Doubt { highest: self.highest, next });
        let agreed = doubt.highest == self.highest && (doubt.next..doubt.next + AGREEMENT).contains(&first);
        !agreed
    }
}
