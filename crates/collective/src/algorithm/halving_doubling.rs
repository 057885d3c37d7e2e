//! Recursive halving and doubling (Rabenseifner, 2004): a reduce-scatter in which the distance to the partner and the
//! size of the message halve in each round, then an all-gather in which both double.
//!
//! It sends as few bytes as a ring, in few rounds. The number of members must be a power of two.

use super::{Transfer, doublings};
use crate::ideal::IdealLink;

/// Rounds of an all-reduce: 2 log2(n).
pub const fn rounds(members: u32) -> u32 {
    2 * doublings(members)
}

/// What all members together send: each sends 2 (n - 1)/n of the data.
pub const fn sent_bytes(members: u32, bytes: u64) -> u64 {
    2 * (members as u64 - 1) * bytes
}

/// Least time of an all-reduce: 2 log2(n) latency + 2 (n - 1)/n bytes / rate. It is exact if n divides the bytes.
pub fn least_nanos(members: u32, bytes: u64, link: &IdealLink) -> u64 {
    let halves = (1..=doublings(members)).map(|level| link.delivery_nanos(bytes.div_ceil(1 << level)));
    halves.fold(0, u64::saturating_add).saturating_mul(2)
}

/// One round, from 0.
pub(crate) fn all_reduce(members: u32, round: u32, transfers: &mut Vec<Transfer>) {
    let levels = doublings(members);
    let reduces = round < levels;
    let distance = 1 << if reduces { levels - 1 - round } else { round - levels };
    transfers.extend((0..members).map(|from| {
        let to = from ^ distance;
        // The parts that the receiver keeps in the reduction are those that the sender has in the gathering.
        let within = if reduces { to } else { from };
        let first = within / distance * distance;
        Transfer { from, to, parts: first..first + distance, reduces }
    }));
}
