//! Sequence numbers: 20 bits on the wire, and 64-bit counts internally, which never wrap.
//!
//! The state machines count in 64 bits. [`SequenceSpace::expand`] is the only way to convert a number back: it finds
//! the count nearest to a reference. At most half of the space may be outstanding, so that duplicates can be
//! distinguished from new frames.

use std::fmt;

/// How many numbers the 20 bits of the wire format allow.
pub const SEQUENCE_SPACE: u32 = 1 << 20;
/// The smallest space that makes sense: one frame outstanding.
const SPACE_MIN: u32 = 2;

/// A number as carried by frames and control ordered sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SequenceNumber(pub u32);

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many different numbers there are: a power of two from 2 to 2^20.
///
/// It is a parameter because one published test plan lets numbers wrap after 524,287, and because small spaces can be
/// tested exhaustively.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceSpace(u32);

impl Default for SequenceSpace {
    fn default() -> SequenceSpace {
        SequenceSpace(SEQUENCE_SPACE)
    }
}

impl SequenceSpace {
    /// A space of this many numbers; `None` unless it is a power of two from 2 to 2^20.
    pub const fn new(numbers: u32) -> Option<SequenceSpace> {
        let is_in_range = SPACE_MIN <= numbers && numbers <= SEQUENCE_SPACE;
        if is_in_range && numbers.is_power_of_two() { Some(SequenceSpace(numbers)) } else { None }
    }

    /// How many numbers it contains.
    pub const fn numbers(self) -> u32 {
        self.0
    }

    /// Maximum number of outstanding frames: half of the space.
    pub const fn outstanding_max(self) -> u32 {
        self.0 / 2
    }

    /// The number that stands for a count on the wire.
    pub const fn wire(self, count: u64) -> SequenceNumber {
        SequenceNumber((count % self.0 as u64) as u32)
    }

    /// The first count if `first` is the first number. It is large enough that the count before it is not negative.
    pub const fn first_count(self, first: SequenceNumber) -> u64 {
        self.0 as u64 + (first.0 % self.0) as u64
    }

    /// How far `number` lies ahead of the count `from`, modulo the space.
    pub const fn ahead(self, from: u64, number: SequenceNumber) -> u64 {
        (number.0 as u64).wrapping_sub(from) % self.0 as u64
    }

    /// The count with this number that lies less than half of the space ahead of `reference`, or at most half behind.
    pub const fn expand(self, reference: u64, number: SequenceNumber) -> u64 {
        let ahead = self.ahead(reference, number);
        if ahead < self.outstanding_max() as u64 {
            reference + ahead
        } else {
            (reference + ahead).saturating_sub(self.0 as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_space_is_a_power_of_two_of_at_most_20_bits() {
        assert_eq!(SequenceSpace::default().outstanding_max(), 524_288);
        assert_eq!(SequenceSpace::new(1 << 20), Some(SequenceSpace::default()));
        for refused in [0, 1, 3, 1_000, 1 << 21] {
            assert_eq!(SequenceSpace::new(refused), None, "{refused}");
        }
        assert_eq!(SequenceSpace::default().wire(1_048_576 + 5), SequenceNumber(5));
    }

    proptest! {
        #[test]
        fn expand_inverts_wire(bits in 1u32..=20, reference in 1u64 << 21..1 << 40, share in 0.0..1.0f64) {
            let space = SequenceSpace::new(1 << bits).expect("a power of two");
            let offset = (share * f64::from(space.numbers())) as u64;
            let count = reference - u64::from(space.outstanding_max()) + offset;
            prop_assert_eq!(space.expand(reference, space.wire(count)), count);
        }
    }
}
