//! What timeouts are computed for, and their kinds.

use crate::{Flows, Path, Sizes};
use linkmend_diagnose::ParameterError;
use serde::Serialize;

/// Why a requester waits for its timer (section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A packet is lost, and every NAK that asks for it.
    Nak,
    /// A packet is lost, and what is retransmitted for it.
    Twice,
    /// The last packet of a flow is lost, and whatever would have revealed it.
    Tail,
    /// The last packet has arrived, but no acknowledgement of it.
    TailAck,
}

impl Kind {
    /// All of them, in the order of the paper.
    pub const ALL: [Kind; 4] = [Kind::Nak, Kind::Twice, Kind::Tail, Kind::TailAck];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Nak => "NAK lost",
            Kind::Twice => "packet lost twice",
            Kind::Tail => "tail packet lost",
            Kind::TailAck => "tail ACK lost",
        }
    }

    /// The theorems about it: without mechanisms, and with them.
    pub fn theorems(self) -> &'static str {
        match self {
            Kind::Nak => "4, 8",
            // The paper numbers two theorems 8 and none 9.
            Kind::Twice => "5, 9 (printed 8)",
            Kind::Tail => "6, 10, 11",
            Kind::TailAck => "7, 12",
        }
    }
}

/// Flows over a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// The way of packets; that of NAKs is like it, with corruption of its own.
    pub path: Path,
    pub sizes: Sizes,
    pub flows: Flows,
}

impl Model {
    /// # Errors
    /// The first parameter that is out of its range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.path.validate()?;
        self.sizes.validate()?;
        self.flows.validate()
    }

    /// Corruption of full packets on a corrupting link (the paper's beta).
    pub fn packet_loss(&self) -> f64 {
        self.path.link_loss(self.sizes.packet())
    }
}
