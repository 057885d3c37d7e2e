//! How a link recovers what it corrupts.
//!
//! A scheme is a type behind the trait [`Scheme`], with static dispatch. It never sees the event queue, the wire or the
//! nodes. The port asks it what to send, tells it what has arrived, and gives it a [`SchemeContext`], through which it sets
//! its timer, reports that it has something urgent, sends frames through loops, and tells observers.
//!
//! [`Scheme`] is what every scheme has. Whatever else one can do is a trait of its own, behind a method that returns `None`
//! unless the scheme says otherwise:
//!
//! | a scheme that | implements | and returns itself from |
//! | --- | --- | --- |
//! | sends frames of its own, such as acknowledgements | [`ControlFrames`] | [`Scheme::control_frames`] |
//! | keeps frames in loops of its switch | [`Loops`] | [`Scheme::loops`] |
//! | sends everything after a lost frame again | [`GoBackN`] | [`Scheme::go_back_n`] |
//! | has a steady state that can be skipped | [`FastForward`] | [`Scheme::fast_forward`] |
//! | knows what became of lost frames | [`Account`] | [`Scheme::account`] |
//!
//! The methods of capabilities take `&mut self`, also where they only look, so that a set of schemes can reach those of the
//! scheme that it is.
//!
//! What it puts on the wire are a [`Header`], an [`Acknowledgement`] and a [`ControlFrame`]; captures show them in words if
//! these types say how. The macro in [`named`] makes a set of schemes one type, so that the links of a network may have
//! different ones. Each set has room for a scheme of another crate.
//!
//! # Who calls what
//!
//! | when | calls |
//! | --- | --- |
//! | the port is free | after [`SchemeContext::request_service`]: `poll_urgent` and `poll_retransmission` until `None`; then `admission` and `send` for a normal frame; then `poll_ack`, `poll_idle`. With [`GoBackN`], `poll_ack` and `poll_replay` before normal frames |
//! | a frame arrives | `handle_data`, and what [`Reception`] says; or `handle_ack`; or `handle_control`, and then the same as after a timeout; with [`GoBackN`], `handle_damaged` |
//! | its timer is due | `handle_timeout`, then `poll_deliver` until `None`, then `next_timeout` |
//! | a frame returns from its loop | `poll_retransmission_of` until `None`, then `handle_round` |

mod absent;
mod account;
mod capabilities;
pub(crate) mod context;
mod control_frames;
mod fast_forward;
mod go_back_n;
pub mod linkguardian;
pub mod llr;
mod loops;
pub mod named;
mod on_link;
mod unprotected;
pub mod wharf;

pub use absent::Absent;
pub use account::Account;
pub use context::{Buffer, SchemeContext};
pub use control_frames::{ControlFrames, Idle, Urgent};
pub use fast_forward::{Cycles, FastForward};
pub use go_back_n::{GoBackN, ORDERED_SET_OCTETS};
pub use linkguardian::{LinkGuardian, LinkGuardianConfig};
pub use llr::{Llr, LlrConfig};
pub use loops::{Loops, Round};
pub use named::{AnyAck, AnyConfig, AnyControl, AnyHeader, Schemes};
pub use on_link::{Acknowledgement, ControlFrame, Header, Shown};
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
    /// Number of its port, which names its random numbers.
    pub port: u32,
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

/// One end of a link, with both of its directions: how it protects what it sends, and recovers what it receives.
pub trait Scheme: Sized + Debug {
    /// Its configuration.
    type Config: Clone + Debug;
    /// The header that it puts before a frame of the traffic; [`Infallible`] if it has none.
    type Header: Header;
    /// An acknowledgement: the control frame that is as frequent as data, and as long as the shortest frame.
    /// [`Infallible`] if it has none.
    type Ack: Acknowledgement;
    /// Any other control frame; it may be large. [`Infallible`] if it has none.
    type Control: ControlFrame;

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

    /// Handles a frame that has arrived with a header.
    fn handle_data<C: SchemeContext>(
        &mut self,
        context: &mut C,
        header: &Self::Header,
        frame: Frame,
    ) -> Reception;

    /// The next copy that goes ahead of normal frames.
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

    /// When its timer is due next, after the last timeout or control frame was handled. An earlier timeout is set with
    /// [`SchemeContext::wake_at`].
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// Whether it does nothing at all: every frame goes as it is, and nothing else is ever sent. The port asks this once,
    /// and then leaves the scheme alone.
    fn is_inert(&self) -> bool {
        false
    }

    /// Whether everything sent has arrived or was given up, and nothing waits to be delivered.
    fn is_drained(&self) -> bool {
        true
    }

    /// What the two ends tell each other besides data. Without it, nothing that arrives makes the port look again.
    fn control_frames(&mut self) -> Option<&mut impl ControlFrames<Self::Ack, Self::Control>> {
        None::<&mut Absent>
    }

    /// Frames that circle in loops.
    fn loops(&mut self) -> Option<&mut impl Loops<Self::Header>> {
        None::<&mut Absent>
    }

    /// That it goes back to lost frames.
    fn go_back_n(&mut self) -> Option<&mut impl GoBackN<Self::Header>> {
        None::<&mut Absent>
    }

    /// Its steady state. Without one, every event is simulated.
    fn fast_forward(&mut self) -> Option<&mut impl FastForward<Self::Header, Self::Ack>> {
        None::<&mut Absent>
    }

    /// The protocol's link end, if that is what it is: it can use a second link
    /// ([`Plan::second_link`](crate::network::Plan::second_link)).
    fn link_end_mut(&mut self) -> Option<&mut LinkEnd> {
        None
    }

    /// What it knows of lost frames, for measurements.
    fn account(&self) -> Option<&impl Account<Self::Header>> {
        None::<&Absent>
    }
}

/// The other scheme of a set in a run that names none.
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
