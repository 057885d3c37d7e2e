//! What an endpoint counts.

/// Counters since the endpoint was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams with frames that arrived from the peer, duplicates included.
    pub datagrams: u64,
    /// Bytes of these, each datagram once.
    pub bytes: u64,
    /// Outer numbers that were given up, because nothing with them arrived within the wait.
    pub lost: u64,
    /// Datagrams that arrived after one with a higher number, and in time.
    pub reordered: u64,
    /// Datagrams that arrived after they were given up. They are among `lost`, too.
    pub late: u64,
    /// Datagrams that had arrived before.
    pub duplicates: u64,
    /// Datagrams that a queue has marked, each once.
    pub marked: u64,
    /// Frames for the peer that took several datagrams.
    pub split_frames: u64,
    /// Frames that were lost because a part was.
    pub incomplete_frames: u64,
    /// Datagrams that nobody who speaks this format sends.
    pub malformed: u64,
    /// Reports of what cannot be.
    pub impossible_reports: u64,
    /// Datagrams without the token that this end gave its peer.
    pub strangers: u64,
    /// Datagrams from public addresses, which are refused.
    pub refused_addresses: u64,
    /// Changes of the peer's address.
    pub roamed: u64,
    /// Peers that have been met: the first, and each time it was restarted.
    pub sessions: u64,
}
