//! AF_PACKET ports: for kernels and namespaces without AF_XDP.
//!
//! The kernel's own stack also sees the frames before it drops them as not addressed to it. The interface must
//! therefore have no addresses, or the kernel would answer for them; IPv6 is switched off on it while the port is open.
//! The port itself sees every frame once, and none that it sent.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

use nix::errno::Errno;

use super::{Interface, PortCounters, PortError, QueueFull};
use crate::frame_pool::{FrameHandle, FramePool};
use crate::sys::packet_socket::{PacketSocket, Received, SEND_BATCH, Segment};
use linkmend_protocol::wire::{ADDRESSES_BYTES, VLAN_TAG_BYTES};

/// The largest number of frames that wait to be sent.
const QUEUE_FRAMES: usize = 2048;

/// A port on an AF_PACKET socket.
pub struct PacketPort {
    interface: Interface,
    socket: PacketSocket,
    description: String,
    queue: VecDeque<FrameHandle>,
    segments: Vec<Segment>,
    counters: PortCounters,
    kernel_dropped: u64,
}

impl PacketPort {
    /// Opens a socket. `reason` says why the port is an AF_PACKET one, for [`super::Port::description`].
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn open(interface: Interface, reason: &str) -> Result<Self, PortError> {
        let socket = PacketSocket::open(interface.index, interface.frame_bytes())
            .map_err(PortError::system(&interface.name, "opening an AF_PACKET socket"))?;
        Ok(PacketPort {
            interface,
            socket,
            description: format!("AF_PACKET ({reason})"),
            queue: VecDeque::with_capacity(QUEUE_FRAMES),
            segments: Vec::with_capacity(SEND_BATCH * 4),
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
            let counters = &mut self.counters;
            let Some(frame) = self.socket.receive(|received| {
                counters.rx_checksum_missing += u64::from(received.checksum_missing);
                copy_in(pool, &received)
            }) else {
                break;
            };
            match frame {
                Some(frame) => {
                    counters.rx_frames += 1;
                    counters.rx_bytes += pool.frame_length(frame) as u64;
                    out.push(frame);
                }
                None => counters.rx_dropped += 1,
            }
        }
        out.len() - before
    }

    pub(crate) fn send(&mut self, pool: &mut FramePool, frame: FrameHandle) -> Result<(), QueueFull> {
        if self.queue.len() >= QUEUE_FRAMES {
            self.counters.tx_queue_full += 1;
            return Err(QueueFull);
        }
        pool.retain(frame);
        self.queue.push_back(frame);
        self.counters.tx_frames += 1;
        self.counters.tx_bytes += pool.frame_length(frame) as u64;
        Ok(())
    }

    pub(crate) fn flush(&mut self, pool: &mut FramePool) -> Result<(), PortError> {
        while !self.queue.is_empty() {
            self.segments.clear();
            for &frame in self.queue.iter().take(SEND_BATCH) {
                pool.push_segments(frame, &mut self.segments);
            }
            match self.socket.send(pool.memory(), &self.segments) {
                Ok(sent) => {
                    for frame in self.queue.drain(..sent) {
                        pool.release(frame);
                    }
                    if sent == 0 {
                        break;
                    }
                }
                Err(Errno::EAGAIN | Errno::EINTR) => break,
                Err(errno @ (Errno::ENETDOWN | Errno::ENXIO | Errno::ENODEV)) => {
                    return Err(PortError::system(&self.interface.name, "sending")(errno.into()));
                }
                // The device's queue is full, or it refuses this very frame (too long). A port that kept the frame
                // would never send another one.
                Err(_) => {
                    self.counters.tx_dropped += 1;
                    if let Some(frame) = self.queue.pop_front() {
                        pool.release(frame);
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn reclaim(&mut self, _pool: &mut FramePool) {}

    pub(crate) fn transmit_room(&self) -> usize {
        QUEUE_FRAMES - self.queue.len()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(crate) fn counters(&mut self) -> PortCounters {
        self.kernel_dropped += self.socket.dropped();
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

/// Copies a frame from the ring and puts its VLAN tag back. `None` drops the frame.
fn copy_in(pool: &mut FramePool, received: &Received<'_>) -> Option<FrameHandle> {
    if received.truncated {
        return None;
    }
    let frame = pool.copy_in(received.bytes)?;
    if let Some((protocol, tci)) = received.vlan
        && received.bytes.len() >= ADDRESSES_BYTES
    {
        let head = pool.push_front(frame, VLAN_TAG_BYTES as u32);
        let tag = VLAN_TAG_BYTES;
        head.copy_within(tag..tag + ADDRESSES_BYTES, 0);
        head[ADDRESSES_BYTES..ADDRESSES_BYTES + 2].copy_from_slice(&protocol.to_be_bytes());
        head[ADDRESSES_BYTES + 2..ADDRESSES_BYTES + 4].copy_from_slice(&tci.to_be_bytes());
    }
    Some(frame)
}
