//! The state of a connection, as Linux's `tcp_info` reports it.

use super::congestion::Phase;
use crate::time::Nanos;

/// The sender's state. The names are those of `tcp_info`, without their prefix, where it has a field; times are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Info {
    /// `ca_state`.
    pub phase: Phase,
    /// `retransmits`: timeouts without new data acknowledged since.
    pub timeouts_in_a_row: u32,
    pub backoff: u32,
    /// Probes of a closed window that the peer has not answered.
    pub probes: u32,
    /// The retransmission timeout with its backoff.
    pub rto: Nanos,
    /// Payload of a full segment, in bytes.
    pub snd_mss: u32,
    /// Segments sent and not acknowledged cumulatively.
    pub unacked: u32,
    /// Of these, SACKed, or counted by duplicate acknowledgements.
    pub sacked: u32,
    /// Found lost, whether they were retransmitted or not.
    pub lost: u32,
    /// Retransmissions in flight.
    pub retrans: u32,
    /// Smoothed round-trip time, once measured.
    pub rtt: Option<Nanos>,
    /// `rttvar`.
    pub rtt_deviation: Nanos,
    pub min_rtt: Option<Nanos>,
    pub snd_cwnd: u32,
    /// In segments; `u32::MAX` before the first congestion (Linux: 0x7fffffff).
    pub snd_ssthresh: u32,
    /// Degree of reordering, in segments.
    pub reordering: u32,
    /// How often reordering was seen.
    pub reord_seen: u32,
    /// Segments retransmitted, each as often as it was.
    pub total_retrans: u64,
    /// Bytes a second at which a paced sender sends. For one that is not paced, the rate that Linux computes all the same.
    pub pacing_rate: Option<u64>,
    /// Bytes a second.
    pub delivery_rate: Option<u64>,
    pub delivery_rate_app_limited: bool,
    /// Segments acknowledged, cumulatively or selectively.
    pub delivered: u64,
    /// Of these, by acknowledgements that echoed congestion.
    pub delivered_ce: u64,
    pub bytes_acked: u64,
    /// Payload sent, with retransmissions.
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    /// `data_segs_out`.
    pub segments_sent: u64,
    pub notsent_bytes: u64,
    /// Time in which something was to be sent or acknowledged; of this, the times in which the peer's window had no room, and in
    /// which the application waited for room in the send buffer, while the congestion window had some. Kept where the send buffer
    /// counts the memory of packets.
    pub busy_time: Nanos,
    pub rwnd_limited: Nanos,
    pub sndbuf_limited: Nanos,
    /// Time since data last arrived, or since the handshake.
    pub last_data_recv: Nanos,
    /// Segments that the peer reported as duplicates (DSACK).
    pub dsack_dups: u64,
    /// Retransmission timeouts (`total_rto`).
    pub timeouts: u64,
    /// Tail loss probes.
    pub loss_probes: u64,
    /// The peer's window in bytes.
    pub snd_wnd: u64,
    /// Segments dropped because they reached beyond the window (`TcpExtBeyondWindow` of `nstat`).
    pub beyond_window: u64,
    /// Payload of a segment that this end offered to take, and of those that the peer sends, without regard to options.
    pub advmss: u32,
    pub rcv_mss: u32,
}
