//! What a port sends next: the policy around the state machines, written once for every driver.
//!
//! Frames from the host side queue by class ([`ClassQueues`]). A port that can take a frame asks [`Round::next`], which
//! knows the order of section 3 (Figure 5):
//!
//! 1. *urgent*: retransmissions, loss notifications, pause and resume, handshake, overdue dummies and ACKs;
//! 2. *normal*: of the classes whose first frame may go, the one that has sent fewer bytes ([`Turns`]), so that a rarely
//!    used class does not wait behind the backlog of a busy one. A class that is held (paused, Tx buffer full, draining)
//!    holds up no other. The exception is the authors' headers, which use one lane at a time: there, a class that waits
//!    for its lane holds up the other one before long;
//! 3. *idle*: dummies and explicit ACKs, only if no normal frame may go.
//!
//! A driver only says what its port can take at the moment ([`PortRoom`]), and puts the result on the wire.

mod class_queues;
#[cfg(test)]
mod tests;
mod turns;

pub use class_queues::{Arrival, ClassQueues, QueueLimits, Waiting};
pub use turns::Turns;

use crate::link_end::{Admission, LinkEnd, Priority, Transmit};
use crate::mode::Mode;
use crate::time::Instant;
use crate::trace::{StepSink, TracedLinkEnd};

/// Decides what is urgent, which normal frames may be sent, and what fills an idle port. It is a link end, or a driver
/// between the link end and the port whose copies are not always available.
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
    fn waits_for_lane(&self, mode: Mode) -> bool {
        let _ = mode;
        false
    }
}

/// Where normal frames wait: [`ClassQueues`], or what a driver has besides them.
pub trait NormalFrames {
    /// The driver's own value: a handle, or a simulated frame.
    type Frame;

    /// Whether there is no frame of either class.
    fn is_empty(&self) -> bool;
    /// The class that goes first if both may.
    fn turn(&self) -> Mode;
    /// How many frames of the other class have left since the first frame of this one became the first.
    fn overtaken(&self, mode: Mode) -> u32;
    /// Length of the first frame of a class, in bytes.
    fn front_bytes(&self, mode: Mode) -> Option<u32>;
    /// Takes the first frame of a class, and counts it in the turns.
    fn pop(&mut self, mode: Mode) -> Option<Waiting<Self::Frame>>;
}

/// How many more frames of the lane in use are sent before one that waits for its lane. A change of lanes takes a round
/// trip, so alternating classes should not cause one for each frame.
const LANE_FRAMES: u32 = 32;

/// A link end, or a recorder around one.
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
    fn waits_for_lane(&self, mode: Mode) -> bool {
        self.link_end().waits_for_lane(mode)
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
    pub fn next<E: Transmitter, Q: NormalFrames>(
        &mut self,
        end: &mut E,
        queues: &mut Q,
        room: PortRoom,
    ) -> Option<Next<E::Transmit, Q::Frame>> {
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
            if let Some((mode, admission)) = first_admitted(end, queues)
                && let Some(waiting) = queues.pop(mode)
            {
                return Some(Next::Normal(waiting, admission));
            }
            self.stage = Stage::Idle;
        }
        end.poll_idle(self.now).map(Next::Idle)
    }
}

/// Whether a frame waits that may go: with room at the port, [`Round::next`] will return it.
pub fn has_next<E: Transmitter, Q: NormalFrames>(end: &E, queues: &Q) -> bool {
    first_admitted(end, queues).is_some()
}

/// Among the classes whose first frame may go, the one whose turn it is.
#[inline(always)]
fn first_admitted<E: Transmitter, Q: NormalFrames>(end: &E, queues: &Q) -> Option<(Mode, Admission)> {
    if queues.is_empty() {
        return None;
    }
    let turn = queues.turn();
    match ask(end, queues, turn) {
        Answer::Goes(admission) => Some((turn, admission)),
        Answer::HoldsBoth => None,
        Answer::Held => match ask(end, queues, turn.other()) {
            Answer::Goes(admission) => Some((turn.other(), admission)),
            Answer::HoldsBoth | Answer::Held => None,
        },
    }
}

/// Whether the first frame of a class may go.
enum Answer {
    Goes(Admission),
    /// Not this class; or there is no frame.
    Held,
    /// Not this class, and the other one must wait for it.
    HoldsBoth,
}

#[inline(always)]
fn ask<E: Transmitter, Q: NormalFrames>(end: &E, queues: &Q, mode: Mode) -> Answer {
    let Some(bytes) = queues.front_bytes(mode) else { return Answer::Held };
    match end.admission(mode, bytes) {
        Admission::Held if end.waits_for_lane(mode) && queues.overtaken(mode) >= LANE_FRAMES => {
            Answer::HoldsBoth
        }
        Admission::Held => Answer::Held,
        admission => Answer::Goes(admission),
    }
}
