//! One end of a virtual link: its port, the frames that wait for it, and what it has delivered.

use super::{Direction, OnWire};
use crate::config::ControlInsertion;
use crate::frame::{Frame, FrameHandle, Integrity};
use crate::port::Port;
use crate::receiver::Verdict;
use crate::time::{Instant, Span};
use crate::transmitter::{Admission, Fate};
use crate::wire::BLOCK_OCTETS;
use std::collections::VecDeque;

/// Preamble and inter-frame gap, in octets.
const FRAME_OVERHEAD_OCTETS: u64 = 20;

/// A frame that was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    pub at: Instant,
    pub handle: FrameHandle,
    pub is_poisoned: bool,
}

/// Something that is leaving a port.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sending {
    pub what: OnWire,
    pub begin: Instant,
    pub end: Instant,
    last_control: Option<Instant>,
}

/// One end, with everything around its port.
#[derive(Debug)]
pub(super) struct End {
    pub port: Port,
    pub rate_bps: u64,
    pub is_up: bool,
    pub direction: Direction,
    pub sending: Option<Sending>,
    /// Waiting frames, with the order in which they were offered.
    pub eligible: VecDeque<(u64, Frame)>,
    pub ineligible: VecDeque<(u64, Frame)>,
    offered: u64,
    pub delivered: Vec<Delivered>,
    pub delivered_ineligible: Vec<Delivered>,
    pub acknowledged: Vec<FrameHandle>,
    pub flushed: Vec<FrameHandle>,
}

impl End {
    pub fn new(port: Port, rate_bps: u64, direction: Direction) -> End {
        End {
            port,
            rate_bps,
            is_up: true,
            direction,
            sending: None,
            eligible: VecDeque::new(),
            ineligible: VecDeque::new(),
            offered: 0,
            delivered: Vec::new(),
            delivered_ineligible: Vec::new(),
            acknowledged: Vec::new(),
            flushed: Vec::new(),
        }
    }

    pub fn offer(&mut self, frame: Frame, is_eligible: bool) {
        let queue = if is_eligible { &mut self.eligible } else { &mut self.ineligible };
        queue.push_back((self.offered, frame));
        self.offered += 1;
    }

    fn control_time(&self) -> Span {
        Span::of_octets(BLOCK_OCTETS as u64, self.rate_bps)
    }

    /// When a due control ordered set can leave; `None` if it has to wait until the current transmission ends.
    pub fn control_wake(&self) -> Option<Instant> {
        let due = self.port.control_due().filter(|_| self.is_up)?;
        let Some(sending) = self.sending else { return Some(due) };
        let insertion = self.port.config().choices.control_insertion;
        let ControlInsertion::InsideFrames { first_after_octets, apart_octets } = insertion else {
            return None;
        };
        if matches!(sending.what, OnWire::Control(_)) {
            return None;
        }
        let octets = |octets: u32| Span::of_octets(octets.into(), self.rate_bps);
        let apart = sending.last_control.map(|last| last + octets(apart_octets));
        let begin = sending.begin + octets(first_after_octets);
        let wake = due.max(begin).max(apart.unwrap_or(begin));
        (wake < sending.end).then_some(wake)
    }

    /// Inserts a control ordered set into the frame that is being sent. Returns when it is sent completely, and what it
    /// is.
    pub fn pre_empt(&mut self, now: Instant) -> Option<(Instant, OnWire)> {
        if self.sending.is_none() || self.control_wake()? > now {
            return None;
        }
        let time = self.control_time();
        let control = self.port.poll_control(now)?;
        let sending = self.sending.as_mut()?;
        sending.last_control = Some(now);
        sending.end = sending.end + time;
        Some((now + time, OnWire::Control(control)))
    }

    /// If the wire is free, starts the next transmission and returns when it ends.
    pub fn begin(&mut self, now: Instant) -> Option<Instant> {
        if self.sending.is_some() || !self.is_up {
            return None;
        }
        let what = self.next(now)?;
        let time = match what {
            OnWire::Control(_) => self.control_time(),
            OnWire::Numbered { frame, .. } | OnWire::Plain { frame, .. } => {
                Span::of_octets(u64::from(frame.bytes) + FRAME_OVERHEAD_OCTETS, self.rate_bps)
            }
        };
        let end = now + time;
        self.sending = Some(Sending { what, begin: now, end, last_control: None });
        Some(end)
    }

    /// Control ordered sets first, then replays, then new frames in the order in which they were offered.
    fn next(&mut self, now: Instant) -> Option<OnWire> {
        if let Some(control) = self.port.poll_control(now) {
            return Some(OnWire::Control(control));
        }
        if let Some(numbered) = self.port.transmitter_mut().poll_replay(now) {
            let integrity = integrity(numbered.frame);
            return Some(OnWire::Numbered { sequence: numbered.sequence, frame: numbered.frame, integrity });
        }
        let ticket = |queue: &VecDeque<(u64, Frame)>| queue.front().map_or(u64::MAX, |(ticket, _)| *ticket);
        if ticket(&self.eligible) < ticket(&self.ineligible) {
            self.next_eligible(now).or_else(|| self.next_ineligible())
        } else {
            self.next_ineligible().or_else(|| self.next_eligible(now))
        }
    }

    fn next_eligible(&mut self, now: Instant) -> Option<OnWire> {
        while let Some((_, frame)) = self.eligible.front().copied() {
            let integrity = integrity(frame);
            let what = match self.port.transmitter_mut().handle_frame(now, frame) {
                Admission::Blocked(_) => return None,
                Admission::Discarded => None,
                Admission::Ineligible => Some(OnWire::Plain { frame, integrity }),
                Admission::Numbered(sequence) => Some(OnWire::Numbered { sequence, frame, integrity }),
            };
            self.eligible.pop_front();
            if what.is_some() {
                return what;
            }
        }
        None
    }

    fn next_ineligible(&mut self) -> Option<OnWire> {
        let (_, frame) = self.ineligible.front().copied()?;
        if self.port.transmitter_mut().handle_ineligible() != Admission::Ineligible {
            return None;
        }
        self.ineligible.pop_front();
        Some(OnWire::Plain { frame, integrity: integrity(frame) })
    }

    /// Something has arrived.
    pub fn arrive(&mut self, now: Instant, what: OnWire) {
        if !self.is_up {
            return;
        }
        let (frame, integrity, verdict) = match what {
            OnWire::Control(control) => return self.port.handle_control(now, control),
            OnWire::Numbered { sequence, frame, integrity } => {
                let verdict = self.port.receiver_mut().handle_frame(now, sequence, integrity);
                (frame, integrity, verdict)
            }
            OnWire::Plain { frame, integrity } => {
                (frame, integrity, self.port.receiver_mut().handle_ineligible(integrity))
            }
        };
        if verdict == Verdict::Deliver {
            let is_poisoned = integrity == Integrity::Poisoned;
            let delivered = Delivered { at: now, handle: frame.handle, is_poisoned };
            match what {
                OnWire::Numbered { .. } => self.delivered.push(delivered),
                OnWire::Plain { .. } | OnWire::Control(_) => self.delivered_ineligible.push(delivered),
            }
        }
    }

    pub fn collect_released(&mut self) {
        while let Some((handle, fate)) = self.port.transmitter_mut().poll_release() {
            match fate {
                Fate::Acknowledged => self.acknowledged.push(handle),
                Fate::Flushed => self.flushed.push(handle),
            }
        }
    }
}

fn integrity(frame: Frame) -> Integrity {
    if frame.poisoned { Integrity::Poisoned } else { Integrity::Good }
}
