//! What happened at a link end, written down while it happens.
//!
//! The state machines are deterministic: the same calls at the same times give the same answers. So a list of the calls
//! and their answers, [`Step`]s, is a complete record of a run. [`TracedLinkEnd`] is a link end whose driver's calls go
//! to a [`StepSink`]; the state machines know nothing of it. What can be done with a record:
//!
//! - [`Step::repeat`] makes the call again, on a fresh link end of the same configuration and seed, and says what is
//!   answered now: any difference is a difference of the state machines.
//! - [`Tracer`] tells it in the protocol's words, as [`TraceEvent`]s: frames, copies, notifications, deliveries. These
//!   can be compared between a real link and a simulated one, whose times differ.
//!
//! With the feature `serde`, steps can be written to a file (the daemon's protocol log) and read back.

#[cfg(test)]
mod display_tests;
mod event;
#[cfg(feature = "serde")]
mod form;
mod recorder;
mod step;
#[cfg(test)]
mod tests;

pub use event::{Direction, TraceEvent, Tracer};
#[cfg(feature = "serde")]
pub(crate) use form::LaneForm;
#[cfg(feature = "serde")]
pub use form::LogHeader;
pub use recorder::{StepSink, TracedLinkEnd};
pub use step::{CorruptedFrame, Record, Step};
