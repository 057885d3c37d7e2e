//! UDP sockets that take and give many datagrams in one call, and never fragment.

use std::io;
use std::mem::zeroed;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, SockaddrIn6, bind, setsockopt, socket, sockopt,
};

/// The largest number of datagrams that one call takes or gives.
pub const DATAGRAM_BATCH: usize = 64;

/// A socket and the memory in which its calls describe datagrams.
#[derive(Debug)]
pub struct UdpSocket {
    socket: OwnedFd,
    is_ipv6: bool,
    datagram_bytes: usize,
    received: Vec<u8>,
    messages: Vec<libc::mmsghdr>,
    pieces: Vec<libc::iovec>,
    addresses: Vec<libc::sockaddr_storage>,
}

// SAFETY: the pointers in the vectors are followed only during the call that has put them there.
unsafe impl Send for UdpSocket {}

impl UdpSocket {
    /// Opens a socket that receives datagrams of at most `datagram_bytes` at `local`. One at `::` also receives IPv4. The
    /// kernel neither fragments what is sent nor believes what routers say about the MTU (`IP_PMTUDISC_PROBE`).
    ///
    /// # Errors
    /// If the address is in use or is not one of this machine.
    pub fn open(local: SocketAddr, datagram_bytes: usize, buffer_bytes: usize) -> io::Result<UdpSocket> {
        let is_ipv6 = local.is_ipv6();
        let family = if is_ipv6 { AddressFamily::Inet6 } else { AddressFamily::Inet };
        let socket =
            socket(family, SockType::Datagram, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)?;
        match local {
            SocketAddr::V4(v4) => bind(socket.as_raw_fd(), &SockaddrIn::from(v4))?,
            SocketAddr::V6(v6) => {
                set(&socket, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 0)?;
                set(&socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE)?;
                bind(socket.as_raw_fd(), &SockaddrIn6::from(v6))?;
            }
        }
        set(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)?;
        // The forced variants need CAP_NET_ADMIN outside a namespace.
        if setsockopt(&socket, sockopt::RcvBufForce, &buffer_bytes).is_err() {
            let _ = setsockopt(&socket, sockopt::RcvBuf, &buffer_bytes);
        }
        if setsockopt(&socket, sockopt::SndBufForce, &buffer_bytes).is_err() {
            let _ = setsockopt(&socket, sockopt::SndBuf, &buffer_bytes);
        }
        Ok(UdpSocket {
            socket,
            is_ipv6,
            datagram_bytes,
            received: vec![0; DATAGRAM_BATCH * datagram_bytes],
            messages: Vec::with_capacity(DATAGRAM_BATCH),
            pieces: Vec::with_capacity(DATAGRAM_BATCH),
            addresses: Vec::with_capacity(DATAGRAM_BATCH),
        })
    }

