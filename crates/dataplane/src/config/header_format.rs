//! Header formats, as people write them.

use linkmend_protocol::Format;
use serde::{Deserialize, Serialize};

/// How the headers of protected frames are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum HeaderFormat {
    /// Any EtherType, VLAN stack and size
    #[default]
    Transparent,
    /// The 3-byte headers of the authors' P4 program, between two Linkmend ends: IPv4 only, one mode
    Compact,
    /// The protocol of the authors' P4 program, with a peer that runs it: no sessions; both ends start at sequence
    /// number 0
    Linkguardian,
}

impl From<HeaderFormat> for Format {
    fn from(format: HeaderFormat) -> Format {
        match format {
            HeaderFormat::Transparent => Format::Transparent,
            HeaderFormat::Compact => Format::Compact,
            HeaderFormat::Linkguardian => Format::Linkguardian,
        }
    }
}
