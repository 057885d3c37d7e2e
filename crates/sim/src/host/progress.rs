//! What the ends of flows report to their hosts.

/// What an end of a flow reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// These bytes have arrived in order.
    Delivered(u64),
    /// Everything that was written for a flow is acknowledged.
    Acknowledged,
    /// It has given up.
    Failed,
}
