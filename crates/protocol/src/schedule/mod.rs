//! What a port sends next: the policy around the state machines, written once for every driver.
//!
//! Frames from the host side queue by class ([`ClassQueues`]). A port that can take a frame asks [`Round::next`], which
//! knows the order of section 3 (Figure 5):
//!
//! 1. *urgent*: retransmissions, loss notifications, pause and resume, handshake, overdue dummies and ACKs;
//! 2. *normal*: of the classes whose first frame may go, the one whose first frame came first. A class that is held
//!    (paused, Tx buffer full, draining) holds up no other. The exception is the authors' headers, which use one lane at
//!    a time: there, a class that waits for its turn holds up the other one before long;
//! 3. *idle*: dummies and explicit ACKs, only if no normal frame may go.
//!
//! A driver only says what its port can take at the moment ([`PortRoom`]), and puts the result on the wire.

mod class_queues;
#[cfg(test)]
mod tests;

pub use class_queues::{Arrival, ClassQueues, QueueLimits, Waiting};

use crate::frame::{Mode, PerMode};
use crate::link_end::{Admission, LinkEnd, Priority, Transmit};
use crate::time::Instant;
use crate::trace::{StepSink, TracedLinkEnd};

/// Knows what is urgent, which normal frames may leave, and what fills an idle port: a link end, or a driver between it
/// and the port whose copies are not always available.
pub trait Transmitter {
    /// What is sent before and after normal frames.
    type Transmit;

    /// The next urgent frame to send.
    fn poll_urgent(&mut self, now: Instant) -> Option<Self::Transmit>;
    /// Whether a normal frame of `bytes` may leave in `mode`.
    fn admission(&self, mode: Mode, bytes: u32) -> Admission;
    /// The next frame to send on a port that would otherwise be idle.
    fn poll_idle(&mut self, now: Instant) -> Option<Self::Transmit>;
    /// Whether a frame that is held in `mode` waits until everything in the other lane is acknowledged, which never
    /// happens if more and more is sent there.
    fn waits_for_turn(&self, mode: Mode) -> bool {
        let _ = mode;
        false
    }
}

/// How many frames of the lane in use still go ahead of one that waits for its turn, counted by arrivals behind it. A
/// change of lanes takes a round trip, so frames of two alternating classes should not cause one each.
const TURN_FRAMES: u64 = 32;

/// A link end by itself, or one whose driver's calls are written down.
pub trait Schedulable {
    /// The link end.
    fn link_end(&self) -> &LinkEnd;
    /// See [`LinkEnd::poll_transmit`].
    fn poll_transmit(&mut self, now: Instant, priority: Priority) -> Option<Transmit>;
}

impl Schedulable for LinkEnd {
    #[inline]
    fn link_end(&self) -> &LinkEnd {
        self
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant, priority: Priority) -> Option<Transmit> {
        LinkEnd::poll_transmit(self, now, priority)
    }
}

impl<S: StepSink> Schedulable for TracedLinkEnd<S> {
    #[inline]
    fn link_end(&self) -> &LinkEnd {
        self
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant, priority: Priority) -> Option<Transmit> {
        TracedLinkEnd::poll_transmit(self, now, priority)
    }
}

impl<E: Schedulable> Transmitter for E {
    type Transmit = Transmit;

    #[inline]
    fn poll_urgent(&mut self, now: Instant) -> Option<Transmit> {
        self.poll_transmit(now, Priority::High)
    }

    #[inline]
    fn admission(&self, mode: Mode, bytes: u32) -> Admission {
        self.link_end().admission(mode, bytes)
    }

    #[inline]
    fn poll_idle(&mut self, now: Instant) -> Option<Transmit> {
        self.poll_transmit(now, Priority::Low)
    }

    #[inline]
    fn waits_for_turn(&self, mode: Mode) -> bool {
        self.link_end().waits_for_turn(mode)
    }
}

/// What a port can take now, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PortRoom {
    /// No frame at all.
    None,
    /// Urgent frames only: its queue is nearly full, or a shaper reserves it for later.
    Urgent,
    All,
}

/// What to send next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next<T, F> {
    /// An urgent frame: a copy or a control frame.
    Urgent(T),
    /// A normal frame, which has left its queue, and how it may go: never [`Admission::Held`].
    Normal(Waiting<F>, Admission),
    /// A control frame for an idle port.
    Idle(T),
}

/// One turn of a driver at a port, at one instant. A port that takes several frames asks until [`Round::next`] has no
/// more. Meanwhile, only what the driver is told to send may change the link end or the queues, so a source that had
/// nothing is not asked again.
#[derive(Debug)]
pub struct Round {
    now: Instant,
    stage: Stage,
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Urgent,
    Normal,
    Idle,
}

impl Round {
    /// Begins a turn at `now`.
    #[inline]
    pub const fn new(now: Instant) -> Round {
        Round { now, stage: Stage::Urgent }
    }

    /// What to send next into a port with this much `room`; `None` if it cannot take anything that may go.
    #[inline]
    pub fn next<E: Transmitter, F>(
        &mut self,
        end: &mut E,
        queues: &mut ClassQueues<F>,
        room: PortRoom,
    ) -> Option<Next<E::Transmit, F>> {
        if room == PortRoom::None {
            return None;
        }
        if self.stage == Stage::Urgent {
            if let Some(transmit) = end.poll_urgent(self.now) {
                return Some(Next::Urgent(transmit));
            }
            self.stage = Stage::Normal;
        }
        // Frames for an idle port need a port with room for normal frames.
        if room < PortRoom::All {
            return None;
        }
        if self.stage == Stage::Normal {
            if let Some((waiting, admission)) = take_admitted(end, queues) {
                return Some(Next::Normal(waiting, admission));
            }
            self.stage = Stage::Idle;
        }
        end.poll_idle(self.now).map(Next::Idle)
    }
}

/// Whether a frame waits that may go: with room at the port, [`Round::next`] will return it.
pub fn has_next<E: Transmitter, F>(end: &E, queues: &ClassQueues<F>) -> bool {
    first_admitted(end, queues).is_some()
}

/// Takes the frame that came first among the classes whose first frame may go.
#[inline]
fn take_admitted<E: Transmitter, F>(end: &E, queues: &mut ClassQueues<F>) -> Option<(Waiting<F>, Admission)> {
    let (mode, admission) = first_admitted(end, queues)?;
    queues.pop(mode).map(|waiting| (waiting, admission))
}

/// Among the classes whose first frame may go, the one whose first frame came first.
#[inline]
fn first_admitted<E: Transmitter, F>(end: &E, queues: &ClassQueues<F>) -> Option<(Mode, Admission)> {
    let mut held = PerMode::default();
    // Each class is asked at most once: it goes, or it is held.
    while let Some((mode, bytes)) = queues.first(held) {
        match end.admission(mode, bytes) {
            Admission::Held => {
                if end.waits_for_turn(mode) && queues.is_followed_at(mode, TURN_FRAMES) {
                    return None;
                }
                held[mode] = true;
            }
            admission => return Some((mode, admission)),
        }
    }
    None
}
