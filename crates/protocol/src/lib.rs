//! The LinkGuardian protocol (SIGCOMM 2023) as state machines that do no I/O, read no clock and start no thread.
//!
//! A [`LinkEnd`] is one side of a protected link. For each [`Mode`] it holds one sender (frames that leave on the link)
//! and one receiver (frames that arrive from it), and a session for each direction. Its driver, a daemon with real
//! frames or a simulator, owns the frames and the clock; the link end sees handles, lengths and [`Instant`]s.
//!
//! # Driving a link end
//!
//! Every call takes `now` from a clock that should be monotonic. A clock that jumps costs delays, but frames are never
//! delivered twice or out of order. After any `handle_*` call, or when [`LinkEnd::next_timeout`] has passed, call in
//! this order:
//!
//! 1. [`LinkEnd::handle_timeout`], if a timeout has passed (inputs that have already arrived go first);
//! 2. [`LinkEnd::poll_deliver`] until `None`: frames for the inner port, in order;
//! 3. [`schedule::Round::next`] until `None`: what to send, in the order of section 3. A normal frame that it returns
//!    as [`Admission::Protected`] gets its number from [`LinkEnd::send`];
//! 4. [`LinkEnd::poll_release`] until `None`: frames whose buffers are free again;
//! 5. [`LinkEnd::poll_event`] until `None`: events for the operator's log.
//!
//! # When a lost tail is announced
//!
//! Only later frames of the same lane reveal that its last frames, originals or copies, were lost. If none follow, a
//! dummy does. It leaves at most `dummy_delay + dummy_interval_min` ([`Config`]) after the last of them, plus the time for what
//! the port has already accepted, whether the other lane saturates the port, trickles, is paused or retransmits. If a dummy is
//! lost as well, the next one follows after a wait that doubles from `dummy_interval_min` up to `dummy_interval_max`, and at
//! most `dummy_interval_min` more for an idle port. An ACK waits at most `ack_interval`,
//! in each lane separately.
//!
//! [`Config::shortfalls`] lists the parameters that are too small for a link of a given rate, length and loss.
//!
//! # Modules
//!
//! [`daemon_profile`] derives a link end's parameters as the Linux daemon does. [`paths`] decides which of two links
//! between the same ends is in use; [`share`] spreads frames over both, and [`merge`] makes one queue of both. [`schedule`] is the policy around the state machines: queues by class, dropping and
//! marking, and the order of sending. [`wire`] (headers) and [`classify`] (the mode of a frame) are the only modules
//! that read bytes. [`trace`] records what a driver does with a link end, to replay it or to describe it in protocol
//! terms.
//!
//! # One frame through two link ends
//!
//! **Sending.** [`class`](classify::Classifier::class) chooses the lane of a host's frame.
//! [`arrival`](schedule::QueueLimits::arrival) says whether its queue takes, marks or drops it, and
//! [`push`](schedule::ClassQueues::push) queues it. [`Round::next`](schedule::Round::next) selects it when its lane may
//! send ([`LinkEnd::admission`]). [`LinkEnd::send`] numbers it and keeps its handle, and [`wire::encapsulate`] returns the
//! header.
//!
//! **Receiving.** [`wire::parse`] reads the header, and [`LinkEnd::handle_data`] handles the number. If the frame is
//! the next one of its lane, the driver delivers it immediately.
//!
//! **Acknowledging.** The ACK travels on a frame of the other direction ([`LinkEnd::poll_piggyback`]), or alone on an idle port
//! ([`LinkEnd::poll_transmit`]). [`LinkEnd::handle_ack`] handles it, and [`LinkEnd::poll_release`] returns the handles.
//!
//! **A loss.** If a number is missing, [`Receiver::handle_data`](crate::receiver::Receiver::handle_data) keeps the later frame
//! in the Rx buffer and [reveals](crate::receiver::Receiver::reveal) the hole, and [`LinkEnd::poll_urgent`] returns the
//! report. [`LinkEnd::handle_control`] handles it at the other end, [`LinkEnd::poll_retransmission`] hands out the
//! copies, and the first one [fills](crate::receiver::Receiver::fill) the hole. [`LinkEnd::poll_deliver`] hands out the
//! frames that waited behind it, in order.
//!
//! The documentation of [`LinkEnd`] follows the frame inside.
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "the walk through the code names private functions, so that rustdoc finds it outdated"
)]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod classify;
mod config;
mod config_error;
mod copies;
pub mod daemon_profile;
mod event;
mod fallback;
mod frame;
mod histogram;
mod link_end;
mod link_needs;
mod loss_window;
pub mod merge;
mod mode;
pub mod paths;
mod receiver;
pub mod schedule;
mod sender;
mod sequence;
mod session;
pub mod share;
mod stats;
mod time;
pub mod trace;
pub mod wire;

pub use config::{Config, Format};
pub use config_error::ConfigError;
pub use copies::{Copies, copies_for, effective_loss};
pub use event::{CloseReason, Event};
pub use fallback::{Fallback, FallbackConfig, Level};
pub use frame::{DataHeader, Feedback, FrameHandle, LaneFeedback, PiggybackAck, SequenceRange};
pub use histogram::Histogram;
pub use link_end::{
    Admission, Control, LinkEnd, Priority, Protection, Reception, RoundTrips, Status, SteadyState, Transmit,
    Undisturbed,
};
pub use link_needs::{Consequence, LinkConditions, LinkNeeds, Shortfall};
pub use mode::{Mode, PerMode};
pub use sequence::{LongSequenceNumber, SEQUENCE_SPACE, SequenceNumber, WINDOW_MAX};
pub use session::{ReceiveState, SessionNumber, TransmitState};
pub use stats::{BufferStats, Stats};
pub use time::{Instant, Tick, Ticks};
