//! Kernels of hosts, as far as they differ in how long a transport waits and what it sends.

use crate::host::clock::nanos;
use crate::host::{HostsConfig, Transport};
use crate::link::config::ParameterError;
use crate::time::Time;
use linkmend_quantity::words;
use linkmend_transport::{Nanos, tcp};
use std::sync::Arc;

/// A tick of a kernel with 250 a second.
const TICK: Time = Time::from_nanos(4_000_000);

words! {
    /// The kernel that runs TCP.
    pub enum HostKernel {
        /// Low latency, as on the hosts of LinkGuardian's paper, which used no timestamps: what [`super::TransportKind::hosts`] has.
        Linux54 = "linux-5.4",
        /// As distributions built it, with its defaults: the hosts of SQR's paper. Their least timeout of 4 ms was "the smallest
        /// possible value", one tick, and a full segment had 1,448 bytes, which leaves 12 for timestamps (section II of the paper).
        Linux413 = "linux-4.13",
    }
}

impl HostKernel {
    /// Has hosts run it.
    ///
    /// # Errors
    /// If their transport is not TCP.
    pub fn set(self, hosts: &mut HostsConfig) -> Result<(), ParameterError> {
        let Transport::Tcp(config) = &mut hosts.transport else {
            return Err(ParameterError::new("host-kernel", self.name(), "needs a TCP transport"));
        };
        if self == HostKernel::Linux54 {
            return Ok(());
        }
        hosts.latency.timer_tick = TICK;
        *Arc::make_mut(config) = tcp::Config {
            mss: 1_448,
            timestamps: true,
            // tcp_schedule_loss_probe(): until 4.14, 10 ms at least, and no later than the timeout.
            probe_min: Nanos::from_millis(10),
            // __tcp_set_rto(): in ticks.
            rto_unit: nanos(TICK),
            ..**config
        };
        Ok(())
    }
}
