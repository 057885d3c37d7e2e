//! UDP sockets that take and give many datagrams in one call, and never fragment.
//!
//! Datagrams of one length that are sent one after the other are a *train*, which the kernel takes as one and cuts late
//! (`UDP_SEGMENT`, Linux 4.18). What the kernel has joined on arrival is taken apart here (`UDP_GRO`, Linux 5.0).

use crate::udp_control::{Arrival, ControlMessages, Sending};
use std::io;
use std::mem::zeroed;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, SockaddrIn6, bind, setsockopt, socket, sockopt,
};

/// The largest number of datagrams that one call takes, which is also that of a train (`UDP_MAX_SEGMENTS` of old kernels).
pub const DATAGRAM_BATCH: usize = 64;
/// The longest train: the contents of the longest UDP datagram over IPv4.
const TRAIN_BYTES_MAX: usize = 65_507;
/// How many trains are taken in one call.
const TRAIN_BATCH: usize = 16;

/// A socket and the memory in which its calls describe datagrams.
#[derive(Debug)]
pub struct UdpSocket {
    socket: OwnedFd,
    is_ipv6: bool,
    sends_trains: bool,
    datagram_bytes: usize,
    /// Length of the place for each message in `received`.
    message_bytes: usize,
    received: Vec<u8>,
    messages: Vec<libc::mmsghdr>,
    pieces: Vec<libc::iovec>,
    addresses: Vec<libc::sockaddr_storage>,
    controls: Vec<ControlMessages>,
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
                set(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?;
                bind(socket.as_raw_fd(), &SockaddrIn6::from(v6))?;
            }
        }
        set(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)?;
        set(&socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?;
        // The forced variants need CAP_NET_ADMIN outside a namespace.
        if setsockopt(&socket, sockopt::RcvBufForce, &buffer_bytes).is_err() {
            let _ = setsockopt(&socket, sockopt::RcvBuf, &buffer_bytes);
        }
        if setsockopt(&socket, sockopt::SndBufForce, &buffer_bytes).is_err() {
            let _ = setsockopt(&socket, sockopt::SndBuf, &buffer_bytes);
        }
        let takes_trains = set(&socket, libc::SOL_UDP, libc::UDP_GRO, 1).is_ok();
        let (batch, message_bytes) =
            if takes_trains { (TRAIN_BATCH, TRAIN_BYTES_MAX) } else { (DATAGRAM_BATCH, datagram_bytes) };
        Ok(UdpSocket {
            socket,
            is_ipv6,
            sends_trains: true,
            datagram_bytes,
            message_bytes,
            received: vec![0; batch * message_bytes],
            messages: Vec::with_capacity(DATAGRAM_BATCH),
            pieces: Vec::with_capacity(DATAGRAM_BATCH),
            addresses: Vec::with_capacity(DATAGRAM_BATCH),
            controls: Vec::with_capacity(DATAGRAM_BATCH),
        })
    }

    /// Takes what has arrived, a batch at most, and calls `handle` with the sender of each datagram, its bytes, and whether a
    /// queue has marked it. Longer ones than the socket was opened for are left out. Returns whether there may be more.
    ///
    /// # Errors
    /// The kernel's reason; [`io::ErrorKind::WouldBlock`] if nothing has arrived.
    pub fn receive(&mut self, mut handle: impl FnMut(SocketAddr, &[u8], bool)) -> io::Result<bool> {
        self.clear();
        for buffer in self.received.chunks_exact_mut(self.message_bytes) {
            self.pieces.push(libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() });
            // SAFETY: all-zero is a valid `sockaddr_storage`.
            self.addresses.push(unsafe { zeroed() });
            self.controls.push([0; 8]);
        }
        let batch = self.pieces.len();
        for place in 0..batch {
            let mut message = self.message(place, place, 1);
            message.msg_control = self.controls[place].as_mut_ptr().cast();
            message.msg_controllen = size_of::<ControlMessages>() as _;
            self.messages.push(libc::mmsghdr { msg_hdr: message, msg_len: 0 });
        }
        // SAFETY: the messages point to places in vectors of this socket, which stay where they are during the call.
        let count = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                batch as u32,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        let count = Errno::result(count)? as usize;
        for (place, message) in self.messages[..count].iter().enumerate() {
            let Some(from) = read_address(&self.addresses[place]) else { continue };
            if message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 {
                continue;
            }
            let begin = place * self.message_bytes;
            let bytes = &self.received[begin..begin + message.msg_len as usize];
            let Arrival { segment_bytes, is_marked } = Arrival::read(&message.msg_hdr);
            for datagram in bytes.chunks(segment_bytes.unwrap_or(self.message_bytes)) {
                if datagram.len() <= self.datagram_bytes {
                    handle(from, datagram, is_marked);
                }
            }
        }
        Ok(count == batch)
    }

    /// Sends the first [`DATAGRAM_BATCH`] of `datagrams` to an address, which queues may mark if they are `markable`. Returns
    /// how many the kernel took.
    ///
    /// # Errors
    /// The kernel's reason for not taking the first.
    pub fn send<'a>(
        &mut self,
        to: SocketAddr,
        markable: bool,
        datagrams: impl IntoIterator<Item = &'a [u8]>,
    ) -> io::Result<usize> {
        self.clear();
        let is_markable = markable.then(|| to.ip().to_canonical().is_ipv6());
        for datagram in datagrams.into_iter().take(DATAGRAM_BATCH) {
            let iov_base = datagram.as_ptr().cast_mut().cast();
            self.pieces.push(libc::iovec { iov_base, iov_len: datagram.len() });
        }
        self.addresses.push(write_address(to, self.is_ipv6));
        self.controls.resize(self.pieces.len(), [0; 8]);
        let mut begin = 0;
        while begin < self.pieces.len() {
            let count = if self.sends_trains { train_length(&self.pieces[begin..]) } else { 1 };
            let segment_bytes = (count > 1).then_some(self.pieces[begin].iov_len as u16);
            self.describe(begin, count, Sending { segment_bytes, is_markable });
            begin += count;
        }
        let taken = match self.send_described() {
            // The kernel or the device cannot cut trains, or the path MTU has become less than a datagram.
            Err(Errno::EINVAL | Errno::EIO | Errno::EMSGSIZE | Errno::EOPNOTSUPP)
                if self.messages[0].msg_hdr.msg_iovlen > 1 =>
            {
                self.messages.clear();
                self.describe(0, 1, Sending { segment_bytes: None, is_markable });
                let taken = self.send_described()?;
                self.sends_trains = false;
                taken
            }
            taken => taken?,
        };
        let trains = self.messages[..taken].iter();
        #[allow(clippy::unnecessary_cast, reason = "it is of another type with musl")]
        Ok(trains.map(|train| train.msg_hdr.msg_iovlen as usize).sum())
    }

    /// Adds a message of some pieces for the first address.
    fn describe(&mut self, piece: usize, pieces: usize, sending: Sending) {
        let mut message = self.message(0, piece, pieces);
        sending.write(&mut message, &mut self.controls[self.messages.len()]);
        self.messages.push(libc::mmsghdr { msg_hdr: message, msg_len: 0 });
    }

    fn send_described(&mut self) -> Result<usize, Errno> {
        // SAFETY: the messages point to places in vectors of this socket and to datagrams that `send` has borrowed, which the
        // kernel only reads.
        let sent = unsafe {
            libc::sendmmsg(
                self.socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                self.messages.len() as u32,
                libc::MSG_DONTWAIT as _,
            )
        };
        Errno::result(sent).map(|sent| sent as usize)
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

    fn clear(&mut self) {
        self.messages.clear();
        self.pieces.clear();
        self.addresses.clear();
        self.controls.clear();
    }

    /// Describes some pieces, and the address in a place.
    fn message(&mut self, address: usize, piece: usize, pieces: usize) -> libc::msghdr {
        let length =
            if self.is_ipv6 { size_of::<libc::sockaddr_in6>() } else { size_of::<libc::sockaddr_in>() };
        // SAFETY: all-zero is a valid `msghdr`.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_name = (&raw mut self.addresses[address]).cast();
        message.msg_namelen = length as libc::socklen_t;
        message.msg_iov = &raw mut self.pieces[piece];
        message.msg_iovlen = pieces as _;
        message
    }
}

