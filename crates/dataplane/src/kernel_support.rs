//! What this kernel offers to a link end, found out by trying.

use crate::sys::{tcx, xsk};
use std::io;

/// Whether AF_XDP sockets can be opened: by this kernel, and by this process.
///
/// # Errors
/// Why not.
pub fn af_xdp() -> io::Result<()> {
    xsk::try_socket()
}

/// Whether programs can be attached to traffic control by tcx (Linux 6.6), which queues and offloads need. Nothing is
/// attached.
///
/// # Errors
/// Why not.
pub fn traffic_control() -> io::Result<()> {
    tcx::programs(LOOPBACK).map(drop)
}

/// The interface that every network namespace has.
const LOOPBACK: u32 = 1;
