//! The erasure code, as sender and receiver see it.

use std::fmt::Debug;

/// Most frames in a group.
pub const GROUP_MAX: usize = 128;
/// Most parity frames of a group.
pub const PARITY_MAX: usize = 128;

/// A code that is systematic and maximum distance separable: frames are sent as they are, and any `k` of a group's `k`
/// frames and its parity restore the others.
pub trait Code {
    /// A frame.
    type Frame: Clone + Debug;
    /// A parity frame.
    type Parity: Debug;

    /// The parity of a group of 1 to [`GROUP_MAX`] frames with their stamps. Returns `parity` frames, or none if they cannot
    /// be encoded.
    fn encode(&mut self, frames: &[(u16, Self::Frame)], parity: u8) -> Vec<Self::Parity>;

    /// The missing frames of a group with their places and stamps. `parity` has the index of each parity frame that has
    /// arrived, of `parity_count`. Empty if the frames cannot be restored, for example because the parity was forged.
    fn decode(
        &mut self,
        frames: &[Option<(u16, Self::Frame)>],
        parity: &[(u8, Self::Parity)],
        parity_count: u8,
    ) -> Vec<(usize, u16, Self::Frame)>;
}
