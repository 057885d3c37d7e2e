//! Repair in time, for frames that are of no use after a deadline: parity across frames, retransmission, or both.
//!
//! Retransmission costs at least one round trip. On a path of 100 ms, a frame that must arrive within 120 ms can only be
//! restored from other frames. This crate sends frames at once, and parity after each group of them; a receiver
//! restores what is missing, asks again for what can still arrive in time, delivers in order, and drops what is late.
//!
//! - [`Sender`] groups frames, and keeps them until their deadline.
//! - [`Receiver`] restores, asks, delivers and measures. It also plans, because it knows the losses.
//! - [`plan`] chooses the group, the parity and the retransmissions from what was measured.
//! - [`Losses`] is the model of the path's losses: a rate and the mean length of bursts.
//! - [`exchange`] is both directions of a link, with messages for the wire.
//! - [`Code`] is the erasure code. [`ReedSolomon`] works on bytes; the simulator can have one on numbers.
//!
//! Nothing here performs I/O, reads a clock or draws a random number. Times are nanoseconds of a monotonic clock; the
//! two ends need not have the same one. Every buffer has a bound.
//!
//! # The order of calls
//!
//! For each frame, a sender's driver calls [`Sender::send`] and puts the header in front of the frame; then it sends
//! what [`Sender::poll_parity`] returns until `None`. After [`Sender::handle_feedback`], it sends what
//! [`Sender::poll_retransmission`] returns. At [`Sender::next_timeout`], it calls [`Sender::handle_timeout`].
//!
//! A receiver's driver passes what arrives to [`Receiver::handle_frame`] and [`Receiver::handle_parity`], and calls
//! [`Receiver::handle_timeout`] at [`Receiver::next_timeout`]. After each of these, it delivers what
//! [`Receiver::poll_deliver`] returns, and sends what [`Receiver::poll_feedback`] returns, until `None`.

mod arrival_clock;
mod arrivals;
mod code;
#[cfg(feature = "reed-solomon")]
pub mod exchange;
mod feedback;
mod losses;
mod measure;
mod planner;
mod receiver;
#[cfg(feature = "reed-solomon")]
mod reed_solomon;
mod sender;

pub use code::{Code, GROUP_MAX, PARITY_MAX};
pub use feedback::{Feedback, Header, MISSING_SPAN, ParityFrame, STAMP_NS};
pub use losses::Losses;
pub use measure::LossMeter;
pub use planner::{Limits, Path, Plan, plan};
pub use receiver::{Delivered, Receiver, ReceiverConfig, ReceiverCounters, WINDOW};
#[cfg(feature = "reed-solomon")]
pub use reed_solomon::{FRAME_BYTES_MAX, ReedSolomon};
pub use sender::{KEPT_MAX, Sender, SenderConfig, SenderCounters};
