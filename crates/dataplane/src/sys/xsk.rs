//! One AF_XDP socket with its four rings, on one receive queue of one interface.

use std::ffi::c_void;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Add;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use libc::{c_int, off_t, socklen_t, xdp_desc, xdp_mmap_offsets, xdp_ring_offset};
use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::socket::{MsgFlags, recv, send, setsockopt, sockopt};

use super::memory::Memory;
use super::ring::{Places, Reader, Writer};

const XDP_MAX_TX_SKB_BUDGET: c_int = 9;

/// The steps of opening a socket, which errors name and hints go by.
pub(crate) const OPEN: &str = "AF_XDP: opening the socket";
pub(crate) const REGISTER_MEMORY: &str = "AF_XDP: registering frame memory (XDP_UMEM_REG)";
pub(crate) const RINGS: &str = "AF_XDP: creating the rings";
pub(crate) const RING_OFFSETS: &str = "AF_XDP: querying the offsets of the rings (XDP_MMAP_OFFSETS)";
pub(crate) const MAP_RINGS: &str = "AF_XDP: mapping the rings";
pub(crate) const BIND: &str = "AF_XDP: binding the socket";
pub(crate) const BIND_SEVERAL_CHUNKS: &str =
    "AF_XDP: binding the socket for frames of several chunks (XDP_USE_SG)";

/// Where and how to open a socket.
pub(crate) struct XskOptions {
    pub(crate) interface_index: u32,
    pub(crate) queue: u32,
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

impl Add for KernelStatistics {
    type Output = KernelStatistics;

