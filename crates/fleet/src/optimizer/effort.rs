//! How much work a search may do.

/// Work after which a search is cut short, in ToRs or groups of ToRs that are asked what they can gain: about half a microsecond each.
/// A search does somewhat more, because it ends what it has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// For branch and bound within one zone. Where links above the ToRs are of many classes, it finds little, and a part of this has to do.
    pub branching: u64,
    /// For what follows in zones where that was not enough, in all of them together; and once more as much for all zones together, and
    /// for a way to keep ToRs connected, where ToRs would lose each other.
    pub going_on: u64,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { branching: 4_000_000, going_on: 8_000_000 }
    }
}

impl Effort {
    /// The part of it for one of so many zones.
    pub(super) fn of_one(self, zones: usize) -> Effort {
        Effort { going_on: self.going_on / zones.max(1) as u64, ..self }
    }
}
