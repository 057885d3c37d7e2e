//! The state of a link end, for status, top, metrics and the demo. It is serialised as it stands, so the field names
//! are public.

mod failover;
mod in_time;
mod rates;
mod state;
mod udp;

pub use failover::{DuplicateReport, FailoverReport, LastChangeReport, ShareReport};
pub use in_time::{InTimeReport, ReceivedInTime, SentInTime};
pub use rates::Rates;
pub use state::{
    ChangeReason, FallbackLevel, Format, KeyTrouble, Mode, Path, PortState, ReceiveState, TransmitState,
};
pub use udp::{CongestionReport, UdpReport};

use crate::corruption_model::CorruptionModel;
use crate::side::Side;
use serde::{Deserialize, Serialize};

/// A link end at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkReport {
    pub name: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// Why the link does not run, for people, while one of its interfaces is gone. Nothing else in the report is
    /// meaningful then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<String>,
    /// Seconds since the link end started.
    pub uptime_s: f64,
    /// The port that faces the host.
    pub inner: PortReport,
    /// The port that faces the corrupting link.
    pub link: PortReport,
    /// The second link, if there is one, and which of both is in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverReport>,
    /// Classes with a deadline, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_time: Option<InTimeReport>,
    pub transmit_state: TransmitState,
    pub receive_state: ReceiveState,
    /// Whether protection is switched on.
    pub protection_requested: bool,
    /// Whether protection was set at run time and differs from the configuration.
    #[serde(default)]
    pub set_at_run_time: bool,
    /// Whether a restart of the daemon forgets what was set at run time (`restore = false`).
    #[serde(default)]
    pub restart_forgets: bool,
    pub mode: Mode,
    pub fallback_level: FallbackLevel,
    /// Number of copies for each lost frame.
    pub copies: u8,
    /// Loss rate measured in the sending direction, once known.
    pub measured_loss: Option<f64>,
    /// Whether the peer speaks Linkmend.
    pub peer_known: bool,
    /// Whether this end has a key.
    #[serde(default)]
    pub has_key: bool,
    /// Why the two ends cannot believe each other.
    #[serde(default)]
    pub key_trouble: Option<KeyTrouble>,
    /// The peer's header format, if it differs from this end's. Frames pass unprotected then.
    #[serde(default)]
    pub mismatched_format: Option<Format>,
    /// A third end on the link, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub third_end: Option<ThirdEndReport>,
    /// Whether frames pass unprotected because of it: no other link is without one.
    #[serde(default)]
    pub is_suspended: bool,
    /// Whether the peer currently pauses the normal queue.
    pub paused: bool,
    /// Corruption injected at the link port, if any.
    pub corruption: Option<CorruptionModel>,
    /// Parameters in force.
    pub parameters: ParametersReport,
    pub counters: CountersReport,
    /// Bytes in the Tx buffer.
    pub tx_buffer: BufferReport,
    /// Bytes in the Rx buffer.
    pub rx_buffer: BufferReport,
    /// Bytes in the queue of frames that wait for the link.
    pub queue: BufferReport,
    /// Time from noticing a loss to its recovery.
    pub recovery_latency_ns: HistogramReport,
    /// Lengths of holes in frames.
    pub hole_length_frames: HistogramReport,
    /// The daemon itself; the same for all its links.
    #[serde(default)]
    pub daemon: DaemonReport,
}

impl LinkReport {
    /// The ports by their side.
    pub fn ports(&self) -> impl Iterator<Item = (Side, &PortReport)> {
        let second = self.failover.as_ref().map(|failover| (Side::Backup, &failover.backup));
        [(Side::Inner, &self.inner), (Side::Link, &self.link)].into_iter().chain(second)
    }
}

/// An end that answers on a link beside the peer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ThirdEndReport {
    /// MAC address of its port; that of this end's own port if the link is a loop.
    pub address: String,
    /// MAC address of the peer's port; absent if the link is a loop.
    pub peer_address: Option<String>,
}

/// What may fail in a daemon while its links keep running, and what the host takes from it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DaemonReport {
    /// Lines of the log that could not be written.
    pub log_lines_lost: u64,
    /// What does not work, for people.
    pub troubles: Vec<String>,
    /// The share of the processor time wanted by this machine in the last 10 s that its host gave to others; absent if
    /// too little was wanted to tell.
    pub stolen_share: Option<f64>,
    /// Frames of all interfaces of this machine that found its receive backlog (`net.core.netdev_max_backlog`) full,
    /// since the daemon started. Frames that pass through a veth wait there.
    #[serde(default)]
    pub backlog_drops: u64,
}

