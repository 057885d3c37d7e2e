//! What a port has counted, and how much of it is new since the last poll.

mod difference;
mod reading;

pub use difference::{Difference, Increment, Irregularity};
pub use reading::Reading;
