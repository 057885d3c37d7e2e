//! Transport protocols of hosts as state machines: no I/O, no clock, no threads, no payload.
//!
//! - [`tcp`]: a [`tcp::Connection`] is one end of a TCP connection: SACK, RACK-TLP, PRR, ECN, undo of spurious
//!   retransmissions, and congestion control behind a trait.
//! - [`roce`]: a queue pair of RoCEv2's reliable connection (RC).
//! - [`wire`]: segments and packets as Ethernet frames, for captures.
//! - [`time`]: instants and spans in nanoseconds of the driver's clock.
//! - [`timer_wheel`]: when a timer of the Linux kernel expires, for drivers that simulate one.
//!
//! A driver calls `handle_*` with the time and what happened, then `poll_*` until it returns `None`, and again no later
//! than `next_timeout`. The state machines count bytes but never see them. They allocate only when a window becomes
//! larger than ever before, not for each segment.
#![forbid(unsafe_code)]

pub mod roce;
pub mod tcp;
pub mod time;
pub mod timer_wheel;
pub mod wire;

pub use time::{Instant, Nanos};
