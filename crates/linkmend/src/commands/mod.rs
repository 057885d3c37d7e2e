//! One file for each subcommand.

pub mod arguments;
pub(crate) mod capture;
mod connect;
pub mod control;
#[cfg(feature = "corruptd")]
pub(crate) mod corruptd;
pub(crate) mod detach;
pub(crate) mod doctor;
pub(crate) mod run;
pub mod status;
