//! The control plane (appendix C of the paper): finds corrupting links from what their ports count, switches protection on,
//! and off again once a link has been repaired.
//!
//! - [`counters`]: what a port has counted, and how much of it is new since the last poll;
//! - [`detection`]: whether a port's link corrupts, at what rate, and whether that is over.
//!
//! Detection does no I/O and reads no clock: what is true of recorded counters is true of a running daemon.
#![forbid(unsafe_code)]

pub mod counters;
pub mod detection;
