//! What the ends tell each other about their paths.

use core::fmt;

/// One of two links between the same two ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Path {
    /// The link that is used unless there is a reason for the other.
    #[default]
    Primary,
    /// The link that stands by.
    Backup,
}

impl Path {
    /// Both paths, in index order.
    pub const ALL: [Path; 2] = [Path::Primary, Path::Backup];

    /// The path that this one is not.
    #[inline]
    pub const fn other(self) -> Path {
        match self {
            Path::Primary => Path::Backup,
            Path::Backup => Path::Primary,
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Path::Primary => "primary",
            Path::Backup => "backup",
        })
    }
}

/// Which path both ends use. Either end may decide; of two decisions, the one with the higher number holds, and of two with the
/// same number that of the end whose own number is higher. So both ends come to the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Decision {
    /// Counts decisions, modulo 2^32.
    pub number: u32,
    /// The end that made it; 0 for the one that both begin with.
    pub by: u32,
    /// The path in use.
    pub active: Path,
    /// The path to use while both are up.
    pub preferred: Path,
    /// Whether the path before had failed.
    pub failed: bool,
}

impl Decision {
    /// Whether it replaces another.
    pub(super) fn is_newer(&self, other: &Decision) -> bool {
        let ahead = self.number.wrapping_sub(other.number) as i32;
        ahead > 0 || (ahead == 0 && self.by > other.by)
    }
}

/// A control frame that says how its writer sees both paths. It goes out on each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Probe {
    /// The number that its writer drew when it began.
    pub writer: u32,
    /// The path that it travels on.
    pub path: Path,
    /// Counts the probes of its writer on this path, modulo 2^32, so that lost ones are noticed.
    pub number: u32,
    /// The newest decision that its writer knows. Its frames go out on the active path of this one.
    pub decision: Decision,
    /// Whether it hears its peer on each path.
    pub hears: [bool; 2],
    /// The path of which it takes numbered frames.
    pub takes: Path,
}
