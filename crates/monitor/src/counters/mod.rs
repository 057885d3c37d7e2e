//! What a port has counted, and how much of it is new since the last poll.

mod difference;
mod fec;
mod reading;
mod retry;

pub use difference::{Codewords, Difference, Increment, Irregularity};
pub use fec::{ERRORS_COUNTED, FecCode, FecReading, LANES_MOST, Lanes, codewords_in};
pub(crate) use fec::{FRAME_BITS, codewords_of_a_frame, frames_lost};
pub use reading::Reading;
pub use retry::RetryReading;
