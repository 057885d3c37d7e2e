//! Records what happens at a link end.
//!
//! The state machines are deterministic: the same calls at the same times give the same answers. A list of the calls
//! and their answers, [`Step`]s, is therefore a complete record of a run. [`TracedLinkEnd`] is a link end whose
//! driver's calls go to a [`StepSink`]; the state machines know nothing about it. A record can be used in two ways:
//!
//! - [`Step::repeat`] makes the call again, on a fresh link end of the same configuration and seed, and returns the
//!   current answer: any difference is a difference between the state machines.
//! - [`Tracer`] describes it in protocol terms, as [`TraceEvent`]s: frames, copies, notifications, deliveries. These
//!   can be compared between a real link and a simulated one, whose times differ.
//!
//! With the feature `serde`, steps can be written to a file (the daemon's protocol log) and read back.

#[cfg(test)]
mod display_tests;
mod event;
#[cfg(feature = "serde")]
mod log_header;
mod recorder;
mod step;
#[cfg(test)]
mod tests;

pub use event::{Direction, TraceEvent, Tracer};
#[cfg(feature = "serde")]
pub use log_header::LogHeader;
pub use recorder::{StepSink, TracedLinkEnd};
pub use step::{CorruptedFrame, Record, Step};
