//! What is reported of classes with a deadline.

use serde::{Deserialize, Serialize};

/// Classes with a deadline, in both directions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InTimeReport {
    /// Those that this end sends.
    pub sent: Vec<SentInTime>,
    /// Those that the peer sends.
    pub received: Vec<ReceivedInTime>,
    /// Messages that do not follow the format.
    pub malformed: u64,
}

/// A class that this end sends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SentInTime {
    pub deadline_ns: u64,
    /// Whether the peer takes its frames. Otherwise, the other mode than the link's protects them.
    pub is_ready: bool,
    pub round_trip_ns: Option<u64>,
    pub frames: u64,
    pub parity_frames: u64,
    /// Frames that were sent again because the peer asked for them.
    pub copies: u64,
    /// Requests for frames that would have come late.
    pub refused: u64,
}

/// A class that the peer sends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReceivedInTime {
    pub deadline_ns: u64,
    /// Parity is sent after so many frames, and is so many frames.
    pub group_frames: u8,
    pub group_parity: u8,
    pub delivered: u64,
    /// Of the delivered ones, those that parity has restored.
    pub restored: u64,
    /// Frames that had not arrived by their deadline.
    pub lost: u64,
    /// Frames that arrived, and could be delivered only after their deadline.
    pub late: u64,
    pub duplicates: u64,
}
