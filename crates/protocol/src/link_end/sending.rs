//! The sending direction of a link end: normal frames, copies, dummies, and what the peer's feedback changes.

mod announcements;
mod dummies;
mod frames;
mod reports;
mod session;
mod sessionless;

pub use reports::RoundTrips;

pub(super) use dummies::Dummies;
pub(super) use reports::LastFeedback;
