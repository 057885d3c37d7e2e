//! What the kernel drops at the ports, for whoever asks the loop for a report.

use super::queue::Device;
use super::{Bypass, KernelDrops};
use linkmend_control::report::PortReport;
use linkmend_control::{LinkReport, Side};
use std::fmt;
use std::io;

/// Reads the kernel's counters of all ports. The kernel answers only while nobody holds its lock for network devices (RTNL),
/// and others may hold it for seconds. A loop that waited would move no frames meanwhile, so whoever wants a report
/// waits instead.
#[derive(Default)]
pub(crate) struct DropsReader(Vec<(Side, Device)>);

impl fmt::Debug for DropsReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(side, _)| side)).finish()
    }
}

impl DropsReader {
    /// Adds the counters to a report of the loop.
    pub(crate) fn complete(&self, report: &mut LinkReport) {
        for (side, device) in &self.0 {
            let port = match side {
                Side::Inner => Some(&mut report.inner),
                Side::Link => Some(&mut report.link),
                Side::Backup => report.failover.as_mut().map(|failover| &mut failover.backup),
            };
            let Some(port) = port else { continue };
            let KernelDrops { received, corrupted, transmitted, queued, .. } = device.drops();
            *port = PortReport {
                kernel_rx_drops: received,
                kernel_rx_crc_errors: corrupted,
                kernel_tx_drops: transmitted,
                kernel_queue_drops: queued,
                ..std::mem::take(port)
            };
        }
    }
}

impl Bypass {
    /// A reader in the network namespace of the calling thread.
    pub(crate) fn drops_reader(&self) -> io::Result<DropsReader> {
        self.ports
            .iter()
            .map(|port| Ok((port.side, port.device.again()?)))
            .collect::<io::Result<_>>()
            .map(DropsReader)
    }
}
