//! How the hosts of a run differ from those of LinkGuardian's testbed, as it is asked for.

use crate::host::{HostsConfig, Transport};
use crate::link::config::{ParameterError, check};
use crate::time::Time;
use linkmend_transport::Nanos;
use std::sync::Arc;

/// What is different; nothing by default.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HostSetup {
    /// Whether flows of TCP begin with a handshake.
    pub handshake: bool,
    /// Minimum retransmission timeout of TCP.
    pub rto_min: Option<Time>,
    /// Median of what a host adds to the time of a frame.
    pub latency: Option<Time>,
}

/// Most that a host may add to the time of a frame, a second.
const LATENCY_MAX: Time = Time::from_nanos(1_000_000_000);

impl HostSetup {
    /// Changes hosts so.
    ///
    /// # Errors
    /// If something is set and cannot be used, or the transport has no such thing.
    pub(super) fn apply(&self, hosts: &mut HostsConfig) -> Result<(), ParameterError> {
        if let Some(latency) = self.latency {
            let value = format!("{} us", latency.as_nanos() / 1e3);
            check(latency <= LATENCY_MAX, "host-latency", value, "must be at most 1 s")?;
            let least = hosts.latency.least.min(latency);
            (hosts.latency.least, hosts.latency.median) = (least, latency - least);
            // A handshake would have measured it.
            hosts.known_rtt = hosts.known_rtt.map(|known| known.max(Nanos(latency.0 / 500)));
        }
        let Transport::Tcp(config) = &mut hosts.transport else {
            check(!self.handshake, "handshake", "with RDMA", "needs a transport of TCP")?;
            let given = self.rto_min.map_or(0.0, |time| time.as_nanos() / 1e3);
            return check(
                self.rto_min.is_none(),
                "rto-min",
                format!("{given} us"),
                "needs a transport of TCP",
            );
        };
        hosts.handshake = self.handshake;
        if let Some(rto_min) = self.rto_min {
            Arc::make_mut(config).rto_min = Nanos(rto_min.0 / 1_000);
        }
        config.check().map_err(|error| match error.parameter {
            "rto_min" => ParameterError { parameter: "rto-min", ..error },
            _ => error,
        })
    }
}
