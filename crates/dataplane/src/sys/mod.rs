//! The only module with unsafe code: thin, safe wrappers around what the kernel offers.
//!
//! One file per kernel facility. Nothing in here knows about frames, handles or the protocol, and what a wrapper hands
//! out cannot be used to reach memory that it does not own.

pub(crate) mod bpf;
pub(crate) mod iterator;
pub(crate) mod memory;
mod ring;
pub(crate) mod tcx;
pub(crate) mod xsk;
