//! Transparency: sends unusual frames, and checks that each leaves the far end unchanged.

mod build;
mod capture;
mod catalogue;

use serde::{Deserialize, Serialize};

pub use capture::{
    FrameOutcome, FramesError, TransparencyOptions, TransparencyReport, Verdict, send_and_capture,
};
pub use catalogue::catalogue;

/// A frame to send, with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFrame {
    /// Its name, for people.
    pub name: String,
    /// The frame from its destination address on, without check sequence.
    pub bytes: Vec<u8>,
}

/// The largest number of frames in one call; the number is part of each frame's source address.
pub const FRAMES_MAX: usize = 4096;

/// The source address that marks frame `index`: locally administered, and no port of the laboratory's.
fn source_of(index: usize) -> [u8; 6] {
    [0x02, b'L', b'M', 0xf5, (index >> 8) as u8, index as u8]
}

/// The frame that a source address marks.
fn index_of(frame: &[u8]) -> Option<usize> {
    match frame.get(6..12)? {
        [0x02, b'L', b'M', 0xf5, high, low] => Some(usize::from(*high) << 8 | usize::from(*low)),
        _ => None,
    }
}
