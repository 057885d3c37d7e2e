//! What the ends tell each other about their paths.

use core::fmt;

/// One of two links between the same two ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Path {
    /// The link that is used unless there is a reason for the other.
    #[default]
    Primary,
    /// The standby link.
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

/// The path to use while both are up. A preference can be requested at either end. Of two preferences, the one with the
/// higher number wins; if the numbers are equal, the one from the end whose own number is higher wins. Both ends
/// therefore agree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Preference {
    /// Counts preferences, modulo 2^32.
    pub number: u32,
    /// The end at which it was requested; 0 for the initial preference.
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
    /// Frames arrive on it, but no full-size probes.
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
    /// The random number that its writer chose at startup.
    pub writer: u32,
    /// What a peer that the writer does not know yet must repeat. No end that was replaced has ever been told it.
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
    /// The newest decision of its writer, which names the path on which the writer sends.
    pub decision: Decision,
    /// The number of the peer's decision that it follows when accepting numbered frames; 0 for none.
    pub takes: u32,
    /// The newest preference that its writer knows.
    pub preference: Preference,
    /// The detection time of its writer, in ns: the peer must send four probes in it.
    pub needs_ns: u32,
    /// Maximum time until the next probe on this path, in ns.
    pub interval_ns: u32,
    /// What its writer knows of each path.
    pub reports: [PathReport; 2],
}
