//! The host's descriptors.

use crate::host::Host;
use crate::settings::Settings;
use linkmend_transport::tcp::{Abort, State};
use std::collections::BTreeMap;

/// What a descriptor stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// Neither connected nor listening.
    Fresh,
    Listening,
    Connected,
    /// A file of so many bytes.
    File(u64),
}

/// A descriptor of a socket.
#[derive(Debug, Clone)]
pub struct Descriptor {
    pub role: Role,
    pub is_nonblocking: bool,
    /// `close` resets the connection (`SO_LINGER` with a time of 0).
    pub resets_on_close: bool,
    /// No more is written after `shutdown`, and no more is read.
    pub is_writing_over: bool,
    pub is_reading_over: bool,
    pub settings: Settings,
}

impl Descriptor {
    /// Of a new socket.
    pub fn new(settings: Settings) -> Descriptor {
        Descriptor {
            role: Role::Fresh,
            is_nonblocking: false,
            resets_on_close: false,
            is_writing_over: false,
            is_reading_over: false,
            settings,
        }
    }
}

/// All descriptors, by the numbers that the script gives them.
#[derive(Debug, Default)]
pub struct Descriptors {
    pub open: BTreeMap<i64, Descriptor>,
    /// Whether the connection that a listening socket got is accepted.
    pub is_accepted: bool,
}

impl Descriptors {
    /// The socket that takes connections.
    pub fn listening(&self) -> Option<&Descriptor> {
        self.open.values().find(|descriptor| descriptor.role == Role::Listening)
    }

    /// Whether `accept` would return.
    pub fn is_acceptable(&self, host: &Host) -> bool {
        host.is_established && !self.is_accepted
    }
}

/// The bits of `poll` (see its manual page).
pub const POLL_BITS: [(&str, i64); 8] = [
    ("POLLIN", 0x1),
    ("POLLPRI", 0x2),
    ("POLLOUT", 0x4),
    ("POLLERR", 0x8),
    ("POLLHUP", 0x10),
    ("POLLRDNORM", 0x40),
    ("POLLWRNORM", 0x100),
    ("POLLRDHUP", 0x2000),
];

/// What `poll` reports of a descriptor, without regard to what it was asked for.
pub fn poll_events(descriptors: &Descriptors, descriptor: &Descriptor, host: &Host) -> i64 {
    const READ: i64 = 0x1 | 0x40;
    const WRITE: i64 = 0x4 | 0x100;
    const ERROR: i64 = 0x8;
    const HANG_UP: i64 = 0x10;
    const PEER_CLOSED: i64 = 0x2000;
    let connection = match (&descriptor.role, &host.connection) {
        (Role::Listening, _) => return if descriptors.is_acceptable(host) { READ } else { 0 },
        (Role::Connected, Some(connection)) => connection,
        _ => return WRITE | HANG_UP,
    };
    let state = connection.state();
    let mut events = 0;
    if connection.unread() > 0 || host.is_peer_closed || state == State::Closed {
        events |= READ;
    }
    if host.is_peer_closed || state == State::Closed {
        events |= PEER_CLOSED;
    }
    if host.abort.is_some() {
        events |= ERROR;
    }
    let both_over = host.is_peer_closed && descriptor.is_writing_over;
    if state == State::Closed || both_over {
        events |= HANG_UP;
    }
    let may_send = matches!(state, State::Established | State::CloseWait | State::Closed);
    if may_send && (connection.is_writable() || state == State::Closed) {
        events |= WRITE;
    }
    events
}

/// The name of the error that a call reports for the end of a connection.
pub fn error_of(abort: Abort) -> &'static str {
    match abort {
        Abort::Refused => "ECONNREFUSED",
        Abort::Reset => "ECONNRESET",
        Abort::TimedOut => "ETIMEDOUT",
        Abort::Requested => "ECONNABORTED",
    }
}
