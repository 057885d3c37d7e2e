//! The receiving direction of a link end: data, announcements, and the feedback it owes.

mod acks;
mod announce;
mod data;
mod feedback;
mod session;
mod sessionless;

pub(super) use acks::Acks;
pub(super) use sessionless::Sessionless;
