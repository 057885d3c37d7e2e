//! The fields that distinguish the classes of frames.

use std::fmt;

/// The field of a frame that determines its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassField {
    /// Priority of the outermost VLAN tag, 0 to 7.
    Pcp(u8),
    /// Code point of an IP packet, 0 to 63.
    Dscp(u8),
}

impl fmt::Display for ClassField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClassField::Pcp(pcp) => write!(f, "pcp {pcp}"),
            ClassField::Dscp(dscp) => write!(f, "dscp {dscp}"),
        }
    }
}
