//! Measures how long a resume takes until its first frame arrives.

use crate::time::Time;

/// Resumes of one link end, from its peer's decision to the arrival of the first frame sent because of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Resumes {
    /// As receiver: when it last decided that the peer must pause or resume.
    pub(super) decided_at: Time,
    /// As sender: when the peer decided to let it resume; cleared once the first frame after that has been sent.
    pub(super) resumed_at: Option<Time>,
    /// The longest flight of a resume.
    pub(super) flight_max: Time,
}

impl Resumes {
    /// An original is sent.
    #[inline]
    pub(super) fn sent(&mut self, arrives_at: Time) {
        if let Some(resumed_at) = self.resumed_at.take() {
            self.flight_max = self.flight_max.max(arrives_at - resumed_at);
        }
    }
}
