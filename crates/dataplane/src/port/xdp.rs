//! AF_XDP ports.

use std::ops::Add;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};

use super::limits::QUEUES_MAX;
use super::{Interface, PortCounters, PortError, QueueFull};
use crate::frame_pool::{FrameHandle, FramePool};
use crate::sys::xsk::{Descriptor, KernelStatistics, XskError, XskOptions, XskSocket};

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

/// A port on AF_XDP sockets, one for each receive queue of the interface. It sends through the first. It receives once the
/// bypass program hands it frames.
pub struct XdpPort {
    interface: Arc<Interface>,
    queues: Vec<Queue>,
    /// Readable if any of several sockets is.
    any: Option<Epoll>,
    /// The queue that is read first in the next round, so that none is always last.
    first: usize,
    description: String,
    zero_copy: bool,
    staged: Vec<Descriptor>,
    in_flight: usize,
    descriptors: Vec<Descriptor>,
    addresses: Vec<u64>,
    counters: PortCounters,
}

/// One receive queue.
struct Queue {
    socket: XskSocket,
    with_kernel: usize,
    partial: Option<Partial>,
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

/// Opens a socket on each receive queue of an interface.
fn open_sockets(
    interface: &Interface,
    pool: &FramePool,
    zero_copy: bool,
) -> Result<Vec<XskSocket>, XskError> {
    let multi_buffer = pool.chunks_for(interface.frame_bytes()) > 1;
    let open = |queue| {
        let options = XskOptions {
            interface_index: interface.index,
            queue,
            chunk_bytes: pool.chunk_bytes(),
            ring_entries: RING_ENTRIES,
            zero_copy,
            multi_buffer,
        };
        let socket = open_socket(pool, &options)?;
        socket.raise_transmit_limits(RING_ENTRIES, SEND_BUFFER_BYTES);
        Ok(socket)
    };
    (0..interface.receive_queues.max(1)).map(open).collect()
}

/// What is readable when any of several sockets is; `None` for a single one.
fn any_of(sockets: &[XskSocket]) -> nix::Result<Option<Epoll>> {
    if sockets.len() < 2 {
        return Ok(None);
    }
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    sockets
        .iter()
        .try_for_each(|socket| epoll.add(socket.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, 0)))?;
    Ok(Some(epoll))
}

/// A frame whose last descriptor has not been seen yet.
struct Partial {
    head: Option<FrameHandle>,
    tail: FrameHandle,
    length: usize,
}

impl XdpPort {
    /// Opens a socket on each receive queue: zero-copy where the XDP program runs in the driver and the driver offers it
    /// for all, else copy mode. Drivers accept zero-copy sockets beside a generic program, too, but some (igb) then
    /// carry no frame.
    ///
    /// # Errors
    /// [`PortError::TooManyQueues`], [`PortError::System`].
    pub fn open(
        interface: impl Into<Arc<Interface>>,
        pool: &mut FramePool,
        is_native: bool,
    ) -> Result<Self, PortError> {
        let interface = interface.into();
        XdpPort::check_queues(&interface)?;
        let failed = |XskError { step, source }| PortError::system(&interface.name, step)(source);
        let tried = if is_native {
            open_sockets(&interface, pool, true).map_err(|refusal| {
                let errno = Errno::from_raw(refusal.source.raw_os_error().unwrap_or(0));
                format!("refused by driver {}: {errno:?}", interface.driver)
            })
        } else {
            Err("requires native XDP".to_owned())
        };
        let (sockets, zero_copy, mut description) = match tried {
            Ok(sockets) => (sockets, true, "AF_XDP zero-copy".to_owned()),
            Err(reason) => {
                let sockets = open_sockets(&interface, pool, false).map_err(failed)?;
                (sockets, false, format!("AF_XDP copy mode (zero-copy {reason})"))
            }
        };
        if sockets.len() > 1 {
            description.push_str(&format!(", {} queues", sockets.len()));
        }
        let any = any_of(&sockets)
            .map_err(|errno| PortError::system(&interface.name, "watching several queues")(errno.into()))?;
        let queue = |socket| Queue { socket, with_kernel: 0, partial: None };
        let mut port = XdpPort {
            interface,
            queues: sockets.into_iter().map(queue).collect(),
            any,
            first: 0,
            description,
            zero_copy,
            staged: Vec::with_capacity(RING_ENTRIES as usize),
            in_flight: 0,
            descriptors: Vec::with_capacity(BATCH),
            addresses: Vec::with_capacity(BATCH),
            counters: PortCounters::default(),
        };
        port.refill(pool);
        Ok(port)
    }

    /// Checks that there is room for a socket on each queue.
    pub(crate) fn check_queues(interface: &Interface) -> Result<(), PortError> {
        let (interface, queues) = (interface.name.clone(), interface.receive_queues);
        if queues > QUEUES_MAX { Err(PortError::TooManyQueues { interface, queues }) } else { Ok(()) }
    }

