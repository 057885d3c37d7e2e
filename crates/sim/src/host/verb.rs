//! The verbs by which applications transfer flows.

use linkmend_transport::roce;

/// How applications transfer flows by RDMA.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RdmaVerb {
    /// The source writes into the destination's memory; dummies are SENDs of nothing.
    #[default]
    Write,
    /// The destination reads the source's memory; dummies are READs of nothing (section 5.2 of the JCST paper).
    Read,
}

impl RdmaVerb {
    /// Both of them.
    pub const ALL: [RdmaVerb; 2] = [RdmaVerb::Write, RdmaVerb::Read];

    /// Its name, as the command line and files spell it.
    pub fn name(self) -> &'static str {
        match self {
            RdmaVerb::Write => "write",
            RdmaVerb::Read => "read",
        }
    }

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
