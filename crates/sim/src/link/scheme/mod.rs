//! How a link recovers from corruption.
//!
//! A scheme is a type behind the trait [`Scheme`], with static dispatch. It never sees the event queue, the wire or the
//! nodes. The port asks it what to send, tells it what has arrived, and gives it a [`SchemeContext`], through which it
//! sets its timer, reports that it has something urgent, sends frames through loops, and informs observers.
//!
//! [`Scheme`] contains what every scheme has. Each optional capability is a separate trait, behind a method that
//! returns `None` by default:
//!
//! | a scheme that | implements | and returns itself from |
//! | --- | --- | --- |
//! | sends its own frames, such as acknowledgements | [`ControlFrames`] | [`Scheme::control_frames`] |
//! | keeps frames in loops of its switch | [`Loops`] | [`Scheme::loops`] |
//! | retransmits in the port itself | [`LinkRetry`] | [`Scheme::link_retry`] |
//! | has a steady state that can be skipped | [`FastForward`] | [`Scheme::fast_forward`] |
//! | knows what happened to lost frames | [`Account`] | [`Scheme::account`] |
//!
//! The methods of capabilities take `&mut self` even if they only read, so that a set of schemes can delegate to the
//! actual scheme.
//!
//! A scheme puts a [`Header`], an [`Acknowledgement`] or a [`ControlFrame`] on the wire. Captures describe them in
//! words if these types define how. The macro in [`named`] combines a set of schemes into one type, so that the links
//! of a network may have different schemes. Each set has room for a scheme from another crate.
//!
//! # Who calls what
//!
//! | when | calls |
//! | --- | --- |
//! | the port is free | after [`SchemeContext::request_service`]: `poll_urgent` and `poll_retransmission` until `None`; then `admission` and `send` for a normal frame; then `poll_ack`, `poll_idle`. With [`LinkRetry`], `poll_ack` and `poll_retry` before normal frames, and `discards` before a frame without a header |
//! | a frame arrives | `handle_data`, and what [`Reception`] says; or `handle_ack`; or `handle_control`, and then the same as after a timeout; with [`LinkRetry`], `handle_damaged` or `handle_plain` |
//! | its timer is due | `handle_timeout`, then `poll_deliver` until `None`, then `next_timeout` |
//! | a frame returns from its loop | `poll_retransmission_of` until `None`, then `handle_round` |

mod absent;
mod account;
mod capabilities;
pub(crate) mod context;
mod control_frames;
mod fast_forward;
mod link_retry;
pub mod linkguardian;
pub mod llr;
mod loops;
pub mod named;
mod on_link;
mod parity;
mod selective;
mod unprotected;
pub mod wharf;

pub use absent::Absent;
pub use account::Account;
pub use context::{Buffer, SchemeContext};
pub use control_frames::{ControlFrames, Idle, Urgent};
pub use fast_forward::{Cycles, FastForward};
pub use link_retry::{Insertion, LinkRetry, ORDERED_SET_OCTETS};
pub use linkguardian::{LinkGuardian, LinkGuardianConfig};
pub use llr::{Llr, LlrConfig};
pub use loops::{Loops, Round};
pub use named::{AnyAck, AnyConfig, AnyControl, AnyHeader, Schemes};
pub use on_link::{Acknowledgement, ControlFrame, Header, Shown};
pub use parity::{PARITY_HEADER_BYTES, Parity, ParityConfig, ParityControl, ParityHeader};
pub use selective::{Selective, SelectiveConfig};
pub use unprotected::Unprotected;
pub use wharf::{Wharf, WharfConfig};

pub use super::control_store::ControlPlace;
use super::frame::Frame;
use crate::time::Time;
pub use linkmend_protocol::{Admission, Mode};
use linkmend_protocol::{ConfigError, LinkEnd};
use std::convert::Infallible;
use std::fmt::Debug;

/// The place of a scheme in a network.
#[derive(Debug, Clone, Copy)]
pub struct PortSeed {
    /// Seed of the run.
    pub seed: u64,
    /// Number of its port, which selects its stream of random numbers.
    pub port: u32,
}

/// The scheme's decision about a frame that has arrived with a header.
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

