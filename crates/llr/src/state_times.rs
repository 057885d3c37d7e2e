//! How often a state machine entered each of its states, and how long it was in them (as Xena's testers show it).

use crate::time::{Instant, Span};

/// Visits of `N` states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StateTimes<const N: usize> {
    current: usize,
    since: Instant,
    entries: [u64; N],
    spans: [Span; N],
}

impl<const N: usize> StateTimes<N> {
    /// In the first state, since the epoch.
    pub fn new() -> StateTimes<N> {
        StateTimes { current: 0, since: Instant(0), entries: [0; N], spans: [Span::ZERO; N] }
    }

    /// The state machine enters a state; entering the one it is in is not a visit.
    pub fn enter(&mut self, now: Instant, state: usize) {
        if state == self.current {
            return;
        }
        self.spans[self.current] += now.since(self.since);
        self.entries[state] += 1;
        (self.current, self.since) = (state, now);
    }

    /// How often it entered a state.
    pub fn entries(&self, state: usize) -> u64 {
        self.entries[state]
    }

    /// How long it was in a state, until now.
    pub fn span(&self, now: Instant, state: usize) -> Span {
        let running = if state == self.current { now.since(self.since) } else { Span::ZERO };
        self.spans[state] + running
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_to_now() {
        let mut times = StateTimes::<2>::new();
        times.enter(Instant(10), 1);
        times.enter(Instant(15), 1);
        times.enter(Instant(30), 0);
        assert_eq!((times.span(Instant(37), 0), times.span(Instant(37), 1)), (Span(17), Span(20)));
        assert_eq!((times.entries(0), times.entries(1)), (1, 1));
    }
}
