//! Losses as a recording lists them, frame by frame.

use std::sync::Arc;

/// The position in the recording.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    indices: Arc<[u64]>,
    next: usize,
}

impl Recorded {
    /// `indices` must ascend strictly.
    pub(super) fn new(indices: Arc<[u64]>) -> Recorded {
        Recorded { indices, next: 0 }
    }

    /// Clean frames before the first corrupted one; all of them if there is none.
    pub(super) fn first_gap(&self) -> u64 {
        self.indices.first().copied().unwrap_or(u64::MAX)
    }

    /// Takes one corrupted frame, and says how many clean frames follow before the next.
    pub(super) fn gap(&mut self) -> u64 {
        let here = self.indices.get(self.next).copied();
        self.next += 1;
        match (here, self.indices.get(self.next)) {
            (Some(here), Some(&next)) => next - here - 1,
            _ => u64::MAX,
        }
    }
}
