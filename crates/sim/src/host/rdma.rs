//! How applications use RDMA.

use super::verb::RdmaVerb;
use crate::time::Time;
use linkmend_rdma::Mechanisms;

/// How applications use RDMA, and what protects it from timeouts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RdmaConfig {
    /// Connections from each host to each other that its flows share, in turns; `None` if each flow has its own.
    pub queue_pairs: Option<u32>,
    /// What hosts and their switches add.
    pub mechanisms: Mechanisms,
    /// Send dummies after a flow only if the flow before it on the same connection was written longer ago than this (the
    /// paper's T).
    pub dummy_gap: Time,
    /// How flows are transferred.
    pub verb: RdmaVerb,
}
