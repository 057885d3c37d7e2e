//! Captures: frames that pass through a link end's two ports, for people to look at.
//!
//! While a capture is on, the loop copies frames that pass its filter into a bounded ring (`tap`), and the control
//! socket sends them to the client ([`record`](linkmend_control::capture::record) is the format). Frames that find the ring full are counted, and nothing
//! waits. While no capture is on, the loop only checks for each frame whether a list is empty.
//!
//! [`Layers`] takes a frame apart, [`Filter`] and [`FrameClass`](linkmend_control::capture::FrameClass) select frames, [`describe`] writes them as text.

mod class;
pub mod describe;
mod filter;
mod layers;
mod repetition;
mod tap;
#[cfg(test)]
mod tests;

pub use filter::{Filter, FilterError};
pub use layers::Layers;
pub use repetition::Repetition;
pub use tap::{CAPTURES_MAX, Capture};
pub(crate) use tap::{Tap, Taps};
