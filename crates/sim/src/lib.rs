//! A deterministic packet-level simulator that drives the state machines of [`linkmend_protocol`].
//!
//! - [`time`]: integer picoseconds and rates.
//! - [`event_queue`]: which source acts next; the total order of events is defined there.
//! - [`random`]: one seed per run, split into a stream per component.
//! - [`corruption`]: which frames a link corrupts.
//! - [`network`]: link ends, wires, recirculation ports, and the loop that runs them.
//! - [`statistics`]: confidence intervals.
//! - [`stress`]: line-rate traffic over one protected link, the paper's stress test (section 4.1).
//! - [`scenario`]: several links, both directions, both classes, changing loss (section 5).
//! - [`observe`]: pcapng files and time series of a run.
//! - [`replay`]: protocol logs of real link ends, repeated exactly and compared with simulated ones.
//! - [`experiment`]: sweeps of runs, described in files, and published values beside measured ones.
#![forbid(unsafe_code)]

pub mod corruption;
pub mod event_queue;
pub mod experiment;
pub mod network;
pub mod observe;
pub mod replay;
pub mod scenario;
pub mod statistics;
pub mod stress;
pub mod time;

pub use linkmend_random as random;
