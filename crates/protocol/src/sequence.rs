//! Sequence numbers: 16 bits plus the era bit (section 3.5), and their translation to and from absolute numbers.
//!
//! On the wire a frame carries 16 bits and the era, which toggles at each wrap-around. Internally, the state machines
//! count in 64 bits, which never wrap. [`SequenceNumber::expand`] is the only conversion: it finds the absolute number
//! nearest to a reference. That is the paper's era correction (subtract N/2 from both when the eras differ, then
//! compare), stated once and for both directions; the tests compare it with the paper's wording.

use core::fmt;

/// Number of values of the 16 bits.
pub const SEQUENCE_SPACE: u64 = 1 << 16;

/// Maximum number of outstanding frames: two numbers further apart than this cannot be compared (section 3.5).
pub const WINDOW_MAX: u32 = (SEQUENCE_SPACE / 2) as u32;

/// Values of number and era together.
const ERA_SPACE: u64 = 2 * SEQUENCE_SPACE;

/// Absolute numbers start here, so that a number slightly before the first one is still not negative.
pub(crate) const FIRST_ABSOLUTE: u64 = ERA_SPACE;

const _: () = assert!(WINDOW_MAX as u64 * 2 == SEQUENCE_SPACE);

/// A sequence number as frames carry it: 16 bits and the era.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(from = "u32", into = "u32")
)]
pub struct SequenceNumber(u32);

impl SequenceNumber {
    /// From the two wire fields.
    pub const fn new(number: u16, era: bool) -> SequenceNumber {
        SequenceNumber(number as u32 | (era as u32) << 16)
    }

    /// The wire form of an absolute number.
    pub const fn from_absolute(absolute: u64) -> SequenceNumber {
        SequenceNumber((absolute % ERA_SPACE) as u32)
    }

    /// The 16 bits of the number.
    pub const fn number(self) -> u16 {
        self.0 as u16
    }

    /// The 16 bits with the era above them.
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// The era bit of the number.
    pub const fn era(self) -> bool {
        self.0 & 1 << 16 != 0
    }

    /// The number `by` further on.
    pub const fn plus(self, by: u64) -> SequenceNumber {
        SequenceNumber::from_absolute(self.0 as u64 + by)
    }

    /// The number `by` before; `by` is at most [`SEQUENCE_SPACE`].
    pub(crate) const fn minus(self, by: u64) -> SequenceNumber {
        SequenceNumber::from_absolute(self.0 as u64 + ERA_SPACE - by)
    }

    /// An absolute number with this wire form at or after `reference`, for a peer whose numbers were unknown.
    pub(crate) const fn absolute_near(self, reference: u64) -> u64 {
        reference + (self.0 as u64).wrapping_sub(reference) % ERA_SPACE
    }

    /// The absolute number within [`WINDOW_MAX`] of `reference` that has this wire form; `None` if the two are further
    /// apart, which no honest peer produces.
    pub const fn expand(self, reference: u64) -> Option<u64> {
        let ahead = (self.0 as u64).wrapping_sub(reference) % ERA_SPACE;
        if ahead <= WINDOW_MAX as u64 {
            Some(reference + ahead)
        } else if ERA_SPACE - ahead <= WINDOW_MAX as u64 {
            reference.checked_sub(ERA_SPACE - ahead)
        } else {
            None
        }
    }
}

/// A sequence number as dummies and feedback frames carry it: 32 bits of the absolute number. Either may be late by
/// whole eras, which 17 bits cannot tell; 32 bits repeat after four billion frames, half a minute at 100G.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct LongSequenceNumber(pub u32);

impl LongSequenceNumber {
    /// The long form of an absolute number.
    pub const fn from_absolute(absolute: u64) -> LongSequenceNumber {
        LongSequenceNumber(absolute as u32)
    }

    /// The number in the form that frames carry.
    pub const fn short(self) -> SequenceNumber {
        SequenceNumber::from_absolute(self.0 as u64)
    }

