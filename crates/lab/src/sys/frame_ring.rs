//! A packet socket whose received frames stay in memory shared with the kernel until they are sent on from there.
//! Nothing is copied, and the length of the ring limits how much is held.
//!
//! The ring (TPACKET_V2, packet(7)) also gives the time at which each frame arrived, so that a late reader still knows
//! it. It can be deeper than a plain socket's buffer, which an ordinary user cannot raise.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use linkmend_protocol::wire::{ADDRESSES_BYTES, VLAN_TAG_BYTES, ethertype};
use socket2::{Domain, Socket, Type};

use super::{bind_packet, check, set_socket_option, socket_option};

/// The largest number of frames that one call sends.
pub(crate) const SEND_BATCH: usize = 64;
const BLOCK_BYTES: usize = 128 << 10;
/// A generous bound for what the kernel puts before the frame in a slot, and room for a VLAN tag.
const SLOT_OVERHEAD_BYTES: usize = 128;
const RESERVED_BYTES: usize = 16;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// The ring; see the module documentation. Frames are taken, held and returned in the order of their arrival.
pub(crate) struct FrameRing {
    socket: OwnedFd,
    memory: NonNull<u8>,
    memory_bytes: usize,
    slot_bytes: usize,
    slots: usize,
    next: usize,
    oldest: usize,
    held: usize,
}

/// A frame that is held in its ring: position and length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldFrame {
    offset: usize,
    /// Bytes with the Ethernet header and VLAN tags, without check sequence.
    pub(crate) bytes: usize,
}

/// A frame as it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) frame: HeldFrame,
    /// When the kernel saw it: nanoseconds since the epoch (CLOCK_REALTIME).
    pub(crate) at_epoch_ns: u64,
    /// It was longer than a slot, and only its beginning is there.
    pub(crate) truncated: bool,
}

// SAFETY: the mapping belongs to this value alone, and every access takes `self`.
unsafe impl Send for FrameRing {}

impl FrameRing {
    /// Opens a ring of at least `slots` frames of up to `frame_bytes` each on one interface. Frames that this machine
    /// sends out of it are not seen.
    pub(crate) fn open(interface_index: u32, frame_bytes: usize, slots: usize) -> io::Result<Self> {
        let socket: OwnedFd = Socket::new(Domain::PACKET, Type::RAW, None)?.into();
        let slot_bytes = (frame_bytes + SLOT_OVERHEAD_BYTES).next_power_of_two();
        if slot_bytes > BLOCK_BYTES {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let blocks = (slots * slot_bytes).div_ceil(BLOCK_BYTES);
        let (memory_bytes, slots) = (blocks * BLOCK_BYTES, blocks * BLOCK_BYTES / slot_bytes);
        let set = |name, value| set_socket_option(socket.as_fd(), libc::SOL_PACKET, name, value);
        set(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as libc::c_int)?;
        set(libc::PACKET_RESERVE, RESERVED_BYTES as libc::c_int)?;
        set(PACKET_IGNORE_OUTGOING, 1)?;
        set(libc::PACKET_QDISC_BYPASS, 1)?;
        request_ring(socket.as_fd(), slot_bytes, slots, blocks)?;
        let memory = map(socket.as_fd(), memory_bytes)?;
        let ring = Self { socket, memory, memory_bytes, slot_bytes, slots, next: 0, oldest: 0, held: 0 };
        bind_packet(ring.socket.as_fd(), interface_index, libc::ETH_P_ALL as u16)?;
        Ok(ring)
    }

    /// Takes the next frame; `None` if none waits, or the ring is full of held frames. The frame stays in the ring.
    pub(crate) fn take(&mut self) -> Option<Arrival> {
        if self.held == self.slots
            || self.status(self.next).load(Ordering::Acquire) & libc::TP_STATUS_USER == 0
        {
            return None;
        }
        let slot = self.next * self.slot_bytes;
        // SAFETY: the slot is ours until its status is written back, and begins with this header.
        let header = unsafe { self.memory.add(slot).cast::<libc::tpacket2_hdr>().read() };
        let start = usize::from(header.tp_mac).min(self.slot_bytes);
        let bytes = (header.tp_snaplen as usize).min(self.slot_bytes - start);
        let truncated = header.tp_len as usize > bytes;
        let mut frame = HeldFrame { offset: slot + start, bytes };
        if header.tp_status & libc::TP_STATUS_VLAN_VALID != 0
            && bytes >= ADDRESSES_BYTES
            && start >= VLAN_TAG_BYTES
        {
            let known = header.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            let protocol = if known { header.tp_vlan_tpid } else { ethertype::VLAN };
            frame = self.put_tag_back(frame, protocol, header.tp_vlan_tci);
        }
        self.next = (self.next + 1) % self.slots;
        self.held += 1;
        let at_epoch_ns = u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec);
        Some(Arrival { frame, at_epoch_ns, truncated })
    }

