//! The states of a connection and the transitions between them (RFC 9293, section 3.3.2).

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum State {
    /// There is no connection, either not yet or no longer.
    #[default]
    Closed,
    /// Waits for the peer to open it.
    Listen,
    /// A SYN was sent.
    SynSent,
    /// A SYN was received and answered.
    SynReceived,
    Established,
    /// This end has closed; its FIN is not acknowledged.
    FinWait1,
    /// This end has closed; its FIN is acknowledged.
    FinWait2,
    /// The peer has closed.
    CloseWait,
    /// Both ends have closed at the same time; the FIN of this one is not acknowledged.
    Closing,
    /// The peer has closed and then this end; its FIN is not acknowledged.
    LastAck,
    /// Both ends have closed; waits for what may still be in flight.
    TimeWait,
}

impl State {
    /// Whether both ends know each other's numbers.
    pub fn is_synchronized(self) -> bool {
        !matches!(self, State::Closed | State::Listen | State::SynSent)
    }

    /// Whether the application may write.
    pub fn may_write(self) -> bool {
        !matches!(self, State::FinWait1 | State::FinWait2 | State::Closing | State::LastAck | State::TimeWait)
    }

    /// Whether data of the peer may still arrive.
    pub fn may_receive(self) -> bool {
        matches!(self, State::SynReceived | State::Established | State::FinWait1 | State::FinWait2)
    }

    /// The application has closed.
    pub(super) fn after_close(self) -> State {
        match self {
            State::Established | State::SynReceived => State::FinWait1,
            State::CloseWait => State::LastAck,
            other => other,
        }
    }

    /// The FIN of the peer has arrived, and everything before it.
    pub(super) fn after_peer_fin(self) -> State {
        match self {
            State::SynReceived | State::Established => State::CloseWait,
            State::FinWait1 => State::Closing,
            State::FinWait2 => State::TimeWait,
            other => other,
        }
    }

    /// The FIN of this end is acknowledged.
    pub(super) fn after_fin_acknowledged(self) -> State {
        match self {
            State::FinWait1 => State::FinWait2,
            State::Closing => State::TimeWait,
            State::LastAck => State::Closed,
            other => other,
        }
    }
}
