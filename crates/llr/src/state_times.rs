//! How often a state machine has entered each of its states, and how long it has been in them (as shown by Xena's
//! testers).

use crate::time::{Instant, Span};

/// Visits to `N` states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StateTimes<const N: usize> {
    current: usize,
    since: Instant,
    entries: [u64; N],
    spans: [Span; N],
}

impl<const N: usize> StateTimes<N> {
    /// Starts in the first state, at the epoch.
    pub fn new() -> StateTimes<N> {
        StateTimes { current: 0, since: Instant(0), entries: [0; N], spans: [Span::ZERO; N] }
    }

    /// The state machine enters a state. Entering the current state does not count as a visit.
    pub fn enter(&mut self, now: Instant, state: usize) {
        if state == self.current {
            return;
        }
        self.spans[self.current] += now.since(self.since);
        self.entries[state] += 1;
        (self.current, self.since) = (state, now);
    }

    /// How often it has entered a state.
    pub fn entries(&self, state: usize) -> u64 {
        self.entries[state]
    }

    /// How long it has been in a state so far.
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
