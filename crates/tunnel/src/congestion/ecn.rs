//! Whether the path takes datagrams that queues may mark (ECN, RFC 3168), and whether its marks are believed.
//!
//! Some paths drop such datagrams, and some mark them all. Neither must cost more than ECN gains (RFC 9000, section 13.4.2).
//! A path that removes what the sender says of itself does no harm: its queues drop, and that is noticed as before.

use super::Congestion;

/// So many times a path may fall silent as soon as datagrams may be marked, and be heard again as soon as they may not.
const FAILURES_MAX: u32 = 2;
/// So many rounds in a row in which most datagrams are marked, although less was sent after each, say nothing about queues.
const MARKED_ROUNDS: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Datagrams from this number on may be marked. Whether the path takes them is known once one of them has arrived.
    Markable(u64),
    /// After a silence, those from this number on may not.
    Plain(u64),
    /// None may, until the path is another one.
    Refused,
}

/// What is known of the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ecn {
    state: State,
    /// Silences since one of the datagrams arrived that may be marked.
    failures: u32,
    /// Rounds one after the other in which most were marked.
    marked_rounds: u32,
}

impl Ecn {
    /// Datagrams may be marked, beginning with the number `next`.
    pub(super) fn new(next: u64) -> Ecn {
        Ecn { state: State::Markable(next), failures: 0, marked_rounds: 0 }
    }

    /// The other end has received a datagram of number `highest`. The next one to be sent has the number `next`.
    pub(super) fn handle_report(&mut self, highest: u64, next: u64) {
        match self.state {
            State::Markable(first) if highest >= first => self.failures = 0,
            State::Plain(first) if highest >= first => {
                let is_refused = self.failures >= FAILURES_MAX;
                self.state = if is_refused { State::Refused } else { State::Markable(next) };
            }
            _ => {}
        }
    }

    /// So many datagrams have arrived in a round trip, of which some were marked.
    pub(super) fn handle_round(&mut self, arrived: u64, marked: u64) {
        let are_most = marked > 0 && 2 * marked >= arrived;
        self.marked_rounds = if are_most { self.marked_rounds + 1 } else { 0 };
        if self.marked_rounds >= MARKED_ROUNDS {
            self.state = State::Refused;
        }
    }

    /// Nothing was reported for long of what was sent.
    pub(super) fn handle_silence(&mut self, next: u64) {
        if let State::Markable(_) = self.state {
            self.failures += 1;
            self.state = State::Plain(next);
        }
    }
}

impl Congestion {
    /// Whether queues of the path may mark what is sent now.
    pub fn is_markable(&self) -> bool {
        matches!(self.ecn.state, State::Markable(_))
    }

    /// Whether a mark can be one that a queue has made.
    pub(super) fn believes_marks(&self) -> bool {
        self.ecn.state != State::Refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of so many windows of ten datagrams, if the path takes those that may be marked or not, and falls silent
    /// for other reasons in some of them.
    fn after(windows: u64, takes: bool, is_cut: impl Fn(u64) -> bool) -> Ecn {
        let mut ecn = Ecn::new(7);
        for window in 0..windows {
            let next = 7 + 10 * window;
            let is_markable = matches!(ecn.state, State::Markable(_));
            if is_cut(window) || (is_markable && !takes) {
                ecn.handle_silence(next + 10);
            } else {
                ecn.handle_report(next + 9, next + 10);
            }
        }
        ecn
    }

    #[test]
    fn a_path_that_drops_what_may_be_marked_costs_two_silences() {
        assert_eq!(after(3, false, |_| false).state, State::Plain(37));
        assert_eq!(after(4, false, |_| false).state, State::Refused);
        assert_eq!(after(100, false, |_| false).state, State::Refused);
    }

    #[test]
    fn a_path_that_is_silent_for_other_reasons_is_believed_again() {
        let is_cut = |window: u64| window % 10 < 3;
        assert!(matches!(after(100, true, is_cut).state, State::Markable(_)));
        // A path that changes to one that drops them is noticed, too.
        let mut ecn = after(100, true, |_| false);
        ecn.handle_silence(2_000);
        ecn.handle_report(2_000, 2_001);
        ecn.handle_silence(2_010);
        ecn.handle_report(2_010, 2_011);
        assert_eq!(ecn.state, State::Refused);
    }

    #[test]
    fn a_path_that_marks_everything_is_not_believed() {
        let mut ecn = Ecn::new(0);
        for round in 0..1_000 {
            ecn.handle_round(10, if round % 4 == 0 { 1 } else { 9 });
        }
        assert_eq!(ecn.state, State::Markable(0), "a queue that is full most of the time");
        for _ in 0..MARKED_ROUNDS {
            ecn.handle_round(10, 9);
        }
        assert_eq!(ecn.state, State::Refused);
    }
}
