//! The records that follow a capture's first answer on the control socket, until either side closes the connection.
//! Numbers are little-endian.
//!
//! ```text
//! frame      1 | port (bit 0: link), direction (bit 1: outbound), corrupted (bit 2), ... | at_ns 64 | length 32 | kept 32 |
//! bytes
//! progress   2 | kernel_forwards 8 | dropped 64
//! ```

use super::{CaptureProgress, CapturedFrame, Direction};
use crate::side::Side;

const FRAME: u8 = 1;
const PROGRESS: u8 = 2;
const LINK: u8 = 1 << 0;
const OUTBOUND: u8 = 1 << 1;
const CORRUPTED: u8 = 1 << 2;
/// Beside `LINK`: at the port of the second link.
const BACKUP: u8 = 1 << 3;
/// The link has a key.
const TAGGED: u8 = 1 << 4;
const FRAME_HEADER_BYTES: usize = 18;
const PROGRESS_BYTES: usize = 10;
/// Upper bound for the length of a frame (the largest MTU of Ethernet devices is 65,535).
const FRAME_BYTES_MAX: usize = 128 * 1024;

/// A capture consists of its frames and reports of its progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    Frame(CapturedFrame),
    /// The progress of the capture, sent several times a second.
    Progress(CaptureProgress),
}

/// The bytes are not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed capture record (first byte {0})")]
pub struct BadRecord(u8);

impl Record {
    /// Appends the record to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Record::Frame(frame) => {
                let link = match frame.port {
                    Side::Inner => 0,
                    Side::Link => LINK,
                    Side::Backup => LINK | BACKUP,
                };
                let outbound = if frame.direction == Direction::Outbound { OUTBOUND } else { 0 };
                let corrupted = if frame.corrupted { CORRUPTED } else { 0 };
                let tagged = if frame.is_tagged { TAGGED } else { 0 };
                out.extend([FRAME, link | outbound | corrupted | tagged]);
                out.extend(frame.at_ns.to_le_bytes());
                out.extend(frame.length.to_le_bytes());
                out.extend((frame.bytes.len() as u32).to_le_bytes());
                out.extend(&frame.bytes);
            }
            Record::Progress(progress) => {
                out.extend([PROGRESS, u8::from(progress.kernel_forwards)]);
                out.extend(progress.dropped.to_le_bytes());
            }
        }
    }

    /// Reads the first record of `bytes`; returns it with its length, or `None` if it is not complete.
    ///
    /// # Errors
    /// [`BadRecord`].
    pub fn read(bytes: &[u8]) -> Result<Option<(Record, usize)>, BadRecord> {
        let Some(&kind) = bytes.first() else { return Ok(None) };
        let complete = match kind {
            FRAME => read_frame(bytes)?,
            PROGRESS => read_progress(bytes),
            other => return Err(BadRecord(other)),
        };
        Ok(complete)
    }
}

fn read_frame(bytes: &[u8]) -> Result<Option<(Record, usize)>, BadRecord> {
    let (Some(&flags), Some(at_ns), Some(length), Some(kept)) =
        (bytes.get(1), u64_at(bytes, 2), u32_at(bytes, 10), u32_at(bytes, 14))
    else {
        return Ok(None);
    };
    let end = FRAME_HEADER_BYTES + kept as usize;
    let port = match (flags & LINK != 0, flags & BACKUP != 0) {
        (false, false) => Side::Inner,
        (true, false) => Side::Link,
        (true, true) => Side::Backup,
        (false, true) => return Err(BadRecord(FRAME)),
    };
    if flags > (LINK | OUTBOUND | CORRUPTED | BACKUP | TAGGED)
        || kept as usize > FRAME_BYTES_MAX
        || kept > length
    {
        return Err(BadRecord(FRAME));
    }
    let Some(frame) = bytes.get(FRAME_HEADER_BYTES..end) else { return Ok(None) };
    let frame = CapturedFrame {
        at_ns,
        port,
        direction: if flags & OUTBOUND != 0 { Direction::Outbound } else { Direction::Inbound },
        corrupted: flags & CORRUPTED != 0,
        is_tagged: flags & TAGGED != 0,
        length,
        bytes: frame.to_vec(),
    };
    Ok(Some((Record::Frame(frame), end)))
}

fn read_progress(bytes: &[u8]) -> Option<(Record, usize)> {
    let (kernel_forwards, dropped) = (*bytes.get(1)? != 0, u64_at(bytes, 2)?);
    Some((Record::Progress(CaptureProgress { dropped, kernel_forwards }), PROGRESS_BYTES))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
