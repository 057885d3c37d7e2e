//! What the kernel announces about interfaces: every change of one, to the group RTNLGRP_LINK (rtnetlink(7)).

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// RTNLGRP_LINK as a bit of an address.
const LINK_GROUP: u32 = 1;
/// Larger than any single announcement.
const RECEIVE_BUFFER_BYTES: usize = 64 * 1024;
/// `struct nlmsghdr`, and where `struct ifinfomsg` behind it holds the index.
const HEADER_BYTES: usize = 16;
const INDEX_OFFSET: usize = HEADER_BYTES + 4;

/// Listens to announcements; readable when there is one.
#[derive(Debug)]
pub struct Announcements {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

/// Which interfaces have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// Those with these indices; none if nothing was announced.
    Interfaces(Vec<u32>),
    /// Any: the announcements did not all fit the socket.
    Unknown,
}

impl Changed {
    /// Whether the interface with this index may have changed.
    pub fn includes(&self, index: u32) -> bool {
        match self {
            Changed::Interfaces(indices) => indices.contains(&index),
            Changed::Unknown => true,
        }
    }
}

impl Announcements {
    /// Begins to listen, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// If the kernel refuses the socket.
    pub fn listen() -> io::Result<Announcements> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, LINK_GROUP))?;
        Ok(Announcements { socket, buffer: vec![0; RECEIVE_BUFFER_BYTES] })
    }

    /// Reads what has been announced, without waiting.
    ///
    /// # Errors
    /// If the socket can no longer be read.
    pub fn read(&mut self) -> io::Result<Changed> {
        match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
            Ok(length) => Ok(Changed::Interfaces(named_in(&self.buffer[..length]))),
            Err(Errno::ENOBUFS) => Ok(Changed::Unknown),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(Changed::Interfaces(Vec::new())),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for Announcements {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Indices of the interfaces that announcements are about. Nothing else is read from them: the kernel is asked for the
/// state, because an announcement can mislead (a port that leaves a bridge is announced as deleted, too).
fn named_in(mut bytes: &[u8]) -> Vec<u32> {
    let mut named = Vec::new();
    while let Some(length) = bytes.first_chunk().map(|length| u32::from_ne_bytes(*length) as usize) {
        if let Some(index) = bytes.get(INDEX_OFFSET..).and_then(|rest| rest.first_chunk()) {
            named.push(u32::from_ne_bytes(*index));
        }
        // Messages are aligned to 4 bytes. A length shorter than the header marks an invalid one.
        match bytes.get(length.next_multiple_of(4)..) {
            Some(rest) if length >= HEADER_BYTES => bytes = rest,
            _ => break,
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_are_read_to_the_last_and_no_further() {
        let message = |index: u32, attribute_bytes: usize| {
            let length = 32 + attribute_bytes;
            let mut bytes = vec![0; length.next_multiple_of(4)];
            bytes[..4].copy_from_slice(&(length as u32).to_ne_bytes());
            bytes[INDEX_OFFSET..INDEX_OFFSET + 4].copy_from_slice(&index.to_ne_bytes());
            bytes
        };
        let two = [message(3, 5), message(9, 0)].concat();
        assert_eq!(named_in(&two), [3, 9]);
        assert_eq!(named_in(&two[..two.len() - 20]), [3]);
        assert!(named_in(&[]).is_empty());
        // A length of 0 must not lead to an endless loop.
        assert_eq!(named_in(&[0; 64]), [0]);
    }
}
