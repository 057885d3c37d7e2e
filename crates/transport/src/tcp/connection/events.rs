//! What a connection reports to its application.

/// Why a connection ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Abort {
    /// The peer answered a SYN with a RST.
    Refused,
    /// The peer sent a RST.
    Reset,
    /// The peer did not answer for too long.
    TimedOut,
    /// The application asked for it.
    Requested,
}

/// Something that the application wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The handshake is over.
    Established,
    /// This many more bytes have arrived in order.
    Delivered(u64),
    /// The peer has acknowledged more of what was written.
    Acknowledged {
        /// Bytes newly acknowledged.
        bytes: u64,
        /// Whether that was all.
        all: bool,
    },
    /// The peer has closed: all of its data has arrived.
    PeerClosed,
    /// Both ends have closed, and this end may forget the connection, or keep it for TIME-WAIT.
    Closed,
    /// The connection has ended early.
    Aborted(Abort),
}

/// Events that wait for the application. There is at most one of each kind, so no queue is needed.
#[derive(Debug, Clone, Default)]
pub(super) struct Events {
    pub established: bool,
    pub delivered: u64,
    pub acknowledged: u64,
    pub all_acknowledged: bool,
    pub peer_closed: bool,
    pub closed: bool,
    pub aborted: Option<Abort>,
}

impl Events {
    /// The next one, in the order in which they can happen.
    pub fn pop(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.established) {
            return Some(Event::Established);
        }
        if self.delivered > 0 {
            return Some(Event::Delivered(std::mem::take(&mut self.delivered)));
        }
        if self.acknowledged > 0 {
            let bytes = std::mem::take(&mut self.acknowledged);
            return Some(Event::Acknowledged { bytes, all: self.all_acknowledged });
        }
        if std::mem::take(&mut self.peer_closed) {
            return Some(Event::PeerClosed);
        }
        if std::mem::take(&mut self.closed) {
            return Some(Event::Closed);
        }
        self.aborted.take().map(Event::Aborted)
    }
}
