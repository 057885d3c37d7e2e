//! A link: the frames on it, its two ports, how it recovers, and how it is observed.
//!
//! - [`config`]: the description of a link, from which its ports follow.
//! - [`frame`]: frames, and what a link carries.
//! - [`scheme`]: how a link recovers what it corrupts.
//! - [`port`]: a port with its queues and the wire that leaves it.
//! - [`observer`]: the interface of observers.

pub mod config;
pub mod frame;
pub mod id;
pub mod observer;
pub mod port;
pub(crate) mod queue;
pub(crate) mod recirculation;
pub mod scheme;

pub use config::LinkConfig;
pub use frame::{COMPACT_HEADER_BYTES, FRAME_BYTES_MIN, FlowId, Frame, OnWire, WIRE_OVERHEAD_BYTES};
pub use id::{LinkId, PortId, Side};
pub use observer::{NoObserver, Observer, Present, Received, Sent, Skip, Skipped};
pub use port::{PortConfig, PortError};
pub use queue::QueueLimits;
pub use scheme::{Scheme, Schemes};
