//! Ports: where frames enter and leave a link end.
//!
//! In each round, a loop that serves a port calls, in this order, [`Port::reclaim`] (what the kernel is done with),
//! [`Port::receive`], any number of [`Port::send`], and [`Port::flush`]. Between rounds it polls [`Port::as_fd`] for
//! readability, and also for writability if it waits for room while [`Port::in_flight`] is not 0.

mod channel;
mod error;
mod interface;
mod limits;
mod lock;
mod lookup;
#[cfg(feature = "bench")]
mod memory;
mod offload;
mod packet;
mod send_queue;
mod udp;
mod xdp;

use std::os::fd::BorrowedFd;

pub(crate) use error::NOT_ETHERNET_HINT;
pub use error::PortError;
pub use interface::Interface;
pub use limits::QUEUES_MAX;
#[cfg(feature = "bench")]
pub use memory::MemoryPort;
pub use offload::OffloadPort;
pub use packet::PacketPort;
pub use udp::UdpPort;
pub(crate) use udp::{Trust, UdpPortOptions, UdpSettings};
pub(crate) use xdp::FILL_TARGET;
pub use xdp::XdpPort;

pub use crate::sys::xsk::KernelStatistics;

use crate::frame_pool::{FrameHandle, FramePool};
use linkmend_control::report::UdpReport;
use linkmend_tunnel::Allowance;

/// The port has no room for the frame; it stays with the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("transmit queue is full")]
pub struct QueueFull;

/// Counters of a port since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames handed to the loop.
    pub rx_frames: u64,
    /// Their bytes, without frame check sequence.
    pub rx_bytes: u64,
    /// Received frames lost in the port: pool empty, frame too long, descriptor invalid.
    pub rx_dropped: u64,
    /// Received frames whose transport checksum the sender left to hardware. They pass, but their receiver will refuse
    /// them; switch checksum offload off at the host.
    pub rx_checksum_missing: u64,
    /// Frames accepted by `send`.
    pub tx_frames: u64,
    pub tx_bytes: u64,
    /// Frames accepted by `send` and then refused by the kernel.
    pub tx_dropped: u64,
    /// Times `send` answered [`QueueFull`].
    pub tx_queue_full: u64,
    /// Frames that the kernel dropped before they reached the port.
    pub kernel: KernelStatistics,
}

/// One port of a link end.
pub enum Port {
    Xdp(XdpPort),
    Packet(PacketPort),
    Offload(OffloadPort),
    Udp(Box<UdpPort>),
    #[cfg(feature = "bench")]
    Memory(MemoryPort),
}

macro_rules! either {
    ($self:expr, $port:ident => $call:expr) => {
        match $self {
            Port::Xdp($port) => $call,
            Port::Packet($port) => $call,
            Port::Offload($port) => $call,
            Port::Udp($port) => $call,
            #[cfg(feature = "bench")]
            Port::Memory($port) => $call,
        }
    };
}

impl Port {
    /// Appends at most `budget` received frames to `out`, each with one reference that now belongs to the caller.
    /// Returns their number. Never blocks.
    pub fn receive(&mut self, pool: &mut FramePool, out: &mut Vec<FrameHandle>, budget: usize) -> usize {
        either!(self, port => port.receive(pool, out, budget))
    }

    /// Queues a frame for sending. The port holds its own reference until the kernel is done with the frame; the same
    /// frame may be in flight several times. A frame must not be changed while it is in flight (see
    /// [`FramePool::references`]).
    ///
    /// # Errors
    /// [`QueueFull`]; the frame was not queued.
    pub fn send(&mut self, pool: &mut FramePool, frame: FrameHandle) -> Result<(), QueueFull> {
        either!(self, port => port.send(pool, frame))
    }

    /// Makes the kernel send what is queued. What it cannot take yet stays queued.
    ///
    /// # Errors
    /// Only when the interface is gone or down: [`PortError::System`]. Never with a port over UDP.
    pub fn flush(&mut self, pool: &mut FramePool) -> Result<(), PortError> {
        either!(self, port => port.flush(pool))
    }

