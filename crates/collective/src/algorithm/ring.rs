//! Rings: each member sends only to the next one (Patarasuk and Yuan, 2009).
//!
//! The data have as many parts as there are members. In the reduce-scatter, each part travels once around the ring and
//! collects the contribution of every member; the member whose number the part has is the last to add its own. In the
//! all-gather, each finished part travels around the ring again. An all-reduce is both.

use super::Transfer;
use crate::ideal::IdealLink;

/// Rounds of a reduce-scatter or of an all-gather; an all-reduce has twice as many.
pub const fn rounds(members: u32) -> u32 {
    members - 1
}

/// What all members together send in a reduce-scatter or an all-gather of this many bytes: n - 1 times the data, so
/// each member sends (n - 1)/n of the data. An all-reduce sends twice as much.
pub const fn sent_bytes(members: u32, bytes: u64) -> u64 {
    (members as u64 - 1) * bytes
}

/// Least time of a reduce-scatter or an all-gather: (n - 1) (latency + bytes/n / rate). An all-reduce takes twice as
/// long. It is exact if n divides the bytes.
pub fn least_nanos(members: u32, bytes: u64, link: &IdealLink) -> u64 {
    u64::from(rounds(members)).saturating_mul(link.delivery_nanos(bytes.div_ceil(u64::from(members))))
}

/// One round of the reduce-scatter, from 0.
pub(crate) fn reduce_scatter(members: u32, round: u32, transfers: &mut Vec<Transfer>) {
    transfers.extend(
        (0..members).map(|from| send(members, from, (from + 2 * members - round - 1) % members, true)),
    );
}

/// One round of the all-gather, from 0.
pub(crate) fn all_gather(members: u32, round: u32, transfers: &mut Vec<Transfer>) {
    transfers.extend((0..members).map(|from| send(members, from, (from + members - round) % members, false)));
}

fn send(members: u32, from: u32, part: u32, reduces: bool) -> Transfer {
    Transfer { from, to: (from + 1) % members, parts: part..part + 1, reduces }
}
