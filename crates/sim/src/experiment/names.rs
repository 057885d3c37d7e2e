//! Names of choices, as the command line and experiment files spell them.

use crate::corruption::Transceiver;
use crate::link::config::Buffering;
use linkmend_protocol::Mode;
use serde::{Deserialize, Serialize};

/// How frames are protected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum ProtectionName {
    /// Lost frames are recovered and every frame is delivered in order (LinkGuardian)
    #[default]
    Ordered,
    /// Lost frames are recovered, later ones do not wait for them (LinkGuardianNB)
    NonBlocking,
    /// Not at all
    Off,
}

impl ProtectionName {
    /// The protocol's mode; `None` without protection.
    pub fn mode(self) -> Option<Mode> {
        match self {
            ProtectionName::Ordered => Some(Mode::Ordered),
            ProtectionName::NonBlocking => Some(Mode::NonBlocking),
            ProtectionName::Off => None,
        }
    }
}

/// How buffered frames can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum BufferingName {
    /// Each when it comes back through a recirculation port, as on the Tofino
    Recirculating,
    /// Immediately: software, or the credit-based queues of the Tofino2
    Direct,
}

impl From<BufferingName> for Buffering {
    fn from(name: BufferingName) -> Buffering {
        match name {
            BufferingName::Recirculating => Buffering::Recirculating,
            BufferingName::Direct => Buffering::Direct,
        }
    }
}

impl From<Buffering> for BufferingName {
    fn from(buffering: Buffering) -> BufferingName {
        match buffering {
            Buffering::Recirculating => BufferingName::Recirculating,
            Buffering::Direct => BufferingName::Direct,
        }
    }
}

/// A transceiver of Figure 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum TransceiverName {
    /// 10 Gbit/s, two levels, no error correction
    #[cfg_attr(feature = "clap", value(name = "10GBASE-SR"))]
    #[serde(rename = "10GBASE-SR")]
    TenGig,
    /// 25 Gbit/s, two levels, error correction off
    #[cfg_attr(feature = "clap", value(name = "25GBASE-SR"))]
    #[serde(rename = "25GBASE-SR")]
    TwentyFiveGig,
    /// 25 Gbit/s, two levels, RS(528,514)
    #[cfg_attr(feature = "clap", value(name = "25GBASE-SR-FEC"))]
    #[serde(rename = "25GBASE-SR-FEC")]
    TwentyFiveGigFec,
    /// 50 Gbit/s, four levels, RS(544,514)
    #[cfg_attr(feature = "clap", value(name = "50GBASE-SR-FEC"))]
    #[serde(rename = "50GBASE-SR-FEC")]
    FiftyGig,
}

impl From<TransceiverName> for Transceiver {
    fn from(name: TransceiverName) -> Transceiver {
        match name {
            TransceiverName::TenGig => Transceiver::TenGig,
            TransceiverName::TwentyFiveGig => Transceiver::TwentyFiveGig,
            TransceiverName::TwentyFiveGigFec => Transceiver::TwentyFiveGigFec,
            TransceiverName::FiftyGig => Transceiver::FiftyGig,
        }
    }
}
