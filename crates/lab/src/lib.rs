//! draft
#![deny(unsafe_code)]
pub mod ip;
pub mod marker;
pub mod namespace;
pub mod offload;
mod plumbing;
pub mod process;
pub mod stop;
mod sys;
pub mod topology;
