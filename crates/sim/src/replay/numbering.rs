//! Identifies the frame of a sequence number: its lane and its place there since the session began. Two runs draw
//! different session numbers if their handshakes took different turns, but their frames have the same places.

use linkmend_protocol::trace::Step;
use linkmend_protocol::{Control, Mode, PerMode, SequenceNumber, SessionNumber, Transmit};
use std::fmt;

/// Added to absolute numbers so that none is negative near the beginning.
const ABSOLUTE_BASE: u64 = 1 << 20;

/// A frame of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// How many sessions of this direction came before its own.
    pub(super) session: u32,
    pub(super) mode: Mode,
    /// 0 for the first of the lane.
    pub(super) number: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} frame {}", self.mode, self.number)?;
        if self.session > 0 { write!(f, " of session {}", self.session + 1) } else { Ok(()) }
    }
}

/// Follows the sessions of one direction, as one end sees them.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbering {
    current: Option<SessionNumber>,
    sessions: u32,
    /// The absolute number near which the next one of a lane is expected.
    latest: PerMode<u64>,
    first: PerMode<u64>,
}

impl Numbering {
    /// Begins a session, unless it is the present one.
    pub(super) fn begin(&mut self, session: SessionNumber) {
        if self.current.replace(session) == Some(session) {
            return;
        }
        self.sessions += 1;
        for mode in Mode::ALL {
            let first = session.first(mode);
            self.first[mode] = ABSOLUTE_BASE + u64::from(first.number()) + (u64::from(first.era()) << 16);
            self.latest[mode] = self.first[mode];
        }
    }

    /// The place of a number; `None` before the first session, and for a number from before it.
    pub(super) fn place(&mut self, mode: Mode, sequence: SequenceNumber) -> Option<Place> {
        self.current?;
        let absolute = sequence.expand(self.latest[mode])?;
        self.latest[mode] = self.latest[mode].max(absolute);
        let number = absolute.checked_sub(self.first[mode])?;
        Some(Place { session: self.sessions - 1, mode, number })
    }
}

/// The two directions of one end.
#[derive(Debug, Clone, Default)]
pub(super) struct Numberings {
    pub(super) sent: Numbering,
    pub(super) received: Numbering,
}

impl Numberings {
    /// Follows what a step says about sessions.
    pub(super) fn follow(&mut self, step: &Step) {
        match step {
            Step::PollTransmit {
                transmit: Some(Transmit::Control(Control::Init { session, .. })), ..
            } => {
                self.sent.begin(*session);
            }
            Step::Control { control: Control::Start { session, .. }, accepted: true } => {
                self.received.begin(*session);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_survive_the_wrap_and_count_from_each_sessions_beginning() {
        let mut numbering = Numbering::default();
        let session = SessionNumber(0x1_fff0);
        assert_eq!(numbering.place(Mode::Ordered, session.first(Mode::Ordered)), None);
        numbering.begin(session);
        for number in 0..200_000 {
            let sequence = session.first(Mode::Ordered).plus(number);
            let place = Place { session: 0, mode: Mode::Ordered, number };
            assert_eq!(numbering.place(Mode::Ordered, sequence), Some(place));
        }
        numbering.begin(SessionNumber(5));
        let first = SessionNumber(5).first(Mode::NonBlocking);
        let place = numbering.place(Mode::NonBlocking, first).expect("a session runs");
        assert_eq!(place.to_string(), "non-blocking frame 0 of session 2");
    }
}
