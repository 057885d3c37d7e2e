//! What a receiver echoes of marked packets (RFC 3168, section 6.1.3; RFC 8257, section 3.2).

use crate::tcp::config::Ecn;
use crate::tcp::segment::{Codepoint, Flags, Segment};

/// What a segment means for the timing of acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EcnReaction {
    /// The mark differs from that of the segment before (DCTCP): what was received until then is acknowledged with the
    /// old echo, and this one immediately.
    pub changed: bool,
    /// The first mark of an episode: the sender slows down, so the next acknowledgements are not delayed.
    pub begins_episode: bool,
    /// The peer has reduced its window, maybe to one segment, so this segment is acknowledged immediately.
    pub ends_episode: bool,
}

/// What the sender is told about marked segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EcnEcho {
    #[default]
    Off,
    /// ECE on every acknowledgement from a mark until the peer sets CWR.
    Classic { echoing: bool },
    /// ECE is the mark of the last segment.
    Dctcp { is_marked: bool },
}

impl EcnEcho {
    /// The negotiated echo, with no marks yet.
    pub fn new(ecn: Ecn) -> EcnEcho {
        match ecn {
            Ecn::Off => EcnEcho::Off,
            Ecn::Classic => EcnEcho::Classic { echoing: false },
            Ecn::Dctcp => EcnEcho::Dctcp { is_marked: false },
        }
    }

    /// Whether acknowledgements carry ECE now.
    pub fn is_echoing(self) -> bool {
        matches!(self, EcnEcho::Classic { echoing: true } | EcnEcho::Dctcp { is_marked: true })
    }

    /// A segment with data has arrived.
    pub fn handle_data(&mut self, segment: &Segment) -> EcnReaction {
        let marked = segment.codepoint == Codepoint::Ce;
        let mut reaction = EcnReaction::default();
        match self {
            EcnEcho::Off => (),
            EcnEcho::Classic { echoing } => {
                if segment.flags.contains(Flags::CWR) {
                    reaction.ends_episode = *echoing;
                    *echoing = false;
                }
                if marked && !*echoing {
                    reaction.begins_episode = true;
                    *echoing = true;
                }
            }
            EcnEcho::Dctcp { is_marked } => {
                // What has no codepoint was not sent by an ECN-capable sender of data, as a retransmission may be, and
                // could not have been marked.
                reaction.changed = *is_marked != marked && segment.codepoint != Codepoint::NotEct;
                if reaction.changed {
                    *is_marked = marked;
                }
            }
        }
        reaction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(codepoint: Codepoint, flags: Flags) -> Segment {
        Segment { length: 1, codepoint, flags, ..Segment::default() }
    }

    /// RFC 3168, section 6.1.3.
    #[test]
    fn the_classic_echo_lasts_until_cwr() {
        let mut echo = EcnEcho::new(Ecn::Classic);
        assert!(echo.handle_data(&segment(Codepoint::Ce, Flags::ACK)).begins_episode);
        assert!(echo.is_echoing());
        echo.handle_data(&segment(Codepoint::Ect0, Flags::ACK));
        assert!(echo.is_echoing());
        assert!(echo.handle_data(&segment(Codepoint::Ect0, Flags::ACK.with(Flags::CWR))).ends_episode);
        assert!(!echo.is_echoing());
    }

    /// RFC 3168, section 6.1.3: a marked packet with CWR begins anew.
    #[test]
    fn a_mark_on_the_segment_with_cwr_begins_a_new_echo() {
        let mut echo = EcnEcho::new(Ecn::Classic);
        echo.handle_data(&segment(Codepoint::Ce, Flags::ACK));
        let reaction = echo.handle_data(&segment(Codepoint::Ce, Flags::ACK.with(Flags::CWR)));
        assert!(reaction.begins_episode && echo.is_echoing());
    }

    /// RFC 8257, section 3.2.
    #[test]
    fn the_echo_of_dctcp_is_the_last_mark() {
        let mut echo = EcnEcho::new(Ecn::Dctcp);
        for (codepoint, changed, echoing) in [
            (Codepoint::Ect0, false, false),
            (Codepoint::Ce, true, true),
            (Codepoint::Ce, false, true),
            (Codepoint::Ect0, true, false),
        ] {
            let reaction = echo.handle_data(&segment(codepoint, Flags::ACK));
            assert_eq!((reaction.changed, echo.is_echoing()), (changed, echoing));
        }
    }
}
