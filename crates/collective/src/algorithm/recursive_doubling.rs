//! Recursive doubling: in round k, members whose numbers differ only in bit k swap everything they have.
//!
//! It takes the fewest rounds, and sends the most bytes. The number of members must be a power of two.

use super::{Transfer, doublings};
use crate::ideal::IdealLink;

/// Rounds of an all-reduce: log2(n).
pub const fn rounds(members: u32) -> u32 {
    doublings(members)
}

/// What all members together send: each sends the data in every round.
pub const fn sent_bytes(members: u32, bytes: u64) -> u64 {
    members as u64 * rounds(members) as u64 * bytes
}

/// Least time of an all-reduce: log2(n) (latency + bytes / rate).
pub fn least_nanos(members: u32, bytes: u64, link: &IdealLink) -> u64 {
    u64::from(rounds(members)).saturating_mul(link.delivery_nanos(bytes))
}

/// One round, from 0.
pub(crate) fn all_reduce(members: u32, round: u32, transfers: &mut Vec<Transfer>) {
    let send = |from| Transfer { from, to: from ^ (1 << round), parts: 0..1, reduces: true };
    transfers.extend((0..members).map(send));
}
