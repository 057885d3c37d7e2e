//! The parts that every discrete-event simulator needs: time, and which source acts next.
//!
//! - [`time`]: integer picoseconds and rates.
//! - [`event_queue`]: which source acts next; it defines the total order of events.

pub(crate) mod divisor;
pub mod event_queue;
pub mod time;
