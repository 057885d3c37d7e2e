//! A virtual pair of link ends: two simulated directions of a link, virtual time, one seed, and a ledger that knows
//! every frame and checks safety after every step. Scenario tests, the fault swarm and the fuzz target share it.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]

pub mod ledger;
pub mod link;
pub mod node;
pub mod pair;
pub mod random;
pub mod slab;
pub mod swarm;

pub use ledger::{FrameId, LossCause};
pub use link::{ControlFaults, Link, Loss, Wire};
pub use node::{Node, Source};
pub use pair::{A, B, Pair, Settings};
pub use random::Random;

/// Nanoseconds in a microsecond and in a millisecond.
pub const MICRO: u64 = 1_000;
pub const MILLI: u64 = 1_000_000;