/// One end of a link, with both of its directions: how it protects what it sends, and recovers what it receives.
pub trait Scheme: Sized + Debug {
    /// Its configuration.
    type Config: Clone + Debug;
    /// The header that it adds to a frame of the traffic; [`Infallible`] if there is none.
    type Header: Header;
    /// An acknowledgement: the control frame that is as frequent as data and has the minimum length. [`Infallible`] if
    /// it has none. An idle port repeats one that the link corrupted until it passes; it does not repeat a
    /// [`Self::Control`].
    type Ack: Acknowledgement;
    /// Any other control frame; it may be large. [`Infallible`] if it has none.
    type Control: ControlFrame;

    /// Creates one end from its own configuration and that of its peer.
    ///
    /// # Errors
    /// Names the parameter that cannot be used.
    fn new(config: &Self::Config, peer: &Self::Config, port_seed: PortSeed) -> Result<Self, ConfigError>;

    /// Bytes that the header adds to a frame.
    fn header_bytes(&self) -> u32;

    /// Whether a normal frame may be sent now, and whether with a header.
    fn admission(&self, mode: Mode, bytes: u32) -> Admission;

    /// Whether a frame held in `mode` waits until everything in the other class is acknowledged, which never happens if
    /// that class keeps sending.
    fn waits_for_lane(&self, mode: Mode) -> bool {
        let _ = mode;
        false
    }

    /// Sends a frame that was admitted as protected; returns its header.
    fn send<C: SchemeContext>(&mut self, context: &mut C, frame: Frame) -> Self::Header;

    /// Handles a frame that has arrived with a header.
    fn handle_data<C: SchemeContext>(
        &mut self,
        context: &mut C,
        header: &Self::Header,
        frame: Frame,
    ) -> Reception;

    /// The next copy, which has priority over normal frames. The port takes all of them at once into its queue, and does not
    /// say when one leaves: a timer for a copy must allow for those before it, or the scheme uses [`LinkRetry::poll_retry`].
    fn poll_retransmission(&mut self) -> Option<(Self::Header, Frame)> {
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

    /// When its timer is due next. It is asked after `handle_timeout` and `handle_control`, but not after `handle_ack` or
    /// `handle_data`. [`SchemeContext::wake_at`] sets an earlier timeout and never a later one, so `handle_timeout` must check
    /// whether anything is due.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// Whether it does nothing at all: every frame is sent unchanged, and nothing else is ever sent. The port asks this
    /// once, and then bypasses the scheme.
    fn is_inert(&self) -> bool {
        false
    }

    /// Whether everything sent has arrived or was given up, and nothing is waiting to be delivered.
    fn is_drained(&self) -> bool {
        true
    }

    /// What the two ends tell each other besides data. Without it, nothing that arrives makes the port ask again.
    fn control_frames(&mut self) -> Option<&mut impl ControlFrames<Self::Ack, Self::Control>> {
        None::<&mut Absent>
    }

    /// Frames that circulate in loops.
    fn loops(&mut self) -> Option<&mut impl Loops<Self::Header>> {
        None::<&mut Absent>
    }

    /// Retransmission in the port itself.
    fn link_retry(&mut self) -> Option<&mut impl LinkRetry<Self::Header>> {
        None::<&mut Absent>
    }

    /// Its steady state. Without one, every event is simulated.
    fn fast_forward(&mut self) -> Option<&mut impl FastForward<Self::Header, Self::Ack>> {
        None::<&mut Absent>
    }

    /// The protocol's link end, if the scheme is one: it can use a second link
    /// ([`Plan::second_link`](crate::network::Plan::second_link)).
    fn link_end_mut(&mut self) -> Option<&mut LinkEnd> {
        None
    }

    /// What it knows about lost frames, for measurements.
    fn account(&self) -> Option<&impl Account<Self::Header>> {
        None::<&Absent>
    }
}

/// The other scheme of a set in a run that specifies none.
impl Scheme for Absent {
    type Config = Infallible;
    type Header = Infallible;
    type Ack = Infallible;
    type Control = Infallible;

    fn new(config: &Infallible, _: &Infallible, _: PortSeed) -> Result<Absent, ConfigError> {
        match *config {}
    }

    fn header_bytes(&self) -> u32 {
        match *self {}
    }

    fn admission(&self, _: Mode, _: u32) -> Admission {
        match *self {}
    }

    fn send<C: SchemeContext>(&mut self, _: &mut C, _: Frame) -> Infallible {
        match *self {}
    }

    fn handle_data<C: SchemeContext>(&mut self, _: &mut C, header: &Infallible, _: Frame) -> Reception {
        match *header {}
    }
}
