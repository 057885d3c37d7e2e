//! States of the transmitter, and its answers to offered frames.

use crate::sequence::SequenceNumber;

/// The states of section 5.1.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransmitState {
    Off,
    /// Sends INIT until it is echoed.
    Init,
    /// Numbers new frames: the only state that accepts them.
    Advance,
    /// Sends everything outstanding again.
    Replay,
    /// Has given up what was outstanding.
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

/// What would become of a frame that is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admits {
    /// It gets a number.
    Numbered,
    /// It is sent without a number.
    Ineligible,
    /// It has to wait.
    Blocked(BlockedBy),
    /// It is dropped.
    Discarded,
}

/// What becomes of a frame that is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Send it with this number, and keep it until it is released.
    Numbered(SequenceNumber),
    /// Send it without a number.
    Ineligible,
    /// It has to wait. Offer it again later.
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
    /// A replay goes first.
    Replay,
    /// The frame action is *block*, in INIT or FLUSH.
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

/// What has led to FLUSH.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlushCause {
    ReplayCount,
    PcsLost,
    DataAge,
}
