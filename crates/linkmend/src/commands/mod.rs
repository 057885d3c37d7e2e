//! One file for each subcommand.

pub mod arguments;
pub mod capture;
mod connect;
pub mod control;
pub mod corruptd;
pub mod demo;
pub mod detach;
pub mod fleet;
pub mod generate;
mod interrupt;
pub mod lab;
pub mod rdma;
pub mod reproduce;
pub mod run;
pub mod sim;
pub mod status;
