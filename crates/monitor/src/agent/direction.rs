//! A request on its way to being carried out.

use crate::exchange::{Acknowledgement, Effect, Request};
use std::time::Duration;

/// The wait after a failure, which doubles with each, up to the longest.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_LONGEST: Duration = Duration::from_mins(1);

/// Whether a request is to be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Now,
    /// It is under way, done, or has failed a moment ago.
    NotNow,
}

/// How far the latest request of a direction has come.
#[derive(Debug, Clone, Default)]
pub(super) struct Carrying {
    /// Generation of the request that was begun last.
    begun: Option<u64>,
    retry_at: Option<Duration>,
    failures: u32,
}

impl Carrying {
    pub(super) fn due(&self, now: Duration, request: &Request) -> Due {
        let newer = self.begun.is_none_or(|begun| begun < request.generation);
        let again = self.retry_at.is_some_and(|at| at <= now);
        if newer || again { Due::Now } else { Due::NotNow }
    }

    pub(super) fn begin(&mut self, generation: u64) {
        if self.begun != Some(generation) {
            self.failures = 0;
        }
        self.begun = Some(generation);
        self.retry_at = None;
    }

    /// Takes what became of it. A request that failed, or whose protection somebody else has switched off, is tried again.
    pub(super) fn settle(&mut self, now: Duration, request: &Request, acknowledgement: &Acknowledgement) {
        let undone = request.protection.is_some() && acknowledgement.effect == Effect::Dormant;
        if acknowledgement.effect == Effect::Failed || undone {
            if self.retry_at.is_none() {
                let wait = RETRY_FIRST.saturating_mul(1 << self.failures.min(6)).min(RETRY_LONGEST);
                self.failures += 1;
                self.retry_at = Some(now + wait);
            }
        } else if acknowledgement.effect != Effect::Starting {
            self.failures = 0;
            self.retry_at = None;
        }
    }

    pub(super) fn retry_at(&self) -> Option<Duration> {
        self.retry_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_of_a_request_doubles_the_wait_and_a_newer_request_begins_anew() {
        let mut carrying = Carrying::default();
        let mut waits = |generation| {
            let request = Request { generation, ..Request::default() };
            let failed = Acknowledgement { generation, effect: Effect::Failed, ..Acknowledgement::default() };
            carrying.begin(generation);
            carrying.settle(Duration::ZERO, &request, &failed);
            carrying.retry_at().expect("it is tried again").as_secs()
        };
        assert_eq!([1, 1, 1, 1].map(&mut waits), [1, 2, 4, 8]);
        assert_eq!([2, 2].map(&mut waits), [1, 2]);
        assert_eq!([2; 9].map(&mut waits)[4..], [60; 5]);
    }
}