    /// Whether this number comes before `other`, of the same lane and session.
    pub(crate) const fn is_before(self, other: LongSequenceNumber) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// The absolute number within [`WINDOW_MAX`] of `reference` that has this form; `None` if the two are further apart:
    /// the frame is late, or forged.
    pub const fn expand(self, reference: u64) -> Option<u64> {
        let ahead = self.0.wrapping_sub(reference as u32);
        if ahead <= WINDOW_MAX {
            Some(reference + ahead as u64)
        } else if ahead.wrapping_neg() <= WINDOW_MAX {
            reference.checked_sub(ahead.wrapping_neg() as u64)
        } else {
            None
        }
    }
}

impl fmt::Display for SequenceNumber {
    /// Number and era as one number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for LongSequenceNumber {
    /// As the frame with this number shows it: 16 bits and the era, as one number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.short().fmt(f)
    }
}

#[cfg(feature = "serde")]
impl From<u32> for SequenceNumber {
    /// From 16 bits with the era above them, as a protocol log writes it; higher bits are ignored.
    fn from(bits: u32) -> SequenceNumber {
        SequenceNumber::from_absolute(bits.into())
    }
}

#[cfg(feature = "serde")]
impl From<SequenceNumber> for u32 {
    fn from(sequence: SequenceNumber) -> u32 {
        sequence.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The comparison as section 3.5 words it: same era, compare; different eras, subtract N/2 from both first.
    fn paper_less_than(a: SequenceNumber, b: SequenceNumber) -> bool {
        if a.era() == b.era() {
            a.number() < b.number()
        } else {
            let half = (SEQUENCE_SPACE / 2) as u16;
            a.number().wrapping_sub(half) < b.number().wrapping_sub(half)
        }
    }

    proptest! {
        #[test]
        fn expand_inverts_from_absolute(reference in FIRST_ABSOLUTE..1 << 40, offset in -32768i64..=32768) {
            let absolute = reference.checked_add_signed(offset).expect("in range");
            prop_assert_eq!(SequenceNumber::from_absolute(absolute).expand(reference), Some(absolute));
        }

        #[test]
        fn order_agrees_with_the_papers_era_correction(base in FIRST_ABSOLUTE..1 << 40, gap in 1u64..32768) {
            let (a, b) = (SequenceNumber::from_absolute(base), SequenceNumber::from_absolute(base + gap));
            prop_assert!(paper_less_than(a, b) && !paper_less_than(b, a));
            prop_assert!(b.expand(base).expect("near") > base);
        }

        #[test]
        fn a_long_number_names_a_nearby_frame_and_none_an_era_away(
            reference in FIRST_ABSOLUTE * 4..1 << 40,
            offset in -32768i64..=32768,
            eras in prop_oneof![-3i64..=-1, 1i64..=3],
        ) {
            let absolute = reference.checked_add_signed(offset).expect("in range");
            prop_assert_eq!(LongSequenceNumber::from_absolute(absolute).expand(reference), Some(absolute));
            let late = reference.checked_add_signed(offset + eras * ERA_SPACE as i64).expect("in range");
            prop_assert_eq!(LongSequenceNumber::from_absolute(late).expand(reference), None);
        }

        #[test]
        fn far_numbers_are_refused(base in FIRST_ABSOLUTE..1 << 40, gap in 32769u64..98303) {
            prop_assert_eq!(SequenceNumber::from_absolute(base + gap).expand(base), None);
        }
    }

    #[test]
    fn era_toggles_at_the_wrap() {
        let last = SequenceNumber::from_absolute(FIRST_ABSOLUTE + 0xffff);
        let next = SequenceNumber::from_absolute(FIRST_ABSOLUTE + 0x10000);
        assert_eq!((last.number(), last.era()), (0xffff, false));
        assert_eq!((next.number(), next.era()), (0, true));
    }
}
