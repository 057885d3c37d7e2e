//! How a link recovers what it corrupts.
//!
//! A scheme is a type behind the trait [`Scheme`], with static dispatch. The macro in [`named`] makes a set of schemes one
//! type, so that the links of a network may have different ones. A scheme never sees the event queue, the wire or the
//! nodes. The port asks it what to send, tells it what has arrived, and gives it a [`SchemeContext`], through which it sets
//! its timer, reports that it has something urgent, sends frames through loops, and tells observers.
//!
//! # Who calls what
//!
//! | when | calls |
//! | --- | --- |
//! | the port is free | after [`SchemeContext::request_service`]: `poll_urgent` and `poll_retransmission` until `None`; then `admission` and `send` for a normal frame; then `poll_ack`, `poll_idle` |
//! | a frame arrives | `handle_data`, and what [`Reception`] says; or `handle_ack`; or `handle_control`, and then the same as after a timeout |
//! | its timer is due | `handle_timeout`, then `poll_deliver` until `None`, then `set_timer` |
//! | a frame returns from its loop | `poll_retransmission_of` until `None`, then `handle_round` |

pub(crate) mod context;
pub mod linkguardian;
pub mod named;
mod unprotected;
pub mod wharf;

pub use context::{Buffer, SchemeContext};
pub use linkguardian::{LinkGuardian, LinkGuardianConfig};
pub use named::{AnyAck, AnyConfig, AnyControl, AnyHeader, Schemes};
pub use unprotected::Unprotected;
pub use wharf::{Wharf, WharfConfig};

pub use super::control_store::ControlPlace;
use super::frame::Frame;
use crate::time::Time;
use linkmend_protocol::ConfigError;
pub use linkmend_protocol::{Admission, Mode};
use std::fmt::Debug;

/// The place of a scheme in a network.
#[derive(Debug, Clone, Copy)]
pub struct PortSeed {
    /// Seed of the run.
    pub seed: u64,
    /// Number of its port, which names its random numbers.
    pub port: u32,
}

/// A control frame that a scheme sends ahead of normal frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Urgent {
    /// Where its content was stored.
    pub place: ControlPlace,
    /// It may not leave before this.
    pub ready_at: Time,
    /// The peer's port takes it in ahead of its pipeline, as it does with a PFC frame.
    pub overtakes: bool,
}

/// What a scheme sends on an idle port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle<A> {
    Ack(A),
    /// Another control frame, and where its content was stored.
    Control(ControlPlace),
}

/// What the scheme decides about a frame that has arrived with a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reception {
    Deliver,
    /// Deliver it, and then the frames that `poll_deliver` returns.
    DeliverMore,
    Buffered,
    /// Hold it, and deliver the frames that `poll_deliver` returns.
    BufferedMore,
    Dropped,
}

/// What the scheme decides about a frame that has returned from its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// Send it through the loop again.
    Stays,
    /// Remove it. If it `made_room`, a normal frame may go that could not before.
    Leaves {
        /// Whether the port should look for normal frames.
        made_room: bool,
    },
    Delivers {
        frame: Frame,
        /// Whether to deliver the frames that `poll_deliver` returns, too.
        more: bool,
        /// Whether the scheme has something urgent, so that the port should look.
        urgent: bool,
    },
}

/// What a capture shows of a control frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// What the frame says, in words.
    pub text: String,
    /// The frame without its check sequence; `None` if it has no known format.
    pub bytes: Option<Vec<u8>>,
}

/// What happens at one end of a link during some cycles of a steady state.
#[derive(Debug, Clone, Copy)]
pub struct Cycles {
    /// Duration of all cycles together.
    pub elapsed: Time,
    /// Number of frames that it sends.
    pub sent: u64,
    /// Class of the frames that it sends.
    pub mode: Mode,
    /// Length of the frames that it sends.
    pub bytes: u32,
    /// Number of frames that it receives.
    pub received: u64,
    /// Class of the frames that it receives.
    pub received_mode: Mode,
    /// Length of the frames that it receives.
    pub received_bytes: u32,
    /// Acknowledgements that it sends.
    pub acks: u64,
}

