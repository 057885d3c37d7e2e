//! The part of a run that can be compared with another run of different timing.

use super::numbering::{Numberings, Place};
use linkmend_protocol::trace::{Direction, Record, TraceEvent, Tracer};
use linkmend_protocol::{Instant, Mode, SequenceRange};
use std::collections::BTreeSet;
use std::fmt;

/// One action that both runs must perform, in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
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

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Sent(place) => write!(f, "sends {place}"),
            Action::CopySent(place) => write!(f, "sends a copy of {place}"),
            Action::Received(place) => write!(f, "receives {place}"),
            Action::CopyReceived(place) => write!(f, "receives a copy of {place}"),
            Action::Lost(place) => write!(f, "loses {place}"),
            Action::CopyLost(place) => write!(f, "loses a copy of {place}"),
            Action::Notified(Direction::Sent, place) => write!(f, "sends a notification of {place}"),
            Action::Notified(Direction::Received, place) => write!(f, "receives a notification of {place}"),
            Action::Delivered(place) => write!(f, "delivers {place}"),
            Action::Discarded(place) => write!(f, "discards {place}"),
            Action::GivenUp(frames) => write!(f, "gives {frames} up"),
            Action::Pause(direction, mode, paused) => {
                let verb = if *direction == Direction::Sent { "asks" } else { "is asked" };
                write!(f, "{verb} to {} {mode}", if *paused { "pause" } else { "resume" })
            }
        }
    }
}

/// An action, with its time and record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimedAction {
    pub(super) action: Action,
    pub(super) at: Instant,
    /// Index of its record.
    pub(super) record: usize,
}

/// The transcript of the records of one end, from its start.
pub(super) fn transcribe(records: &[Record]) -> Vec<TimedAction> {
    let mut transcriber = Transcriber::default();
    let mut transcript = Vec::new();
    for (record, Record { at, step }) in records.iter().enumerate() {
        transcriber.numberings.follow(step);
        let mut events = Vec::new();
        transcriber.tracer.trace(step, &mut |event| events.push(event));
        for event in events {
            transcriber
                .actions(event, &mut |action| transcript.push(TimedAction { action, at: *at, record }));
        }
    }
    transcript
}

#[derive(Default)]
struct Transcriber {
    tracer: Tracer,
    numberings: Numberings,
    /// Frames that were notified. Repeated notifications say nothing new; how many there are depends on time.
    notified: BTreeSet<(Direction, Place)>,
}

impl Transcriber {
    fn actions(&mut self, event: TraceEvent, emit: &mut impl FnMut(Action)) {
        let Numberings { sent, received } = &mut self.numberings;
        let action = match event {
            TraceEvent::Sent { mode, sequence, .. } => sent.place(mode, sequence).map(Action::Sent),
            TraceEvent::CopySent { mode, sequence } => sent.place(mode, sequence).map(Action::CopySent),
            TraceEvent::Received { mode, sequence, copy } => {
                received.place(mode, sequence).map(if copy { Action::CopyReceived } else { Action::Received })
            }
            TraceEvent::Corrupted { mode, sequence, copy } => {
                received.place(mode, sequence).map(if copy { Action::CopyLost } else { Action::Lost })
            }
            TraceEvent::Delivered { mode, sequence } => received.place(mode, sequence).map(Action::Delivered),
            TraceEvent::Discarded { mode, sequence } => received.place(mode, sequence).map(Action::Discarded),
            TraceEvent::GivenUp { frames } => Some(Action::GivenUp(frames)),
            TraceEvent::Pause { direction, mode, paused } => Some(Action::Pause(direction, mode, paused)),
            TraceEvent::Notification { direction, mode, hole } => {
                return self.hole(direction, mode, hole, emit);
            }
            TraceEvent::Offered { .. }
            | TraceEvent::OtherCorrupted { .. }
            | TraceEvent::Ack { .. }
            | TraceEvent::Dummy { .. }
            | TraceEvent::Handshake { .. }
            | TraceEvent::Released { .. }
            | TraceEvent::Log(_) => None,
        };
        action.into_iter().for_each(emit);
    }

    fn hole(&mut self, direction: Direction, mode: Mode, hole: SequenceRange, emit: &mut impl FnMut(Action)) {
        // What an end reports missing is of the direction it receives.
        let numbering = match direction {
            Direction::Sent => &mut self.numberings.received,
            Direction::Received => &mut self.numberings.sent,
        };
        for ahead in 0..u64::from(hole.length) {
            let Some(place) = numbering.place(mode, hole.first.plus(ahead)) else { continue };
            if self.notified.insert((direction, place)) {
                emit(Action::Notified(direction, place));
            }
        }
    }
}
