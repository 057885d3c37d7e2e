//! Bounds that several tables share.

use std::ops::RangeInclusive;

/// The rates in bit/s that the shaper can keep to.
pub(super) const RATE_BPS: RangeInclusive<u64> = 100_000..=1_000_000_000_000;