/// One end of a link, with both of its directions: how it protects what it sends, and recovers what it receives.
pub trait Scheme: Sized + Debug {
    /// Its configuration.
    type Config: Clone + Debug;
    /// The header that it puts before a frame of the traffic.
    type Header: Copy + Debug + PartialEq;
    /// An acknowledgement: the control frame that is as frequent as data, and as long as the shortest frame.
    type Ack: Copy + Debug + PartialEq;
    /// Any other control frame; it may be large.
    type Control: Debug;

    /// Makes one end, given its own configuration and that of its peer.
    ///
    /// # Errors
    /// Names the parameter that cannot be used.
    fn new(config: &Self::Config, peer: &Self::Config, port_seed: PortSeed) -> Result<Self, ConfigError>;

    /// Bytes that the header adds to a frame.
    fn header_bytes(&self) -> u32;

    /// Whether a normal frame may go now, and whether with a header.
    fn admission(&self, mode: Mode, bytes: u32) -> Admission;

    /// Whether a frame that is held in `mode` waits until everything in the other class is acknowledged, which never
    /// happens if more and more is sent there.
    fn waits_for_lane(&self, mode: Mode) -> bool {
        let _ = mode;
        false
    }

    /// Sends a frame that was admitted as protected; returns its header.
    fn send<C: SchemeContext>(&mut self, context: &mut C, frame: Frame) -> Self::Header;

    /// Sends a frame without a header.
    fn send_plain<C: SchemeContext>(&mut self, context: &mut C, frame: &Frame) {
        let _ = (context, frame);
    }

    /// Handles a frame that has arrived with a header.
    fn handle_data<C: SchemeContext>(
        &mut self,
        context: &mut C,
        header: &Self::Header,
        frame: Frame,
    ) -> Reception;

    /// Handles an acknowledgement that has arrived.
    fn handle_ack<C: SchemeContext>(&mut self, context: &mut C, ack: Self::Ack);

    /// Handles another control frame that has arrived.
    fn handle_control<C: SchemeContext>(&mut self, context: &mut C, control: &Self::Control);

    /// The next control frame that goes ahead of normal ones. Its content goes to `store`, which keeps it until the frame
    /// has arrived.
    fn poll_urgent<C: SchemeContext>(
        &mut self,
        context: &mut C,
        store: impl FnOnce(Self::Control) -> ControlPlace,
    ) -> Option<Urgent> {
        let _ = (context, store);
        None
    }

    /// The next copy that goes ahead of normal frames.
    fn poll_retransmission(&mut self) -> Option<(Self::Header, Frame)> {
        None
    }

    /// The next copy of the frame in this slot of the Tx buffer, which has returned from its loop.
    fn poll_retransmission_of(&mut self, slot: u32) -> Option<(Self::Header, Frame)> {
        let _ = slot;
        None
    }

    /// An acknowledgement for a port that would otherwise be idle, or for a frame without a header to carry.
    fn poll_ack(&mut self, now: Time) -> Option<Self::Ack> {
        let _ = now;
        None
    }

    /// Another control frame for a port that would otherwise be idle. The content of any but an acknowledgement goes to
    /// `store`.
    fn poll_idle(
        &mut self,
        now: Time,
        store: impl FnOnce(Self::Control) -> ControlPlace,
    ) -> Option<Idle<Self::Ack>> {
        let _ = (now, store);
        None
    }

    /// The next frame that may be delivered now.
    fn poll_deliver<C: SchemeContext>(&mut self, context: &mut C) -> Option<Frame> {
        let _ = context;
        None
    }

    /// Handles the timer.
    fn handle_timeout<C: SchemeContext>(&mut self, context: &mut C) {
        let _ = context;
    }

    /// Sets the timer for the next timeout, after the last one was handled.
    fn set_timer<C: SchemeContext>(&mut self, context: &mut C) {
        let _ = context;
    }

    /// Handles a frame of one of its buffers that has returned from its loop.
    fn handle_round<C: SchemeContext>(&mut self, context: &mut C, buffer: Buffer, slot: u32) -> Round {
        let _ = (context, buffer, slot);
        Round::Leaves { made_room: false }
    }

