//! Which numbers have arrived, so that none is accepted twice.

/// How far a number may be behind the highest.
pub const REPLAY_WINDOW: u64 = 8_192;
const WORDS: usize = (REPLAY_WINDOW / 64) as usize;

/// A window that ends with the highest number that has arrived.
#[derive(Debug, Clone)]
pub struct ReplayWindow {
    /// One past the highest number.
    end: u64,
    arrived: [u64; WORDS],
}

impl Default for ReplayWindow {
    fn default() -> Self {
        ReplayWindow { end: 0, arrived: [0; WORDS] }
    }
}

impl ReplayWindow {
    /// Whether a number is neither too old nor one that has arrived.
    pub fn is_new(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        number >= self.end || (self.end - number <= REPLAY_WINDOW && self.arrived[word] & bit == 0)
    }

    /// Notes a number, whose datagram was authentic.
    pub fn note(&mut self, number: u64) {
        if number >= self.end {
            // What lies between has not arrived. Each place is cleared once, however far the number is ahead.
            let first = self.end.max(number.saturating_sub(REPLAY_WINDOW - 1));
            for between in first..=number {
                let (word, bit) = place(between);
                self.arrived[word] &= !bit;
            }
            self.end = number.saturating_add(1);
        }
        let (word, bit) = place(number);
        self.arrived[word] |= bit;
    }
}

fn place(number: u64) -> (usize, u64) {
    (((number / 64) % WORDS as u64) as usize, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn each_number_is_new_once(steps in proptest::collection::vec((any::<bool>(), 0_u64..20_000), 1..400)) {
            let (mut window, mut model, mut at) = (ReplayWindow::default(), BTreeSet::new(), 0_u64);
            for (is_ahead, by) in steps {
                let number = if is_ahead { at + by } else { at.saturating_sub(by) };
                let highest = model.last().copied();
                let is_old = highest.is_some_and(|highest: u64| highest >= number + REPLAY_WINDOW);
                prop_assert_eq!(window.is_new(number), !is_old && !model.contains(&number));
                if window.is_new(number) {
                    window.note(number);
                    model.insert(number);
                    at = at.max(number);
                }
            }
        }
    }
}
