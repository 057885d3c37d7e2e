//! What keeps a link from being disabled.

use crate::findings::Counted;
use std::fmt;

/// Why a link is not disabled yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// It may be over in a moment.
    Unconfirmed { left_s: u64 },
    /// What it has counted may have come from a link that has been repaired since.
    NoNewFrames,
    /// What it has counted since may as well be that of a link which corrupts much less.
    TooFew(Counted),
    /// Somebody may find a link corrupting that could be the source, and has not said so yet.
    Unheard,
    /// So many were disabled within the last hour.
    PerHour { limit: u32, left_s: u64 },
    /// So many links of this switch are disabled.
    PerSwitch { limit: u32, switch: String },
}

impl Hold {
    /// After how many seconds that changes by itself, if it does.
    pub fn left_s(&self) -> Option<u64> {
        match self {
            Hold::Unconfirmed { left_s } | Hold::PerHour { left_s, .. } => Some(*left_s),
            Hold::NoNewFrames | Hold::TooFew(_) | Hold::Unheard | Hold::PerSwitch { .. } => None,
        }
    }

    /// Whether people should look, because it is not only a matter of minutes.
    pub fn is_limit(&self) -> bool {
        matches!(self, Hold::PerHour { .. } | Hold::PerSwitch { .. })
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hold::Unconfirmed { .. } => f.write_str("it is waiting for confirmation (disable-after)"),
            Hold::NoNewFrames => f.write_str(
                "no corrupted frames have been counted since every other possible source was ruled out",
            ),
            Hold::TooFew(Counted { frames, corrupted, .. }) => write!(
                f,
                "{corrupted} of {frames} frames have been corrupted since every other possible source was ruled \
                 out, which does not confirm the loss rate that was found"
            ),
            Hold::Unheard => f.write_str("it is waiting for all agents to report their findings again"),
            Hold::PerHour { limit, .. } => {
                write!(
                    f,
                    "{limit} links have been disabled within an hour, which is the limit (disables-per-hour)"
                )
            }
            Hold::PerSwitch { limit, switch } => {
                write!(f, "{limit} links of {switch} are disabled, which is the limit (disables-per-switch)")
            }
        }
    }
}
