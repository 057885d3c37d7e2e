//! What workloads with steps report.

use crate::time::Time;

/// What a workload with steps has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Steps {
    /// How long each step took, from the end of the one before, in the order in which they ended.
    pub lasted: Vec<Time>,
    /// Operations that were never completed.
    pub operations_left: u64,
    /// Steps that were never completed.
    pub steps_left: u64,
}
