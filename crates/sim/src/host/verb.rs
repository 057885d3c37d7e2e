//! The verbs by which applications transfer flows.

use linkmend_quantity::words;
use linkmend_transport::roce;

words! {
    /// How applications transfer flows by RDMA.
    #[derive(Default)]
    pub enum RdmaVerb {
        /// The source writes into the destination's memory; dummies are SENDs of nothing.
        #[default]
        Write = "write",
        /// The destination reads the source's memory; dummies are READs of nothing (section 5.2 of the JCST paper).
        Read = "read",
    }
}

impl RdmaVerb {
    /// What transfers a flow.
    pub(super) fn opcode(self) -> roce::Opcode {
        match self {
            RdmaVerb::Write => roce::Opcode::Write,
            RdmaVerb::Read => roce::Opcode::Read,
        }
    }

    /// What a dummy is.
    pub(super) fn dummy(self) -> roce::Opcode {
        match self {
            RdmaVerb::Write => roce::Opcode::Send,
            RdmaVerb::Read => roce::Opcode::Read,
        }
    }
}
