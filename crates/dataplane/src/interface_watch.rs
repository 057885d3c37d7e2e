//! Watches the interfaces of a link end, and tells the loop about changes.
//!
//! The kernel announces every change of an interface. A separate thread waits for these announcements, so they cost the
//! loop nothing. Traffic alone would reveal most changes late, and some never.

use linkmend_control::report::PortState;
use linkmend_linux::announcements::Announcements;
use linkmend_linux::route::{self, InterfaceFacts};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

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
        indices: Vec<u32>,
        tell: impl Fn(u32, Option<InterfaceFacts>) -> bool + Send + 'static,
    ) -> io::Result<InterfaceWatch> {
        let announcements = Announcements::listen()?;
        let (wake, woken) = UnixStream::pair()?;
        let tell = move |index: u32| {
            // A lookup that fails now is repeated at the next announcement.
            let Ok(facts) = route::interface_by_index(index) else { return true };
            tell(index, facts)
        };
        let thread = std::thread::Builder::new().name("interfaces".to_owned());
        let thread = thread.spawn(move || {
            if indices.iter().all(|index| tell(*index)) {
                listen(announcements, &woken, &indices, tell);
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

fn listen(mut announcements: Announcements, woken: &UnixStream, indices: &[u32], tell: impl Fn(u32) -> bool) {
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
        let Ok(changed) = announcements.read() else { return };
        if indices.iter().any(|&index| changed.includes(index) && !tell(index)) {
            return;
        }
    }
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

impl From<InterfaceState> for PortState {
    fn from(interface: InterfaceState) -> PortState {
        match interface {
            InterfaceState { up: false, .. } => PortState::Down,
            InterfaceState { carrier: false, .. } => PortState::NoCarrier,
            _ => PortState::Up,
        }
    }
}
