//! A deterministic packet-level simulator that drives the state machines of [`linkmend_protocol`].
//!
//! - [`kernel`]: time in integer picoseconds, and which source of events acts next.
//! - [`random`]: one seed per run, split into a stream per component.
//! - [`corruption`]: which frames a link corrupts.
//! - [`link`]: frames, ports, generators of traffic, and the schemes by which links recover.
//! - [`node`]: hosts and switches.
//! - [`network`]: nodes and links, and the loop that runs them.
//! - [`host`]: hosts with transport protocols.
//! - [`histogram`]: counts of values, good to one 128th, in constant space.
//! - [`measure`]: observers of a run: time series, pcapng files and others.
//! - [`run`]: kinds of runs: [`stress`], line-rate traffic over one protected link; [`scenario`], several links and
//!   more.
//! - [`replay`]: protocol logs of real link ends, repeated exactly and compared with simulated ones.
//! - [`experiment`]: sweeps of runs, described in files, and published values beside measured ones.
#![forbid(unsafe_code)]

pub mod experiment;
pub mod histogram;
pub mod host;
pub mod kernel;
pub mod link;
pub mod measure;
pub mod network;
pub mod node;
pub mod replay;
pub mod run;

pub use kernel::{event_queue, time};
pub use linkmend_corruption as corruption;
pub use linkmend_random as random;
pub use run::{flows, scenario, stress, timeline, transfer};
