//! A set of packet sequence numbers within a moving window.

/// Bits of a word.
const WORD: u64 = u64::BITS as u64;

/// A ring of bits. Its numbers are within a window no wider than its capacity; its owner ensures this, and removes
/// numbers that leave the window. It allocates memory when the first number is added.
#[derive(Debug, Clone, Default)]
pub(super) struct Bitmap {
    /// A power of two of words, or none.
    words: Vec<u64>,
}

impl Bitmap {
    /// Adds `psn` and returns whether it is new. `capacity` is the width of the window, the same in every call.
    pub fn insert(&mut self, psn: u64, capacity: u32) -> bool {
        self.reserve(capacity);
        let (index, bit) = self.place(psn);
        let is_new = self.words[index] & bit == 0;
        self.words[index] |= bit;
        is_new
    }

    /// Adds the numbers that [`downwards`](Self::downwards) gives as bits: `highest - k` for each bit k that is set. All of
    /// them are at or above zero and within the window.
    pub fn insert_downwards(&mut self, highest: u64, bits: u64, capacity: u32) {
        self.reserve(capacity);
        let upwards = bits.reverse_bits();
        let offset = highest % WORD;
        let (index, _) = self.place(highest);
        self.words[index] |= upwards >> (WORD - 1 - offset);
        if offset < WORD - 1
            && let Some(before) = highest.checked_sub(WORD)
        {
            let (index, _) = self.place(before);
            self.words[index] |= upwards << (offset + 1);
        }
    }

    pub fn contains(&self, psn: u64) -> bool {
        let (index, bit) = self.place(psn);
        self.words.get(index).is_some_and(|word| word & bit != 0)
    }

    pub fn remove(&mut self, psn: u64) {
        let (index, bit) = self.place(psn);
        if let Some(word) = self.words.get_mut(index) {
            *word &= !bit;
        }
    }

    /// Removes the numbers from `from`, included, to `end`, excluded.
    pub fn remove_range(&mut self, mut from: u64, end: u64) {
        if end.saturating_sub(from) >= self.words.len() as u64 * WORD {
            self.words.fill(0);
            return;
        }
        while from < end {
            let (index, bit) = self.place(from);
            let count = (WORD - from % WORD).min(end - from);
            // `count` bits from `bit` on; a shift by 64 would overflow.
            let ones = u64::MAX >> (WORD - count);
            self.words[index] &= !(ones * bit);
            from += count;
        }
    }

    /// The first number from `from` on that is not in the set; `end` if all numbers before `end` are in it.
    pub fn next_absent(&self, mut from: u64, end: u64) -> u64 {
        while from < end {
            let (index, _) = self.place(from);
            let Some(word) = self.words.get(index) else { return from };
            let offset = from % WORD;
            let absent = !word >> offset;
            if absent != 0 {
                return (from + u64::from(absent.trailing_zeros())).min(end);
            }
            from += WORD - offset;
        }
        end
    }

    /// The numbers from `highest` down, as bits: bit k is that of `highest - k`. Those below `base` are left out.
    pub fn downwards(&self, highest: u64, base: u64) -> u64 {
        let count = (highest + 1).saturating_sub(base).min(WORD);
        if self.words.is_empty() || count == 0 {
            return 0;
        }
        let offset = highest % WORD;
        let (index, _) = self.place(highest);
        // The bits at and below that of `highest`, shifted to the top, and those of the word before behind them.
        let mut bits = self.words[index] << (WORD - 1 - offset);
        if offset < WORD - 1
            && let Some(before) = highest.checked_sub(WORD)
        {
            bits |= self.words[self.place(before).0] >> (offset + 1);
        }
        bits.reverse_bits() & (u64::MAX >> (WORD - count))
    }

    fn reserve(&mut self, capacity: u32) {
        if self.words.is_empty() {
            let words = (capacity as usize).div_ceil(WORD as usize).next_power_of_two();
            self.words = vec![0; words];
        }
    }

    /// The index of the word, and the bit in it. As long as there are no words, all bits count as zero.
    fn place(&self, psn: u64) -> (usize, u64) {
        let mask = self.words.len().wrapping_sub(1);
        ((psn / WORD) as usize & mask, 1 << (psn % WORD))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const CAPACITY: u32 = 200;

    proptest! {
        /// Compares it with a set of numbers, over a window that moves by random steps.
        #[test]
        fn a_bitmap_is_a_set_of_numbers(
            start in 0_u64..1_000,
            steps in prop::collection::vec((0_u64..u64::from(CAPACITY), 0_u64..90), 1..60),
        ) {
            let (mut bitmap, mut model, mut base) = (Bitmap::default(), BTreeSet::new(), start);
            for (offset, advance) in steps {
                let psn = base + offset;
                prop_assert_eq!(bitmap.insert(psn, CAPACITY), model.insert(psn));
                if offset % 7 == 0 {
                    bitmap.remove(psn);
                    model.remove(&psn);
                }
                bitmap.remove_range(base, base + advance);
                base += advance;
                model.retain(|&psn| psn >= base);
                let end = base + u64::from(CAPACITY);
                for psn in base..end {
                    prop_assert_eq!(bitmap.contains(psn), model.contains(&psn));
                }
                for from in [base, base + offset / 2] {
                    let absent = (from..end).find(|psn| !model.contains(psn)).unwrap_or(end);
                    prop_assert_eq!(bitmap.next_absent(from, end), absent);
                }
                for highest in [base, psn, base + 70] {
                    let bit = |k: u64| {
                        let psn = highest.checked_sub(k).filter(|psn| *psn >= base);
                        u64::from(psn.is_some_and(|psn| model.contains(&psn))) << k
                    };
                    let expected = (0..64).map(bit).sum::<u64>();
                    prop_assert_eq!(bitmap.downwards(highest, base), expected);
                    let mut copy = Bitmap::default();
                    copy.insert_downwards(highest, expected, CAPACITY);
                    prop_assert_eq!(copy.downwards(highest, base), expected);
                    copy.remove_range(base, end);
                    prop_assert!(copy.words.iter().all(|word| *word == 0));
                }
            }
        }
    }

    #[test]
    fn an_empty_bitmap_takes_no_memory_and_holds_nothing() {
        let mut bitmap = Bitmap::default();
        bitmap.remove(5);
        bitmap.remove_range(0, 100);
        assert!(!bitmap.contains(5));
        assert_eq!(bitmap.next_absent(3, 9), 3);
        assert_eq!(bitmap.downwards(9, 3), 0);
        assert_eq!(bitmap.words.capacity(), 0);
    }
}
