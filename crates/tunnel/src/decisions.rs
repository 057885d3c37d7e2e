//! When the sender of datagrams hears of losses.

use std::collections::VecDeque;

/// How many reports may be sent while one waits: more than a quarter of a second has of them.
const SNAPSHOTS_MAX: usize = 64;

/// What was decided of the datagrams at some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decided {
    /// Below this number, nothing is waited for.
    pub(crate) below: u64,
    /// How many of these have been given up.
    pub(crate) given_up: u64,
}

/// Holds back what is reported of losses for a while, in which a datagram may still come that was given up. It is late for its
/// frames, but it was not lost, so no queue has dropped it (as RFC 8985 waits a quarter of a round trip, section 6.2).
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    /// What was decided, and when, oldest first.
    waiting: VecDeque<(u64, Decided)>,
    reported: Decided,
}

impl Decisions {
    /// What is to be reported: what was decided `grace_ns` ago, except for the `late` ones, which have come since they were
    /// given up.
    pub(crate) fn report(&mut self, now_ns: u64, grace_ns: u64, decided: Decided, late: u64) -> Decided {
        if self.waiting.len() == SNAPSHOTS_MAX {
            self.waiting.pop_back();
        }
        self.waiting.push_back((now_ns, decided));
        while let Some(&(at_ns, Decided { below, given_up })) = self.waiting.front()
            && now_ns.saturating_sub(at_ns) >= grace_ns
        {
            self.waiting.pop_front();
            let given_up = given_up.saturating_sub(late).max(self.reported.given_up);
            self.reported = Decided { below: below.max(self.reported.below), given_up };
        }
        // What was forgiven too early is not counted again, and never more than there were.
        self.reported
    }

    /// Forgets what waits.
    pub(crate) fn restart(&mut self) {
        self.waiting.clear();
        self.reported.below = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn decided(below: u64, given_up: u64) -> Decided {
        Decided { below, given_up }
    }

    #[test]
    fn a_loss_is_reported_after_the_grace_and_one_that_comes_late_never() {
        let mut decisions = Decisions::default();
        let mut report = |ms: u64, below, given_up, late| {
            decisions.report(ms * MS, 10 * MS, decided(below, given_up), late)
        };
        assert_eq!(report(0, 10, 1, 0), decided(0, 0));
        assert_eq!(report(5, 20, 2, 0), decided(0, 0));
        assert_eq!(report(10, 30, 2, 0), decided(10, 1));
        // The second one has come.
        assert_eq!(report(15, 40, 2, 1), decided(20, 1));
        assert_eq!(report(30, 50, 3, 1), decided(40, 1));
        assert_eq!(report(40, 50, 3, 1), decided(50, 2));
    }
}
