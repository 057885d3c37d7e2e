//! AF_XDP ports.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;

use super::{Interface, PortCounters, PortError, QueueFull};
use crate::frame_pool::{FrameHandle, FramePool};
use crate::sys::xsk::{Descriptor, XskError, XskOptions, XskSocket};

/// Entries of each ring, and so the largest number of chunks that a port has in flight.
pub const RING_ENTRIES: u32 = 4096;
/// Chunks lent to the kernel for receiving, for what may arrive while the loop does not run. At 10 Gb/s of full-size
/// frames they last 5 ms, which is one turn of another process on the same processor.
pub(crate) const FILL_TARGET: usize = 4096;
/// The fill ring is topped up in batches of this many.
const FILL_BATCH: usize = 64;
/// Descriptors handled at a time.
const BATCH: usize = 64;
/// Kicks in one `flush`: in copy mode, older kernels send only 32 frames per kick.
const MAX_KICKS: u32 = 64;
const SEND_BUFFER_BYTES: usize = 8 << 20;
const QUEUE_PATIENCE: Duration = Duration::from_millis(500);
const QUEUE_PAUSE: Duration = Duration::from_millis(10);

/// A port on an AF_XDP socket. It receives once the bypass program hands it frames.
pub struct XdpPort {
    interface: Arc<Interface>,
    socket: XskSocket,
    description: String,
    zero_copy: bool,
    staged: Vec<Descriptor>,
    in_flight: usize,
    with_kernel: usize,
    partial: Option<Partial>,
    descriptors: Vec<Descriptor>,
    addresses: Vec<u64>,
    counters: PortCounters,
}

/// Opens a socket, waiting a little for the queue if necessary: the kernel releases the queue of a process that has
/// just ended from a work queue, so a restart may come too soon.
fn open_socket(pool: &FramePool, options: &XskOptions) -> Result<XskSocket, XskError> {
    let deadline = Instant::now() + QUEUE_PATIENCE;
    loop {
        match XskSocket::open(pool.memory(), options) {
            Err(error) if error.source.raw_os_error() == Some(libc::EBUSY) && Instant::now() < deadline => {
                std::thread::sleep(QUEUE_PAUSE);
            }
            result => return result,
        }
    }
}

/// A frame whose last descriptor has not been seen yet.
struct Partial {
    head: Option<FrameHandle>,
    tail: FrameHandle,
    length: usize,
}

impl XdpPort {
    /// Opens a socket on receive queue 0: zero-copy where the driver offers it, else copy mode.
    ///
    /// # Errors
    /// [`PortError::TooManyQueues`], [`PortError::System`].
    pub fn open(interface: impl Into<Arc<Interface>>, pool: &mut FramePool) -> Result<Self, PortError> {
        let interface = interface.into();
        XdpPort::check_queues(&interface)?;
        let mut options = XskOptions {
            interface_index: interface.index,
            chunk_bytes: pool.chunk_bytes(),
            ring_entries: RING_ENTRIES,
            zero_copy: true,
            multi_buffer: pool.chunks_for(interface.frame_bytes()) > 1,
        };
        let failed = |XskError { step, source }| PortError::system(&interface.name, step)(source);
        let (socket, description) = match open_socket(pool, &options) {
            Ok(socket) => (socket, "AF_XDP zero-copy".to_owned()),
            Err(refusal) => {
                options.zero_copy = false;
                let socket = open_socket(pool, &options).map_err(failed)?;
                let errno = Errno::from_raw(refusal.source.raw_os_error().unwrap_or(0));
                let driver = &interface.driver;
                let reason = format!("zero-copy refused by driver {driver}: {errno:?}");
                (socket, format!("AF_XDP copy mode ({reason})"))
            }
        };
        socket.raise_transmit_limits(RING_ENTRIES, SEND_BUFFER_BYTES);
        let mut port = XdpPort {
            interface,
            socket,
            description,
            zero_copy: options.zero_copy,
            staged: Vec::with_capacity(RING_ENTRIES as usize),
            in_flight: 0,
            with_kernel: 0,
            partial: None,
            descriptors: Vec::with_capacity(BATCH),
            addresses: Vec::with_capacity(BATCH),
            counters: PortCounters::default(),
        };
        port.refill(pool);
        Ok(port)
    }

    /// Checks that one socket sees all that the interface receives.
    pub(crate) fn check_queues(interface: &Interface) -> Result<(), PortError> {
        let (interface, queues) = (interface.name.clone(), interface.receive_queues);
        if queues > 1 { Err(PortError::TooManyQueues { interface, queues }) } else { Ok(()) }
    }

    /// Whether frames reach the hardware without being copied.
    pub fn zero_copy(&self) -> bool {
        self.zero_copy
    }

