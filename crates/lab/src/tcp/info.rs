//! The kernel's information about a TCP connection.

use std::io;
use std::os::fd::AsFd;

use serde::{Deserialize, Serialize};

use crate::sys;

/// The fields of `TCP_INFO` that concern losses. Kernels before 4.19 do not count `bytes_retransmitted`, which is then
/// 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpInfo {
    /// Smoothed round-trip time in microseconds.
    pub rtt_us: u32,
    /// Smallest recent round-trip time, in microseconds.
    pub min_rtt_us: u32,
    /// Retransmission timeout in microseconds.
    pub rto_us: u32,
    /// Congestion window in segments.
    pub congestion_window_segments: u32,
    /// Slow start threshold in segments.
    pub slow_start_threshold_segments: u32,
    /// Segment size in bytes.
    pub segment_bytes: u32,
    /// Segments retransmitted since the connection began.
    pub retransmitted_segments: u32,
    /// Payload bytes retransmitted since the connection began.
    pub retransmitted_bytes: u64,
    /// How often the connection noticed reordered segments.
    pub reordering_events: u32,
    /// Segments that arrived twice, as the receiver reported.
    pub duplicate_segments: u32,
    /// Expirations of the retransmission timer; 0 before Linux 6.7.
    pub timeouts: u32,
    /// How long the receiver's window held the connection up, in microseconds.
    pub receive_window_limited_us: u64,
}

impl TcpInfo {
    /// Reads the information about a connected socket.
    ///
    /// # Errors
    /// The kernel's error if `socket` is not TCP.
    pub fn read(socket: impl AsFd) -> io::Result<Self> {
        let mut raw = [0; 256];
        sys::socket_option(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, &mut raw)?;
        Ok(Self::parse(&raw))
    }

    /// Offsets in `struct tcp_info` of include/uapi/linux/tcp.h. The structure only ever grows at its end, and fields
    /// that an older kernel does not fill in stay 0.
    fn parse(raw: &[u8; 256]) -> Self {
        let word = |at: usize| u32::from_ne_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]]);
        let short = |at: usize| u16::from_ne_bytes([raw[at], raw[at + 1]]);
        let long = |at: usize| {
            let half = |at: usize| u64::from(word(at));
            if cfg!(target_endian = "little") {
                half(at) | half(at + 4) << 32
            } else {
                half(at) << 32 | half(at + 4)
            }
        };
        Self {
            rtt_us: word(68),
            min_rtt_us: word(148),
            rto_us: word(8),
            congestion_window_segments: word(80),
            slow_start_threshold_segments: word(76),
            segment_bytes: word(16),
            retransmitted_segments: word(100),
            retransmitted_bytes: long(208),
            reordering_events: word(220),
            duplicate_segments: word(216),
            timeouts: u32::from(short(240)),
            receive_window_limited_us: long(176),
        }
    }
}
