//! What `make kernels` runs inside a virtual machine, whose kernel it measures.
//!
//! - [`scenario`]: the connections that are measured, with their losses by number. The rig plays the same ones on simulated hosts.
//! - [`archive`]: the first file system of a virtual machine, for every rig that starts one.
//! - [`record`]: what a scenario leaves behind, a line for each frame on the wire and for each change of the sender.
//!
//! The program `linkmend-kernel-init` is the machine's first and only process. It plays every scenario between two network
//! namespaces with a TUN device each, and carries their frames itself: it knows when each one was sent, delays it, and loses it
//! by its number. It prints the records of a scenario after its end, so that the console's time is no part of it.
#![forbid(unsafe_code)]

pub mod archive;
pub mod record;
pub mod scenario;
