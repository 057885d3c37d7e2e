//! The application's interface to its connection.

use super::{Abort, Connection, Reset, State, handshake};
use crate::tcp::sender::Write;
use crate::time::{Instant, Nanos};

impl Connection {
    /// Whether what arrives counts as read immediately, which it does unless told otherwise; if not, it fills the
    /// receive buffer until [`read`](Self::read).
    pub fn set_reads_at_once(&mut self, reads_at_once: bool) {
        self.receiver.set_reads_at_once(reads_at_once);
    }

    /// Whether small segments wait for the acknowledgement of the small one before (RFC 9293, section 3.7.4, with
    /// Minshall's modification); they do not unless told so.
    pub fn set_nagle(&mut self, nagle: bool) {
        self.sender.set_nagle(nagle);
    }

    /// Sets the maximum number of bytes that may be written but not acknowledged, at least one; what was written stays.
    pub fn set_send_buffer(&mut self, bytes: u64) {
        self.sender.set_send_buffer(bytes);
    }

    /// Whether small segments wait until this is reset (Linux: `TCP_CORK`).
    pub fn set_cork(&mut self, is_corked: bool) {
        self.sender.set_cork(is_corked);
    }

    /// Sets the number of unsent bytes at which the send buffer accepts no more (Linux: `TCP_NOTSENT_LOWAT`).
    pub fn set_unsent_limit(&mut self, bytes: u64) {
        self.sender.set_unsent_limit(bytes);
    }

    /// Sets the maximum memory of arrived packets until they are read, if memory counts.
    pub fn set_receive_memory(&mut self, bytes: u32) {
        self.receiver.set_memory(bytes);
    }

    /// How long data may stay unacknowledged, or probes of a window unanswered, before the connection is given up (RFC 5482;
    /// Linux: `TCP_USER_TIMEOUT`), counted as in Linux from the first timeout or probe on; after the usual number of them if
    /// `None`.
    pub fn set_user_timeout(&mut self, timeout: Option<Nanos>) {
        self.user_timeout = timeout;
    }

    /// The route to the peer carries segments of `bytes` without options from now on. If this end searches for longer
    /// ones, the search restarts; otherwise it does not use longer ones.
    pub fn set_route_segment(&mut self, bytes: u32) {
        if let Some(options) = self.options {
            self.sender.set_route(handshake::payload(bytes, options));
        }
    }

    /// Sets whether the host's own queue is full. While it is, nothing leaves, and attempts do not count as sent.
    pub fn set_queue_full(&mut self, is_full: bool) {
        self.is_queue_full = is_full;
        self.sender.set_queue_full(is_full);
    }

    /// Writes up to `bytes` more, also before the connection is open. Returns how many there was room for in the send
    /// buffer: none after [`close`](Self::close). If it counts the memory of packets, it takes no more than fills one: write
    /// the rest after [`poll_transmit`](Self::poll_transmit), until the answer is 0.
    pub fn write(&mut self, bytes: u64) -> u64 {
        self.write_as(bytes, Write::default())
    }

    /// The same, with this kind of write.
    pub fn write_as(&mut self, bytes: u64, kind: Write) -> u64 {
        if !self.state.may_write() || self.closes_when_established {
            return 0;
        }
        let written = self.sender.write(bytes, kind);
        self.has_written |= written > 0;
        written
    }

    /// Whether an application that waits for room in the send buffer should write now.
    pub fn is_writable(&self) -> bool {
        self.sender.is_writable()
    }

    /// Reads up to `bytes` of what has arrived; returns how many there were.
    pub fn read(&mut self, bytes: u64) -> u64 {
        self.receiver.read(bytes)
    }

    /// Bytes that have arrived in order but have not been read.
    pub fn unread(&self) -> u64 {
        self.receiver.unread()
    }

    /// Closes this end: what was written is still sent, then a FIN. What the peer sends is still received (RFC 9293,
    /// section 3.10.4).
    pub fn close(&mut self, now: Instant) {
        match self.state {
            State::SynSent | State::SynReceived if self.has_written => self.closes_when_established = true,
            State::Listen | State::SynSent => self.end(None),
            State::SynReceived => self.closes_when_established = true,
            State::Established | State::CloseWait => {
                self.sender.finish();
                self.enter(now, self.state.after_close());
            }
            _ => (),
        }
    }

    /// The same for an application that will not read any more: data that arrives then ends the connection with a RST
    /// (RFC 1122, section 4.2.2.13).
    pub fn close_for_good(&mut self, now: Instant) {
        self.reads_no_more = true;
        self.close(now);
    }

    /// Ends the connection immediately, with a RST if the peer knows about it (RFC 9293, section 3.10.5).
    pub fn abort(&mut self) {
        if self.state.is_synchronized() && self.state != State::TimeWait {
            let acknowledgement = Some(self.receiver.next());
            self.reset = Some(Reset { sequence: self.sender.next(), acknowledgement });
        }
        if self.state != State::Closed {
            self.end(Some(Abort::Requested));
        }
    }
}
