//! What a scheme knows of lost frames.

/// A scheme that accounts for what was lost, so that measurements can tell why. Its headers are `H`.
pub trait Account<H> {
    /// How many copies it sends of a lost frame.
    fn copies(&self) -> u8 {
        1
    }

    /// How many copies it has sent.
    fn copies_sent(&self) -> u64 {
        0
    }

    /// What this end has counted, under the names that its specification gives.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// As receiver: whether it no longer waits for the lost frame with this header.
    fn has_moved_past(&self, header: &H) -> bool;

    /// As receiver: how many frames found no room.
    fn overflows(&self) -> u64 {
        0
    }

    /// As receiver: how many missing frames it waits for no more.
    fn given_up(&self) -> u64 {
        0
    }
}
