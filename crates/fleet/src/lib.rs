//! Which links of a fleet to disable, protect and repair.
//!
//! - [`trace`]: which link starts to corrupt when; drawn at random, or read from files.
//! - [`repair`], [`protection`]: how long repairs take, and which loss and capacity remain with protection.
//! - [`deployment`]: which switches can protect links; [`upgrades`]: which should be upgraded first.
//! - [`network`]: a network in operation and its metrics.
//! - [`optimizer`]: which corrupting links to disable.
//! - [`attribution`]: which links corrupt frames, and which only forward frames that others have corrupted.
//! - [`plan`]: what to do today about links that corrupt, and why.
//! - [`strategy`], [`simulate`]: a network over time.
//! - [`experiment`]: published evaluations, over many traces.
//!
//! Section numbers refer to the `LinkGuardian` paper (SIGCOMM 2023).
//!
//! The documentation of [`simulate`] follows one loss event through the code.
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "the walk through the code names private functions, so that rustdoc finds it outdated"
)]
#![forbid(unsafe_code)]

pub mod attribution;
mod constraint;
pub mod deployment;
mod exact_sum;
#[cfg(feature = "experiment")]
pub mod experiment;
mod file_error;
mod file_kind;
pub mod network;
pub mod optimizer;
pub mod plan;
pub mod protection;
pub mod repair;
mod rounding;
pub mod simulate;
pub mod strategy;
pub mod trace;
pub mod upgrades;

pub use constraint::{Constraint, ConstraintError};
pub use file_error::FileError;
pub use file_kind::FileKind;
pub use rounding::share_of;
