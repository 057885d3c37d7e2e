//! Division by the same number many times, for the two divisions that every frame needs.

/// Bits of the fraction in [`Divisor::reciprocal`].
const FRACTION_BITS: u32 = 40;

/// A divisor with its reciprocal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Divisor {
    pub(crate) value: u64,
    /// `1 / value` in units of 2^-40, rounded up.
    reciprocal: u64,
    /// The reciprocal gives exact results below this.
    exact_below: u64,
}

impl Divisor {
    pub(crate) const fn new(value: u64) -> Divisor {
        let one = 1 << FRACTION_BITS;
        let reciprocal = one / value + 1;
        // The error of the product, x (reciprocal - 1/value), must stay below one value-th, and the product in 64 bits.
        let exact_below = one / (value + 1);
        let representable = u64::MAX / reciprocal;
        let exact_below = if exact_below < representable { exact_below } else { representable };
        Divisor { value, reciprocal, exact_below }
    }

    /// The smallest multiple of the divisor that is not below `x`, divided by the divisor.
    #[inline]
    pub(crate) const fn ceiling(self, x: u64) -> u64 {
        let x = x + (self.value - 1);
        if x < self.exact_below { (x * self.reciprocal) >> FRACTION_BITS } else { x / self.value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_quotient_is_exact(value in 1u64..2_000_000, x in 0u64..1 << 40, quotient in 0u64..1 << 20, off in -1i64..=1) {
            let divisor = Divisor::new(value);
            prop_assert_eq!(divisor.ceiling(x), x.div_ceil(value));
            let near = (quotient * value).saturating_add_signed(off);
            prop_assert_eq!(divisor.ceiling(near), near.div_ceil(value));
        }
    }
}
