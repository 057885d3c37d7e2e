//! How often corruption makes RDMA wait for a timeout, and which mechanisms prevent it.
//!
//! After Gao et al., "Analyzing and Optimizing Packet Corruption in RDMA Network", JCST 37(4), 2022; theorems and
//! sections are of that paper. A reliable connection waits for its transport timer in four cases: the NAK of a lost
//! packet is lost, a packet is lost and its retransmission too, the last packet of a flow is lost, or the last
//! acknowledgement. Each [`Chance`] is computed twice: exactly, under the paper's assumptions of independent bits on
//! independent links, and with the paper's approximations.
//!
//! - [`Path`]: the links that packets cross, and the probability that a packet arrives.
//! - [`Sizes`]: how long packets are on the wire.
//! - [`Flows`]: how many packets flows have.
//! - [`Mechanisms`]: the paper's additions to hosts and switches.
//! - [`Model`]: the probabilities of timeouts, and what the mechanisms cost.
//! - [`plan`]: the cheapest mechanisms for a wanted probability.
#![forbid(unsafe_code)]

mod chances;
mod flows;
mod mechanisms;
mod model;
mod path;
pub mod plan;
mod sizes;
mod timeouts;

pub use chances::{Chance, Chances, Costs};
pub use flows::Flows;
pub use mechanisms::{COPIES_MAX, Mechanisms};
pub use model::{Kind, Model};
pub use path::{CORRUPTION_REQUIREMENT, Path};
pub use sizes::Sizes;
