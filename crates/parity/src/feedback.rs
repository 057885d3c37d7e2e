//! What the two ends tell each other.

/// Unit of stamps. They wrap after 3.2 s, more than three times the longest deadline.
pub const STAMP_NS: u64 = 50_000;
/// Numbers that one request covers.
pub const MISSING_SPAN: u64 = 16;

/// In front of a frame: 8 bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Number of the frame in its class, modulo 2^32.
    pub number: u32,
    /// When it was sent first, in units of [`STAMP_NS`] of the sender's clock, modulo 2^16.
    pub stamp: u16,
    /// Its place in its group.
    pub place: u8,
    /// Whether it was sent before.
    pub is_copy: bool,
}

/// A parity frame of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParityFrame<P> {
    /// Number of the group's first frame, modulo 2^32.
    pub first: u32,
    /// Frames in the group, 1 to [`GROUP_MAX`](crate::GROUP_MAX).
    pub frames: u8,
    /// Parity frames of the group, 1 to [`PARITY_MAX`](crate::PARITY_MAX).
    pub count: u8,
    /// Which of them this is, from 0.
    pub index: u8,
    /// What the code computed.
    pub content: P,
}

/// What a receiver tells the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// Send these frames again: `first`, and `first + i` where bit `i` of `others` is set.
    Missing {
        first: u32,
        others: u16,
        /// How many copies of each.
        copies: u8,
    },
    /// Group frames like this from now on.
    Group {
        /// Frames in a group.
        frames: u8,
        /// Parity frames of a group.
        parity: u8,
        /// A group is closed this long after its first frame, in units of [`STAMP_NS`].
        age: u16,
    },
}

/// The time as a stamp.
pub(crate) fn stamp(now_ns: u64) -> u16 {
    (now_ns / STAMP_NS) as u16
}

/// The full number that is closest to `near` and has these lower 32 bits; `None` if it would be negative.
pub(crate) fn unwrapped(number: u32, near: u64) -> Option<u64> {
    let distance = i64::from(number.wrapping_sub(near as u32).cast_signed());
    near.checked_add_signed(distance)
}
