//! What every discrete-event simulator has, whatever it simulates: time, and who acts next.
//!
//! - [`time`]: integer picoseconds and rates.
//! - [`event_queue`]: which source acts next; the total order of events is defined there.

pub(crate) mod divisor;
pub mod event_queue;
pub mod time;
