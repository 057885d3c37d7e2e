//! The control plane (appendix C of the paper): finds corrupting links from what their ports count, switches protection on,
//! and off again once a link has been repaired.
//!
//! - [`counters`]: what a port has counted, and how much of it is new since the last poll;
//! - [`detection`]: whether a port's link corrupts, at what rate, and whether that is over;
//! - [`forecast`]: what forward error correction lets expect, before frames are lost;
//! - [`Cabling`]: which [port](PortName) faces which;
//! - [`exchange`]: what the two ends of a link tell each other;
//! - [`findings`]: what agents tell everybody about their ports;
//! - [`agent`]: what one machine decides, and asks others for;
//! - [`evaluation`]: how good detection is, on links of which the truth is known;
//! - [`planning`]: which links of a topology corrupt, for the fleet's planner;
//! - [`recording`]: counters from a file, and what would have been decided.
//!
//! All of this does no I/O and reads no clock: what is true of recorded counters is true of a running daemon. Around it are
//!
//! - [`source`]: where counters come from;
//! - [`bus`]: where agents put what they ask for and what they have done;
//! - [`server`]: where servers of Redis are, which may be the bus or have counters;
//! - [`actuator`]: what carries requests out;
//! - [`config`]: what people write;
//! - [`daemon`]: the loop that drives all of it.
#![forbid(unsafe_code)]

pub mod actuator;
pub mod agent;
pub mod bus;
mod cabling;
pub mod config;
pub mod counters;
pub mod daemon;
pub mod detection;
pub mod evaluation;
pub mod exchange;
pub mod findings;
pub mod forecast;
mod memory;
pub mod planning;
mod port_name;
pub mod recording;
pub mod server;
pub mod source;

pub use cabling::{Cabling, CablingError, HeardCable};
pub use port_name::{PortName, PortNameError};
