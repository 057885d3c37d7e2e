//! One AF_XDP socket with its four rings, on queue 0 of one interface.
//!
//! The rings themselves come from `xdpilone`. This wrapper adds close-on-exec, multi-buffer, the socket options that it
//! lacks, and the errno of every step.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::socket::{MsgFlags, send, setsockopt, sockopt};
use xdpilone::xdp::XdpDesc;
use xdpilone::{DeviceQueue, IfInfo, RingRx, RingTx, Socket, SocketConfig, Umem, UmemConfig, User};

use super::memory::Memory;

const XDP_USE_SG: u16 = 1 << 4;
const XDP_PKT_CONTD: u32 = 1 << 0;
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// Where and how to open a socket.
pub(crate) struct XskOptions {
    pub(crate) interface_index: u32,
    pub(crate) chunk_bytes: u32,
    /// Entries of each of the four rings; a power of two.
    pub(crate) ring_entries: u32,
    pub(crate) zero_copy: bool,
    /// Frames may span several chunks.
    pub(crate) multi_buffer: bool,
}

/// The step that failed, and why.
#[derive(Debug)]
pub(crate) struct XskError {
    pub(crate) step: &'static str,
    pub(crate) source: io::Error,
}

/// A part of a frame in the shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) address: u64,
    pub(crate) length: u32,
    /// The frame continues in the next descriptor.
    pub(crate) continued: bool,
}

/// Kernel counters of the socket (`XDP_STATISTICS`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelStatistics {
    /// Frames dropped on receive for reasons other than those below.
    pub rx_dropped: u64,
    /// Fill ring entries that the kernel refused.
    pub rx_invalid_descriptors: u64,
    /// Transmit ring entries that the kernel refused.
    pub tx_invalid_descriptors: u64,
    /// Frames dropped because the receive ring was full.
    pub rx_ring_full: u64,
    /// Frames dropped because the fill ring was empty.
    pub rx_fill_ring_empty: u64,
}

pub(crate) struct XskSocket {
    device: DeviceQueue,
    rx: RingRx,
    tx: RingTx,
    user: User,
    // This is declared last, so that the socket that registered the memory closes after the rings are unmapped.
    _umem: Umem,
}

// SAFETY: the crate leaves `Send` out only because of raw pointers into the mapped rings and the UMEM. Both belong to
// this value and its pool alone, nothing in them is tied to a thread, and the pool moves along with its ports.
unsafe impl Send for XskSocket {}

fn failed(step: &'static str) -> impl FnOnce(xdpilone::Errno) -> XskError {
    move |errno| XskError { step, source: io::Error::from_raw_os_error(errno.get_raw().abs()) }
}

impl XskSocket {
    /// Opens and binds a socket whose frames lie in `memory`.
    ///
    /// Each socket registers the memory for itself instead of sharing the first one's registration. A shared
    /// registration forces the mode of the first (zero-copy or not) on all others, and a NIC with zero-copy must be
    /// able to sit beside a veth without.
    pub(crate) fn open(memory: &Memory, options: &XskOptions) -> Result<Self, XskError> {
        let config = UmemConfig {
            fill_size: options.ring_entries,
            complete_size: options.ring_entries,
            frame_size: options.chunk_bytes,
            headroom: 0,
            flags: 0,
        };
        // SAFETY: the region is page-aligned and mapped; the kernel pins its pages, so that it
        // may even be unmapped before the socket is closed. `Umem::frame`, the only way to memory
        // through the value, is not used.
        let umem = unsafe { Umem::new(config, memory.region()) }
            .map_err(failed("registering frame memory (XDP_UMEM_REG)"))?;
        let mut info = IfInfo::invalid();
        info.from_ifindex(options.interface_index).map_err(failed("looking the interface up"))?;
        let socket = Socket::with_shared(&info, &umem).map_err(failed("opening the socket"))?;
        let device = umem.fq_cq(&socket).map_err(failed("mapping the fill and completion rings"))?;
        set_close_on_exec(&device).map_err(|source| XskError { step: "setting close-on-exec", source })?;
        let entries = NonZeroU32::new(options.ring_entries);
        let mode = match options.zero_copy {
            true => SocketConfig::XDP_BIND_ZEROCOPY,
            false => SocketConfig::XDP_BIND_COPY,
        };
        let segments = if options.multi_buffer { XDP_USE_SG } else { 0 };
        let user = umem
            .rx_tx(
                &socket,
                &SocketConfig {
                    rx_size: entries,
                    tx_size: entries,
                    bind_flags: mode | SocketConfig::XDP_BIND_NEED_WAKEUP | segments,
                },
            )
            .map_err(failed("creating the receive and transmit rings"))?;
        let rx = user.map_rx().map_err(failed("mapping the receive ring"))?;
        let tx = user.map_tx().map_err(failed("mapping the transmit ring"))?;
        umem.bind(&user).map_err(failed("bind"))?;
        Ok(XskSocket { device, rx, tx, user, _umem: umem })
    }

