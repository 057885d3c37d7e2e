//! Events for the operator's log.

use crate::config::Format;
use crate::fallback::Level;
use crate::session::SessionNumber;

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum CloseReason {
    /// Protection was switched off.
    Requested,
    /// The automatic fallback switched it off.
    Fallback,
    /// The peer fell silent, or has lost the session (it restarted or stalled).
    PeerLost,
    /// The peer did not confirm the end in time.
    DrainTimeout,
    /// The peer began a new session.
    Replaced,
    /// The driver reported a stall, in which the kernel had taken over.
    Stalled,
    /// The driver stops, and the kernel takes over.
    Stopped,
    /// The driver of the peer stops, and has asked for the end.
    PeerStopped,
}

/// A change of state worth a line in the log. Events are kept until polled, the latest 64 of them.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Event {
    /// The peer has proved that it hears this end, for the first time or after a long silence.
    PeerSeen,
    /// No such proof of the peer for three hello intervals.
    PeerGone,
    /// The peer says hello as version 0.1 did, so it is known only while there is a session; reported once.
    PeerIsOlder,
    /// The peer uses another format, so neither direction can be protected; reported once.
    FormatsDiffer {
        /// The format of this end.
        own: Format,
        /// The format of the peer.
        peer: Format,
    },
    /// The sender's session is open: frames are protected from now on.
    SessionOpened(SessionNumber),
    /// The sender's session ended; `abandoned` frames were neither acknowledged nor known lost.
    SessionClosed {
        /// The session that closed.
        session: SessionNumber,
        /// The reason why it closed.
        reason: CloseReason,
        /// Frames whose fate is unknown.
        abandoned: u64,
    },
    /// The receiver accepted the peer's session.
    SessionAccepted(SessionNumber),
    /// The receiver's session ended.
    SessionEnded {
        /// The session that ended.
        session: SessionNumber,
        /// The reason why it ended.
        reason: CloseReason,
    },
    /// The automatic fallback changed the level.
    FallbackChanged {
        /// The level from now on.
        level: Level,
        /// The actual loss rate that caused it; `None` if a dormant link is tried again.
        loss: Option<f64>,
    },
    /// The number of retransmitted copies changed.
    CopiesChanged {
        /// The number from now on.
        copies: u8,
        /// The actual loss rate for which it was chosen.
        loss: f64,
    },
}