    /// Takes what has arrived, at most [`DATAGRAM_BATCH`] datagrams, and calls `handle` with the sender of each and its
    /// bytes. Longer ones than the socket was opened for are left out. Returns how many there were.
    ///
    /// # Errors
    /// The kernel's reason; [`io::ErrorKind::WouldBlock`] if nothing has arrived.
    pub fn receive(&mut self, mut handle: impl FnMut(SocketAddr, &[u8])) -> io::Result<usize> {
        self.messages.clear();
        self.pieces.clear();
        self.addresses.clear();
        for buffer in self.received.chunks_exact_mut(self.datagram_bytes) {
            self.pieces
                .push(libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: self.datagram_bytes });
            // SAFETY: all-zero is a valid `sockaddr_storage`.
            self.addresses.push(unsafe { zeroed() });
        }
        self.describe(DATAGRAM_BATCH);
        // SAFETY: the messages point to places in vectors of this socket, which stay where they are during the call.
        let count = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                DATAGRAM_BATCH as u32,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        let count = Errno::result(count)? as usize;
        for (place, message) in self.messages[..count].iter().enumerate() {
            if message.msg_hdr.msg_flags & libc::MSG_TRUNC == 0
                && let Some(from) = read_address(&self.addresses[place])
            {
                let begin = place * self.datagram_bytes;
                handle(from, &self.received[begin..begin + message.msg_len as usize]);
            }
        }
        Ok(count)
    }

    /// Sends the first [`DATAGRAM_BATCH`] of `datagrams` to an address. Returns how many the kernel took.
    ///
    /// # Errors
    /// The kernel's reason for not taking the first.
    pub fn send<'a>(
        &mut self,
        to: SocketAddr,
        datagrams: impl IntoIterator<Item = &'a [u8]>,
    ) -> io::Result<usize> {
        self.messages.clear();
        self.pieces.clear();
        self.addresses.clear();
        for datagram in datagrams.into_iter().take(DATAGRAM_BATCH) {
            let iov_base = datagram.as_ptr().cast_mut().cast();
            self.pieces.push(libc::iovec { iov_base, iov_len: datagram.len() });
            self.addresses.push(write_address(to, self.is_ipv6));
        }
        let count = self.pieces.len();
        self.describe(count);
        // SAFETY: the messages point to places in vectors of this socket and to datagrams borrowed for `'a`, which the
        // kernel only reads.
        let sent = unsafe {
            libc::sendmmsg(
                self.socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                count as u32,
                libc::MSG_DONTWAIT as _,
            )
        };
        Ok(Errno::result(sent)? as usize)
    }

    /// How many datagrams the kernel has dropped because the memory of the socket was full (`SO_MEMINFO`).
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn drops(&self) -> io::Result<u64> {
        let mut values = [0u32; libc::SK_MEMINFO_DROPS as usize + 1];
        let mut length = size_of_val(&values) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes to `values`.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MEMINFO,
                values.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        Errno::result(result)?;
        Ok(u64::from(values[libc::SK_MEMINFO_DROPS as usize]))
    }

    /// Describes each piece, with its address, as a message.
    fn describe(&mut self, count: usize) {
        let length =
            if self.is_ipv6 { size_of::<libc::sockaddr_in6>() } else { size_of::<libc::sockaddr_in>() };
        for place in 0..count {
            // SAFETY: all-zero is a valid `mmsghdr`.
            let mut message: libc::mmsghdr = unsafe { zeroed() };
            message.msg_hdr.msg_name = (&raw mut self.addresses[place]).cast();
            message.msg_hdr.msg_namelen = length as libc::socklen_t;
            message.msg_hdr.msg_iov = &raw mut self.pieces[place];
            message.msg_hdr.msg_iovlen = 1;
            self.messages.push(message);
        }
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn set(socket: &OwnedFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the kernel reads an `int` from `value`.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    Errno::result(result)?;
    Ok(())
}

fn write_address(address: SocketAddr, is_ipv6: bool) -> libc::sockaddr_storage {
    // SAFETY: all-zero is a valid `sockaddr_storage`.
    let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
    match (address, is_ipv6) {
        (SocketAddr::V4(v4), false) => {
            let raw = libc::sockaddr_in::from(SockaddrIn::from(v4));
            // SAFETY: a `sockaddr_storage` is larger than any address, and aligned for each.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(raw) };
        }
        (address, _) => {
            let v6 = match address {
                SocketAddr::V4(v4) => SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0),
                SocketAddr::V6(v6) => v6,
            };
            let raw = libc::sockaddr_in6::from(SockaddrIn6::from(v6));
            // SAFETY: as above.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(raw) };
        }
    }
    storage
}

/// Reads an address; one of IPv4 behind IPv6 becomes one of IPv4.
fn read_address(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that it is a `sockaddr_in`, which is smaller than a `sockaddr_storage`.
            let raw = unsafe { *std::ptr::from_ref(storage).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(raw.sin_addr.s_addr));
            Some(SocketAddrV4::new(ip, u16::from_be(raw.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that it is a `sockaddr_in6`, which is smaller than a `sockaddr_storage`.
            let raw = unsafe { *std::ptr::from_ref(storage).cast::<libc::sockaddr_in6>() };
            let (ip, port) = (Ipv6Addr::from(raw.sin6_addr.s6_addr), u16::from_be(raw.sin6_port));
            Some(match ip.to_ipv4_mapped() {
                Some(v4) => SocketAddrV4::new(v4, port).into(),
                None => SocketAddrV6::new(ip, port, 0, raw.sin6_scope_id).into(),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sys::socket::getsockname;

    fn open(text: &str) -> (UdpSocket, u16) {
        let socket = UdpSocket::open(text.parse().expect("an address"), 1500, 1 << 20).expect("a socket");
        let fd = socket.as_fd().as_raw_fd();
        let port = match socket.is_ipv6 {
            true => getsockname::<SockaddrIn6>(fd).expect("bound").port(),
            false => getsockname::<SockaddrIn>(fd).expect("bound").port(),
        };
        (socket, port)
    }

    fn received(socket: &mut UdpSocket) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut ready = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
        poll(&mut ready, PollTimeout::from(5_000_u16)).expect("it can be asked");
        let mut all = Vec::new();
        socket.receive(|from, bytes| all.push((from, bytes.to_vec()))).expect("something arrived");
        all
    }

    #[test]
    fn datagrams_cross_in_batches_between_sockets_of_both_families() {
        for (here, there, at) in [
            ("127.0.0.1:0", "[::]:0", "127.0.0.1"),
            ("127.0.0.1:0", "127.0.0.1:0", "127.0.0.1"),
            ("[::]:0", "127.0.0.1:0", "127.0.0.1"),
        ] {
            let (mut here, from) = open(here);
            let (mut there, to) = open(there);
            let datagrams = [vec![1; 1], vec![2; 1400], vec![3; 1600]];
            let sent = here.send(
                SocketAddr::new(at.parse().expect("an address"), to),
                datagrams.iter().map(Vec::as_slice),
            );
            assert_eq!(sent.expect("there is room"), 3);
            let from = SocketAddr::new(at.parse().expect("an address"), from);
            assert_eq!(received(&mut there), [(from, vec![1; 1]), (from, vec![2; 1400])], "and one too long");
            let nothing = there.receive(|_, _| {}).expect_err("nothing more");
            assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        }
    }
}