/// One of the two ports of a link end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortReport {
    pub interface: String,
    /// Kind of socket, and why.
    pub description: String,
    /// How the in-kernel bypass runs at this port: `native` or `generic`; absent with AF_PACKET, which has none.
    pub xdp_mode: Option<String>,
    /// Who has set which processors receive the frames that arrive here (receive packet steering). Absent if nobody
    /// has, and at any port other than an inner one that is a veth, where it is not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steering: Option<Steering>,
    /// Current MTU in bytes.
    pub mtu: u32,
    pub state: PortState,
    pub rx_frames: u64,
    pub rx_bytes: u64,
    pub tx_frames: u64,
    pub tx_bytes: u64,
    /// Frames lost at the socket.
    pub drops: u64,
    /// Frames that the in-kernel bypass received at this port and forwarded.
    pub bypassed_frames: u64,
    pub bypassed_bytes: u64,
    /// Frames that the bypass received here and dropped, because they are useless without the daemon: copies, dummies
    /// and control frames.
    pub bypass_drops: u64,
    /// Frames that arrived at the interface and for which the kernel had no room.
    pub kernel_rx_drops: u64,
    /// Frames that arrived at the interface with a wrong frame check sequence.
    #[serde(default)]
    pub kernel_rx_crc_errors: u64,
    /// Frames that the interface's driver did not take.
    pub kernel_tx_drops: u64,
    /// Frames for which the interface's own queue had no room.
    pub kernel_queue_drops: u64,
    /// Frames that arrived here and that the bypass could not send on, because they are too long for the other port or
    /// it is gone.
    pub bypass_failed_redirects: u64,
    /// The path, if the port is one over UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<UdpReport>,
}

/// Who has set which processors receive the frames of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Steering {
    /// Linkmend has, so that each flow goes to one of them. This is undone when the bypass is removed.
    Linkmend,
    /// Somebody else has, before the link started. Their setting stays as it is.
    Operator,
}

/// Parameters in force. Times are in ns, sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ParametersReport {
    pub format: Format,
    /// Measured round trip between the link ends, if any.
    pub link_rtt_ns: Option<u64>,
    /// `ackNoTimeout`; 0 if frames are not given up by the clock.
    pub recovery_timeout_ns: u64,
    /// `pauseThreshold`.
    pub pause_bytes: u64,
    /// `resumeThreshold`.
    pub resume_bytes: u64,
    /// Bound of the Rx buffer.
    pub rx_buffer_bytes: u64,
    /// Bound of the Tx buffer.
    pub tx_buffer_bytes: u64,
    /// Bound of the number of outstanding frames.
    pub window_frames: u32,
}

