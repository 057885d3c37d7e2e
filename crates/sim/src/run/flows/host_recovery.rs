//! How hosts find and repair the losses that links leave to them.

use crate::host::{HostsConfig, Transport};
use crate::link::config::ParameterError;
use linkmend_quantity::words;
use linkmend_transport::{roce, tcp};
use std::sync::Arc;

/// Most packets outstanding with selective repeat, in packets of 1,024 bytes: three times what a link of 100G carries in the
/// 30 us of the paper's round trips.
const SELECTIVE_WINDOW: u32 = 1_024;

words! {
    /// What hosts take for a loss, and what they retransmit.
    pub enum HostRecovery {
        /// TCP by time, with probes of the tail (RFC 8985): as in Linux.
        Rack = "rack",
        /// The same with a reordering window that DSACKs do not widen.
        RackStatic = "rack-static",
        /// TCP by three duplicate acknowledgements (RFC 6675).
        DuplicateAcks = "duplicate-acks",
        /// TCP by as many duplicates as the reordering seen so far demands.
        AdaptiveDuplicateAcks = "adaptive-duplicate-acks",
        /// RDMA: everything from the missing packet on.
        GoBackN = "go-back-n",
        /// RDMA: only what is missing.
        SelectiveRepeat = "selective-repeat",
    }
}

impl HostRecovery {
    /// Hosts that recover so.
    ///
    /// # Errors
    /// If their transport does not know it.
    pub fn of(self, mut hosts: HostsConfig) -> Result<HostsConfig, ParameterError> {
        let is_known = match &mut hosts.transport {
            Transport::Tcp(config) => self.set_tcp(Arc::make_mut(config)),
            Transport::Roce(config) => self.set_roce(Arc::make_mut(config)),
            Transport::Other(_) => false,
        };
        let others = "must be rack, rack-static, duplicate-acks or adaptive-duplicate-acks with TCP, go-back-n or \
                      selective-repeat with RDMA";
        is_known.then_some(hosts).ok_or_else(|| ParameterError::new("host-recovery", self.name(), others))
    }

    fn set_tcp(self, config: &mut tcp::Config) -> bool {
        config.loss_detection = match self {
            HostRecovery::Rack | HostRecovery::RackStatic => tcp::LossDetection::RackTlp,
            HostRecovery::DuplicateAcks => tcp::LossDetection::DuplicateAcks,
            HostRecovery::AdaptiveDuplicateAcks => tcp::LossDetection::AdaptiveDuplicateAcks,
            HostRecovery::GoBackN | HostRecovery::SelectiveRepeat => return false,
        };
        config.adapt_reordering_window = self != HostRecovery::RackStatic;
        true
    }

    fn set_roce(self, config: &mut roce::Config) -> bool {
        config.recovery = match self {
            HostRecovery::GoBackN => roce::Recovery::GoBackN,
            HostRecovery::SelectiveRepeat => {
                roce::Recovery::SelectiveRepeat { window_packets: SELECTIVE_WINDOW, short_timeout: None }
            }
            _ => return false,
        };
        true
    }
}
