//! The algorithms of collective operations: what each member of a group sends, round by round.
//!
//! An algorithm divides the data into parts and consists of rounds. In each round, a member sends at most one range of
//! parts. Each file has the closed forms of its algorithm: how many rounds it takes, how many bytes all members send,
//! and the least time.

pub mod all_to_all;
pub mod halving_doubling;
pub mod recursive_doubling;
pub mod ring;
pub mod tree;

use std::ops::Range;

/// One message of a round, between members of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub from: u32,
    pub to: u32,
    /// Which parts of the data it carries.
    pub parts: Range<u32>,
    /// Whether the receiver adds them to its own; otherwise they replace its own.
    pub reduces: bool,
}

/// Where a part begins, if data are divided into parts as equal as possible.
pub(crate) fn part_begin(bytes: u64, parts: u32, part: u32) -> u64 {
    (u128::from(bytes) * u128::from(part) / u128::from(parts)) as u64
}

/// The size of a range of parts.
pub(crate) fn parts_bytes(bytes: u64, parts: u32, range: &Range<u32>) -> u64 {
    part_begin(bytes, parts, range.end) - part_begin(bytes, parts, range.start)
}

/// The smallest number of doublings that reaches at least this many members.
pub(crate) const fn doublings(members: u32) -> u32 {
    u32::BITS - members.saturating_sub(1).leading_zeros()
}
