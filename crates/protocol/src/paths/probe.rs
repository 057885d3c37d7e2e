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

/// The path on which an end sends. Each end decides for its own direction, so that a path that is dead one way still carries
/// frames the other way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Decision {
    /// Counts the decisions of its writer from 1, modulo 2^32.
    pub number: u32,
    /// The path on which its writer sends.
    pub active: Path,
}

impl Decision {
    /// Whether it replaces another one of the same end.
    pub(super) fn is_newer(&self, other: &Decision) -> bool {
        is_ahead(self.number, other.number)
    }
}

/// The path to use while both are up. Either end may be asked for one; of two preferences, the one with the higher number holds,
/// and of two with the same number that of the end whose own number is higher. So both ends come to the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Preference {
    /// Counts preferences, modulo 2^32.
    pub number: u32,
    /// The end that was asked; 0 for the one that both begin with.
    pub by: u32,
    pub path: Path,
}

impl Preference {
    /// Whether it replaces another.
    pub(super) fn is_newer(&self, other: &Preference) -> bool {
        is_ahead(self.number, other.number) || (self.number == other.number && self.by > other.by)
    }
}

fn is_ahead(number: u32, other: u32) -> bool {
    number.wrapping_sub(other) as i32 > 0
}

/// What an end knows as a receiver of one path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PathReport {
    /// Nothing arrived on it for the detection time, though the peer was heard on the other one; or its port has no carrier.
    pub fails: bool,
    /// Frames arrive on it, but no probes of full size.
    pub loses_full: bool,
    /// How long nothing has arrived on it, in us; `u32::MAX` if nothing ever has.
    pub silent_us: u32,
    /// How many of the latest 128 probes did not arrive.
    pub lost: u8,
    /// How much longer a probe takes on it than on the other one, in us.
    pub later_us: u32,
}

/// A control frame that says how its writer sees both paths. It goes out on each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Probe {
    /// The number that its writer drew when it began.
    pub writer: u32,
    /// What a peer must repeat that its writer does not know yet. It has not been told to anybody who was replaced.
    pub challenge: u32,
    /// The challenge that its writer heard last; 0 for none.
    pub echo: u32,
    /// The path that it travels on.
    pub path: Path,
    /// Whether it is to be padded to the size of the longest frame that may follow.
    pub is_full: bool,
    /// Counts the probes of its writer on this path, modulo 2^32, so that lost ones are noticed.
    pub number: u32,
    /// When it was written, in us of its writer's clock, modulo 2^32.
    pub stamp_us: u32,
    /// The newest decision of its writer, whose frames go out on the path of this one.
    pub decision: Decision,
    /// The number of the peer's decision by which it takes numbered frames; 0 for none.
    pub takes: u32,
    /// The newest preference that its writer knows.
    pub preference: Preference,
    /// The detection time of its writer, in ns: the peer must send four probes in it.
    pub needs_ns: u32,
    /// How long it may be until the next probe on this path, in ns.
    pub interval_ns: u32,
    /// What its writer knows of each path.
    pub reports: [PathReport; 2],
}
