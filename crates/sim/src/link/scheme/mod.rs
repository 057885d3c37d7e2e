//! How a link recovers what it corrupts.
//!
//! A scheme is a type of its own behind [`Scheme`], with static dispatch. Which there are is said in one place,
//! [`named`]: the links of a network may have different ones, and a network of others is made by the same macro. A scheme
//! never sees the event queue, the wire or the nodes: the port asks it what to send, tells it what has arrived, and gives
//! it a [`Desk`] on which it sets its timer, says that it has something urgent, lets frames circle, and tells observers.
//!
//! # Who calls what
//!
//! | when | calls |
//! | --- | --- |
//! | the port is free | after [`Desk::attend`]: `poll_urgent` and `poll_retransmission` until `None`; then `admission` and `send` for a normal frame; then `poll_ack`, `poll_idle` |
//! | a frame arrives | `handle_data`, and what [`Reception`] says; or `handle_ack`; or `handle_control`, and then the same as after a timeout |
//! | its timer is due | `handle_timeout`, then `poll_deliver` until `None`, then `set_timer` |
//! | a frame comes round | `poll_retransmission_of` until `None`, then `handle_round` |

mod desk;
pub mod linkguardian;
pub mod named;
mod unprotected;

pub use desk::{Buffer, Desk};
pub(crate) use desk::{Circling, Timer};
pub use linkguardian::{LinkGuardian, LinkGuardianConfig};
pub use named::{AnyAck, AnyConfig, AnyControl, AnyHeader, Schemes};
pub use unprotected::Unprotected;

use super::frame::Frame;
use crate::network::Observer;
use crate::time::Time;
pub use linkmend_protocol::Admission;
use linkmend_protocol::{ConfigError, Mode};
use std::fmt::Debug;

/// Whose scheme it is.
#[derive(Debug, Clone, Copy)]
pub struct Seat {
    /// Seed of the run.
    pub seed: u64,
    /// The port, by its number: the name of its random numbers.
    pub port: u32,
}

/// A frame that a scheme sends of its own accord, ahead of normal frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Urgent<C> {
    /// The frame.
    pub control: C,
    /// Not before this.
    pub ready_at: Time,
    /// The peer's port takes it in, ahead of what its pipeline works on, as it does with a PFC frame.
    pub overtakes: bool,
}

/// What a scheme sends on an idle port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle<A, C> {
    /// An acknowledgement.
    Ack(A),
    /// Another control frame.
    Control(C),
}

/// What becomes of a frame that has arrived with a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reception {
    /// It is passed on.
    Deliver,
    /// It is passed on, and after it what `poll_deliver` has.
    DeliverMore,
    /// It waits; `poll_deliver` has what need not.
    Buffered,
    /// It is gone.
    Dropped,
}

/// What becomes of a frame that has come round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// It goes round once more.
    Stays,
    /// It is gone; if it `made_room`, a normal frame may go that could not.
    Leaves {
        /// Whether the port is to look.
        made_room: bool,
    },
    /// It is passed on, and after it what `poll_deliver` has. If the scheme has something urgent, the port is to look.
    Delivers(Frame, bool),
}

/// What happens in some cycles of a steady state, to one end of a link.
#[derive(Debug, Clone, Copy)]
pub struct Cycles {
    /// How long all of them last.
    pub elapsed: Time,
    /// Frames that it sends, their class and length.
    pub sent: u64,
    /// See `sent`.
    pub mode: Mode,
    /// See `sent`.
    pub bytes: u32,
    /// Frames that it receives, their class and length.
    pub received: u64,
    /// See `received`.
    pub received_mode: Mode,
    /// See `received`.
    pub received_bytes: u32,
    /// Acknowledgements that it sends.
    pub acks: u64,
}

/// One end of a link, with both of its directions: how it protects what it sends, and recovers what it receives.
pub trait Scheme: Sized + Debug {
    /// What it needs to know.
    type Config: Clone + Debug;
    /// What it puts before a frame of the traffic.
    type Header: Copy + Debug + PartialEq;
    /// An acknowledgement: the control frame that is as frequent as data. It is as long as the shortest frame.
    type Ack: Copy + Debug + PartialEq;
    /// Any other control frame; it may be large.
    type Control: Debug;

    /// An end, with the configuration of its peer.
    ///
    /// # Errors
    /// Names the parameter that cannot be used.
    fn new(config: &Self::Config, peer: &Self::Config, seat: Seat) -> Result<Self, ConfigError>;

    /// Bytes that the header adds to a frame.
    fn header_bytes(&self) -> u32;

    /// Whether a normal frame may go now, and with a header or without.
    fn admission(&self, frame: &Frame) -> Admission;

