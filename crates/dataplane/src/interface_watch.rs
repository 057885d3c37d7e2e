//! Watches the two interfaces of a link end, and tells the loop about changes.
//!
//! The kernel announces every change of an interface to the group RTNLGRP_LINK (rtnetlink(7)). A separate thread waits
//! for these announcements, so they cost the loop nothing. Traffic alone would reveal most changes late, and some
//! never.

use linkmend_linux::route::{self, InterfaceFacts};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

/// RTNLGRP_LINK as a bit of an address.
const LINK_GROUP: u32 = 1;
/// Larger than any single announcement.
const RECEIVE_BUFFER_BYTES: usize = 64 * 1024;
/// `struct nlmsghdr`, and where `struct ifinfomsg` behind it holds the index.
const HEADER_BYTES: usize = 16;
const INDEX_OFFSET: usize = HEADER_BYTES + 4;

/// A running watch. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct InterfaceWatch {
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl InterfaceWatch {
    /// Watches the interfaces with these indices. `tell` is called with their state now and after every change, `None`
    /// for an interface that is gone; it returns whether anybody still listens.
    pub(crate) fn start(
        indices: [u32; 2],
        tell: impl Fn(u32, Option<InterfaceFacts>) -> bool + Send + 'static,
    ) -> io::Result<InterfaceWatch> {
        let announcements = announcements()?;
        let (wake, woken) = UnixStream::pair()?;
        let tell = move |index: u32| {
            // A lookup that fails now is repeated at the next announcement.
            let Ok(facts) = route::interface_by_index(index) else { return true };
            tell(index, facts)
        };
        let thread = std::thread::Builder::new().name("interfaces".to_owned());
        let thread = thread.spawn(move || {
            if indices.iter().all(|index| tell(*index)) {
                listen(&announcements, &woken, indices, tell);
            }
        })?;
        Ok(InterfaceWatch { wake, thread: Some(thread) })
    }
}

impl Drop for InterfaceWatch {
    fn drop(&mut self) {
        let _ = self.wake.shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn announcements() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, LINK_GROUP))?;
    Ok(socket)
}

fn listen(announcements: &OwnedFd, woken: &UnixStream, indices: [u32; 2], tell: impl Fn(u32) -> bool) {
    let mut buffer = vec![0; RECEIVE_BUFFER_BYTES];
    loop {
        let mut ready = [
            PollFd::new(announcements.as_fd(), PollFlags::POLLIN),
            PollFd::new(woken.as_fd(), PollFlags::POLLIN),
        ];
        if poll(&mut ready, PollTimeout::NONE).is_err_and(|errno| errno != Errno::EINTR) {
            return;
        }
        if ready[1].any().unwrap_or(true) {
            return;
        }
        let changed = match recv(announcements.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
            Ok(length) => {
                let named = named_in(&buffer[..length]);
                indices.map(|index| named.contains(&index))
            }
            // The announcements did not all fit the socket, so anything may have changed.
            Err(Errno::ENOBUFS) => [true, true],
            Err(Errno::EAGAIN | Errno::EINTR) => continue,
            Err(_) => return,
        };
        for (index, changed) in indices.into_iter().zip(changed) {
            if changed && !tell(index) {
                return;
            }
        }
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

/// What the loop needs to know about a port's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InterfaceState {
    pub(crate) mtu: u32,
    pub(crate) up: bool,
    pub(crate) carrier: bool,
}

impl From<&InterfaceFacts> for InterfaceState {
    fn from(facts: &InterfaceFacts) -> InterfaceState {
        InterfaceState { mtu: facts.mtu, up: facts.up, carrier: facts.carrier }
    }
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