    /// Takes back the frames that the kernel has sent, and gives it room to receive into.
    pub fn reclaim(&mut self, pool: &mut FramePool) {
        either!(self, port => port.reclaim(pool));
    }

    /// How many frames of one chunk `send` will take now. A frame of several chunks counts as that many.
    pub fn transmit_room(&self) -> usize {
        either!(self, port => port.transmit_room())
    }

    /// Transmissions that the kernel has not finished, in chunks.
    pub fn in_flight(&self) -> usize {
        either!(self, port => port.in_flight())
    }

    /// Whether it has taken frames from the kernel that it has not handed out, so that poll(2) does not tell.
    pub(crate) fn holds_frames(&self) -> bool {
        match self {
            Port::Offload(port) => port.holds_frames(),
            Port::Udp(port) => port.holds_frames(),
            _ => false,
        }
    }

    /// When it is to be served although nothing has arrived, if ever.
    pub(crate) fn next_timeout(&self) -> Option<u64> {
        match self {
            Port::Udp(port) => Some(port.next_timeout()),
            _ => None,
        }
    }

    /// Which frames its path is to carry now. Ask again before each one.
    pub(crate) fn allowance(&self) -> Allowance {
        match self {
            Port::Udp(port) => port.allowance(),
            _ => Allowance::Everything,
        }
    }

    /// When its path is to carry more, if that is known.
    pub(crate) fn opens_at(&self) -> Option<u64> {
        match self {
            Port::Udp(port) => port.opens_at(),
            _ => None,
        }
    }

    /// The round trip of its path, if what waits for it tells how much it carries.
    pub(crate) fn settled_round_trip_ns(&self) -> Option<u64> {
        match self {
            Port::Udp(port) => port.settled_round_trip_ns(),
            _ => None,
        }
    }

    /// What it adds to a frame on the wire, in bytes.
    pub(crate) fn overhead_bytes(&self) -> u64 {
        match self {
            Port::Udp(port) => port.overhead_bytes(),
            _ => 0,
        }
    }

    /// Cuts what a host leaves to the port into frames of at most so many bytes, where it can.
    pub(crate) fn limit_frames(&mut self, bytes: usize) {
        if let Port::Offload(port) = self {
            port.limit_frames(bytes);
        }
    }

    /// The longest frame that its path takes in one piece, if that may be less than its MTU says.
    pub(crate) fn whole_frame_bytes(&self) -> Option<usize> {
        match self {
            Port::Udp(port) => Some(port.whole_frame_bytes()),
            _ => None,
        }
    }

    /// Whether its link is a path over UDP.
    pub(crate) fn is_udp(&self) -> bool {
        matches!(self, Port::Udp(_))
    }

    /// The next frame does not share the datagram of the last one, if there are datagrams.
    pub(crate) fn end_datagram(&mut self) {
        if let Port::Udp(port) = self {
            port.end_datagram();
        }
    }

    /// What a port over UDP knows of its path.
    pub(crate) fn udp_report(&self) -> Option<UdpReport> {
        match self {
            Port::Udp(port) => Some(port.report()),
            _ => None,
        }
    }

    /// The descriptor for poll(2).
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        either!(self, port => port.as_fd())
    }

    /// Counters since the port was opened. Costs a system call.
    pub fn counters(&mut self) -> PortCounters {
        either!(self, port => port.counters())
    }

    /// The interface in its state when the port was opened.
    pub fn interface(&self) -> &Interface {
        either!(self, port => port.interface())
    }

    /// Name of the interface.
    pub fn name(&self) -> &str {
        &self.interface().name
    }

    /// Kernel index of the interface.
    pub fn ifindex(&self) -> u32 {
        self.interface().index
    }

    /// MTU of the interface when it was opened, bytes without the Ethernet header.
    pub fn mtu(&self) -> u32 {
        self.interface().mtu
    }

    /// Its MAC address.
    pub fn mac(&self) -> [u8; 6] {
        self.interface().mac
    }

    /// One line for people: the kind of port, and why it was chosen.
    pub fn description(&self) -> &str {
        either!(self, port => port.description())
    }
}