    /// The descriptors of all sockets, in the order of their queues.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.queues.iter().map(|queue| queue.socket.as_fd())
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
        for turn in 0..self.queues.len() {
            let queue = (self.first + turn) % self.queues.len();
            self.receive_from(queue, pool, out, before + budget);
        }
        self.first = (self.first + 1) % self.queues.len();
        self.refill_if_due(pool);
        out.len() - before
    }

    /// Appends frames of one queue to `out`, until that has `limit`.
    fn receive_from(&mut self, queue: usize, pool: &mut FramePool, out: &mut Vec<FrameHandle>, limit: usize) {
        while out.len() < limit {
            let wanted = (limit - out.len()).min(BATCH);
            let mut descriptors = std::mem::take(&mut self.descriptors);
            self.queues[queue].socket.receive(wanted, &mut descriptors);
            let received = descriptors.len();
            for descriptor in descriptors.drain(..) {
                self.take(queue, pool, descriptor, out);
            }
            self.descriptors = descriptors;
            if received < wanted {
                break;
            }
        }
    }

    fn take(
        &mut self,
        queue: usize,
        pool: &mut FramePool,
        descriptor: Descriptor,
        out: &mut Vec<FrameHandle>,
    ) {
        let queue = &mut self.queues[queue];
        queue.with_kernel = queue.with_kernel.saturating_sub(1);
        let Some(chunk) = pool.take_from_kernel(descriptor.address, descriptor.length) else {
            self.counters.rx_dropped += 1;
            return;
        };
        let length = descriptor.length as usize;
        let mut frame = match queue.partial.take() {
            None => Partial { head: Some(chunk), tail: chunk, length },
            Some(partial) => {
                pool.link(partial.tail, chunk);
                Partial { tail: chunk, length: partial.length + length, ..partial }
            }
        };
        if descriptor.continued {
            queue.partial = Some(frame);
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
            let taken = self.queues[0].socket.transmit(&self.staged);
            self.staged.drain(..taken);
        }
        let socket = &self.queues[0].socket;
        let mut pending = socket.transmit_pending();
        for _ in 0..MAX_KICKS {
            if pending == 0 || !socket.transmit_needs_wakeup() {
                return Ok(());
            }
            match socket.wake_transmit() {
                // Copy mode: either the budget of the call is used up, or there is no buffer just now.
                Ok(()) | Err(Errno::EAGAIN | Errno::EBUSY | Errno::ENOBUFS | Errno::EINTR) => {}
                Err(errno) => {
                    return Err(PortError::system(&self.interface.name, "sending")(errno.into()));
                }
            }
            let left = socket.transmit_pending();
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
            self.queues[0].socket.complete(BATCH, &mut self.addresses);
            for &address in &self.addresses {
                if pool.complete(address) {
                    self.in_flight = self.in_flight.saturating_sub(1);
                }
            }
            if self.addresses.len() < BATCH {
                break;
            }
        }
        self.refill_if_due(pool);
    }

    fn refill_if_due(&mut self, pool: &mut FramePool) {
        let target = self.fill_target(pool);
        if self.queues.iter().any(|queue| queue.with_kernel + FILL_BATCH <= target) {
            self.refill(pool);
        }
    }

    /// How many chunks to lend to the kernel for each queue. Of a small pool, they are a quarter for all together, so that both
    /// ports leave half of it.
    fn fill_target(&self, pool: &FramePool) -> usize {
        (FILL_TARGET.min(pool.capacity() / 4) / self.queues.len()).max(FILL_BATCH)
    }

    /// Tops the fill rings up from the pool.
    fn refill(&mut self, pool: &mut FramePool) {
        let target = self.fill_target(pool);
        for queue in &mut self.queues {
            queue.refill(pool, target, &mut self.addresses);
        }
    }

    pub(crate) fn transmit_room(&self) -> usize {
        RING_ENTRIES as usize - self.in_flight
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.any {
            Some(any) => any.0.as_fd(),
            None => self.queues[0].socket.as_fd(),
        }
    }

    pub(crate) fn counters(&mut self) -> PortCounters {
        let kernel = self.queues.iter().map(|queue| queue.socket.statistics());
        PortCounters { kernel: kernel.fold(KernelStatistics::default(), Add::add), ..self.counters }
    }

    pub(crate) fn interface(&self) -> &Interface {
        &self.interface
    }

    pub(crate) fn description(&self) -> &str {
        &self.description
    }
}

impl Queue {
    /// Lends chunks to the kernel until it has `target`.
    fn refill(&mut self, pool: &mut FramePool, target: usize, addresses: &mut Vec<u64>) {
        while self.with_kernel < target {
            addresses.clear();
            let wanted = FILL_BATCH.min(target - self.with_kernel);
            addresses.extend(std::iter::from_fn(|| pool.lend_to_kernel()).take(wanted));
            let lent = self.socket.fill(addresses);
            self.with_kernel += lent;
            // The kernel shows frames a moment before it shows the places that they have left on the fill ring, so the
            // ring may look full.
            for &address in &addresses[lent..] {
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
}
