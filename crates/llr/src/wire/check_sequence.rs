//! The frame check sequence of a poisoned frame, and what a received one indicates.

use crate::config::PoisonPattern;
use crate::frame::Integrity;

/// The frame check sequence that marks a frame as poisoned; `right` is the correct one for its octets.
pub const fn poisoned(right: u32, pattern: PoisonPattern) -> u32 {
    match pattern {
        PoisonPattern::Inverted => !right,
        PoisonPattern::Xor(mask) => right ^ mask,
    }
}

/// What a received frame check sequence indicates; `right` is the correct one for the octets that arrived.
pub const fn integrity(right: u32, received: u32, pattern: PoisonPattern) -> Integrity {
    if received == right {
        Integrity::Good
    } else if received == poisoned(right, pattern) {
        Integrity::Poisoned
    } else {
        Integrity::Bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_chosen_pattern_is_poison() {
        let right = 0x1234_5678;
        let read = |received, pattern| integrity(right, received, pattern);
        assert_eq!(read(right, PoisonPattern::Inverted), Integrity::Good);
        assert_eq!(read(0xEDCB_A987, PoisonPattern::Inverted), Integrity::Poisoned);
        assert_eq!(read(0xEDCB_A987, PoisonPattern::Xor(1)), Integrity::Bad);
        assert_eq!(read(right ^ 1, PoisonPattern::Xor(1)), Integrity::Poisoned);
        assert_eq!(read(right ^ 2, PoisonPattern::Inverted), Integrity::Bad);
    }
}
