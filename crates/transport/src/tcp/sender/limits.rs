//! What limits a sender, and for how long (Linux: `tcpi_busy_time`, `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`).

use super::Sender;
use crate::time::{Instant, Nanos};

/// What a sender waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Limit {
    /// There is nothing to send, and everything is acknowledged.
    #[default]
    Idle,
    /// The network: the congestion window, or acknowledgements.
    Network,
    /// The peer's window, while the congestion window has room.
    PeerWindow,
    /// The application, which waits for room in the send buffer, while both windows have some.
    SendBuffer,
}

/// The time spent in each.
#[derive(Debug, Clone, Default)]
pub(super) struct Limits {
    limit: Limit,
    since: Instant,
    network: Nanos,
    peer_window: Nanos,
    send_buffer: Nanos,
}

/// Times until now; the last two are parts of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LimitedTimes {
    pub busy: Nanos,
    pub peer_window: Nanos,
    pub send_buffer: Nanos,
}

impl Limits {
    fn change(&mut self, now: Instant, limit: Limit) {
        *self = self.at(now);
        self.limit = limit;
    }

    fn at(&self, now: Instant) -> Limits {
        let mut limits = Limits { since: now, ..self.clone() };
        let span = now.since(self.since);
        match self.limit {
            Limit::Idle => (),
            Limit::Network => limits.network = self.network + span,
            Limit::PeerWindow => limits.peer_window = self.peer_window + span,
            Limit::SendBuffer => limits.send_buffer = self.send_buffer + span,
        }
        limits
    }

    pub fn times(&self, now: Instant) -> LimitedTimes {
        let Limits { network, peer_window, send_buffer, .. } = self.at(now);
        LimitedTimes { busy: network + peer_window + send_buffer, peer_window, send_buffer }
    }
}

impl Sender {
    /// Nothing more can be sent now: records why.
    pub fn note_limit(&mut self, now: Instant) {
        if self.limits.is_none() {
            return;
        }
        let unsent = self.written.saturating_sub(self.next);
        let room = self.window_end().saturating_sub(self.next);
        let limit = if self.board.is_empty() && unsent == 0 {
            Limit::Idle
        } else if self.board.pipe() >= self.window.cwnd {
            Limit::Network
        } else if room < unsent.min(u64::from(self.mss)) {
            Limit::PeerWindow
        } else if unsent == 0 && self.buffer.is_waited_for(self.progress()) {
            Limit::SendBuffer
        } else {
            Limit::Network
        };
        if let Some(limits) = &mut self.limits
            && limit != limits.limit
        {
            limits.change(now, limit);
        }
    }
}