    fn add(self, other: KernelStatistics) -> KernelStatistics {
        KernelStatistics {
            rx_dropped: self.rx_dropped + other.rx_dropped,
            rx_invalid_descriptors: self.rx_invalid_descriptors + other.rx_invalid_descriptors,
            tx_invalid_descriptors: self.tx_invalid_descriptors + other.tx_invalid_descriptors,
            rx_ring_full: self.rx_ring_full + other.rx_ring_full,
            rx_fill_ring_empty: self.rx_fill_ring_empty + other.rx_fill_ring_empty,
        }
    }
}

pub(crate) struct XskSocket {
    fill: Writer<u64>,
    complete: Reader<u64>,
    receive: Reader<xdp_desc>,
    transmit: Writer<xdp_desc>,
    /// The memory of the rings, before the socket, which a mapping would keep open.
    _mappings: [Mapping; 4],
    fd: OwnedFd,
}

/// Turns an errno into an error of this step.
fn failed<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> XskError {
    move |error| XskError { step, source: error.into() }
}

impl XskSocket {
    /// Opens and binds a socket whose frames lie in `memory`.
    ///
    /// Each socket registers the memory for itself instead of sharing the first one's registration. A shared
    /// registration forces the mode of the first (zero-copy or not) on all others, and a NIC with zero-copy must be
    /// able to sit beside a veth without.
    pub(crate) fn open(memory: &Memory, options: &XskOptions) -> Result<Self, XskError> {
        let fd = socket().map_err(failed(OPEN))?;
        let region = memory.region();
        let registration = libc::xdp_umem_reg {
            addr: region.cast::<u8>().as_ptr() as u64,
            len: region.len() as u64,
            chunk_size: options.chunk_bytes,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        // The kernel pins the pages, so the region may even be unmapped before the socket is closed.
        set(&fd, libc::XDP_UMEM_REG, &registration).map_err(failed(REGISTER_MEMORY))?;
        let rings =
            [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_RX_RING, libc::XDP_TX_RING];
        for ring in rings {
            set(&fd, ring, &options.ring_entries).map_err(failed(RINGS))?;
        }
        let offsets = offsets(&fd).map_err(failed(RING_OFFSETS))?;
        let map = |ring| Mapping::new(&fd, ring, options.ring_entries).map_err(failed(MAP_RINGS));
        let fill = map(Ring::of::<u64>(&offsets.fr, libc::XDP_UMEM_PGOFF_FILL_RING as off_t))?;
        let complete = map(Ring::of::<u64>(&offsets.cr, libc::XDP_UMEM_PGOFF_COMPLETION_RING as off_t))?;
        let receive = map(Ring::of::<xdp_desc>(&offsets.rx, libc::XDP_PGOFF_RX_RING))?;
        let transmit = map(Ring::of::<xdp_desc>(&offsets.tx, libc::XDP_PGOFF_TX_RING))?;
        let binding = if options.multi_buffer { BIND_SEVERAL_CHUNKS } else { BIND };
        bind(&fd, options).map_err(failed(binding))?;
        // SAFETY: the places are the kernel's for this ring, the mappings stay with the rings, and each ring has one user.
        Ok(unsafe {
            XskSocket {
                fill: Writer::new(fill.places(&offsets.fr, options.ring_entries)),
                complete: Reader::new(complete.places(&offsets.cr, options.ring_entries)),
                receive: Reader::new(receive.places(&offsets.rx, options.ring_entries)),
                transmit: Writer::new(transmit.places(&offsets.tx, options.ring_entries)),
                _mappings: [fill, complete, receive, transmit],
                fd,
            }
        })
    }

    /// Lets the copy-mode transmit path take more than 32 frames a call, and hold `bytes` of them. This is best effort:
    /// older kernels keep their own limits.
    pub(crate) fn raise_transmit_limits(&self, frames: u32, bytes: usize) {
        let _ = setsockopt(&self.fd, sockopt::SndBufForce, &bytes);
        let _ = set(&self.fd, XDP_MAX_TX_SKB_BUDGET, &frames);
    }

    /// Hands chunks to the kernel for receiving. Returns how many it took.
    pub(crate) fn fill(&mut self, addresses: &[u64]) -> usize {
        self.fill.write(addresses.iter().copied())
    }

    /// Moves received descriptors to `out`, at most `budget` of them.
    pub(crate) fn receive(&mut self, budget: usize, out: &mut Vec<Descriptor>) {
        self.receive.read(budget, |descriptor| {
            out.push(Descriptor {
                address: descriptor.addr,
                length: descriptor.len,
                continued: descriptor.options & libc::XDP_PKT_CONTD != 0,
            });
        });
    }

    /// Puts descriptors on the transmit ring, in order. Returns how many fitted.
    pub(crate) fn transmit(&mut self, descriptors: &[Descriptor]) -> usize {
        self.transmit.write(descriptors.iter().map(|descriptor| xdp_desc {
            addr: descriptor.address,
            len: descriptor.length,
            options: if descriptor.continued { libc::XDP_PKT_CONTD } else { 0 },
        }))
    }

    /// Moves the addresses of completed descriptors to `out`, at most `budget` of them.
    pub(crate) fn complete(&mut self, budget: usize, out: &mut Vec<u64>) {
        self.complete.read(budget, |address| out.push(address));
    }

    /// Descriptors on the transmit ring that the kernel has not taken yet.
    pub(crate) fn transmit_pending(&self) -> u32 {
        self.transmit.pending()
    }

    pub(crate) fn transmit_needs_wakeup(&self) -> bool {
        self.transmit.needs_wakeup()
    }

    pub(crate) fn fill_needs_wakeup(&self) -> bool {
        self.fill.needs_wakeup()
    }

    /// Makes the kernel look at the fill ring (zero-copy drivers ask for it). It looks again at the next frame anyway.
    pub(crate) fn wake_fill(&mut self) {
        let _ = recv(self.fd.as_raw_fd(), &mut [], MsgFlags::MSG_DONTWAIT);
    }

    /// Makes the kernel look at the transmit ring; in copy mode it sends within this call.
    pub(crate) fn wake_transmit(&self) -> Result<(), Errno> {
        send(self.fd.as_raw_fd(), &[], MsgFlags::MSG_DONTWAIT).map(|_| ())
    }

    pub(crate) fn statistics(&self) -> KernelStatistics {
        // SAFETY: a struct of numbers.
        let mut kernel: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        if get(&self.fd, libc::XDP_STATISTICS, &mut kernel).is_err() {
            return KernelStatistics::default();
        }
        KernelStatistics {
            rx_dropped: kernel.rx_dropped,
            rx_invalid_descriptors: kernel.rx_invalid_descs,
            tx_invalid_descriptors: kernel.tx_invalid_descs,
            rx_ring_full: kernel.rx_ring_full,
            rx_fill_ring_empty: kernel.rx_fill_ring_empty_descs,
        }
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Opens a socket and closes it.
pub(crate) fn try_socket() -> io::Result<()> {
    socket().map(drop)
}

/// A socket that no child inherits: one that did would keep it, and its place in the program's map, alive after our death,
/// and the bypass would never take over.
fn socket() -> io::Result<OwnedFd> {
    // SAFETY: the call touches no memory of ours.
    let fd = Errno::result(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: a new descriptor, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn bind(fd: &OwnedFd, options: &XskOptions) -> io::Result<()> {
    let mode = if options.zero_copy { libc::XDP_ZEROCOPY } else { libc::XDP_COPY };
    let segments = if options.multi_buffer { libc::XDP_USE_SG } else { 0 };
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: mode | libc::XDP_USE_NEED_WAKEUP | segments,
        sxdp_ifindex: options.interface_index,
        sxdp_queue_id: options.queue,
        sxdp_shared_umem_fd: 0,
    };
    // SAFETY: the address lives through the call, and its size is given.
    let status = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length_of(&address)) };
    Errno::result(status).map(drop).map_err(io::Error::from)
}

fn length_of<T>(_: &T) -> socklen_t {
    size_of::<T>() as socklen_t
}

/// Sets an option of AF_XDP.
fn set<T>(fd: &OwnedFd, option: c_int, value: &T) -> io::Result<()> {
    let (value, length) = ((&raw const *value).cast(), length_of(value));
    // SAFETY: the kernel reads no more than the value.
    let status = unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_XDP, option, value, length) };
    Errno::result(status).map(drop).map_err(io::Error::from)
}

/// Reads an option of AF_XDP, a plain struct of numbers, and says how many bytes of it the kernel knows.
fn get<T>(fd: &OwnedFd, option: c_int, value: &mut T) -> io::Result<usize> {
    let mut length = length_of(value);
    let value = (&raw mut *value).cast();
    // SAFETY: the kernel writes no more than the value, and all numbers are valid in it.
    let status = unsafe { libc::getsockopt(fd.as_raw_fd(), libc::SOL_XDP, option, value, &raw mut length) };
    Errno::result(status)?;
    Ok(length as usize)
}

/// Where the parts of each ring lie in its mapping.
fn offsets(fd: &OwnedFd) -> io::Result<xdp_mmap_offsets> {
    // SAFETY: a struct of numbers.
    let mut offsets: xdp_mmap_offsets = unsafe { std::mem::zeroed() };
    // Linux before 5.4 has no flags in its rings, and does not know XDP_USE_NEED_WAKEUP.
    match get(fd, libc::XDP_MMAP_OFFSETS, &mut offsets)? == size_of::<xdp_mmap_offsets>() {
        true => Ok(offsets),
        false => Err(Errno::EOPNOTSUPP.into()),
    }
}

/// What is to be mapped for one ring.
struct Ring {
    page_offset: off_t,
    /// Bytes before the entries, and of each.
    header: u64,
    entry: usize,
}

impl Ring {
    fn of<T>(offsets: &xdp_ring_offset, page_offset: off_t) -> Self {
        Ring { page_offset, header: offsets.desc, entry: size_of::<T>() }
    }
}

/// Memory of the kernel's in which a ring lies; unmapped when dropped.
struct Mapping {
    base: NonNull<c_void>,
    length: NonZeroUsize,
}

// SAFETY: nothing in a mapping is tied to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(fd: &OwnedFd, ring: Ring, entries: u32) -> io::Result<Self> {
        let length = ring.header as usize + ring.entry * entries as usize;
        let length = NonZeroUsize::new(length).ok_or(io::ErrorKind::InvalidData)?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE;
        // SAFETY: a new mapping at an address that the kernel chooses aliases nothing.
        let base = unsafe { mmap(None, length, protection, flags, fd, ring.page_offset)? };
        Ok(Mapping { base, length })
    }

    /// Where the kernel says that the parts of the ring lie.
    fn places<T>(&self, offsets: &xdp_ring_offset, size: u32) -> Places<T> {
        fn at<P>(base: NonNull<c_void>, offset: u64) -> NonNull<P> {
            // SAFETY: the kernel's own offsets into its mapping.
            unsafe { base.byte_add(offset as usize) }.cast()
        }
        Places {
            written: at(self.base, offsets.producer),
            read: at(self.base, offsets.consumer),
            flags: at(self.base, offsets.flags),
            entries: at(self.base, offsets.desc),
            size,
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; the rings that lie in it end with it.
        let _ = unsafe { munmap(self.base, self.length.get()) };
    }
}
