//! Ultra Ethernet's Link Layer Retry (LLR).
#![forbid(unsafe_code)]

pub mod config;
pub mod conformance;
pub mod counters;
mod frame;
pub mod link;
pub mod plan;
mod port;
pub mod presets;
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
pub use transmitter::{Admission, BlockedBy, Fate, FlushCause, TRANSMIT_STATES, TransmitState, Transmitter};
