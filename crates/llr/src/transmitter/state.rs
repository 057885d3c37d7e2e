//! States of the transmitter, and its answers to offered frames.

use crate::sequence::SequenceNumber;

/// The states of section 5.1.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransmitState {
    Off,
    /// Sends INIT until it is echoed.
    Init,
    /// Accepts and numbers new frames, which no other state does.
    Advance,
    /// Retransmits everything outstanding.
    Replay,
    /// Has given up on everything that was outstanding.
    Flush,
}

impl TransmitState {
    /// Whether frames are numbered and kept: ADVANCE or REPLAY.
    pub const fn is_running(self) -> bool {
        matches!(self, TransmitState::Advance | TransmitState::Replay)
    }
}

/// All states of the transmitter.
pub const TRANSMIT_STATES: [TransmitState; 5] = [
    TransmitState::Off,
    TransmitState::Init,
    TransmitState::Advance,
    TransmitState::Replay,
    TransmitState::Flush,
];

/// What would happen to an offered frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admits {
    /// It is given a number.
    Numbered,
    /// It is sent without a number.
    Ineligible,
    /// It must wait.
    Blocked(BlockedBy),
    /// It is dropped.
    Discarded,
}

/// What happens to an offered frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Send it with this number, and keep it until it is released.
    Numbered(SequenceNumber),
    /// Send it without a number.
    Ineligible,
    /// It must wait. Offer it again later.
    Blocked(BlockedBy),
    /// It is dropped.
    Discarded,
}

/// What a frame waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockedBy {
    /// Too many frames are outstanding.
    Frames,
    /// Too many bytes would be outstanding.
    Bytes,
    /// A replay has priority.
    Replay,
    /// The transmitter is in INIT or FLUSH, and the frame action is *block*.
    Action,
    /// The peer pauses the link.
    Pause,
    /// The PCS is lost.
    Pcs,
}

/// Why a frame is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Acknowledged,
    /// It was given up, and may or may not have arrived.
    Flushed,
}

/// What caused FLUSH.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlushCause {
    ReplayCount,
    PcsLost,
    DataAge,
}
