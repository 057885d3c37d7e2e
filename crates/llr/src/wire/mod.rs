//! Bytes on the wire: the preamble with a number, control ordered sets, and the frame check sequence of poisoned frames.
//!
//! The layouts come from the only public descriptions: an article on the wire format (12 August 2026) and a taxonomy of
//! Ultra Ethernet messages. Where the two contradict each other, the documentation of the format says so.

mod check_sequence;
mod control;
mod preamble;

pub use check_sequence::{integrity, poisoned};
pub use control::{
    BLOCK_OCTETS, ControlError, Message, decode_block, decode_xmii, encode_block, encode_xmii,
};
pub use preamble::{PREAMBLE_OCTETS, Preamble, PreambleError};
