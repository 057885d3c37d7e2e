//! draft
#![deny(unsafe_code)]
pub mod generator;
pub mod ip;
pub mod marker;
pub mod namespace;
pub mod offload;
pub mod packet;
mod plumbing;
pub mod process;
pub mod stop;
pub mod summary;
mod sys;
pub mod tcp;
pub mod topology;
