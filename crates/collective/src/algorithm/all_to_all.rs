//! Pairwise all-to-all: each member sends a different part to each other one.
//!
//! Member i sends to i + 1, i + 2, ..., so that no receiver is the first of everybody. A bound on the sends in flight
//! keeps a member from beginning all of them at once: the next one waits for the oldest.

use crate::ideal::IdealLink;

/// Sends of each member.
pub const fn rounds(members: u32) -> u32 {
    members - 1
}

/// What all members together send, if each has this many bytes, one part of which is its own.
pub const fn sent_bytes(members: u32, bytes: u64) -> u64 {
    (members as u64 - 1) * bytes
}

/// Least time with this many sends in flight. Exact if n divides the bytes.
///
/// With bytes/n / rate for each send, as many as may be in flight take as long as sending them, or as one send and
/// its latency, whichever is longer.
pub fn least_nanos(members: u32, bytes: u64, outstanding: u32, link: &IdealLink) -> u64 {
    let one = link.sending_nanos(bytes.div_ceil(u64::from(members)));
    let window = u64::from(outstanding.clamp(1, members - 1));
    let last = u64::from(rounds(members)) - 1;
    let period = one.saturating_mul(window).max(one.saturating_add(link.latency_nanos));
    let begin = (last / window).saturating_mul(period).saturating_add(one.saturating_mul(last % window));
    begin.saturating_add(one).saturating_add(link.latency_nanos)
}
