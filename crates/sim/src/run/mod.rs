//! Kinds of runs: a network of a certain shape, from the first handshake to the last delivery, and its measurements.
//!
//! - [`stress`]: line-rate traffic over one protected link, the paper's stress test (section 4.1).
//! - [`links`]: generators over several links, both directions, both classes, changing loss (section 5).
//! - [`flows`]: flows between hosts with transport protocols, and how long they take (sections 4.2 to 4.7).
//! - [`timeline`]: one flow over a link that begins to corrupt, and is protected some time later (section 4.2).
//! - [`transfer`]: one TCP connection and its state over time, to be compared with a kernel's.

pub mod flows;
pub mod links;
pub mod stress;
pub mod timeline;
pub mod transfer;
