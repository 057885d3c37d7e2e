//! What a scheme knows about lost frames.

/// A scheme that accounts for losses, so that measurements can tell their causes. Its headers are `H`.
pub trait Account<H> {
    /// How many copies of a lost frame it sends; `None` if it retransmits until one arrives, so that Equation 1 has no meaning.
    fn copies(&self) -> Option<u8> {
        Some(1)
    }

    /// How many copies it has sent.
    fn copies_sent(&self) -> u64 {
        0
    }

    /// The counters of this end, under the names in its specification.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// As receiver: whether it has stopped waiting for the lost frame with this header.
    fn has_moved_past(&self, header: &H) -> bool;

    /// As receiver: how many frames did not fit into its buffer.
    fn overflows(&self) -> u64 {
        0
    }

    /// As receiver: how many missing frames it has given up on.
    fn given_up(&self) -> u64 {
        0
    }

    /// How many frames it has discarded at its port instead of sending them.
    fn discarded(&self) -> u64 {
        0
    }
}
