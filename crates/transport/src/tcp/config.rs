//! The configuration of one end of a TCP connection.

use super::congestion::Algorithm;
use crate::time::Nanos;
use linkmend_diagnose::ParameterError;

/// Minimum and maximum payload of a segment, in bytes: what every network carries (RFC 791: packets of 68 B), and what
/// fits into an IP packet.
pub(super) const MSS_MIN: u32 = 28;
const MSS_MAX: u32 = 65_000;
/// Largest window after scaling: 65,535 x 2^14 bytes (RFC 7323, section 2.3).
const RECEIVE_BUFFER_MAX: u32 = 65_535 << 14;
/// Longest delay of an acknowledgement (RFC 1122, section 4.2.3.2).
const DELAYED_ACK_MAX: Nanos = Nanos::from_millis(500);
/// Maximum initial window in segments; nobody needs more than the maximum window holds.
const INITIAL_WINDOW_MAX: u32 = 1 << 20;

/// The timestamps option with its padding, in bytes, which reduces the payload of a segment (RFC 9293, section 3.7.1).
pub(super) const TIMESTAMPS_BYTES: u32 = 12;

/// How a sender detects that segments are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LossDetection {
    /// Three duplicate acknowledgements, or three segments SACKed above it (RFC 5681, RFC 6675).
    DuplicateAcks,
    /// As many duplicates as the reordering seen so far requires, at least three (the idea of RFC 4653; Linux before
    /// RACK).
    AdaptiveDuplicateAcks,
    /// By time, with tail loss probes (RFC 8985).
    #[default]
    RackTlp,
}

/// Explicit congestion notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    #[default]
    Off,
    /// Echo until CWR (RFC 3168).
    Classic,
    /// An exact echo of each change (RFC 8257, section 3.2).
    Dctcp,
}

/// A search for the longest segments that the path can carry (RFC 4821), as in Linux. The default has Linux's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathProbing {
    /// Whether connections search from the beginning (Linux: `tcp_mtu_probing` of 2), rather than only once consecutive
    /// timeouts suggest that long segments are lost (1).
    pub from_beginning: bool,
    /// Bytes of payload that every path is assumed to carry (`tcp_base_mss`): an end that opens a connection and
    /// searches from the beginning starts with this.
    pub base_mss: u32,
    /// Minimum payload in bytes, however many timeouts follow each other (`tcp_mtu_probe_floor`).
    pub floor_mss: u32,
    /// The search ends when the rest of its range is smaller than this many bytes (`tcp_probe_threshold`), and starts
    /// again after some time (`tcp_probe_interval`).
    pub threshold: u32,
    pub interval: Nanos,
}

impl Default for PathProbing {
    fn default() -> PathProbing {
        PathProbing {
            from_beginning: false,
            base_mss: 1_024,
            floor_mss: 48,
            threshold: 8,
            interval: Nanos::from_secs(600),
        }
    }
}

