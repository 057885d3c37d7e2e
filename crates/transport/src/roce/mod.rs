//! RoCEv2's reliable connection (RC), one end of it at a time.
//!
//! Sections are those of the InfiniBand Architecture Specification, volume 1; RoCEv2 is its annex A17. Where the
//! specification leaves a choice to implementations, the code follows measurements of NICs (Gao et al., "Analyzing and
//! Optimizing Packet Corruption in RDMA Network", JCST 2022), and extensions cite the papers that they come from.
//!
//! - [`QueuePair`]: one end; it combines a requester, which sends requests and receives acknowledgements, and a
//!   responder, which receives requests and acknowledges them.
//! - `requester`: what is outstanding, retransmission after a NAK or a timeout, retry counters.
//! - `responder`: the expected packet, acknowledgements, at most one NAK for an expected packet, messages.
//! - `reads`: what a responder must read for READs, whose responses also acknowledge them.
//! - `dcqcn`: congestion control (SIGCOMM 2015), which is optional.
//! - [`packet`]: what travels.
//!
//! A packet sequence number (PSN) has 64 bits here and begins at zero. On the wire it is the low 24 bits after adding
//! an initial number, which matters only for writing packets.

mod bitmap;
pub mod completion;
pub mod config;
mod dcqcn;
mod info;
pub mod packet;
mod queue_pair;
mod reads;
mod requester;
mod responder;
mod send_queue;

pub use completion::{Completion, Failure, PostError, Request, RequestId};
pub use config::{Config, Dcqcn, Recovery, ShortTimeout};
pub use info::{Info, State};
pub use packet::{
    Body, Nak, Opcode, Packet, Position, ReadResponse, RequestPacket, Response, Selective, Syndrome,
};
pub use queue_pair::QueuePair;
