//! The sides of a link end.

use linkmend_protocol::paths::Path;
use serde::{Deserialize, Serialize};

/// A side of a link end, which has one port there. The order is that of the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The port that faces the host
    Inner,
    /// The port that faces the corrupting link
    Link,
    /// The port that faces the second link
    Backup,
}

impl Side {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Side::Inner => "inner",
            Side::Link => "link",
            Side::Backup => "backup",
        }
    }

    /// Whether it faces a link, so that frames with Linkmend's headers pass there.
    pub fn is_on_link(self) -> bool {
        self != Side::Inner
    }
}

impl From<Path> for Side {
    fn from(path: Path) -> Side {
        match path {
            Path::Primary => Side::Link,
            Path::Backup => Side::Backup,
        }
    }
}
