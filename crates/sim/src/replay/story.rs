//! What of a run can be compared with another run of other timing.

use super::numbering::{Numberings, Place};
use linkmend_protocol::trace::{Direction, Record, TraceEvent, Tracer};
use linkmend_protocol::{Instant, Mode, SequenceRange};
use std::collections::BTreeSet;
use std::fmt;

/// One thing that both runs must have done, in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Sent(Place),
    CopySent(Place),
    Received(Place),
    CopyReceived(Place),
    Lost(Place),
    CopyLost(Place),
    /// A notification names this frame for the first time.
    Notified(Direction, Place),
    Delivered(Place),
    Discarded(Place),
    GivenUp(u64),
    Pause(Direction, Mode, bool),
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Sent(place) => write!(f, "sends {place}"),
            Word::CopySent(place) => write!(f, "sends a copy of {place}"),
            Word::Received(place) => write!(f, "receives {place}"),
            Word::CopyReceived(place) => write!(f, "receives a copy of {place}"),
            Word::Lost(place) => write!(f, "loses {place}"),
            Word::CopyLost(place) => write!(f, "loses a copy of {place}"),
            Word::Notified(Direction::Sent, place) => write!(f, "sends a notification of {place}"),
            Word::Notified(Direction::Received, place) => write!(f, "receives a notification of {place}"),
            Word::Delivered(place) => write!(f, "delivers {place}"),
            Word::Discarded(place) => write!(f, "discards {place}"),
            Word::GivenUp(frames) => write!(f, "gives {frames} up"),
            Word::Pause(direction, mode, paused) => {
                let verb = if *direction == Direction::Sent { "asks" } else { "is asked" };
                write!(f, "{verb} to {} {mode}", if *paused { "pause" } else { "resume" })
            }
        }
    }
}

/// A word, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) word: Word,
    pub(super) at: Instant,
    /// Index of its record.
    pub(super) record: usize,
}

/// Tells the records of one end, from its start.
pub(super) fn tell(records: &[Record]) -> Vec<Told> {
    let mut teller = Teller::default();
    let mut story = Vec::new();
    for (record, Record { at, step }) in records.iter().enumerate() {
        teller.numberings.follow(step);
        let mut events = Vec::new();
        teller.tracer.trace(step, &mut |event| events.push(event));
        for event in events {
            teller.words(event, &mut |word| story.push(Told { word, at: *at, record }));
        }
    }
    story
}

#[derive(Default)]
struct Teller {
    tracer: Tracer,
    numberings: Numberings,
    /// Repeats of a notification say nothing new; how many there are is a matter of time.
    notified: BTreeSet<(Direction, Place)>,
}

impl Teller {
    fn words(&mut self, event: TraceEvent, tell: &mut impl FnMut(Word)) {
        let Numberings { sent, received } = &mut self.numberings;
        let word = match event {
            TraceEvent::Sent { mode, sequence, .. } => sent.place(mode, sequence).map(Word::Sent),
            TraceEvent::CopySent { mode, sequence } => sent.place(mode, sequence).map(Word::CopySent),
            TraceEvent::Received { mode, sequence, copy } => {
                received.place(mode, sequence).map(if copy { Word::CopyReceived } else { Word::Received })
            }
            TraceEvent::Corrupted { mode, sequence, copy } => {
                received.place(mode, sequence).map(if copy { Word::CopyLost } else { Word::Lost })
            }
            TraceEvent::Delivered { mode, sequence } => received.place(mode, sequence).map(Word::Delivered),
            TraceEvent::Discarded { mode, sequence } => received.place(mode, sequence).map(Word::Discarded),
            TraceEvent::GivenUp { frames } => Some(Word::GivenUp(frames)),
            TraceEvent::Pause { direction, mode, paused } => Some(Word::Pause(direction, mode, paused)),
            TraceEvent::Notification { direction, mode, hole } => {
                return self.hole(direction, mode, hole, tell);
            }
            TraceEvent::Offered { .. }
            | TraceEvent::OtherCorrupted { .. }
            | TraceEvent::Ack { .. }
            | TraceEvent::Dummy { .. }
            | TraceEvent::Handshake { .. }
            | TraceEvent::Released { .. }
            | TraceEvent::Log(_) => None,
        };
        word.into_iter().for_each(tell);
    }

    fn hole(&mut self, direction: Direction, mode: Mode, hole: SequenceRange, tell: &mut impl FnMut(Word)) {
        // What an end reports missing is of the direction it receives.
        let numbering = match direction {
            Direction::Sent => &mut self.numberings.received,
            Direction::Received => &mut self.numberings.sent,
        };
        for ahead in 0..u64::from(hole.length) {
            let Some(place) = numbering.place(mode, hole.first.plus(ahead)) else { continue };
            if self.notified.insert((direction, place)) {
                tell(Word::Notified(direction, place));
            }
        }
    }
}