    /// Whether a frame will be sent through its loop again, if nothing else happens until it returns.
    fn keeps_circulating(&self, now: Time, buffer: Buffer, slot: u32) -> bool {
        let _ = (now, buffer, slot);
        false
    }

    /// Whether it does nothing at all: every frame goes as it is, and nothing else is ever sent. The port asks this once,
    /// and then leaves the scheme alone.
    fn is_inert(&self) -> bool {
        false
    }

    /// Whether the two ends exchange anything besides data. If not, nothing that arrives makes the port look again. The
    /// port asks this once.
    fn exchanges_control(&self) -> bool {
        true
    }

    /// Whether an idle port sends frames of the shortest length without a gap, so that a frame that becomes ready
    /// within such a slot waits for its end. The port asks this once.
    fn fills_idle_slots(&self) -> bool {
        false
    }

    /// Whether the port must look again after its present frame.
    fn has_more(&self) -> bool {
        false
    }

    /// When the scheme should be asked again, if the port found nothing to send.
    fn idle_until(&self, now: Time) -> Option<Time> {
        let _ = now;
        None
    }

    /// Whether the scheme is still preparing to protect anything, as with a handshake.
    fn is_opening(&self) -> bool {
        false
    }

    /// Whether everything sent has arrived or was given up, and nothing waits to be delivered.
    fn is_drained(&self) -> bool {
        true
    }

    /// How many copies it sends of a lost frame.
    fn copies(&self) -> u8 {
        1
    }

    /// As receiver: whether it no longer waits for the lost frame with this header.
    fn has_moved_past(&self, header: &Self::Header) -> bool {
        let _ = header;
        false
    }

    /// As receiver: how many frames found no room.
    fn overflows(&self) -> u64 {
        0
    }

    /// As receiver: how many missing frames it waits for no more.
    fn given_up(&self) -> u64 {
        0
    }

    /// Whether this is the header of a frame that was sent before.
    fn is_copy(header: &Self::Header) -> bool;

    /// Length of a control frame, with its frame check sequence.
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

    /// What a header says, in words, for captures.
    fn show_header(header: &Self::Header, frame: &Frame) -> String {
        let _ = (header, frame);
        String::new()
    }

    /// An acknowledgement as captures show it, sent from this MAC address.
    fn show_ack(ack: &Self::Ack, source: [u8; 6]) -> Shown {
        let _ = (ack, source);
        Shown::default()
    }

    /// Another control frame as captures show it, sent from this MAC address.
    fn show_control(control: &Self::Control, source: [u8; 6]) -> Shown {
        let _ = (control, source);
        Shown::default()
    }

    /// The optional steady state, for fast-forward: records what determines the future of this end, relative to the
    /// clock; `None` while it is not steady. If a scheme never returns one, every event is simulated.
    fn steady_state(&self, now: Time, state: &mut Vec<u64>) -> Option<()> {
        let _ = (now, state);
        None
    }

    /// Part of the steady state: a header in flight, relative to the number of its frame.
    fn header_state(header: &Self::Header, frame: &Frame, state: &mut Vec<u64>) {
        let _ = (header, frame, state);
    }

    /// Part of the steady state: an acknowledgement in flight, when `arriving` frames had been produced.
    fn ack_state(ack: &Self::Ack, arriving: u64) -> u64 {
        let _ = (ack, arriving);
        0
    }

    /// Part of the steady state: a circling frame, given how many frames had been `produced` here and at the peer.
    fn circling_state(&self, buffer: Buffer, slot: u32, produced: u64, arriving: u64) -> u64 {
        let _ = (buffer, slot, produced, arriving);
        0
    }

    /// Skips cycles of the steady state.
    fn skip(&mut self, cycles: &Cycles) {
        let _ = cycles;
    }

    /// Skips a header in flight, while `frames` are sent.
    fn skip_header(header: &mut Self::Header, frames: u64) {
        let _ = (header, frames);
    }

    /// Skips an acknowledgement in flight, while `frames` arrive.
    fn skip_ack(ack: &mut Self::Ack, frames: u64) {
        let _ = (ack, frames);
    }
}
