//! The LinkGuardian protocol (SIGCOMM 2023) as state machines that do no I/O, read no clock and start no thread.
//!
//! A [`LinkEnd`] is one side of a protected link. It holds, for each [`Mode`], one sender (frames that leave on the
//! link) and one receiver (frames that arrive from it), and a session for either direction. Whoever drives it, a
//! daemon with real frames or a simulator, owns the frames and the clock; the link end sees handles, lengths and
//! [`Instant`]s.
//!
//! # Driving a link end
//!
//! Every call takes `now`, of a clock that should be monotonic; one that jumps costs delays, never frames delivered twice
//! or out of order. After any `handle_*` call, or when [`LinkEnd::next_timeout`] has passed:
//!
//! 1. [`LinkEnd::handle_timeout`], if a timeout has passed (inputs that have already arrived go first);
//! 2. [`LinkEnd::poll_deliver`] until `None`: frames for the inner port, in order;
//! 3. [`schedule::Round::next`] until `None`: what to send, in the order of section 3. A normal frame that it returns as
//!    [`Admission::Protected`] gets its number from [`LinkEnd::send`];
//! 4. [`LinkEnd::poll_release`] until `None`: frames whose buffers are free again;
//! 5. [`LinkEnd::poll_event`] until `None`: what an operator should read in the log.
//!
//! # What one lane owes the other
//!
//! Only what follows in the same lane reveals that its last frames are lost, originals or copies. If nothing follows, a
//! dummy does, which leaves at most `dummy_delay + dummy_interval_min` ([`Config`]) after the last of them, plus what the
//! port has already taken, whatever the other lane does: saturates the port, trickles, is paused or in repair. Each
//! dummy of a burst that is lost as well costs the next wait, from `dummy_interval_min` doubling up to
//! `dummy_interval_max`, and again at most `dummy_interval_min` for an idle port. An ACK waits at most `ack_interval`, in
//! each lane by itself.
//!
//! [`Config::shortfalls`] says which parameters are too small for a link of some rate, length and loss.
//!
//! The module [`schedule`] is the policy around the state machines: queues by class, what is dropped and marked, and who
//! goes first. The modules [`wire`] (headers) and [`classify`] (which frame gets which mode) know bytes; nothing else does. The
//! module [`trace`] writes down what a driver does with a link end, for replaying it and for telling it in protocol
//! words.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod classify;
mod config;
mod copies;
mod event;
mod fallback;
mod frame;
mod histogram;
mod link_end;
mod link_needs;
mod loss_window;
mod receiver;
pub mod schedule;
mod sender;
mod sequence;
mod session;
mod stats;
mod time;
pub mod trace;
pub mod wire;

pub use config::{Config, ConfigError, Format};
pub use copies::{Copies, copies_for, effective_loss};
pub use event::{CloseReason, Event};
pub use fallback::{Fallback, FallbackConfig, Level};
pub use frame::{
    DataHeader, Feedback, FrameHandle, LaneFeedback, Mode, PerMode, PiggybackAck, SequenceRange,
};
pub use histogram::Histogram;
pub use link_end::{
    Admission, Control, LinkEnd, Priority, Protection, Reception, RoundTrips, Status, SteadyState, Transmit,
    Undisturbed,
};
pub use link_needs::{Consequence, LinkConditions, LinkNeeds, Shortfall};
pub use sequence::{LongSequenceNumber, SEQUENCE_SPACE, SequenceNumber, WINDOW_MAX};
pub use session::{ReceiveState, SessionNumber, TransmitState};
pub use stats::{BufferStats, Stats};
pub use time::{Instant, Tick, Ticks};
