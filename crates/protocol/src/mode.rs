//! The two modes of protection.

use core::fmt;
use core::ops::{Index, IndexMut};

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

/// One value for each [`Mode`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PerMode<T>(pub [T; 2]);

impl<T> Index<Mode> for PerMode<T> {
    type Output = T;
    fn index(&self, mode: Mode) -> &T {
        &self.0[mode as usize]
    }
}

impl<T> IndexMut<Mode> for PerMode<T> {
    fn index_mut(&mut self, mode: Mode) -> &mut T {
        &mut self.0[mode as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn modes_are_named_as_in_the_paper() {
        assert_eq!(Mode::ALL.map(|mode| mode.to_string()), ["ordered", "non-blocking"]);
    }
}
