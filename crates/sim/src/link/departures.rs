//! When the frames that are waiting at a port will leave it.
//!
//! A port whose link does not recover losses sends frames in the order in which they arrived, one right after the
//! other. As soon as a frame has arrived, it is therefore known when it will leave and whether the link will corrupt
//! it. Its arrival at the other end can be planned, without an event for its departure. What departures change at the
//! port is updated before anything reads the port: the port is [*settled*](Departures::settle).

use super::frame::{Frame, WIRE_OVERHEAD_BYTES};
use super::id::PortId;
use crate::time::{Rate, Time};
use linkmend_protocol::schedule::{Arrival, QueueLimits};
use std::collections::VecDeque;

/// A frame that has been planned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Departure {
    /// When the port begins to send it; [`Time::NEVER`] while the port is paused.
    pub(crate) at: Time,
    pub(crate) frame: Frame,
    /// Where it arrived.
    pub(crate) ingress: PortId,
    /// Whether the link will corrupt it.
    pub(crate) corrupted: bool,
}

/// The frames that a port holds and has not begun to send, up to the time at which it was settled.
#[derive(Debug)]
pub(crate) struct Departures {
    planned: VecDeque<Departure>,
    limits: QueueLimits,
    rate: Rate,
    /// Total length of all frames.
    bytes: u64,
    bytes_max: u64,
    /// When the port will have sent all of them.
    ends_at: Time,
    /// How many of them will be corrupted.
    corrupted: u32,
    /// The event in which the last frame arrived, and how many arrived in it. They cannot leave before that event.
    event: u64,
    fresh: usize,
    /// Whether the switch of the port runs ahead of the rest of the network.
    pub(crate) runs_ahead: bool,
}

/// How far a run has advanced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Present {
    pub(crate) now: Time,
    /// The number of the current event, and its source.
    pub(crate) event: u64,
    pub(crate) acts: usize,
}

impl Departures {
    pub(crate) fn new(limits: QueueLimits, rate: Rate) -> Departures {
        Departures {
            planned: VecDeque::new(),
            limits,
            rate,
            bytes: 0,
            bytes_max: 0,
            ends_at: Time::ZERO,
            corrupted: 0,
            event: 0,
            fresh: 0,
            runs_ahead: false,
        }
    }

    /// What to do with a frame of `bytes` that arrives now at a settled port.
    #[inline]
    pub(crate) fn arrival(&self, bytes: u16) -> Arrival {
        let frames = self.planned.len();
        self.limits.arrival(u32::from(bytes), frames, self.bytes, frames)
    }

    /// Plans a frame after the others. Returns when the port will have sent it, which is never while the port is
    /// paused.
    #[inline]
    pub(crate) fn push(&mut self, present: Present, coming: Departure, is_paused: bool) -> Time {
        let at = if is_paused { Time::NEVER } else { self.ends_at.max(present.now) };
        self.planned.push_back(Departure { at, ..coming });
        self.bytes += u64::from(coming.frame.bytes);
        self.bytes_max = self.bytes_max.max(self.bytes);
        self.corrupted += u32::from(coming.corrupted);
        self.fresh = if self.event == present.event { self.fresh + 1 } else { 1 };
        self.event = present.event;
        if is_paused {
            return Time::NEVER;
        }
        self.ends_at = at + self.lasts(coming.frame);
        self.ends_at
    }

    /// Takes the first frame if the port, whose own source of events is `service`, has begun to send it.
    #[inline]
    pub(crate) fn settle(&mut self, present: Present, service: usize) -> Option<Departure> {
        let at = self.planned.front()?.at;
        if at >= present.now && (at > present.now || !self.has_begun(present, service)) {
            return None;
        }
        let departure = self.planned.pop_front()?;
        self.bytes -= u64::from(departure.frame.bytes);
        self.corrupted -= u32::from(departure.corrupted);
        Some(departure)
    }

    /// Whether the port's service that is due at this time came before the current event.
    fn has_begun(&self, present: Present, service: usize) -> bool {
        let is_fresh = self.event == present.event && self.planned.len() <= self.fresh;
        service <= present.acts && !is_fresh
    }

    /// How long the port takes to send a frame.
    #[inline]
    pub(crate) fn lasts(&self, frame: Frame) -> Time {
        self.rate.time_of(u64::from(frame.bytes) + WIRE_OVERHEAD_BYTES)
    }

    /// Cancels the planned departures of a settled port that has been paused and finishes its current frame at
    /// `free_at`. Returns how many of the frames would have arrived.
    pub(crate) fn hold(&mut self, free_at: Time) -> usize {
        self.planned.iter_mut().for_each(|departure| departure.at = Time::NEVER);
        self.ends_at = free_at;
        self.planned.len() - self.corrupted as usize
    }

    /// Plans the departures again, one after the other from `now` on. For each frame that will arrive, it reports when
    /// the port will have sent it.
    pub(crate) fn go_on(&mut self, now: Time, mut arrives: impl FnMut(Frame, Time)) {
        let mut at = self.ends_at.max(now);
        for departure in &mut self.planned {
            departure.at = at;
            at += self.rate.time_of(u64::from(departure.frame.bytes) + WIRE_OVERHEAD_BYTES);
            if !departure.corrupted {
                arrives(departure.frame, at);
            }
        }
        self.ends_at = at;
    }