    /// Lets the copy-mode transmit path take more than 32 frames a call, and hold `bytes` of them. This is best effort:
    /// older kernels keep their own limits.
    pub(crate) fn raise_transmit_limits(&self, frames: u32, bytes: usize) {
        let _ = setsockopt(&self.as_fd(), sockopt::SndBufForce, &bytes);
        // SAFETY: the option is a 32-bit number.
        let _ = unsafe {
            libc::setsockopt(
                self.as_fd().as_raw_fd(),
                libc::SOL_XDP,
                XDP_MAX_TX_SKB_BUDGET,
                (&raw const frames).cast(),
                size_of::<u32>() as libc::socklen_t,
            )
        };
    }

    /// Hands chunks to the kernel for receiving. Returns how many it took.
    pub(crate) fn fill(&mut self, addresses: &[u64]) -> usize {
        let mut ring = self.device.fill(addresses.len() as u32);
        let taken = ring.insert(addresses.iter().copied());
        ring.commit();
        taken as usize
    }

    /// Moves received descriptors to `out`, at most `budget` of them.
    pub(crate) fn receive(&mut self, budget: usize, out: &mut Vec<Descriptor>) {
        let mut ring = self.rx.receive(budget as u32);
        while let Some(descriptor) = ring.read() {
            out.push(Descriptor {
                address: descriptor.addr,
                length: descriptor.len,
                continued: descriptor.options & XDP_PKT_CONTD != 0,
            });
        }
        ring.release();
    }

    /// Puts descriptors on the transmit ring, in order. Returns how many fitted.
    pub(crate) fn transmit(&mut self, descriptors: &[Descriptor]) -> usize {
        let mut ring = self.tx.transmit(descriptors.len() as u32);
        let taken = ring.insert(descriptors.iter().map(|descriptor| XdpDesc {
            addr: descriptor.address,
            len: descriptor.length,
            options: if descriptor.continued { XDP_PKT_CONTD } else { 0 },
        }));
        ring.commit();
        taken as usize
    }

    /// Moves the addresses of completed descriptors to `out`, at most `budget` of them.
    pub(crate) fn complete(&mut self, budget: usize, out: &mut Vec<u64>) {
        let mut ring = self.device.complete(budget as u32);
        while let Some(address) = ring.read() {
            out.push(address);
        }
        ring.release();
    }

    /// Descriptors on the transmit ring that the kernel has not taken yet.
    pub(crate) fn transmit_pending(&self) -> u32 {
        self.tx.pending()
    }

    pub(crate) fn transmit_needs_wakeup(&self) -> bool {
        self.tx.needs_wakeup()
    }

    pub(crate) fn fill_needs_wakeup(&self) -> bool {
        self.device.needs_wakeup()
    }

    /// Makes the kernel look at the fill ring (zero-copy drivers ask for it).
    pub(crate) fn wake_fill(&mut self) {
        self.device.wake();
    }

    /// Makes the kernel look at the transmit ring; in copy mode it sends within this call.
    pub(crate) fn wake_transmit(&self) -> Result<(), Errno> {
        send(self.as_fd().as_raw_fd(), &[], MsgFlags::MSG_DONTWAIT).map(|_| ())
    }

    pub(crate) fn statistics(&self) -> KernelStatistics {
        let Ok(kernel) = self.user.statistics_v2() else {
            return KernelStatistics::default();
        };
        KernelStatistics {
            rx_dropped: kernel.rx_dropped,
            rx_invalid_descriptors: kernel.rx_invalid_descs,
            tx_invalid_descriptors: kernel.tx_invalid_descs,
            rx_ring_full: kernel.rx_ring_full,
            rx_fill_ring_empty: kernel.rx_fill_ring_empty_descs,
        }
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor stays open as long as `self`.
        unsafe { BorrowedFd::borrow_raw(self.device.as_raw_fd()) }
    }
}

/// Sets close-on-exec, because a child process that inherited the socket would keep it, and its place in the program's
/// map, alive after our death, and the bypass would never take over.
fn set_close_on_exec(device: &DeviceQueue) -> io::Result<()> {
    // SAFETY: borrowed only for this call, during which `device` lives.
    let fd = unsafe { BorrowedFd::borrow_raw(device.as_raw_fd()) };
    fcntl(fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    Ok(())
}