    /// Gives the position of the oldest held frame back to the kernel.
    pub(crate) fn release_oldest(&mut self) {
        assert!(self.held > 0, "no frame is held");
        self.status(self.oldest).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.oldest = (self.oldest + 1) % self.slots;
        self.held -= 1;
    }

    /// Sends frames of this ring out of the interface of `output`, without waiting. Returns how many it took.
    pub(crate) fn send(&self, frames: &[HeldFrame], output: &FrameRing) -> io::Result<usize> {
        // SAFETY: all-zero is valid for both C structs.
        let (mut parts, mut headers): ([libc::iovec; SEND_BATCH], [libc::mmsghdr; SEND_BATCH]) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let count = frames.len().min(SEND_BATCH);
        for ((part, header), frame) in parts.iter_mut().zip(&mut headers).zip(&frames[..count]) {
            assert!(frame.offset + frame.bytes <= self.memory_bytes, "a frame of another ring");
            // SAFETY: inside the mapping.
            part.iov_base = unsafe { self.memory.add(frame.offset) }.as_ptr().cast();
            part.iov_len = frame.bytes;
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: each header names one part, each part lies in the mapping; the kernel only reads them.
        check(unsafe {
            libc::sendmmsg(output.socket.as_raw_fd(), headers.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT)
        })
    }

    /// Frames that the kernel dropped since the last call because the ring was full.
    pub(crate) fn take_drops(&self) -> io::Result<u64> {
        let mut raw = [0; 8];
        socket_option(self.as_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut raw)?;
        let [_, _, _, _, a, b, c, d] = raw;
        Ok(u64::from(u32::from_ne_bytes([a, b, c, d])))
    }

    /// The descriptor, which becomes readable when a frame arrives.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn status(&self, slot: usize) -> &AtomicU32 {
        // SAFETY: inside the mapping, which lives as long as `self`; a slot begins with its status word, aligned, which
        // both sides only access atomically.
        unsafe { self.memory.add(slot * self.slot_bytes).cast::<AtomicU32>().as_ref() }
    }

    /// Puts back the VLAN tag that the kernel removed from the frame. The room before the frame makes this possible
    /// without a copy.
    fn put_tag_back(&mut self, frame: HeldFrame, protocol: u16, tci: u16) -> HeldFrame {
        let tagged = HeldFrame { offset: frame.offset - VLAN_TAG_BYTES, bytes: frame.bytes + VLAN_TAG_BYTES };
        // SAFETY: inside the slot, which is ours.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(self.memory.add(tagged.offset).as_ptr(), tagged.bytes) };
        bytes.copy_within(VLAN_TAG_BYTES..VLAN_TAG_BYTES + ADDRESSES_BYTES, 0);
        bytes[ADDRESSES_BYTES..ADDRESSES_BYTES + 2].copy_from_slice(&protocol.to_be_bytes());
        bytes[ADDRESSES_BYTES + 2..ADDRESSES_BYTES + 4].copy_from_slice(&tci.to_be_bytes());
        tagged
    }
}

impl Drop for FrameRing {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, and no reference into it outlives `self`.
        let _ = unsafe { libc::munmap(self.memory.as_ptr().cast(), self.memory_bytes) };
    }
}

fn request_ring(socket: BorrowedFd<'_>, slot_bytes: usize, slots: usize, blocks: usize) -> io::Result<()> {
    let request = libc::tpacket_req {
        tp_block_size: BLOCK_BYTES as u32,
        tp_block_nr: blocks as u32,
        tp_frame_size: slot_bytes as u32,
        tp_frame_nr: slots as u32,
    };
    // SAFETY: the request lives through the call, and the length is its size.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_RX_RING,
            (&raw const request).cast(),
            size_of::<libc::tpacket_req>() as libc::socklen_t,
        )
    })
    .map(|_| ())
}

fn map(socket: BorrowedFd<'_>, bytes: usize) -> io::Result<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of the socket's ring, aliased by nothing of ours.
    let memory =
        unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, socket.as_raw_fd(), 0) };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(memory.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}