    pub(crate) fn receive(
        &mut self,
        pool: &mut FramePool,
        out: &mut Vec<FrameHandle>,
        budget: usize,
    ) -> usize {
        let before = out.len();
        while out.len() - before < budget {
            let wanted = (budget - (out.len() - before)).min(BATCH);
            let mut descriptors = std::mem::take(&mut self.descriptors);
            self.socket.receive(wanted, &mut descriptors);
            let received = descriptors.len();
            for descriptor in descriptors.drain(..) {
                self.take(pool, descriptor, out);
            }
            self.descriptors = descriptors;
            if received < wanted {
                break;
            }
        }
        if self.with_kernel + FILL_BATCH <= fill_target(pool) {
            self.refill(pool);
        }
        out.len() - before
    }

    fn take(&mut self, pool: &mut FramePool, descriptor: Descriptor, out: &mut Vec<FrameHandle>) {
        self.with_kernel = self.with_kernel.saturating_sub(1);
        let Some(chunk) = pool.take_from_kernel(descriptor.address, descriptor.length) else {
            self.counters.rx_dropped += 1;
            return;
        };
        let length = descriptor.length as usize;
        let mut frame = match self.partial.take() {
            None => Partial { head: Some(chunk), tail: chunk, length },
            Some(partial) => {
                pool.link(partial.tail, chunk);
                Partial { tail: chunk, length: partial.length + length, ..partial }
            }
        };
        if descriptor.continued {
            self.partial = Some(frame);
            return;
        }
        if let Some(head) = frame.head.take() {
            self.counters.rx_frames += 1;
            self.counters.rx_bytes += frame.length as u64;
            out.push(head);
        }
    }

    pub(crate) fn send(&mut self, pool: &mut FramePool, frame: FrameHandle) -> Result<(), QueueFull> {
        let before = self.staged.len();
        let mut bytes = 0;
        pool.for_each_descriptor(frame, |address, length, continued| {
            bytes += u64::from(length);
            self.staged.push(Descriptor { address, length, continued });
        });
        let chunks = self.staged.len() - before;
        if self.in_flight + chunks > RING_ENTRIES as usize {
            self.staged.truncate(before);
            self.counters.tx_queue_full += 1;
            return Err(QueueFull);
        }
        pool.retain(frame);
        self.in_flight += chunks;
        self.counters.tx_frames += 1;
        self.counters.tx_bytes += bytes;
        Ok(())
    }

    pub(crate) fn flush(&mut self, _pool: &mut FramePool) -> Result<(), PortError> {
        if !self.staged.is_empty() {
            // `in_flight` never exceeds the ring, so everything that is staged finds room.
            let taken = self.socket.transmit(&self.staged);
            self.staged.drain(..taken);
        }
        let mut pending = self.socket.transmit_pending();
        for _ in 0..MAX_KICKS {
            if pending == 0 || !self.socket.transmit_needs_wakeup() {
                return Ok(());
            }
            match self.socket.wake_transmit() {
                // Copy mode: either the budget of the call is used up, or there is no buffer just now.
                Ok(()) | Err(Errno::EAGAIN | Errno::EBUSY | Errno::ENOBUFS | Errno::EINTR) => {}
                Err(errno) => {
                    return Err(PortError::system(&self.interface.name, "sending")(errno.into()));
                }
            }
            let left = self.socket.transmit_pending();
            if left == pending || self.zero_copy {
                return Ok(());
            }
            pending = left;
        }
        Ok(())
    }

    pub(crate) fn reclaim(&mut self, pool: &mut FramePool) {
        while self.in_flight > 0 {
            self.addresses.clear();
            self.socket.complete(BATCH, &mut self.addresses);
            for &address in &self.addresses {
                if pool.complete(address) {
                    self.in_flight = self.in_flight.saturating_sub(1);
                }
            }
            if self.addresses.len() < BATCH {
                break;
            }
        }
        if self.with_kernel + FILL_BATCH <= fill_target(pool) {
            self.refill(pool);
        }
    }

    /// Tops the fill ring up from the pool.
    fn refill(&mut self, pool: &mut FramePool) {
        let target = fill_target(pool);
        while self.with_kernel < target {
            self.addresses.clear();
            let wanted = FILL_BATCH.min(target - self.with_kernel);
            self.addresses.extend(std::iter::from_fn(|| pool.lend_to_kernel()).take(wanted));
            let lent = self.socket.fill(&self.addresses);
            self.with_kernel += lent;
            // The kernel shows frames a moment before it shows the places that they have left on the fill ring, so the
            // ring may look full.
            for &address in &self.addresses[lent..] {
                pool.return_from_kernel(address);
            }
            if lent < wanted {
                break;
            }
        }
        if self.socket.fill_needs_wakeup() {
            self.socket.wake_fill();
        }
    }

    pub(crate) fn transmit_room(&self) -> usize {
        RING_ENTRIES as usize - self.in_flight
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(crate) fn counters(&mut self) -> PortCounters {
        PortCounters { kernel: self.socket.statistics(), ..self.counters }
    }

    pub(crate) fn interface(&self) -> &Interface {
        &self.interface
    }

    pub(crate) fn description(&self) -> &str {
        &self.description
    }
}

/// How many chunks to lend to the kernel. Of a small pool it is a quarter, so that both ports together leave half of
/// it.
fn fill_target(pool: &FramePool) -> usize {
    FILL_TARGET.min(pool.capacity() / 4)
}