/// Configuration of one end of a connection. The default is that of a Linux host of 2023, without ECN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Maximum payload of a segment in bytes: 1,448 with timestamps in IPv4 packets of 1,500 B.
    pub mss: u32,
    pub algorithm: Algorithm,
    /// Seed for the algorithm's random choices: the phase in which BBR begins its cycle of gains.
    pub seed: u64,
    /// Whether an algorithm without a rate of its own is paced by its window (Linux: with the `fq` queueing discipline).
    pub pacing: bool,
    pub loss_detection: LossDetection,
    /// Whether DSACKs widen the reordering window of [`LossDetection::RackTlp`] (RFC 8985, section 6.2, step 4; bit 2 of Linux'
    /// `tcp_recovery` keeps it as it is).
    pub adapt_reordering_window: bool,
    /// Whether the tail is probed, with [`LossDetection::RackTlp`] (RFC 8985, section 7; Linux: `tcp_early_retrans`).
    pub tail_loss_probe: bool,
    /// How much longer RACK-TLP's timers wait than in RFC 8985 (0 there; Linux: [`Config::LINUX_TIMER_SLACK`]): a probe
    /// waits longer than two round trips if several segments are in flight, and loss detection longer than the
    /// reordering window.
    pub timer_slack: Nanos,
    /// Minimum time until a tail is probed (nothing in RFC 8985; Linux before 4.14: 10 ms). The retransmission timeout
    /// limits it.
    pub probe_min: Nanos,
    /// Initial congestion window in segments (RFC 6928).
    pub initial_window: u32,
    /// Selective acknowledgements (RFC 2018), if the peer supports them.
    pub sack: bool,
    /// Timestamps (RFC 7323), if the peer supports them.
    pub timestamps: bool,
    /// Explicit congestion notification, if the peer supports it.
    pub ecn: Ecn,
    /// Minimum retransmission timeout (RFC 6298: 1 s; Linux: 200 ms; the paper's hosts: 1 ms).
    pub rto_min: Nanos,
    /// Timeout before any round trip was measured (RFC 6298: 1 s), also of a SYN.
    pub rto_initial: Nanos,
    /// Longest timeout after doubling.
    pub rto_max: Nanos,
    /// The timeout is a whole number of these, rounded up (Linux: ticks of its clock); zero for one that is not rounded.
    pub rto_unit: Nanos,
    /// Forward RTO recovery (RFC 5682).
    pub f_rto: bool,
    /// Whether a connection restarts with the initial window after an idle time (RFC 5681, section 4.1).
    pub restart_after_idle: bool,
    /// Minimum delay of a delayed acknowledgement (Linux: 40 ms).
    pub delayed_ack_min: Nanos,
    /// Longest delay of a delayed acknowledgement (RFC 1122: below 500 ms; Linux: 200 ms).
    pub delayed_ack_max: Nanos,
    /// Acknowledgements that are sent immediately when a connection begins (Linux: up to 16).
    pub quick_acks: u32,
    /// Maximum number of bytes passed to segmentation offload as one segment; the MSS without offload.
    pub offload_bytes: u32,
    /// Receive buffer, and so the largest receive window, in bytes.
    pub receive_buffer: u32,
    /// Maximum memory of arrived packets until they are read, if memory counts, as it does in Linux. The window then
    /// follows it, and opens as data arrives.
    pub receive_memory: Option<u32>,
    /// Send buffer: maximum number of bytes that are written but not acknowledged.
    pub send_buffer: u64,
    /// Whether the send buffer counts the memory of packets, as in Linux, and not only their payload. It is then filled
    /// one packet at a time, and a waiting writer is told of free space when a third is free.
    pub counts_packet_memory: bool,
    /// Minimum burst of a pacing sender, in segments (Linux: `tcp_min_tso_segs`).
    pub burst_segments_min: u32,
    /// Search for longer segments, if this end does.
    pub path_probing: Option<PathProbing>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mss: 1_448,
            algorithm: Algorithm::Cubic,
            seed: 0,
            pacing: false,
            loss_detection: LossDetection::RackTlp,
            adapt_reordering_window: true,
            tail_loss_probe: true,
            timer_slack: Nanos::ZERO,
            probe_min: Nanos::ZERO,
            initial_window: 10,
            sack: true,
            timestamps: true,
            ecn: Ecn::Off,
            rto_min: Nanos::from_millis(200),
            rto_initial: Nanos::from_secs(1),
            rto_max: Nanos::from_secs(120),
            rto_unit: Nanos::ZERO,
            f_rto: true,
            restart_after_idle: true,
            delayed_ack_min: Nanos::from_millis(40),
            delayed_ack_max: Nanos::from_millis(200),
            quick_acks: 16,
            offload_bytes: 65_160,
            receive_buffer: 64 << 20,
            receive_memory: None,
            send_buffer: u64::MAX,
            counts_packet_memory: false,
            burst_segments_min: 2,
            path_probing: None,
        }
    }
}

impl Config {
    /// [`Config::timer_slack`] of Linux since October 2023 (`TCP_TIMEOUT_MIN_US`), which its stable kernels since 5.10 have, too; two
    /// ticks before, which is the same with 1,000 ticks a second.
    pub const LINUX_TIMER_SLACK: Nanos = Nanos::from_millis(2);

    /// Segment payload that a SYN offers to accept, without regard to options, as required by RFC 6691.
    pub(super) fn offered_segment(&self) -> u32 {
        self.mss.saturating_add(if self.timestamps { TIMESTAMPS_BYTES } else { 0 })
    }