    /// When the first frame leaves, or the first that the link will corrupt.
    #[inline]
    pub(crate) fn next(&self, only_corrupted: bool) -> Time {
        if only_corrupted && self.corrupted == 0 {
            return Time::NEVER;
        }
        let mut planned = self.planned.iter().filter(|departure| departure.corrupted || !only_corrupted);
        planned.next().map_or(Time::NEVER, |departure| departure.at)
    }

    /// Whether the link will corrupt the first frame.
    pub(crate) fn first_is_corrupted(&self) -> bool {
        self.planned.front().is_some_and(|departure| departure.corrupted)
    }

    /// Number of bytes waiting at `now`.
    pub(crate) fn bytes_at(&self, now: Time) -> u64 {
        let waiting = self.planned.iter().filter(|departure| departure.at > now);
        waiting.map(|departure| u64::from(departure.frame.bytes)).sum()
    }

    /// How many frames will leave after `now` and arrive.
    pub(crate) fn arriving_after(&self, now: Time) -> u64 {
        let later = |departure: &&Departure| {
            departure.at > now && departure.at != Time::NEVER && !departure.corrupted
        };
        self.planned.iter().filter(later).count() as u64
    }

    /// Maximum number of bytes that have been waiting.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{FlowId, LinkId, Side};
    use linkmend_protocol::Mode;

    const PORT: PortId = PortId::new(LinkId(0), Side::A);
    /// 980 bytes plus preamble and gap last this long at 100G.
    const LASTS: Time = Time(80_000);
    const SERVICE: usize = 10;

    fn departures(limits: QueueLimits) -> Departures {
        Departures::new(limits, Rate::from_bits_per_second(100_000_000_000).expect("exact"))
    }

    fn present(now: u64, event: u64, acts: usize) -> Present {
        Present { now: Time(now), event, acts }
    }

    fn coming(id: u64, corrupted: bool) -> Departure {
        let frame = Frame { id, flow: FlowId(0), bytes: 980, mode: Mode::Ordered, marked: false };
        Departure { at: Time::ZERO, frame, ingress: PORT, corrupted }
    }

    #[test]
    fn frames_leave_one_after_the_other_and_count_until_they_do() {
        let mut departures =
            departures(QueueLimits { class_bytes: 2_000, ecn_bytes: 900, ..QueueLimits::UNLIMITED });
        assert_eq!(departures.push(present(5, 1, 20), coming(0, false), false), Time(5) + LASTS);
        assert_eq!(departures.arrival(980), Arrival::Mark);
        assert_eq!(departures.push(present(5, 2, 20), coming(1, true), false), Time(5) + LASTS + LASTS);
        assert_eq!(departures.arrival(980), Arrival::Drop);
        assert_eq!((departures.bytes_max(), departures.bytes_at(Time(5))), (1_960, 980));
        assert_eq!([true, false].map(|only| departures.next(only)), [Time(5) + LASTS, Time(5)]);
        let first = departures.settle(present(6, 3, 0), SERVICE).expect("it has left");
        assert_eq!((first.at, first.frame.id), (Time(5), 0));
        assert!(departures.settle(present(6, 3, 0), SERVICE).is_none());
        assert!(departures.first_is_corrupted());
        assert_eq!(departures.arrival(980), Arrival::Mark);
    }

    #[test]
    fn at_the_same_time_a_frame_has_left_if_the_service_of_its_port_comes_before_the_present_event() {
        let mut departures = departures(QueueLimits::UNLIMITED);
        departures.push(present(5, 1, 20), coming(0, false), false);
        assert!(departures.settle(present(5, 1, 20), SERVICE).is_none(), "it has come just now");
        assert!(departures.settle(present(5, 2, SERVICE - 1), SERVICE).is_none());
        assert!(departures.settle(present(5, 2, SERVICE), SERVICE).is_some());
    }

    #[test]
    fn a_paused_port_holds_its_frames_and_sends_them_when_it_goes_on() {
        let mut departures = departures(QueueLimits::UNLIMITED);
        for (id, corrupted) in [(0, false), (1, true), (2, false)] {
            departures.push(present(0, id, 20), coming(id, corrupted), false);
        }
        departures.settle(present(1, 3, 0), SERVICE).expect("the first has left");
        assert_eq!(departures.hold(LASTS), 1, "the corrupted one was not to arrive");
        assert_eq!(departures.push(present(2, 4, 20), coming(3, false), true), Time::NEVER);
        assert_eq!([true, false].map(|only| departures.next(only)), [Time::NEVER; 2]);
        let mut arrive = Vec::new();
        departures.go_on(Time(100_000), |frame, sent_at| arrive.push((frame.id, sent_at.0)));
        assert_eq!(arrive, [(2, 260_000), (3, 340_000)], "the second takes its time as well");
    }
}
