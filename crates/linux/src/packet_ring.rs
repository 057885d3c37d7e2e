//! The receive ring of a packet socket (TPACKET_V2, packet(7)): memory shared with the kernel, in which received frames
//! stay until they are released.
//!
//! Nothing is copied, and the length of the ring limits how much is held. The ring can be deeper than a plain socket's
//! buffer, which an ordinary user cannot raise above `net.core.rmem_max`, often ninety frames. It also keeps the time
//! at which each frame arrived, so that a late reader still knows it.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

use crate::packet_socket;

const BLOCK_BYTES: usize = 128 << 10;
/// A generous bound for what the kernel puts before the frame in a slot, with the room for a VLAN tag.
const SLOT_OVERHEAD_BYTES: usize = 128;
/// Room before each frame. The kernel aligns what it puts there to this.
const RESERVED_BYTES: usize = 16;
/// The two MAC addresses, which stand before a VLAN tag.
const ADDRESSES_BYTES: usize = 12;
const VLAN_TAG_BYTES: usize = 4;

/// A packet socket with a ring; see the module documentation. Frames are taken, held and released in the order of their
/// arrival. Frames that this machine sends are not received, and frames sent on the socket go straight to the device.
#[derive(Debug)]
pub struct PacketRing {
    socket: OwnedFd,
    memory: NonNull<u8>,
    memory_bytes: NonZeroUsize,
    slot_bytes: usize,
    slots: usize,
    next: usize,
    oldest: usize,
    held: usize,
}

/// A frame that is held in its ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldFrame {
    slot: usize,
    /// From the beginning of the slot.
    start: usize,
    bytes: usize,
}

impl HeldFrame {
    /// Bytes with the Ethernet header and VLAN tags, without check sequence.
    pub fn length(&self) -> usize {
        self.bytes
    }
}

/// A frame as it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub frame: HeldFrame,
    /// When the kernel saw it: nanoseconds since the epoch (CLOCK_REALTIME).
    pub at_epoch_ns: u64,
    /// It was longer than a slot, and only its beginning is there.
    pub truncated: bool,
    /// The sender left the transport checksum to hardware that is not there.
    pub checksum_missing: bool,
}

// SAFETY: the mapping belongs to this value alone, and every access takes `self`.
unsafe impl Send for PacketRing {}

impl PacketRing {
    /// The bytes that a frame of up to `frame_bytes` takes in a ring.
    pub fn slot_bytes(frame_bytes: usize) -> usize {
        (frame_bytes + SLOT_OVERHEAD_BYTES).next_power_of_two()
    }

    /// Opens a ring of at least `ring_bytes` for frames of up to `frame_bytes` each. It receives nothing until
    /// [`PacketRing::bind`].
    ///
    /// # Errors
    /// Without CAP_NET_RAW; `InvalidInput` if a frame does not fit a block of the ring (128 KiB); if the memory is not
    /// available.
    pub fn open(frame_bytes: usize, ring_bytes: usize) -> io::Result<Self> {
        let slot_bytes = Self::slot_bytes(frame_bytes);
        let blocks = ring_bytes.div_ceil(BLOCK_BYTES);
        let memory_bytes = NonZeroUsize::new(blocks * BLOCK_BYTES).ok_or(io::ErrorKind::InvalidInput)?;
        if slot_bytes > BLOCK_BYTES {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let slots = memory_bytes.get() / slot_bytes;
        let socket = packet_socket::open()?;
        let set = |name, value| packet_socket::set_option(socket.as_fd(), name, value);
        set(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as libc::c_int)?;
        set(libc::PACKET_RESERVE, RESERVED_BYTES as libc::c_int)?;
        set(libc::PACKET_IGNORE_OUTGOING, 1)?;
        set(libc::PACKET_QDISC_BYPASS, 1)?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: slots as u32,
        };
        packet_socket::set_structure(socket.as_fd(), libc::PACKET_RX_RING, &request)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping of the socket's ring, aliased by nothing of ours.
        let memory = unsafe { mmap(None, memory_bytes, access, MapFlags::MAP_SHARED, &socket, 0)? };
        Ok(Self {
            socket,
            memory: memory.cast(),
            memory_bytes,
            slot_bytes,
            slots,
            next: 0,
            oldest: 0,
            held: 0,
        })
    }

    /// Begins to receive the frames of one interface, whatever their EtherType.
    ///
    /// # Errors
    /// If there is no such interface, or it is down.
    pub fn bind(&self, interface_index: u32) -> io::Result<()> {
        packet_socket::bind(self.as_fd(), interface_index, libc::ETH_P_ALL as u16)
    }

