//! Ultra Ethernet's Link Layer Retry (LLR) as pure state machines: no I/O, no clock, no threads.
//!
//! LLR protects the *eligible* frames of one link. Their numbers travel in the preamble, so frames do not become
//! longer, and feedback is sent as control ordered sets of the PCS instead of frames. LLR is go-back-N: after a loss,
//! the receiver drops everything until the missing frame is retransmitted, so it preserves order without a buffer.
//!
//! We had no access to the specification itself. The model follows public code, designs and test plans that cite it:
//! SAI (opencomputeproject/SAI `doc/LLR`, `inc/saiport.h`), SONiC (sonic-net/SONiC `doc/llr`, `doc/scale_up`), FBOSS
//! (facebook/fboss, which cites 1.0.2), OTG (open-traffic-generator/models, 1.0.3), Xena (xoa-driver), the authors'
//! overview (arXiv 2508.08906, section 3.5), two public test plans, and HPE's driver for Slingshot, its ancestor.
//! Section numbers are those that these sources cite. Each question that they leave open is a field of
//! [`config::Choices`], with a default and a reason.
//!
//! # Modules
//!
//! - [`Transmitter`] and [`Receiver`]: the two state machines. [`Port`] combines the two at one end.
//! - [`config`]: the registers with their ranges, and the choices. [`presets`]: published profiles.
//! - [`counters`]: SAI's counters and meanings. [`readings`]: how testers and Broadcom's switches read them.
//! - [`wire`]: the preamble and the control ordered sets.
//! - [`plan`]: derives the parameters for a cable, with each step of the arithmetic.
//! - [`link`]: a virtual link of two ports. [`conformance`]: the published test plans, executable.
//!
//! # One frame from port to port
//!
//! [`Transmitter::handle_frame`] numbers an eligible frame and keeps it. The driver writes the number into the preamble
//! ([`wire::Preamble::encode`]). [`Receiver::handle_frame`] handles it at the other end. If the number is the expected
//! one, the frame is passed on, and [`Receiver::poll_control`] acknowledges it at the target spacing. If a number is
//! missing, or the frame is bad, one NACK names the last good number. [`Transmitter::handle_control`] releases the
//! frames up to it, and [`Transmitter::poll_replay`] returns those after it. If neither an ACK nor a NACK arrives, the
//! replay timer triggers the same replay. After too many replays without progress, the transmitter gives up on all
//! outstanding frames ([`TransmitState::Flush`]).
#![forbid(unsafe_code)]

pub mod config;
pub mod conformance;
pub mod counters;
mod frame;
pub mod link;
pub mod plan;
mod port;
pub mod presets;
pub mod readings;
mod receiver;
mod sequence;
mod state_times;
mod time;
mod transmitter;
pub mod wire;

pub use config::{Config, ConfigError};
pub use counters::Counters;
pub use frame::{Control, Frame, FrameHandle, Integrity, NumberedFrame};
pub use port::Port;
pub use receiver::{RECEIVE_STATES, ReceiveState, Receiver, Verdict};
pub use sequence::{SEQUENCE_SPACE, SequenceNumber, SequenceSpace};
pub use time::{Instant, Span};
pub use transmitter::{
    Admission, Admits, BlockedBy, Fate, FlushCause, TRANSMIT_STATES, TransmitState, Transmitter,
};
