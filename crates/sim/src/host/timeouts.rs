//! Why requesters of RDMA waited for their timers: what a simulation sees, and no card can.

use crate::sums::add_fields;
use linkmend_rdma::Kind;
use linkmend_transport::roce;
use serde::Serialize;

/// Timeouts of requesters, by their cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TimeoutCounts {
    /// NAKs were lost.
    pub nak: u64,
    /// A packet was lost, and what was retransmitted for it.
    pub twice: u64,
    /// The last packet was lost, and all that followed it.
    pub tail: u64,
    /// Everything had arrived, but no acknowledgement.
    pub tail_ack: u64,
    /// Only dummies were outstanding: nobody waited.
    pub behind: u64,
}

impl TimeoutCounts {
    /// Those of a kind, which flows waited for.
    pub fn of(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Nak => self.nak,
            Kind::Twice => self.twice,
            Kind::Tail => self.tail,
            Kind::TailAck => self.tail_ack,
        }
    }

    /// Counts one; `None` is one that no flow waited for.
    pub(super) fn count(&mut self, kind: Option<Kind>) {
        *match kind {
            Some(Kind::Nak) => &mut self.nak,
            Some(Kind::Twice) => &mut self.twice,
            Some(Kind::Tail) => &mut self.tail,
            Some(Kind::TailAck) => &mut self.tail_ack,
            None => &mut self.behind,
        } += 1;
    }

    pub(crate) fn add(&mut self, other: &TimeoutCounts) {
        add_fields!(self, other; nak, twice, tail, tail_ack, behind);
    }
}

/// Why the requester's timer expires, by what both ends know: what they tell of themselves, and whether the responder has
/// read again from what the requester misses.
pub(super) fn kind(requester: &roce::Info, responder: &roce::Info, is_read_again: bool) -> Kind {
    // What was acknowledged says little: not every packet asks for an acknowledgement.
    let missing = responder.expected;
    if missing >= requester.next {
        match requester.unread {
            None => Kind::TailAck,
            // A gap was seen, and the packet behind it asked for: that has arrived, or not.
            Some(unread) if requester.asked_for != Some(unread) => Kind::Tail,
            Some(_) if is_read_again => Kind::Twice,
            Some(_) => Kind::Nak,
        }
    } else if !responder.misses_expected {
        Kind::Tail
    } else if requester.asked_for == Some(missing) {
        Kind::Twice
    } else {
        Kind::Nak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_follows_from_what_both_ends_know() {
        let requester =
            |asked_for| roce::Info { unacknowledged: 3, next: 9, asked_for, ..Default::default() };
        let responder =
            |expected, misses_expected| roce::Info { expected, misses_expected, ..Default::default() };
        let wrote = |asked_for, responder: roce::Info| kind(&requester(asked_for), &responder, false);
        assert_eq!(wrote(None, responder(9, false)), Kind::TailAck);
        assert_eq!(wrote(None, responder(8, false)), Kind::Tail);
        assert_eq!(wrote(None, responder(7, true)), Kind::Nak);
        assert_eq!(wrote(Some(6), responder(7, true)), Kind::Nak, "that was an earlier one");
        assert_eq!(wrote(Some(7), responder(7, true)), Kind::Twice);
        let reading = |asked_for| roce::Info { unread: Some(5), ..requester(asked_for) };
        let read = |asked_for, is_again| kind(&reading(asked_for), &responder(9, false), is_again);
        assert_eq!(read(None, false), Kind::Tail);
        assert_eq!(read(Some(4), false), Kind::Tail, "that was an earlier one");
        assert_eq!(read(Some(5), true), Kind::Twice);
        assert_eq!(read(Some(5), false), Kind::Nak, "the request made again is lost");
        assert_eq!(kind(&reading(None), &responder(8, false), false), Kind::Tail, "the request is lost");
    }
}
