//! A virtual link: two ports, a wire with a rate, a delay and faults in each direction, and its own clock.
//!
//! The conformance plan and the tests run on it. Control ordered sets go first, then replays, then new frames. What is
//! sent arrives after its serialisation time plus the delay. Events at the same instant happen in the order in which
//! they were scheduled, so a run depends only on its inputs.

mod end;
mod faults;

pub use end::Delivered;
pub use faults::{Faults, Feedback};

use crate::config::{Config, ConfigError};
use crate::frame::{Control, Frame, FrameHandle, Integrity};
use crate::port::Port;
use crate::sequence::SequenceNumber;
use crate::time::{Instant, Span};
use end::End;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The end that usually sends.
pub const A: usize = 0;
/// The end that usually receives.
pub const B: usize = 1;

/// Something on the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnWire {
    Control(Control),
    Numbered { sequence: SequenceNumber, frame: Frame, integrity: Integrity },
    Plain { frame: Frame, integrity: Integrity },
}

/// The direction out of one end.
#[derive(Debug)]
struct Direction {
    delay: Span,
    faults: Faults,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// This end may have finished a transmission.
    Sent(usize),
    Arrives(usize, OnWire),
}

/// What an end has put on the line, if the link keeps a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traced {
    pub at: Instant,
    pub from: usize,
    pub what: OnWire,
}

/// Parameters of a virtual link.
#[derive(Debug, Clone, Copy)]
pub struct LinkConfig {
    pub rate_bps: u64,
    /// One way, for each direction.
    pub delay: Span,
    pub ports: [Config; 2],
    /// Seed for random faults.
    pub seed: u64,
}

/// Two ports and the wires between them.
#[derive(Debug)]
pub struct Link {
    now: Instant,
    ends: [End; 2],
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    scheduled: u64,
    trace: Option<Vec<Traced>>,
}

impl Link {
    /// A link whose ports are OFF.
    ///
    /// # Errors
    /// A parameter of a port that is out of its range.
    pub fn new(config: LinkConfig) -> Result<Link, ConfigError> {
        let end = |from: usize| {
            let port = Port::new(config.ports[from], config.rate_bps)?;
            let faults = Faults::new(config.seed, from);
            Ok(End::new(port, config.rate_bps, Direction { delay: config.delay, faults }))
        };
        let ends = [end(A)?, end(B)?];
        Ok(Link { now: Instant(0), ends, events: BinaryHeap::new(), scheduled: 0, trace: None })
    }

    /// Enables both transmitters.
    pub fn enable(&mut self) {
        for end in &mut self.ends {
            end.port.transmitter_mut().enable(self.now);
        }
    }

    /// Records everything that is sent from now on.
    pub fn keep_trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// What was sent since [`keep_trace`](Link::keep_trace).
    pub fn trace(&self) -> &[Traced] {
        self.trace.as_deref().unwrap_or_default()
    }

    /// The link's clock.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The port of an end.
    pub const fn port(&self, end: usize) -> &Port {
        &self.ends[end].port
    }

    /// The port of an end, for management.
    pub const fn port_mut(&mut self, end: usize) -> &mut Port {
        &mut self.ends[end].port
    }

    /// The faults of the direction out of an end.
    pub const fn faults_mut(&mut self, from: usize) -> &mut Faults {
        &mut self.ends[from].direction.faults
    }

    /// Queues a frame at an end.
    pub fn offer(&mut self, end: usize, frame: Frame, is_eligible: bool) {
        self.ends[end].offer(frame, is_eligible);
    }

    /// Queues good eligible frames at A, with handles numbered from `first`.
    pub fn offer_many(&mut self, first: u64, frames: u64, bytes: u32) {
        for handle in (first..first + frames).map(FrameHandle) {
            self.offer(A, Frame { handle, bytes, poisoned: false }, true);
        }
    }

    /// Eligible frames that an end has delivered.
    pub fn delivered(&self, end: usize) -> &[Delivered] {
        &self.ends[end].delivered
    }

    /// Frames without a number that an end has delivered.
    pub fn delivered_ineligible(&self, end: usize) -> &[Delivered] {
        &self.ends[end].delivered_ineligible
    }

    /// Frames of an end that the peer has acknowledged.
    pub fn acknowledged(&self, end: usize) -> &[FrameHandle] {
        &self.ends[end].acknowledged
    }

    /// Frames of an end that were given up.
    pub fn flushed(&self, end: usize) -> &[FrameHandle] {
        &self.ends[end].flushed
    }

    /// Frames that wait at an end.
    pub fn waiting(&self, end: usize) -> usize {
        self.ends[end].eligible.len() + self.ends[end].ineligible.len()
    }

    /// The PCS of an end is lost or up again. Anything that arrives there in the meantime is lost.
    pub fn set_pcs(&mut self, end: usize, is_up: bool) {
        self.ends[end].is_up = is_up;
        self.ends[end].port.transmitter_mut().handle_pcs(self.now, is_up);
    }

    /// Runs until nothing is left to do, or until this instant.
    pub fn run_until(&mut self, limit: Instant) {
        self.serve();
        while let Some(next) = self.next_time().filter(|next| *next <= limit) {
            self.now = self.now.max(next);
            while let Some(Reverse((at, _, _))) = self.events.peek()
                && *at <= self.now
            {
                if let Some(Reverse((_, _, event))) = self.events.pop() {
                    self.handle(event);
                }
            }
            self.serve();
        }
        self.now = self.now.max(limit);
    }

    /// Runs for a while.
    pub fn run_for(&mut self, span: Span) {
        self.run_until(self.now + span);
    }

    fn next_time(&self) -> Option<Instant> {
        let ends = self.ends.iter().flat_map(|end| [end.port.transmitter().deadline(), end.control_wake()]);
        let event = self.events.peek().map(|Reverse((at, _, _))| *at);
        ends.chain([event]).flatten().min()
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.events.push(Reverse((at, self.scheduled, event)));
        self.scheduled += 1;
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrives(to, what) => self.ends[to].arrive(self.now, what),
            Event::Sent(from) => {
                let Some(sending) = self.ends[from].sending else { return };
                if sending.end > self.now {
                    return self.schedule(sending.end, Event::Sent(from));
                }
                self.ends[from].sending = None;
                self.carry(from, self.now, sending.what);
            }
        }
    }

    /// Something has left a port.
    fn carry(&mut self, from: usize, at: Instant, what: OnWire) {
        let direction = &mut self.ends[from].direction;
        let arrival = at + direction.delay;
        if let Some(what) = direction.faults.pass(what) {
            self.schedule(arrival, Event::Arrives(1 - from, what));
        }
    }

    /// Timers that have run out, and whatever can be sent now.
    fn serve(&mut self) {
        for from in [A, B] {
            let end = &mut self.ends[from];
            end.port.transmitter_mut().handle_timeout(self.now);
            if let Some((at, what)) = end.pre_empt(self.now) {
                self.note(from, what);
                self.carry(from, at, what);
            }
            let end = &mut self.ends[from];
            let begun = end.begin(self.now);
            let sending = end.sending.map(|sending| sending.what);
            end.collect_released();
            if let Some((at, what)) = begun.zip(sending) {
                self.note(from, what);
                self.schedule(at, Event::Sent(from));
            }
        }
    }

    fn note(&mut self, from: usize, what: OnWire) {
        if let Some(trace) = &mut self.trace {
            trace.push(Traced { at: self.now, from, what });
        }
    }
}
