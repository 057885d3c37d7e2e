//! What transceivers measure of the light, and what it says about a link that corrupts frames.
//!
//! - [`OpticsReading`]: powers, bias, temperature and voltage at one moment, with the module's thresholds;
//! - [`PortOptics`]: one port's readings over days, and what is abnormal about them;
//! - [`OpticsFinding`]: that in short, as agents tell each other;
//! - [`advise`]: what to repair where, and why.

mod advice;
mod condition;
#[cfg(test)]
mod courses;
mod history;
mod port;
mod reading;

pub use advice::{Advice, Case, Repair, advise};
pub use condition::{Condition, Deviation, OpticsFinding, Reference, Side};
pub use port::{OpticsStatus, PortOptics};
pub use reading::{
    LANES_MOST, Lane, Limits, Module, NO_LIGHT_DBM, OpticsReading, Thresholds, dbm_of_milliwatts,
};
