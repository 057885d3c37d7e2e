//! One file or folder for each subcommand.

pub mod demo;
pub mod evaluate;
pub mod fleet;
mod flow_table;
pub mod generate;
pub mod lab;
mod links_table;
mod progress;
pub mod rdma;
pub mod reproduce;
mod rows;
mod shown;
pub mod sim;
pub mod study;
