//! One AF_PACKET socket: receiving from a memory-mapped ring, sending in batches.
//!
//! The ring (TPACKET_V2) is used for its depth: inside a user namespace, the receive buffer of a plain socket cannot be
//! raised above `net.core.rmem_max`, which is often ninety frames.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::socket::{setsockopt, sockopt};

use super::memory::Memory;
use linkmend_protocol::wire::ethertype;

const BLOCK_BYTES: usize = 128 * 1024;
const RING_BYTES: usize = 8 * 1024 * 1024;
/// A generous bound for what the kernel puts before the frame in a ring slot.
const SLOT_OVERHEAD_BYTES: usize = 128;
const SEND_BUFFER_BYTES: usize = 4 * 1024 * 1024;
/// The largest number of frames that one `sendmmsg` takes.
pub(crate) const SEND_BATCH: usize = 64;

const TP_STATUS_USER: u32 = 1 << 0;
const TP_STATUS_CHECKSUM_NOT_READY: u32 = 1 << 3;
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;

/// A received frame, still in the ring.
pub(crate) struct Received<'a> {
    pub(crate) bytes: &'a [u8],
    /// The frame was longer than a ring slot, so `bytes` is only its beginning.
    pub(crate) truncated: bool,
    /// The VLAN tag that the kernel removed from the frame: protocol (0x8100, 0x88A8) and TCI.
    pub(crate) vlan: Option<(u16, u16)>,
    /// The sender left the transport checksum to hardware that is not there.
    pub(crate) checksum_missing: bool,
}

/// A part of a frame to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) offset: usize,
    pub(crate) length: usize,
    /// The frame ends here.
    pub(crate) last: bool,
}

pub(crate) struct PacketSocket {
    socket: OwnedFd,
    ring: NonNull<u8>,
    ring_bytes: usize,
    slot_bytes: usize,
    slots: usize,
    next_slot: usize,
    messages: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
}

// SAFETY: the ring is owned by this value; the pointers in the scratch vectors are only used
// during the call that filled them.
unsafe impl Send for PacketSocket {}

fn set_option<T>(socket: &OwnedFd, name: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the option is read from `value`, whose size is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    Errno::result(result)?;
    Ok(())
}

