//! Two link ends against each other in simulated time: no loops, no scheduler, only a link that adds its delay and
//! loses what the script says. An end acts at once when something happens to it.

use super::numbering::Numberings;
use super::script::{Arrivals, EndScript, Script, Transmission};
use crate::event_queue::EventQueue;
use crate::time::Time;
use linkmend_protocol::schedule::{ClassQueues, Next, PortRoom, QueueLimits, Round, Waiting};
use linkmend_protocol::trace::{CorruptedFrame, Record, Step, TracedLinkEnd};
use linkmend_protocol::{
    Admission, Control, DataHeader, FrameHandle, Instant, LinkEnd, PiggybackAck, Transmit,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Least time between two rounds of one end that have nothing new to do but a timer that stays due.
const TIMER_MIN_NS: u64 = 1_000;

/// Sources of events, in the order in which they act at one time: what is on the link goes before what is offered, and
/// that before what is overdue.
const SOURCES: usize = 6;
const fn wire_to(end: usize) -> usize {
    end
}
const fn inputs_of(end: usize) -> usize {
    2 + end
}
const fn timer_of(end: usize) -> usize {
    4 + end
}

/// What travels from one link end to the other.
#[derive(Debug)]
enum Item {
    Data {
        header: DataHeader,
        bytes: u32,
    },
    Control(Box<Control>),
    /// On an unprotected frame.
    Ack(PiggybackAck),
}

/// One end, and the link towards it.
struct End {
    end: TracedLinkEnd<Vec<Record>>,
    numberings: Numberings,
    queues: ClassQueues<()>,
    inputs: VecDeque<(Time, Step)>,
    losses: BTreeSet<Transmission>,
    arrivals: Arrivals,
    arriving: VecDeque<(Time, Item)>,
    /// Lengths of the frames in the Tx buffer.
    sent_bytes: BTreeMap<FrameHandle, u32>,
    next_handle: u32,
    followed: usize,
}

/// Runs the script with two fresh link ends, and returns their records.
pub(super) fn run(script: &Script, ends: [LinkEnd; 2]) -> [Vec<Record>; 2] {
    let origin = script.begin;
    let [first, second] = ends;
    let mut pair = Pair {
        ends: [End::new(first, &script.ends[0], origin), End::new(second, &script.ends[1], origin)],
        events: EventQueue::new(SOURCES),
        delay: script.delay,
        origin,
    };
    let end = Time::from_nanos(script.end.since(origin).0);
    (0..2).for_each(|index| pair.schedule(index, Time::ZERO));
    while let Some((now, source)) = pair.events.next().filter(|&(now, _)| now <= end) {
        let index = source % 2;
        if source == wire_to(index) {
            pair.arrive(index, now);
        } else if source == inputs_of(index) {
            pair.input(index, now);
        }
        pair.round(index, now);
        pair.schedule(index, now);
        pair.schedule_arrival(1 - index);
    }
    pair.ends.map(|mut end| end.end.sink_mut().map(std::mem::take).unwrap_or_default())
}

struct Pair {
    ends: [End; 2],
    events: EventQueue,
    delay: Time,
    origin: Instant,
}

impl Pair {
    fn instant(&self, now: Time) -> Instant {
        Instant(self.origin.0 + now.0 / 1_000)
    }

    fn schedule_arrival(&mut self, index: usize) {
        let arrival = self.ends[index].arriving.front().map_or(Time::NEVER, |&(at, _)| at);
        self.events.set(wire_to(index), arrival);
    }

    /// Sets when each source of an end acts next.
    fn schedule(&mut self, index: usize, now: Time) {
        let end = &self.ends[index];
        let input = end.inputs.front().map_or(Time::NEVER, |&(at, _)| at);
        let timer = end.end.next_timeout().map_or(Time::NEVER, |at| {
            // Due and still not done: it waits for something else.
            let due = Time::from_nanos(at.since(self.origin).0);
            due.max(now + Time::from_nanos(TIMER_MIN_NS))
        });
        self.schedule_arrival(index);
        self.events.set(inputs_of(index), input);
        self.events.set(timer_of(index), timer);
    }

    fn arrive(&mut self, index: usize, now: Time) {
        let at = self.instant(now);
        let end = &mut self.ends[index];
        let Some((_, item)) = end.arriving.pop_front() else { return };
        match item {
            Item::Control(control) => _ = end.end.handle_control(at, &control),
            Item::Ack(ack) => _ = end.end.handle_ack(at, ack),
            Item::Data { header, bytes } => {
                if end.loses(&header) {
                    end.end.note(at, || Step::Corrupted { frame: CorruptedFrame::Data(header) });
                } else {
                    let frame = end.new_handle();
                    end.end.handle_data(at, &header, frame, bytes);
                }
            }
        }
    }

    fn input(&mut self, index: usize, now: Time) {
        let at = self.instant(now);
        let end = &mut self.ends[index];
        let Some((_, input)) = end.inputs.pop_front() else { return };
        match input {
            Step::Offered { mode, bytes } => {
                end.end.note(at, || Step::Offered { mode, bytes });
                end.queues.push(Waiting { frame: (), bytes, mode });
            }
            Step::Protect { protection } => end.end.protect(at, protection),
            Step::Unprotect => end.end.unprotect(at),
            // Parameters that were refused were not logged.
            Step::Reconfigure { config } => _ = end.end.reconfigure(*config),
            Step::Stall => end.end.handle_stall(at),
            Step::Leave => end.end.leave(at),
            Step::Stop => end.end.handle_stop(at),
            Step::CleanOther { is_clean } => end.end.set_clean_other(at, is_clean),
            Step::ChangePath { .. } => _ = end.end.change_path(at),
            _ => {}
        }
    }

    /// Does what the documentation of the protocol crate asks of a driver, in that order.
    fn round(&mut self, index: usize, now: Time) {
        let at = self.instant(now);
        let arrives = now + self.delay;
        let mut items = Vec::new();
        let end = &mut self.ends[index];
        if end.end.next_timeout().is_some_and(|due| due <= at) {
            end.end.handle_timeout(at);
        }
        while end.end.poll_deliver().is_some() {}
        end.transmit(at, &mut items);
        while let Some(frame) = end.end.poll_release() {
            end.sent_bytes.remove(&frame);
        }
        while end.end.poll_event().is_some() {}
        end.follow();
        self.ends[1 - index].arriving.extend(items.into_iter().map(|item| (arrives, item)));
    }
}

impl End {
    fn new(end: LinkEnd, script: &EndScript, origin: Instant) -> End {
        let input = |record: &Record| (Time::from_nanos(record.at.since(origin).0), record.step.clone());
        End {
            end: TracedLinkEnd::new(end, Some(Vec::new())),
            numberings: Numberings::default(),
            queues: ClassQueues::new(QueueLimits::UNLIMITED),
            inputs: script.inputs.iter().map(input).collect(),
            losses: script.losses.clone(),
            arrivals: Arrivals::default(),
            arriving: VecDeque::new(),
            sent_bytes: BTreeMap::new(),
            next_handle: 0,
            followed: 0,
        }
    }

    fn new_handle(&mut self) -> FrameHandle {
        self.next_handle = self.next_handle.wrapping_add(1);
        FrameHandle(self.next_handle)
    }

    /// Whether the script loses what arrives now.
    fn loses(&mut self, header: &DataHeader) -> bool {
        let place = self.numberings.received.place(header.mode, header.sequence);
        place.is_some_and(|place| {
            let transmission = self.arrivals.count(place, header.retransmitted);
            self.losses.contains(&transmission)
        })
    }

    /// Puts on the link all that may go; it always has room.
    fn transmit(&mut self, at: Instant, items: &mut Vec<Item>) {
        let mut round = Round::new(at);
        while let Some(next) = round.next(&mut self.end, &mut self.queues, PortRoom::All) {
            items.extend(match next {
                Next::Urgent(transmit) | Next::Idle(transmit) => Some(self.item(transmit)),
                Next::Normal(waiting, admission) => self.send_normal(at, waiting, admission),
            });
        }
    }

    fn item(&self, transmit: Transmit) -> Item {
        match transmit {
            Transmit::Control(control) => Item::Control(Box::new(control)),
            Transmit::Retransmission { frame, header } => {
                let bytes = self.sent_bytes.get(&frame).copied().unwrap_or(0);
                Item::Data { header, bytes }
            }
        }
    }

    fn send_normal(&mut self, at: Instant, waiting: Waiting<()>, admission: Admission) -> Option<Item> {
        let Waiting { bytes, mode, .. } = waiting;
        if admission == Admission::Protected {
            let frame = self.new_handle();
            let header = self.end.send(at, mode, frame, bytes)?;
            self.sent_bytes.insert(frame, bytes);
            return Some(Item::Data { header, bytes });
        }
        let ack = if self.end.peer_known() { self.end.poll_piggyback(at) } else { None };
        ack.map(Item::Ack)
    }

    /// Follows the sessions in what was recorded since the last round.
    fn follow(&mut self) {
        let Some(records) = self.end.sink_mut() else { return };
        records[self.followed..].iter().for_each(|record| self.numberings.follow(&record.step));
        self.followed = records.len();
    }
}