/// Counters, in the terms of the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CountersReport {
    /// Frames sent with a data header (originals).
    pub protected_frames: u64,
    pub protected_bytes: u64,
    /// Frames sent unprotected by the daemon.
    pub unprotected_frames: u64,
    /// Frames too long for the link with a header; sent unprotected if they fit without.
    pub oversize_unprotected_frames: u64,
    /// Frames too long for the link even without a header.
    pub oversize_dropped_frames: u64,
    /// Frames of a host that the other end could have taken for Linkmend's, and that were dropped for that.
    #[serde(default)]
    pub ambiguous_frames: u64,
    /// Control frames of ends that are not the peer, and were ignored.
    #[serde(default)]
    pub strange_frames: u64,
    /// Frames without the peer's seal, on a link with a key.
    #[serde(default)]
    pub forged_frames: u64,
    /// Retransmitted copies sent.
    pub retransmitted_copies: u64,
    /// Frames whose fate is unknown because their session ended (peer lost).
    pub abandoned_frames: u64,
    pub dummies_sent: u64,
    /// Explicit ACKs sent.
    pub acks_sent: u64,
    /// ACKs piggybacked on data.
    pub piggybacked_acks_sent: u64,
    /// Loss notifications sent.
    pub notifications_sent: u64,
    /// Protected frames received, copies included.
    pub received_frames: u64,
    /// Protected frames delivered.
    pub delivered_frames: u64,
    pub delivered_bytes: u64,
    /// Frames found missing (actual loss).
    pub lost_frames: u64,
    /// Missing frames that arrived after all.
    pub recovered_frames: u64,
    /// Missing frames given up by the clock.
    pub recovery_timeouts: u64,
    /// Missing frames given up because the peer does not hold them any more.
    #[serde(default)]
    pub withdrawn_frames: u64,
    /// Missing frames that were not waited for because their session ended.
    #[serde(default)]
    pub unrecovered_frames: u64,
    /// Frames given up by this sender because the copies of their last round were lost.
    #[serde(default)]
    pub exhausted_frames: u64,
    /// Copies of frames that had already arrived.
    pub duplicates_dropped: u64,
    /// Frames that found no room in the Rx buffer and were asked for again.
    pub rx_buffer_overflows: u64,
    /// Frames whose number lies outside the window.
    pub out_of_window_frames: u64,
    /// Originals without a session, delivered.
    pub orphan_frames: u64,
    /// Copies without a session, dropped.
    pub orphan_copies_dropped: u64,
    /// Control frames that were rejected because they are stale or forged.
    pub control_rejected: u64,
    /// Frames with a Linkmend header that make no sense.
    pub malformed_frames: u64,
    /// Times that this receiver asked its peer to pause.
    pub pauses_sent: u64,
    /// Times that this sender was paused.
    pub pauses_received: u64,
    /// Time that this sender was paused, ns.
    pub paused_ns: u64,
    /// Sessions opened as the sender.
    pub sessions_opened: u64,
    /// Sessions accepted as the receiver.
    pub sessions_accepted: u64,
    /// Sessions ended because the peer fell silent.
    pub peers_lost: u64,
    /// Changes of the fallback level.
    pub fallback_changes: u64,
    /// Frames dropped because the queue was full or did not empty.
    pub queue_drops: u64,
    /// Frames marked with ECN CE.
    pub ecn_marked_frames: u64,
    /// Frames lost because the inner port did not take them.
    pub inner_port_drops: u64,
    /// Frames that injected corruption dropped.
    pub corrupted_frames: u64,
    /// Times that the daemon stalled and the kernel took over.
    pub stalls: u64,
    /// Control frames that could not be sent because the frame pool had no free chunk.
    pub pool_exhausted: u64,
}

impl CountersReport {
    /// Missing frames that were given up for any reason: the effective loss.
    pub fn given_up_frames(&self) -> u64 {
        self.recovery_timeouts.saturating_add(self.withdrawn_frames).saturating_add(self.unrecovered_frames)
    }

    /// Protected frames that were delivered, or should have been.
    pub fn expected_frames(&self) -> u64 {
        self.delivered_frames.saturating_add(self.given_up_frames())
    }
}

/// A fill level in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BufferReport {
    pub now: u64,
    /// Least since the extremes were reset.
    pub min: u64,
    /// Most since the extremes were reset.
    pub max: u64,
}

/// A histogram with buckets at powers of two.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HistogramReport {
    /// Number of values.
    pub count: u64,
    pub sum: u64,
    pub max: u64,
    /// Median, as the upper edge of its bucket.
    pub p50: u64,
    /// 99th percentile, as the upper edge of its bucket.
    pub p99: u64,
    /// Buckets that are not empty: (largest value, count).
    pub buckets: Vec<(u64, u64)>,
}

impl HistogramReport {
    /// The values that were added after `before`, an earlier report of the same histogram. The largest of these is
    /// known only as the upper edge of its bucket.
    pub fn since(&self, before: &HistogramReport) -> HistogramReport {
        let earlier =
            |upper| before.buckets.iter().find(|(edge, _)| *edge == upper).map_or(0, |(_, count)| *count);
        let buckets: Vec<(u64, u64)> = self
            .buckets
            .iter()
            .map(|&(upper, count)| (upper, count.saturating_sub(earlier(upper))))
            .filter(|(_, count)| *count > 0)
            .collect();
        let count = self.count.saturating_sub(before.count);
        let quantile = |share: f64| {
            let mut total = 0;
            let rank = (share * count as f64) as u64;
            buckets
                .iter()
                .find(|(_, in_bucket)| {
                    total += in_bucket;
                    total > rank
                })
                .or(buckets.last())
                .map_or(0, |(upper, _)| *upper)
                .min(self.max)
        };
        HistogramReport {
            count,
            sum: self.sum.saturating_sub(before.sum),
            max: buckets.last().map_or(0, |(upper, _)| *upper).min(self.max),
            p50: quantile(0.5),
            p99: quantile(0.99),
            buckets,
        }
    }
}