    /// Takes the next frame; `None` if none waits, or the ring is full of held frames. The frame stays in the ring. A
    /// VLAN tag that the kernel has removed from it is put back.
    pub fn take(&mut self) -> Option<Arrival> {
        if self.held == self.slots {
            return None;
        }
        let status = self.status(self.next).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: inside the mapping; the slot is ours until its status is written back, and begins with this header.
        let header =
            unsafe { self.memory.add(self.next * self.slot_bytes).cast::<libc::tpacket2_hdr>().read() };
        let start = usize::from(header.tp_mac).min(self.slot_bytes);
        let bytes = (header.tp_snaplen as usize).min(self.slot_bytes - start);
        let mut frame = HeldFrame { slot: self.next, start, bytes };
        self.next = self.after(self.next);
        self.held += 1;
        let tagged = status & libc::TP_STATUS_VLAN_VALID != 0;
        if tagged && bytes >= ADDRESSES_BYTES && start >= VLAN_TAG_BYTES {
            let known = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            let protocol = if known { header.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
            frame = self.put_tag_back(frame, protocol, header.tp_vlan_tci);
        }
        Some(Arrival {
            frame,
            at_epoch_ns: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
            truncated: header.tp_len as usize > bytes,
            checksum_missing: status & libc::TP_STATUS_CSUMNOTREADY != 0,
        })
    }

    /// The bytes of a frame.
    ///
    /// # Panics
    /// If this ring does not hold the frame.
    pub fn bytes(&self, frame: HeldFrame) -> &[u8] {
        let start = self.start_of(frame);
        // SAFETY: inside a slot that is held, which the kernel does not touch before it is released, and releasing one
        // borrows the ring exclusively.
        unsafe { std::slice::from_raw_parts(self.memory.add(start).as_ptr(), frame.bytes) }
    }

    /// Gives the place of the oldest held frame back to the kernel.
    ///
    /// # Panics
    /// If no frame is held.
    pub fn release_oldest(&mut self) {
        assert!(self.held > 0, "no frame is held");
        self.status(self.oldest).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.oldest = self.after(self.oldest);
        self.held -= 1;
    }

    /// Frames that the kernel dropped since the last call because the ring was full.
    ///
    /// # Errors
    /// The kernel's reason for not saying.
    pub fn take_drops(&self) -> io::Result<u64> {
        packet_socket::take_drops(self.as_fd())
    }

    /// Where the frame begins in the mapping. Panics unless the frame is in a slot that is held, and inside it.
    fn start_of(&self, frame: HeldFrame) -> usize {
        let HeldFrame { slot, start, bytes } = frame;
        let age = if slot >= self.oldest { slot - self.oldest } else { slot + self.slots - self.oldest };
        assert!(slot < self.slots && age < self.held, "the frame is not held");
        assert!(start <= self.slot_bytes && bytes <= self.slot_bytes - start, "a frame of another ring");
        slot * self.slot_bytes + start
    }

    fn after(&self, slot: usize) -> usize {
        if slot + 1 == self.slots { 0 } else { slot + 1 }
    }

    fn status(&self, slot: usize) -> &AtomicU32 {
        assert!(slot < self.slots);
        // SAFETY: inside the mapping, which lives as long as `self`; a slot begins with its status word, aligned, which
        // both sides only access atomically.
        unsafe { self.memory.add(slot * self.slot_bytes).cast::<AtomicU32>().as_ref() }
    }

    /// Puts a VLAN tag behind the addresses. The room before the frame makes this possible without moving the rest.
    fn put_tag_back(&mut self, frame: HeldFrame, protocol: u16, tci: u16) -> HeldFrame {
        let HeldFrame { slot, start, bytes } = frame;
        let tagged = HeldFrame { slot, start: start - VLAN_TAG_BYTES, bytes: bytes + VLAN_TAG_BYTES };
        let start = self.start_of(tagged);
        // SAFETY: inside a slot that is held, as in `bytes`, and borrowed exclusively.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.memory.add(start).as_ptr(), tagged.bytes) };
        bytes.copy_within(VLAN_TAG_BYTES..VLAN_TAG_BYTES + ADDRESSES_BYTES, 0);
        bytes[ADDRESSES_BYTES..ADDRESSES_BYTES + 2].copy_from_slice(&protocol.to_be_bytes());
        bytes[ADDRESSES_BYTES + 2..ADDRESSES_BYTES + 4].copy_from_slice(&tci.to_be_bytes());
        tagged
    }
}

/// The socket, which becomes readable when a frame arrives.
impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: mapped by `open`, and no reference into it outlives `self`.
        let _ = unsafe { munmap(self.memory.cast(), self.memory_bytes.get()) };
    }
}
