//! Limits that more than one kind of port, or its errors, know.

/// The largest number of receive queues of a port. Each has at least 128 chunks then.
pub const QUEUES_MAX: u32 = 32;