    /// Checks whether the configuration can be used.
    ///
    /// # Errors
    /// If a value is not in its range, or contradicts another.
    pub fn check(&self) -> Result<(), ParameterError> {
        let demand = |holds: bool, parameter, value: String, requirement| {
            if holds { Ok(()) } else { Err(ParameterError::new(parameter, value, requirement)) }
        };
        let time = |span: Nanos| format!("{} ns", span.0);
        let is_mss = (MSS_MIN..=MSS_MAX).contains(&self.mss);
        demand(is_mss, "mss", self.mss.to_string(), "must be 28 to 65000 bytes")?;
        let is_window = (1..=INITIAL_WINDOW_MAX).contains(&self.initial_window);
        demand(
            is_window,
            "initial_window",
            self.initial_window.to_string(),
            "must be 1 to 1048576 segments",
        )?;
        for (parameter, span) in [("rto_min", self.rto_min), ("rto_initial", self.rto_initial)] {
            let is_timeout = span > Nanos::ZERO && span <= self.rto_max;
            demand(is_timeout, parameter, time(span), "must be above 0 and at most rto_max")?;
        }
        let least = time(self.delayed_ack_min);
        demand(
            self.delayed_ack_min <= self.delayed_ack_max,
            "delayed_ack_min",
            least,
            "must be at most delayed_ack_max",
        )?;
        let longest = time(self.delayed_ack_max);
        demand(
            self.delayed_ack_max <= DELAYED_ACK_MAX,
            "delayed_ack_max",
            longest,
            "must be at most 500 ms",
        )?;
        let offload = self.offload_bytes.to_string();
        demand(self.offload_bytes >= self.mss, "offload_bytes", offload, "must be at least mss")?;
        let is_buffer = self.receive_buffer >= self.mss && self.receive_buffer <= RECEIVE_BUFFER_MAX;
        let buffer = self.receive_buffer.to_string();
        demand(is_buffer, "receive_buffer", buffer, "must be at least mss and at most 1073725440 bytes")?;
        let probing = self.path_probing.unwrap_or_default();
        for (parameter, bytes) in
            [("path_probing.base_mss", probing.base_mss), ("path_probing.floor_mss", probing.floor_mss)]
        {
            let is_mss = (MSS_MIN..=MSS_MAX).contains(&bytes);
            demand(is_mss, parameter, bytes.to_string(), "must be 28 to 65000 bytes")?;
        }
        demand(self.send_buffer > 0, "send_buffer", self.send_buffer.to_string(), "must be at least 1 byte")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        let good = Config::default();
        assert_eq!(good.check(), Ok(()));
        let probing = |probing| Config { path_probing: Some(probing), ..good };
        let cases = [
            (Config { mss: 0, ..good }, "mss", "0"),
            (Config { mss: 65_001, ..good }, "mss", "65001"),
            (Config { initial_window: 0, ..good }, "initial_window", "0"),
            (Config { rto_min: Nanos::ZERO, ..good }, "rto_min", "0 ns"),
            (Config { rto_initial: Nanos(130_000_000_000), ..good }, "rto_initial", "130000000000 ns"),
            (Config { delayed_ack_min: Nanos(300_000_000), ..good }, "delayed_ack_min", "300000000 ns"),
            (Config { delayed_ack_max: Nanos(500_000_001), ..good }, "delayed_ack_max", "500000001 ns"),
            (Config { offload_bytes: 1_447, ..good }, "offload_bytes", "1447"),
            (Config { receive_buffer: 1_447, ..good }, "receive_buffer", "1447"),
            (Config { receive_buffer: u32::MAX, ..good }, "receive_buffer", "4294967295"),
            (Config { send_buffer: 0, ..good }, "send_buffer", "0"),
            (probing(PathProbing { base_mss: 27, ..Default::default() }), "path_probing.base_mss", "27"),
            (probing(PathProbing { floor_mss: 0, ..Default::default() }), "path_probing.floor_mss", "0"),
        ];
        for (config, parameter, value) in cases {
            let error = config.check().expect_err(parameter);
            assert_eq!((error.parameter, error.value.as_str()), (parameter, value));
        }
    }
}
