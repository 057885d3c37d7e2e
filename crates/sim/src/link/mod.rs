//! A link: the frames on it, its two ports, how it recovers, and how it is observed.
//!
//! - [`config`]: the description of a link, from which its ports follow.
//! - [`frame`]: the frames of the traffic; [`on_wire`]: what a link carries; [`control_store`]: where its control
//!   frames are stored.
//! - [`scheme`]: how a link recovers what it corrupts.
//! - [`port`]: a port with its queues and the wire that leaves it; [`generator`]: the source of frames at a port.
//! - [`observer`]: the interface of observers.

pub mod config;
pub mod control_store;
pub(crate) mod departures;
pub mod frame;
pub(crate) mod frames;
pub mod generator;
pub mod id;
pub mod observer;
pub mod on_wire;
mod ordered_sets;
pub mod parallel;
pub(crate) mod pipeline;
pub mod port;
pub(crate) mod rare;
pub(crate) mod recirculation;
pub mod scheme;
pub(crate) mod slots;

pub use config::LinkConfig;
pub use control_store::ControlPlace;
pub use frame::{
    COMPACT_HEADER_BYTES, FRAME_BYTES_MIN, FULL_FRAME_BYTES, FlowId, Frame, WIRE_OVERHEAD_BYTES,
};
pub use frames::PORT_QUEUE;
pub use generator::Traffic;
pub use id::{LinkId, PortId, Side};
pub use linkmend_protocol::schedule::QueueLimits;
pub use observer::{NoObserver, ObservedMoment, Observer, Received, Sent, Skip, Skipped};
pub use on_wire::OnWire;
pub use parallel::{ParallelConfig, ParallelQueues, Placement};
pub use port::{PortConfig, PortError};
pub use scheme::{Scheme, Schemes};
