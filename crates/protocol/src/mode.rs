//! The two modes of protection.

use core::fmt;

/// How a frame is protected. Each mode is a lane with its own sequence numbers, so both run on one link at the same
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Mode {
    /// LinkGuardian: the receiver delivers in the order of sending.
    Ordered,
    /// LinkGuardianNB: a recovered frame is delivered when it arrives, out of order.
    NonBlocking,
}

impl Mode {
    /// Both modes, in index order.
    pub const ALL: [Mode; 2] = [Mode::Ordered, Mode::NonBlocking];

    /// The mode that this one is not.
    #[inline]
    pub const fn other(self) -> Mode {
        match self {
            Mode::Ordered => Mode::NonBlocking,
            Mode::NonBlocking => Mode::Ordered,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Ordered => "ordered",
            Mode::NonBlocking => "non-blocking",
        })
    }
}
