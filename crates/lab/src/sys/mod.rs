//! System calls that the safe crates do not cover. Only this module and those below it contain unsafe code in this
//! crate.
//!
//! Every function here is safe to call: buffers are slices, and their length limits what the kernel may write.

#![allow(unsafe_code, reason = "system calls need it; no other module has any")]

use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_int, c_void, socklen_t};
use linkmend_linux::packet_socket::{SEND_BATCH, SendBatch};
use linkmend_protocol::wire::ethertype;

/// The number of frames that one system call passes to the kernel or takes from it.
pub(crate) const BATCH_FRAMES: usize = SEND_BATCH;

fn check(result: c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Reads a socket option into `buffer`. Returns how many bytes of it the kernel has, at most the buffer's length.
pub(crate) fn socket_option(
    socket: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
    buffer: &mut [u8],
) -> io::Result<usize> {
    let mut length = socklen_t::try_from(buffer.len()).unwrap_or(socklen_t::MAX);
    // SAFETY: the kernel writes at most `length` bytes, which is no more than the buffer has.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, buffer.as_mut_ptr().cast::<c_void>(), &mut length)
    };
    check(result)?;
    Ok((length as usize).min(buffer.len()))
}

/// A frame received from a packet socket, together with the VLAN tag that the kernel removed from it.
pub(crate) struct Captured {
    /// Bytes of the frame that were written to the buffer.
    pub(crate) bytes: usize,
    /// Tag protocol and tag control information of the removed tag.
    pub(crate) vlan: Option<(u16, u16)>,
}

/// Receives one frame from a packet socket that has `PACKET_AUXDATA` switched on.
pub(crate) fn receive_with_vlan(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Captured> {
    let mut control = [0u64; 16];
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast::<c_void>(), iov_len: buffer.len() };
    // SAFETY: all-zero is a valid msghdr.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_iov = &mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast::<c_void>();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the header describes one buffer and one control area, both alive and of the stated lengths.
    let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut header, 0) };
    let bytes = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    let mut vlan = None;
    // SAFETY: the kernel filled the control area; the CMSG functions stay within msg_controllen, and the data is
    // read unaligned only where the message says that a whole tpacket_auxdata is there.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(&header);
        while !message.is_null() {
            let wanted =
                (*message).cmsg_level == libc::SOL_PACKET && (*message).cmsg_type == libc::PACKET_AUXDATA;
            let whole = libc::CMSG_LEN(size_of::<libc::tpacket_auxdata>() as u32) as usize;
            if wanted && (*message).cmsg_len as usize >= whole {
                let data = libc::CMSG_DATA(message).cast::<libc::tpacket_auxdata>().read_unaligned();
                if data.tp_status & libc::TP_STATUS_VLAN_VALID != 0 {
                    let known = data.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
                    vlan = Some((if known { data.tp_vlan_tpid } else { ethertype::VLAN }, data.tp_vlan_tci));
                }
            }
            message = libc::CMSG_NXTHDR(&header, message);
        }
    }
    Ok(Captured { bytes, vlan })
}

/// Buffers for [`BATCH_FRAMES`] frames that go to the kernel, or come from it, in one call.
pub(crate) struct FrameBatch {
    bytes: Vec<u8>,
    slot_bytes: usize,
    lengths: [usize; BATCH_FRAMES],
    sending: SendBatch,
}

impl FrameBatch {
    /// A batch of zeroed slots of `slot_bytes` bytes each.
    pub(crate) fn new(slot_bytes: usize) -> Self {
        let (bytes, lengths) = (vec![0; slot_bytes * BATCH_FRAMES], [slot_bytes; BATCH_FRAMES]);
        Self { bytes, slot_bytes, lengths, sending: SendBatch::default() }
    }

    /// The whole slot `index`, for writing.
    pub(crate) fn slot(&mut self, index: usize) -> &mut [u8] {
        &mut self.bytes[index * self.slot_bytes..][..self.slot_bytes]
    }

    /// The frame received into slot `index`.
    pub(crate) fn frame(&self, index: usize) -> &[u8] {
        &self.bytes[index * self.slot_bytes..][..self.lengths[index]]
    }

    /// Sends the slots `from..to` whole, without blocking. Returns how many the kernel took.
    pub(crate) fn send(&mut self, socket: BorrowedFd<'_>, from: usize, to: usize) -> io::Result<usize> {
        assert!(from <= to && to <= BATCH_FRAMES, "slots {from}..{to} of a batch of {BATCH_FRAMES}");
        self.lengths = [self.slot_bytes; BATCH_FRAMES];
        let slots = self.bytes.chunks_exact(self.slot_bytes).take(to).skip(from);
        self.sending.send(socket, slots.map(|slot| [slot]))
    }

    /// Receives what has arrived, waiting for the first frame as long as the socket's receive timeout says.
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        // SAFETY: all-zero is valid for both C structs.
        let (mut parts, mut headers): ([libc::iovec; BATCH_FRAMES], [libc::mmsghdr; BATCH_FRAMES]) =
            unsafe { (zeroed(), zeroed()) };
        for (index, slot) in self.bytes.chunks_exact_mut(self.slot_bytes).enumerate() {
            parts[index].iov_base = slot.as_mut_ptr().cast::<c_void>();
            parts[index].iov_len = slot.len();
            headers[index].msg_hdr.msg_iov = &raw mut parts[index];
            headers[index].msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: every header points to one slot of this batch; all live through the call.
        let received = check(unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH_FRAMES as u32,
                libc::MSG_WAITFORONE as _,
                std::ptr::null_mut(),
            )
        })?;
        self.lengths = [0; BATCH_FRAMES];
        for (length, header) in self.lengths.iter_mut().zip(&headers).take(received) {
            *length = (header.msg_len as usize).min(self.slot_bytes);
        }
        Ok(received)
    }
}

/// Sets an interface of the calling thread's namespace up or down.
pub(crate) fn set_interface_up(interface: &str, up: bool) -> io::Result<()> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None)?;
    // SAFETY: all-zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { zeroed() };
    // The last byte stays 0.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes().take(room)) {
        *to = from as libc::c_char;
    }
    // SAFETY: the kernel reads and writes one ifreq.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS as _, &mut request) })?;
    let flag = libc::IFF_UP as libc::c_short;
    // SAFETY: the kernel has just filled in the flags.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = if up { flags | flag } else { flags & !flag };
    // SAFETY: as above.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &mut request) })?;
    Ok(())
}

/// Opens a handle of a process, which never refers to another process.
pub(crate) fn pidfd_open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two integers.
    let result = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
    let raw = c_int::try_from(result).ok().filter(|raw| *raw >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Sends a signal to the process behind `process`.
pub(crate) fn pidfd_signal(process: BorrowedFd<'_>, signal: c_int) -> io::Result<()> {
    // SAFETY: a null siginfo means the default one.
    let result = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            process.as_raw_fd(),
            signal,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
