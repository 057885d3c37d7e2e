//! TCP (RFC 9293), one end of a connection at a time.
//!
//! - [`Connection`]: states, handshake, options, and closing; it combines a sender and a receiver.
//! - `sender`: what is outstanding, loss detection and recovery, retransmission timers, congestion window.
//! - `receiver`: reassembly, acknowledgements and their delay, SACK blocks, ECN feedback, the receive window.
//! - [`congestion`]: congestion control behind one trait.
//! - [`segment`]: what is sent.
//!
//! The stream is counted in 64 bits: the SYN is byte 0, the first byte of data is byte 1. Numbers on the wire are the
//! low 32 bits after adding an initial sequence number, which matters only for writing packets.

pub mod config;
pub mod congestion;
mod connection;
mod info;
mod receiver;
pub mod segment;
mod sender;

pub use config::{Config, Ecn, LossDetection, PathProbing};
pub use congestion::Algorithm;
pub use connection::{Abort, Connection, Event, State};
pub use info::Info;
pub use segment::{Codepoint, Flags, SackBlocks, Segment, SynOptions, Timestamps};
pub use sender::Write;
