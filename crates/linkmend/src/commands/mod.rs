//! One file for each subcommand.

pub mod arguments;
pub(crate) mod capture;
mod connect;
pub mod control;
pub(crate) mod corruptd;
pub(crate) mod detach;
pub(crate) mod run;
pub mod status;