    /// A frame goes that was admitted as protected: its header.
    fn send<O: Observer<N>, N: Scheme>(&mut self, desk: &mut Desk<'_, N, O>, frame: Frame) -> Self::Header;

    /// A frame goes as it is.
    fn send_plain<O: Observer<N>, N: Scheme>(&mut self, desk: &mut Desk<'_, N, O>, frame: &Frame) {
        let _ = (desk, frame);
    }

    /// A frame has arrived with a header.
    fn handle_data<O: Observer<N>, N: Scheme>(
        &mut self,
        desk: &mut Desk<'_, N, O>,
        header: &Self::Header,
        frame: Frame,
    ) -> Reception;

    /// An acknowledgement has arrived.
    fn handle_ack<O: Observer<N>, N: Scheme>(&mut self, desk: &mut Desk<'_, N, O>, ack: Self::Ack);

    /// Another control frame has arrived.
    fn handle_control<O: Observer<N>, N: Scheme>(
        &mut self,
        desk: &mut Desk<'_, N, O>,
        control: &Self::Control,
    );

    /// The next control frame that goes ahead of normal ones.
    fn poll_urgent<O: Observer<N>, N: Scheme>(
        &mut self,
        desk: &mut Desk<'_, N, O>,
    ) -> Option<Urgent<Self::Control>> {
        let _ = desk;
        None
    }

    /// The next copy that goes ahead of normal frames.
    fn poll_retransmission(&mut self) -> Option<(Self::Header, Frame)> {
        None
    }

    /// The next copy of the frame that has come round in this place of the Tx buffer.
    fn poll_retransmission_of(&mut self, slot: u32) -> Option<(Self::Header, Frame)> {
        let _ = slot;
        None
    }

    /// An acknowledgement for a port that would otherwise be idle.
    fn poll_ack(&mut self, now: Time) -> Option<Self::Ack> {
        let _ = now;
        None
    }

    /// Something else for a port that would otherwise be idle.
    fn poll_idle(&mut self, now: Time) -> Option<Idle<Self::Ack, Self::Control>> {
        let _ = now;
        None
    }

    /// The next frame whose turn has come to be passed on.
    fn poll_deliver<O: Observer<N>, N: Scheme>(&mut self, desk: &mut Desk<'_, N, O>) -> Option<Frame> {
        let _ = desk;
        None
    }

    /// The timer is due.
    fn handle_timeout<O: Observer<N>, N: Scheme>(&mut self, desk: &mut Desk<'_, N, O>) {
        let _ = desk;
    }

    /// What was due is done: sets the timer for what is next.
    fn set_timer<O: Observer<N>, N: Scheme>(&mut self, desk: &mut Desk<'_, N, O>) {
        let _ = desk;
    }

    /// A frame of one of its buffers has come round.
    fn handle_round<O: Observer<N>, N: Scheme>(
        &mut self,
        desk: &mut Desk<'_, N, O>,
        buffer: Buffer,
        slot: u32,
    ) -> Round {
        let _ = (desk, buffer, slot);
        Round::Leaves { made_room: false }
    }

    /// Whether a frame will go round once more when it comes round, if nothing else happens.
    fn circles_on(&self, now: Time, buffer: Buffer, slot: u32) -> bool {
        let _ = (now, buffer, slot);
        false
    }

    /// Whether the ends of the link say anything to each other. If not, nothing that arrives makes the port look again.
    fn speaks(&self) -> bool {
        true
    }

    /// Whether an idle port sends frames of the shortest length without a gap, so that one that becomes ready within such
    /// a slot waits for its end.
    fn fills_idle_slots(&self) -> bool {
        false
    }

    /// Whether the port has to look again when it has sent what it is sending.
    fn has_more(&self) -> bool {
        false
    }

    /// When the scheme is to be asked again, if the port found nothing to send.
    fn idle_until(&self, now: Time) -> Option<Time> {
        let _ = now;
        None
    }

    /// Whether what it needs before it can protect anything is still under way.
    fn is_opening(&self) -> bool {
        false
    }

    /// Whether all that was sent has arrived or is given up, and nothing waits to be passed on.
    fn is_drained(&self) -> bool {
        true
    }

    /// How many copies it sends of a lost frame.
    fn copies(&self) -> u8 {
        1
    }

    /// As receiver: whether it waits no longer for the frame with this header, which was lost.
    fn has_passed(&self, header: &Self::Header) -> bool {
        let _ = header;
        false
    }

    /// As receiver: how many frames found no room.
    fn overflows(&self) -> u64 {
        0
    }

    /// Whether it is the header of a frame that was sent before.
    fn is_copy(header: &Self::Header) -> bool;

    /// Length of a control frame, with frame check sequence.
    fn control_bytes(control: &Self::Control) -> u32;

    /// Whether an idle port repeats the control frame until one is not corrupted.
    fn replenishes(control: &Self::Control) -> bool {
        let _ = control;
        false
    }

    /// Whether the control frame tells the receiver which frames were sent before it.
    fn announces(control: &Self::Control) -> bool {
        let _ = control;
        false
    }

    /// The optional steady state, for fast-forward: writes down what determines its future, relative to the clock; `None`
    /// while it is not steady. A scheme that never is has every event simulated.
    fn steady_state(&self, now: Time, state: &mut Vec<u64>) -> Option<()> {
        let _ = (now, state);
        None
    }

    /// Part of the steady state: a header in flight, relative to the number of its frame.
    fn header_state(header: &Self::Header, frame: &Frame, state: &mut Vec<u64>) {
        let _ = (header, frame, state);
    }

    /// Part of the steady state: an acknowledgement in flight, of which `arriving` frames had been produced.
    fn ack_state(ack: &Self::Ack, arriving: u64) -> u64 {
        let _ = (ack, arriving);
        0
    }

    /// Part of the steady state: a frame that circles, when so many had been `produced` and were to arrive.
    fn circling_state(&self, buffer: Buffer, slot: u32, produced: u64, arriving: u64) -> u64 {
        let _ = (buffer, slot, produced, arriving);
        0
    }

    /// Cycles of the steady state are skipped.
    fn skip(&mut self, cycles: &Cycles) {
        let _ = cycles;
    }

    /// The same for a header in flight, while `frames` are sent.
    fn skip_header(header: &mut Self::Header, frames: u64) {
        let _ = (header, frames);
    }

    /// The same for an acknowledgement in flight, while `frames` arrive.
    fn skip_ack(ack: &mut Self::Ack, frames: u64) {
        let _ = (ack, frames);
    }
}
