//! A binomial tree: a reduction to member 0, then a broadcast from it.
//!
//! In round k of the reduction, each member whose number ends in a one followed by k zeros sends everything it has to
//! the member below. The broadcast goes the same way back. It takes few rounds, but every message is as large as the
//! data: use it for small ones. Any number of members will do.

use super::{Transfer, doublings};
use crate::ideal::IdealLink;

/// Rounds of an all-reduce: 2 log2(n), rounded up.
pub const fn rounds(members: u32) -> u32 {
    2 * doublings(members)
}

/// What all members together send: every member but one sends the data once, and receives them once.
pub const fn sent_bytes(members: u32, bytes: u64) -> u64 {
    2 * (members as u64 - 1) * bytes
}

/// The longest chain of sends: the height of the tree, and once more every round of the broadcast, because member 0
/// sends in all of them. It is as long as there are rounds if the number of members is a power of two.
pub fn chain(members: u32) -> u32 {
    let height = (1..members).map(u32::count_ones).max().unwrap_or(0);
    height + doublings(members)
}

/// Least time of an all-reduce: the longest chain times (latency + bytes / rate).
pub fn least_nanos(members: u32, bytes: u64, link: &IdealLink) -> u64 {
    u64::from(chain(members)).saturating_mul(link.delivery_nanos(bytes))
}

/// One round, from 0.
pub(crate) fn all_reduce(members: u32, round: u32, transfers: &mut Vec<Transfer>) {
    let levels = doublings(members);
    let reduces = round < levels;
    let distance = 1 << if reduces { round } else { 2 * levels - 1 - round };
    for upper in (distance..members).step_by(2 * distance as usize) {
        let lower = upper - distance;
        let (from, to) = if reduces { (upper, lower) } else { (lower, upper) };
        transfers.push(Transfer { from, to, parts: 0..1, reduces });
    }
}
