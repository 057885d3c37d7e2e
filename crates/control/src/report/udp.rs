//! What a port over UDP reports of its path.

use serde::{Deserialize, Serialize};

/// A path of datagrams, and the peer at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UdpReport {
    /// Address and port of the peer, once it has answered.
    pub peer: Option<String>,
    /// Whether nothing was heard of the peer for 10 s, or ever.
    pub is_silent: bool,
    /// The longest datagram that the path takes, as far as it was tried, in bytes without the headers of IP and UDP.
    pub datagram_bytes: u64,
    /// The time that a probe and its acknowledgement took, lately.
    pub round_trip_ns: Option<u64>,
    /// What limits the rate of sending, where the congestion control does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<CongestionReport>,
    /// How long a missing datagram is waited for: 0 on a path that has not reordered lately.
    pub reordering_wait_ns: u64,
    /// Whether its datagrams are encrypted and authenticated.
    #[serde(default)]
    pub is_encrypted: bool,
    /// Datagrams that are not authentic, or not new, where datagrams are encrypted.
    #[serde(default)]
    pub forged_datagrams: u64,
    /// Datagrams that the kernel took.
    pub sent_datagrams: u64,
    /// Datagrams with frames that arrived from the peer, duplicates included.
    pub received_datagrams: u64,
    /// Datagrams that did not arrive within the wait.
    pub lost_datagrams: u64,
    /// Datagrams that arrived after later ones, and in time.
    pub reordered_datagrams: u64,
    /// Datagrams that arrived after they were given up. They are among the lost ones, too.
    pub late_datagrams: u64,
    /// Datagrams that had arrived before.
    pub duplicate_datagrams: u64,
    /// Datagrams that a queue of the path has marked for congestion (ECN), duplicates not counted.
    #[serde(default)]
    pub marked_datagrams: u64,
    /// Datagrams that do not follow the format.
    pub malformed_datagrams: u64,
    /// Datagrams of others than the peer.
    pub strange_datagrams: u64,
    /// Datagrams from public addresses, which are refused without `--insecure`.
    pub refused_datagrams: u64,
    /// Frames that took several datagrams.
    pub split_frames: u64,
    /// Frames that were lost because one of their datagrams was.
    pub incomplete_frames: u64,
    /// Changes of the peer's address.
    pub address_changes: u64,
    /// Peers that were met: the first, and each time that it was restarted.
    pub peers_met: u64,
}

/// What the congestion control of a path believes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CongestionReport {
    /// How many bytes of datagrams may be in flight, and how many are.
    pub window_bytes: u64,
    pub in_flight_bytes: u64,
    /// The pace of datagrams, in bit/s.
    pub pace_bps: u64,
    /// The largest rate at which datagrams arrived lately, in bit/s; more may be possible, if no more was sent.
    pub delivered_bps: u64,
    /// How long the latest datagram waited in the path's queues.
    pub queue_ns: u64,
    /// The loss that the path has whatever is sent, in datagrams of a million.
    pub path_loss_ppm: u64,
    /// Whether others fill the queue of the path.
    pub has_others: bool,
    /// Whether queues of the path may mark datagrams instead of dropping them (ECN).
    #[serde(default)]
    pub is_markable: bool,
}
