//! The program that sends forwarded frames through the queue of the other port, and counters of that queue.

use std::io;
use std::time::{Duration, Instant};

use super::{QUEUE_PROGRAM_NAME, attach};
use crate::port::{Interface, PortError};
use crate::sys::bpf::Program;
use crate::sys::tcx;
use linkmend_linux::device_counters::{CounterSocket, DeviceCounters};

/// Interval between checks of a queue that is being waited for.
const LOOK_AGAIN: Duration = Duration::from_micros(200);

/// Attaches `program` to the interface, replacing what former runs left.
pub(super) fn attach(interface: &Interface, program: &Program) -> io::Result<()> {
    let former = attach::in_traffic_control(interface, QUEUE_PROGRAM_NAME);
    tcx::attach(interface.index, program.as_fd(), former.first().copied())?;
    former.iter().skip(1).try_for_each(|&id| tcx::detach(interface.index, id))
}

/// Detaches our programs from the interface, and returns how many there were.
///
/// # Errors
/// [`PortError::System`].
pub(super) fn detach(interface: &Interface) -> Result<usize, PortError> {
    attach::detach_from_traffic_control(interface, QUEUE_PROGRAM_NAME)
}

/// Frames that the kernel dropped at a port since it was opened, either between the link end and the port's device or
/// within the bypass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelDrops {
    /// They arrived and found no room (`rx_dropped` and `rx_missed_errors` of the interface).
    pub received: u64,
    /// They arrived with a wrong frame check sequence (`rx_crc_errors` of the interface).
    pub corrupted: u64,
    /// The device did not take them (`tx_dropped` of the interface).
    pub transmitted: u64,
    /// The port's queue was full.
    pub queued: u64,
}

/// A port's device as the kernel sees it. It has its own socket, so that it keeps asking in the network namespace in
/// which it was opened.
pub(super) struct Device {
    socket: CounterSocket,
    index: u32,
    at_first: DeviceCounters,
}

impl Device {
    pub(super) fn open(interface: &Interface) -> io::Result<Device> {
        let socket = CounterSocket::new()?;
        let at_first = socket.device_counters(interface.index)?;
        Ok(Device { socket, index: interface.index, at_first })
    }

    /// The same with a socket of its own, for another thread.
    pub(super) fn again(&self) -> io::Result<Device> {
        Ok(Device { socket: CounterSocket::new()?, index: self.index, at_first: self.at_first })
    }

    /// What the kernel has dropped since [`Device::open`]. All zero once the interface is gone.
    pub(super) fn drops(&self) -> KernelDrops {
        let Ok(now) = self.socket.device_counters(self.index) else { return KernelDrops::default() };
        let first = self.at_first;
        // The queue counts from 0 again when it is replaced.
        let since = |now: u64, first: u64| if now >= first { now - first } else { now };
        KernelDrops {
            received: since(now.rx_dropped, first.rx_dropped),
            corrupted: since(now.rx_crc_errors, first.rx_crc_errors),
            transmitted: since(now.tx_dropped, first.tx_dropped),
            queued: since(now.queue_dropped, first.queue_dropped),
        }
    }

    /// Waits until the port's queue is empty. Returns `false` if it is not by the deadline.
    pub(super) fn wait_until_empty(&self, deadline: Instant) -> bool {
        loop {
            if self.socket.waiting_frames(self.index) == 0 {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}