impl PacketSocket {
    /// Opens a raw socket on one interface, promiscuous, with ring slots for frames of up to
    /// `frame_bytes`.
    pub(crate) fn open(interface_index: u32, frame_bytes: usize) -> io::Result<Self> {
        // SAFETY: plain system call. Protocol 0: nothing is received before `bind` names the
        // interface, so that no frame of another one slips in.
        let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        // SAFETY: a new descriptor nobody else owns.
        let socket = unsafe { OwnedFd::from_raw_fd(Errno::result(socket)?) };
        let slot_bytes = (frame_bytes + SLOT_OVERHEAD_BYTES).next_power_of_two();
        if slot_bytes > BLOCK_BYTES {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let slots = RING_BYTES / slot_bytes;
        set_option(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;
        set_option(
            &socket,
            libc::PACKET_RX_RING,
            &libc::tpacket_req {
                tp_block_size: BLOCK_BYTES as u32,
                tp_block_nr: (RING_BYTES / BLOCK_BYTES) as u32,
                tp_frame_size: slot_bytes as u32,
                tp_frame_nr: slots as u32,
            },
        )?;
        set_option(&socket, libc::PACKET_IGNORE_OUTGOING, &1i32)?;
        set_option(&socket, libc::PACKET_QDISC_BYPASS, &1i32)?;
        // Room for a burst in flight; the forced variant needs CAP_NET_ADMIN outside a namespace.
        if setsockopt(&socket, sockopt::SndBufForce, &SEND_BUFFER_BYTES).is_err() {
            let _ = setsockopt(&socket, sockopt::SndBuf, &SEND_BUFFER_BYTES);
        }
        let ring = map_ring(&socket)?;
        let socket = PacketSocket {
            socket,
            ring,
            ring_bytes: RING_BYTES,
            slot_bytes,
            slots,
            next_slot: 0,
            messages: Vec::with_capacity(SEND_BATCH),
            vectors: Vec::with_capacity(SEND_BATCH * 4),
        };
        socket.bind(interface_index)?;
        Ok(socket)
    }

    fn bind(&self, interface_index: u32) -> io::Result<()> {
        // SAFETY: all-zero is a valid `packet_mreq` and a valid `sockaddr_ll`.
        let (mut membership, mut address): (libc::packet_mreq, libc::sockaddr_ll) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        membership.mr_ifindex = interface_index as i32;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        set_option(&self.socket, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = interface_index as i32;
        // SAFETY: `address` is a sockaddr_ll of the stated size.
        let result = unsafe {
            libc::bind(
                self.socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        Errno::result(result)?;
        Ok(())
    }

    /// Shows the next received frame to `handle`, then gives its slot back to the kernel. Returns `None` when nothing
    /// waits.
    pub(crate) fn receive<R>(&mut self, handle: impl FnOnce(Received<'_>) -> R) -> Option<R> {
        let slot_offset = self.next_slot * self.slot_bytes;
        // SAFETY: inside the ring, which is mapped as long as `self`; slots start with the status
        // word, aligned, accessed atomically by both sides.
        let (slot, status) = unsafe {
            let slot = self.ring.add(slot_offset);
            (slot, slot.cast::<AtomicU32>().as_ref())
        };
        let flags = status.load(Ordering::Acquire);
        if flags & TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the slot is ours until the status is written back.
        let header = unsafe { slot.cast::<libc::tpacket2_hdr>().as_ref() };
        let start = usize::from(header.tp_mac).min(self.slot_bytes);
        let length = (header.tp_snaplen as usize).min(self.slot_bytes - start);
        // SAFETY: clamped to the slot.
        let bytes = unsafe { std::slice::from_raw_parts(slot.as_ptr().add(start), length) };
        let protocol = match flags & TP_STATUS_VLAN_TPID_VALID {
            0 => ethertype::VLAN,
            _ => header.tp_vlan_tpid,
        };
        let result = handle(Received {
            bytes,
            truncated: header.tp_len as usize > length,
            vlan: (flags & TP_STATUS_VLAN_VALID != 0).then_some((protocol, header.tp_vlan_tci)),
            checksum_missing: flags & TP_STATUS_CHECKSUM_NOT_READY != 0,
        });
        status.store(0, Ordering::Release);
        self.next_slot = (self.next_slot + 1) % self.slots;
        Some(result)
    }

    /// Sends up to [`SEND_BATCH`] frames made of `segments`. Returns how many were sent.
    pub(crate) fn send(&mut self, memory: &Memory, segments: &[Segment]) -> Result<usize, Errno> {
        self.vectors.clear();
        self.messages.clear();
        for segment in segments {
            let bytes = memory.bytes(segment.offset, segment.length);
            self.vectors
                .push(libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() });
        }
        let mut first = 0;
        for (index, segment) in segments.iter().enumerate() {
            if !segment.last || self.messages.len() == SEND_BATCH {
                continue;
            }
            // SAFETY: all-zero is a valid `mmsghdr`.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_iov = &raw mut self.vectors[first];
            message.msg_hdr.msg_iovlen = (index + 1 - first) as _;
            self.messages.push(message);
            first = index + 1;
        }
        // SAFETY: the messages point to vectors and memory that live through the call, and the
        // kernel only reads them.
        let sent = unsafe {
            libc::sendmmsg(
                self.socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                self.messages.len() as u32,
                libc::MSG_DONTWAIT,
            )
        };
        Errno::result(sent).map(|sent| sent as usize)
    }

    /// Frames that the kernel dropped since the last call because the ring was full.
    pub(crate) fn dropped(&self) -> u64 {
        // SAFETY: all-zero is a valid `tpacket_stats`.
        let mut statistics: libc::tpacket_stats = unsafe { std::mem::zeroed() };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        };
        match result {
            0 => u64::from(statistics.tp_drops),
            _ => 0,
        }
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn map_ring(socket: &OwnedFd) -> io::Result<NonNull<u8>> {
    let length = NonZeroUsize::new(RING_BYTES).ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: a new mapping of the socket's ring, aliased by nothing of ours.
    let ring = unsafe {
        mmap(None, length, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED, socket, 0)?
    };
    Ok(ring.cast())
}

impl Drop for PacketSocket {
    fn drop(&mut self) {
        // SAFETY: mapped by `map_ring`; no slice into the ring outlives a call of `receive`.
        let _ = unsafe { munmap(self.ring.cast(), self.ring_bytes) };
    }
}
