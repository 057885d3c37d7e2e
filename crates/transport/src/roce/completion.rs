//! What a queue pair is asked to do, and what it reports.

use super::packet::{Nak, Opcode};
use std::fmt;

/// Maximum length of a message in bytes, according to the specification.
pub const MESSAGE_BYTES_MAX: u32 = 1 << 31;

/// A message to be sent: a work request of the send queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub opcode: Opcode,
    /// Length of the message in bytes (for a READ, the bytes to be read); 0 to 2^31.
    pub bytes: u32,
}

/// The number of a request: requests are counted from zero in the order in which they are posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Why a request was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostError {
    /// The message is longer than 2^31 bytes.
    TooLong { bytes: u32 },
    /// This many messages are already waiting, and the send queue is full.
    QueueFull { messages: u32 },
    /// READs require go-back-N: a NIC with selective repeat would have to keep their responses, which is not
    /// implemented.
    ReadNeedsGoBackN,
    /// The queue pair has failed.
    Failed,
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PostError::TooLong { bytes } => {
                write!(f, "a message of {bytes} bytes is longer than {MESSAGE_BYTES_MAX} bytes")
            }
            PostError::QueueFull { messages } => {
                write!(f, "the send queue is full with {messages} messages; wait for a completion")
            }
            PostError::ReadNeedsGoBackN => f.write_str("READs need go-back-N instead of selective repeat"),
            PostError::Failed => f.write_str("the queue pair has failed; set up a new one"),
        }
    }
}

impl std::error::Error for PostError {}

/// What has happened to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// A request has been acknowledged completely. For a READ, everything it requested has arrived.
    Sent { id: RequestId, opcode: Opcode, bytes: u32 },
    /// A request has failed. After the first that fails, all others are flushed.
    Failed { id: RequestId, failure: Failure },
    /// A message of the peer other than a READ has arrived. Messages are counted from zero. A NIC tells its host only
    /// of SENDs; the arrival of a WRITE is reported for measurements.
    Received { number: u64, opcode: Opcode, bytes: u32 },
}

/// Why a request has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Timeouts and NAKs without progress exceeded the retry counter (section 9.9.2).
    RetriesExceeded,
    /// The receiver was not ready more often than the RNR retry counter allows (section 9.7.5.2.8).
    RnrRetriesExceeded,
    /// The responder has refused it.
    Refused(Nak),
    /// The queue pair failed because of something else.
    Flushed,
}
