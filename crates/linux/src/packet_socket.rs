//! Packet sockets (packet(7)): what they receive, and how they send many frames in one call.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// The largest number of frames that one call of [`SendBatch::send`] sends.
pub const SEND_BATCH: usize = 64;
/// The number of pieces of a frame for which a batch reserves room. Longer ones make it grow.
const USUAL_PIECES: usize = 4;

const PACKET_VNET_HDR: libc::c_int = 15;

/// Opens a raw packet socket. It receives nothing until [`bind`] names the interface, so that no frame of another one
/// slips in.
///
/// # Errors
/// Without CAP_NET_RAW.
pub fn open() -> io::Result<OwnedFd> {
    Ok(socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)?)
}

/// Binds a packet socket to one interface and one EtherType (`ETH_P_ALL`: all of them); protocol 0 receives nothing.
///
/// # Errors
/// If there is no such interface, or it is down.
pub fn bind(socket: BorrowedFd<'_>, interface_index: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: all-zero is a valid `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = interface_index as i32;
    // SAFETY: `address` is a `sockaddr_ll` of the stated size.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    Errno::result(result)?;
    Ok(())
}

/// Sets an option of the level `SOL_PACKET` whose value is a C `int`.
///
/// # Errors
/// If the kernel does not know the option, or refuses the value.
pub fn set_option(socket: BorrowedFd<'_>, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    set_structure(socket, name, &value)
}

/// Like [`set_option`], but with a value of the type that the option takes.
pub(crate) fn set_structure<T>(socket: BorrowedFd<'_>, name: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads the option from `value`, whose size is given.
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

/// Lets every frame that is sent begin with a virtio header, which may leave checksums and segmentation to the kernel.
///
/// # Errors
/// If it is no packet socket.
pub fn send_virtio_headers(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_option(socket, PACKET_VNET_HDR, 1)
}

/// Makes an interface promiscuous for as long as the socket is open.
///
/// # Errors
/// If there is no such interface.
pub fn join_promiscuous(socket: BorrowedFd<'_>, interface_index: u32) -> io::Result<()> {
    let membership = libc::packet_mreq {
        mr_ifindex: interface_index as i32,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_structure(socket, libc::PACKET_ADD_MEMBERSHIP, &membership)
}

/// Frames that the kernel dropped since the last call because the socket's buffer or ring was full.
///
/// # Errors
/// If it is no packet socket.
pub fn take_drops(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which is the size of `statistics`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &raw mut length,
        )
    };
    Errno::result(result)?;
    Ok(u64::from(statistics.tp_drops))
}

/// Sends several frames in one call. It keeps the memory in which the call describes them.
#[derive(Debug)]
pub struct SendBatch {
    messages: Vec<libc::mmsghdr>,
    pieces: Vec<libc::iovec>,
}

// SAFETY: the pointers in both vectors are followed only during the call that has put them there.
unsafe impl Send for SendBatch {}

impl Default for SendBatch {
    fn default() -> Self {
        SendBatch {
            messages: Vec::with_capacity(SEND_BATCH),
            pieces: Vec::with_capacity(SEND_BATCH * USUAL_PIECES),
        }
    }
}

impl SendBatch {
    /// Sends the first [`SEND_BATCH`] of `frames`, each of which is given by its pieces, without waiting. Returns how
    /// many the kernel took.
    ///
    /// # Errors
    /// The kernel's reason for not taking the first frame.
    pub fn send<'a, F: IntoIterator<Item = &'a [u8]>>(
        &mut self,
        socket: BorrowedFd<'_>,
        frames: impl IntoIterator<Item = F>,
    ) -> io::Result<usize> {
        self.messages.clear();
        self.pieces.clear();
        for frame in frames.into_iter().take(SEND_BATCH) {
            let before = self.pieces.len();
            self.pieces.extend(frame.into_iter().map(|piece| libc::iovec {
                iov_base: piece.as_ptr().cast_mut().cast(),
                iov_len: piece.len(),
            }));
            // SAFETY: all-zero is a valid `mmsghdr`.
            let mut message: libc::mmsghdr = unsafe { zeroed() };
            message.msg_hdr.msg_iovlen = (self.pieces.len() - before) as _;
            self.messages.push(message);
        }
        // Only now does the vector of pieces stay where it is.
        let mut next = self.pieces.as_mut_ptr();
        for message in &mut self.messages {
            message.msg_hdr.msg_iov = next;
            next = next.wrapping_add(message.msg_hdr.msg_iovlen as _);
        }
        // SAFETY: the messages point to pieces, and these to memory borrowed for `'a`; all live through the call, and
        // the kernel only reads them.
        let sent = unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                self.messages.len() as u32,
                libc::MSG_DONTWAIT as _,
            )
        };
        Ok(Errno::result(sent)? as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::socketpair;
    use std::os::fd::AsFd;

    /// Two sockets of any kind that keeps messages apart; packet sockets need a privilege.
    fn joined() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::Unix, SockType::Datagram, None, SockFlag::SOCK_NONBLOCK).expect("a pair")
    }

    fn received(socket: &OwnedFd) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(length) = nix::unistd::read(socket, &mut buffer) {
            frames.push(buffer[..length].to_vec());
        }
        frames
    }

    #[test]
    fn frames_are_joined_from_their_pieces_and_kept_apart() {
        let (here, there) = joined();
        let mut batch = SendBatch::default();
        // More pieces than a batch reserves room for, so that it grows while it is filled.
        let many = vec![&b"x"[..]; SEND_BATCH * USUAL_PIECES];
        let frames = [vec![&b"one"[..]], vec![&b"t"[..], b"", b"wo"], many];
        for _ in 0..2 {
            let sent = batch.send(here.as_fd(), frames.iter().map(|frame| frame.iter().copied()));
            assert_eq!(sent.expect("there is room"), 3);
            let whole: Vec<Vec<u8>> = frames.iter().map(|frame| frame.concat()).collect();
            assert_eq!(received(&there), whole);
        }
    }

    #[test]
    fn one_call_sends_no_more_than_a_batch_and_says_how_many() {
        let (here, there) = joined();
        let mut batch = SendBatch::default();
        let numbers: Vec<[u8; 1]> = (0..=u8::MAX).map(|number| [number]).collect();
        let mut sent = 0;
        let mut arrived = Vec::new();
        while sent < numbers.len() {
            let now = batch.send(here.as_fd(), numbers[sent..].iter().map(|number| [&number[..]]));
            let now = now.expect("somebody reads");
            assert!((1..=SEND_BATCH).contains(&now), "{now}");
            sent += now;
            arrived.extend(received(&there));
        }
        assert_eq!(arrived.concat(), numbers.concat());
        drop(there);
        let refused = batch.send(here.as_fd(), [[&b"nobody"[..]]]).expect_err("nobody is there");
        assert_eq!(refused.raw_os_error(), Some(libc::ECONNREFUSED));
    }
}
