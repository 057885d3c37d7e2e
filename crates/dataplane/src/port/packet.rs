//! AF_PACKET ports: for kernels and namespaces without AF_XDP.
//!
//! The kernel's own stack also sees the frames before it drops them as not addressed to it. The interface must
//! therefore have no addresses, or the kernel would answer for them; IPv6 is switched off on it while the port is open.
//! The port itself sees every frame once, and none that it sent.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use linkmend_linux::packet_ring::PacketRing;
use linkmend_linux::packet_socket::{self, SEND_BATCH, SendBatch};
use nix::sys::socket::{setsockopt, sockopt};

use super::send_queue::{Outcome, SendQueue};
use super::{Interface, PortCounters, PortError, QueueFull};
use crate::frame_pool::{FrameHandle, FramePool};

/// Memory for received frames: deep enough for what arrives while the loop does not run.
const RING_BYTES: usize = 8 << 20;
const SEND_BUFFER_BYTES: usize = 4 << 20;

/// A port on an AF_PACKET socket.
pub struct PacketPort {
    interface: Interface,
    ring: PacketRing,
    description: String,
    queue: SendQueue,
    batch: SendBatch,
    counters: PortCounters,
    kernel_dropped: u64,
}

impl PacketPort {
    /// Opens a socket. `reason` says why the port is an AF_PACKET one, for [`super::Port::description`].
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn open(interface: Interface, reason: &str) -> Result<Self, PortError> {
        let ring = open_ring(&interface)
            .map_err(PortError::system(&interface.name, "opening an AF_PACKET socket"))?;
        Ok(PacketPort {
            interface,
            ring,
            description: format!("AF_PACKET ({reason})"),
            queue: SendQueue::new(),
            batch: SendBatch::default(),
            counters: PortCounters::default(),
            kernel_dropped: 0,
        })
    }

    pub(crate) fn receive(
        &mut self,
        pool: &mut FramePool,
        out: &mut Vec<FrameHandle>,
        budget: usize,
    ) -> usize {
        let before = out.len();
        while out.len() - before < budget {
            let Some(arrival) = self.ring.take() else { break };
            let bytes = self.ring.bytes(arrival.frame);
            let frame = if arrival.truncated { None } else { pool.copy_in(bytes) };
            self.ring.release_oldest();
            self.counters.rx_checksum_missing += u64::from(arrival.checksum_missing);
            match frame {
                Some(frame) => {
                    self.counters.rx_frames += 1;
                    self.counters.rx_bytes += pool.frame_length(frame) as u64;
                    out.push(frame);
                }
                None => self.counters.rx_dropped += 1,
            }
        }
        out.len() - before
    }

    pub(crate) fn send(&mut self, pool: &mut FramePool, frame: FrameHandle) -> Result<(), QueueFull> {
        self.queue.push(pool, frame, &mut self.counters)
    }

    pub(crate) fn flush(&mut self, pool: &mut FramePool) -> Result<(), PortError> {
        let PacketPort { interface, ring, queue, batch, counters, .. } = self;
        queue.flush(pool, counters, &interface.name, |queue, pool| {
            let frames = queue.range(0..).take(SEND_BATCH).map(|&frame| pool.segments(frame));
            match batch.send(ring.as_fd(), frames) {
                Ok(sent) => Outcome::Sent(sent),
                Err(error) => Outcome::Refused(error, 1),
            }
        })
    }

    pub(crate) fn reclaim(&mut self, _pool: &mut FramePool) {}

    pub(crate) fn transmit_room(&self) -> usize {
        self.queue.room()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }

    pub(crate) fn counters(&mut self) -> PortCounters {
        self.kernel_dropped += self.ring.take_drops().unwrap_or(0);
        let mut counters = self.counters;
        counters.kernel.rx_ring_full = self.kernel_dropped;
        counters
    }

    pub(crate) fn interface(&self) -> &Interface {
        &self.interface
    }

    pub(crate) fn description(&self) -> &str {
        &self.description
    }
}

/// Opens the ring of a port, promiscuous.
fn open_ring(interface: &Interface) -> io::Result<PacketRing> {
    let ring = PacketRing::open(interface.frame_bytes(), RING_BYTES)?;
    // Room for a burst in flight; the forced variant needs CAP_NET_ADMIN outside a namespace.
    if setsockopt(&ring, sockopt::SndBufForce, &SEND_BUFFER_BYTES).is_err() {
        let _ = setsockopt(&ring, sockopt::SndBuf, &SEND_BUFFER_BYTES);
    }
    packet_socket::join_promiscuous(ring.as_fd(), interface.index)?;
    ring.bind(interface.index)?;
    Ok(ring)
}