/// How many of the first pieces are one train: those as long as the first, and a shorter one behind them.
fn train_length(pieces: &[libc::iovec]) -> usize {
    let segment_bytes = pieces[0].iov_len;
    if segment_bytes == 0 {
        return 1;
    }
    let room = (TRAIN_BYTES_MAX / segment_bytes).clamp(1, DATAGRAM_BATCH);
    let equal = pieces.iter().take(room).take_while(|piece| piece.iov_len == segment_bytes).count();
    let has_last =
        equal < room && pieces.get(equal).is_some_and(|last| (1..segment_bytes).contains(&last.iov_len));
    equal + usize::from(has_last)
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
        socket.receive(|from, bytes, _| all.push((from, bytes.to_vec()))).expect("something arrived");
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
                false,
                datagrams.iter().map(Vec::as_slice),
            );
            assert_eq!(sent.expect("there is room"), 3);
            let from = SocketAddr::new(at.parse().expect("an address"), from);
            assert_eq!(received(&mut there), [(from, vec![1; 1]), (from, vec![2; 1400])], "and one too long");
            let nothing = there.receive(|_, _, _| {}).expect_err("nothing more");
            assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        }
    }

    #[test]
    fn trains_arrive_as_datagrams() {
        let (mut here, _) = open("127.0.0.1:0");
        let (mut there, to) = open("[::]:0");
        let lengths = [1400, 1400, 1400, 90, 1400, 90, 90, 1400, 1450, 1450];
        let all: Vec<Vec<u8>> = lengths.iter().zip(0..).map(|(&length, fill)| vec![fill; length]).collect();
        let to = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), to);
        assert_eq!(here.send(to, false, all.iter().map(Vec::as_slice)).expect("there is room"), all.len());
        assert!(here.sends_trains && here.messages.len() == 5, "{} messages", here.messages.len());
        let mut arrived = Vec::new();
        while arrived.len() < all.len() {
            arrived.extend(received(&mut there).into_iter().map(|(_, bytes)| bytes));
        }
        assert_eq!(arrived, all);
    }

    #[test]
    fn marks_are_seen_and_datagrams_can_be_marked_only_if_they_say_so() {
        for (at, local) in [("127.0.0.1", "127.0.0.1:0"), ("127.0.0.1", "[::]:0"), ("::1", "[::]:0")] {
            let (mut here, _) = open(local);
            let (mut there, to) = open("[::]:0");
            // As if a queue had marked all that is sent, except what has a traffic class of its own.
            set(&here.socket, libc::IPPROTO_IP, libc::IP_TOS, 0b11).expect("a socket");
            let _ = set(&here.socket, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, 0b11);
            let to = SocketAddr::new(at.parse().expect("an address"), to);
            let train = [vec![1; 900], vec![2; 900], vec![3; 70]];
            for markable in [false, true, false] {
                here.send(to, markable, train.iter().map(Vec::as_slice)).expect("there is room");
            }
            let mut arrived = Vec::new();
            while arrived.len() < 3 * train.len() {
                let mut ready = [PollFd::new(there.as_fd(), PollFlags::POLLIN)];
                poll(&mut ready, PollTimeout::from(5_000_u16)).expect("it can be asked");
                there
                    .receive(|_, bytes, is_marked| arrived.push((bytes.len(), is_marked)))
                    .expect("something arrived");
            }
            let expected = |is_marked| [900, 900, 70].map(|bytes| (bytes, is_marked));
            assert_eq!(arrived, [true, false, true].map(expected).concat(), "{at} from {local}");
        }
    }

    #[test]
    fn a_datagram_above_the_mtu_is_refused_and_trains_go_on() {
        let (mut here, _) = open("127.0.0.1:0");
        let (mut there, to) = open("127.0.0.1:0");
        let to = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), to);
        let long = vec![0; 65_530];
        let refused = here.send(to, false, [&*long, &*long]).expect_err("longer than any datagram");
        assert_eq!(refused.raw_os_error(), Some(libc::EMSGSIZE));
        assert!(here.sends_trains);
        // A train of more than the kernel's limit of datagrams is more than one message.
        let short = vec![vec![7; 20]; DATAGRAM_BATCH + 9];
        let mut sent = 0;
        while sent < short.len() {
            sent += here.send(to, false, short[sent..].iter().map(Vec::as_slice)).expect("there is room");
        }
        let mut arrived = 0;
        while arrived < short.len() {
            arrived += received(&mut there).len();
        }
        assert_eq!(arrived, short.len());
    }
}
