//! What the kernel drops at the ports, read outside of the loop.

use super::queue::Device;
use super::{Attached, Bypass, KernelDrops, words};
use linkmend_control::{LinkReport, Side};
use std::fmt;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Reads the kernel's counters of all ports. The kernel answers only while nobody holds its lock for network devices (RTNL),
/// and others may hold it for seconds. A loop that waited would move no frames meanwhile, so the thread that asks for a report
/// waits instead.
#[derive(Clone, Default)]
pub struct DropsReader(Arc<Mutex<Vec<(Side, Device)>>>);

impl fmt::Debug for DropsReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DropsReader").finish_non_exhaustive()
    }
}

impl DropsReader {
    /// A reader with sockets of its own, in the network namespace of the calling thread.
    pub(super) fn open(ports: &[Attached]) -> io::Result<DropsReader> {
        let open = |port: &Attached| Ok((port.side, port.device.again()?));
        Ok(DropsReader(Arc::new(Mutex::new(ports.iter().map(open).collect::<io::Result<_>>()?))))
    }

    fn ports(&self) -> MutexGuard<'_, Vec<(Side, Device)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the kernel has dropped at a port since it was opened; nothing at one that there is not.
    pub fn read(&self, side: Side) -> KernelDrops {
        let ports = self.ports();
        ports.iter().find(|(of, _)| *of == side).map(|(_, device)| device.drops()).unwrap_or_default()
    }

    /// Adds the counters to a report of the loop.
    pub(crate) fn complete(&self, report: &mut LinkReport) {
        for (side, device) in &*self.ports() {
            let port = match side {
                Side::Inner => Some(&mut report.inner),
                Side::Link => Some(&mut report.link),
                Side::Backup => report.failover.as_mut().map(|failover| &mut failover.backup),
            };
            let Some(port) = port else { continue };
            let KernelDrops { received, corrupted, transmitted, queued } = device.drops();
            port.kernel_rx_drops = received;
            port.kernel_rx_crc_errors = corrupted;
            port.kernel_tx_drops = transmitted;
            port.kernel_queue_drops = queued;
        }
    }
}

impl Bypass {
    /// Reads what the kernel drops at the ports, outside of the loop.
    pub fn drops_reader(&self) -> DropsReader {
        self.drops.clone()
    }

    /// Frames that arrived at a port and could not leave at the other, because they are too long for it or it is gone.
    pub fn failed_redirects(&self, side: Side) -> u64 {
        self.config.word(words::COUNTERS[side as usize] + words::FAILED_REDIRECTS).load(Ordering::Relaxed)
    }
}
