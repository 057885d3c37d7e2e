//! Ports without an interface, for benchmarks of the loop: whoever drives them does what the kernel does for an AF_XDP
//! port, and can leave this out of what is measured.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::eventfd::EventFd;

use super::{FILL_TARGET, Interface, Port, PortCounters, PortError, QueueFull};
use crate::frame_pool::{FrameHandle, FramePool};

/// The largest number of frames in flight, as of an AF_XDP port.
const RING_ENTRIES: usize = 4096;

/// Where a frame lies in the pool. None is longer than a chunk.
struct Descriptor {
    address: u64,
    length: u32,
}

/// A port whose four rings are queues.
pub struct MemoryPort {
    interface: Interface,
    /// For poll(2), which it never wakes.
    silence: EventFd,
    fill: VecDeque<u64>,
    received: VecDeque<Descriptor>,
    transmit: VecDeque<Descriptor>,
    completed: VecDeque<u64>,
    in_flight: usize,
    counters: PortCounters,
}

impl MemoryPort {
    /// A port on an imaginary interface.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub(crate) fn open(name: &str, index: u32, mtu: u32) -> Result<Self, PortError> {
        let silence =
            EventFd::new().map_err(|errno| PortError::system(name, "creating an eventfd")(errno.into()))?;
        Ok(MemoryPort {
            interface: Interface::imaginary(name, index, mtu)?,
            silence,
            fill: VecDeque::with_capacity(FILL_TARGET),
            received: VecDeque::with_capacity(FILL_TARGET),
            transmit: VecDeque::with_capacity(RING_ENTRIES),
            completed: VecDeque::with_capacity(RING_ENTRIES),
            in_flight: 0,
            counters: PortCounters::default(),
        })
    }

    /// A frame arrives. Returns `false` if the port has no room for it.
    pub(crate) fn arrive(&mut self, pool: &mut FramePool, bytes: &[u8]) -> bool {
        let Some(address) = self.fill.pop_front() else { return false };
        let address = pool.write_lent(address, bytes);
        self.received.push_back(Descriptor { address, length: bytes.len() as u32 });
        true
    }

    /// Sends the next frame: replaces the content of `bytes` with it. Returns `false` if there is none.
    pub(crate) fn depart(&mut self, pool: &FramePool, bytes: &mut Vec<u8>) -> bool {
        let Some(Descriptor { address, length }) = self.transmit.pop_front() else { return false };
        bytes.clear();
        bytes.extend_from_slice(pool.memory().bytes(address as usize, length as usize));
        self.completed.push_back(address);
        true
    }

    pub(crate) fn receive(
        &mut self,
        pool: &mut FramePool,
        out: &mut Vec<FrameHandle>,
        budget: usize,
    ) -> usize {
        let before = out.len();
        let count = self.received.len().min(budget);
        for Descriptor { address, length } in self.received.drain(..count) {
            match pool.take_from_kernel(address, length) {
                Some(frame) => {
                    self.counters.rx_frames += 1;
                    self.counters.rx_bytes += u64::from(length);
                    out.push(frame);
                }
                None => self.counters.rx_dropped += 1,
            }
        }
        out.len() - before
    }

    pub(crate) fn send(&mut self, pool: &mut FramePool, frame: FrameHandle) -> Result<(), QueueFull> {
        if self.in_flight == RING_ENTRIES {
            self.counters.tx_queue_full += 1;
            return Err(QueueFull);
        }
        pool.for_each_descriptor(frame, |address, length, continued| {
            assert!(!continued, "a frame of a benchmark fits a chunk");
            self.counters.tx_bytes += u64::from(length);
            self.transmit.push_back(Descriptor { address, length });
        });
        pool.retain(frame);
        self.in_flight += 1;
        self.counters.tx_frames += 1;
        Ok(())
    }

    pub(crate) fn flush(&mut self, _pool: &mut FramePool) -> Result<(), PortError> {
        Ok(())
    }

    pub(crate) fn reclaim(&mut self, pool: &mut FramePool) {
        for address in self.completed.drain(..) {
            if pool.complete(address) {
                self.in_flight -= 1;
            }
        }
        let target = FILL_TARGET.min(pool.capacity() / 4);
        while self.fill.len() + self.received.len() < target
            && let Some(address) = pool.lend_to_kernel()
        {
            self.fill.push_back(address);
        }
    }

    pub(crate) fn transmit_room(&self) -> usize {
        RING_ENTRIES - self.in_flight
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.silence.as_fd()
    }

    pub(crate) fn counters(&mut self) -> PortCounters {
        self.counters
    }

    pub(crate) fn interface(&self) -> &Interface {
        &self.interface
    }

    pub(crate) fn description(&self) -> &str {
        "in memory"
    }
}

impl Port {
    /// The port in memory that this is.
    ///
    /// # Panics
    /// If it has a socket.
    pub(crate) fn in_memory(&mut self) -> &mut MemoryPort {
        match self {
            Port::Memory(port) => port,
            Port::Xdp(_) | Port::Packet(_) | Port::Offload(_) | Port::Udp(_) => {
                panic!("{} is not in memory", self.name())
            }
        }
    }
}
