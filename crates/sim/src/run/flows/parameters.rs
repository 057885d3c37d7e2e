//! The names under which transports are asked for, and what they mean: the hosts of the paper's testbed (section 4).

use crate::host::{HostLatency, HostsConfig, RdmaConfig, Transport};
use crate::time::Time;
use linkmend_protocol::Mode;
use linkmend_quantity::words;
use linkmend_transport::{Nanos, roce, tcp};
use std::sync::Arc;

words! {
    /// The transport of all flows of a run.
    pub enum TransportKind {
        Dctcp = "dctcp",
        Cubic = "cubic",
        Bbr = "bbr",
        Reno = "reno",
        /// RoCEv2, reliable connection, RDMA WRITE.
        Rdma = "rdma",
        /// The same with DCQCN, for the rate of the hosts' links.
        RdmaDcqcn = "rdma-dcqcn",
    }
}

impl TransportKind {
    /// Its congestion control, if it is TCP.
    pub fn algorithm(self) -> Option<tcp::Algorithm> {
        match self {
            TransportKind::Reno => Some(tcp::Algorithm::Reno),
            TransportKind::Cubic => Some(tcp::Algorithm::Cubic),
            TransportKind::Dctcp => Some(tcp::Algorithm::Dctcp),
            TransportKind::Bbr => Some(tcp::Algorithm::Bbr),
            TransportKind::Rdma | TransportKind::RdmaDcqcn => None,
        }
    }

    /// Hosts of the testbed with this transport: Linux with RACK-TLP, SACK, ECN for DCTCP, and a least retransmission timeout of
    /// 1 ms; or a card with a retransmission timeout of 1 ms (section 4). DCQCN is left to who knows the rate of the hosts' links.
    pub fn hosts(self) -> HostsConfig {
        let Some(algorithm) = self.algorithm() else {
            // 4.096 us times 2^8 is the timeout of about 1 ms that the authors found.
            let config = roce::Config { timeout_exponent: 8, ..roce::Config::default() };
            return HostsConfig {
                transport: Transport::Roce(Arc::new(config)),
                latency: HostLatency::CARD,
                known_rtt: None,
                handshake: false,
                mode: Mode::Ordered,
                rdma: RdmaConfig::default(),
            };
        };
        let ecn = if self == TransportKind::Dctcp { tcp::Ecn::Dctcp } else { tcp::Ecn::Off };
        let config = tcp::Config {
            algorithm,
            ecn,
            // 9.49 Gbit/s of 10 (Table 3) are 1,460 of 1,538 bytes: the hosts used no timestamps.
            timestamps: false,
            mss: 1_460,
            rto_min: Nanos::from_millis(1),
            timer_slack: tcp::Config::LINUX_TIMER_SLACK,
            ..tcp::Config::default()
        };
        HostsConfig {
            transport: Transport::Tcp(Arc::new(config)),
            latency: HostLatency::KERNEL,
            known_rtt: Some(Nanos::from_micros(30)),
            handshake: false,
            mode: Mode::Ordered,
            rdma: RdmaConfig::default(),
        }
    }
}

impl HostLatency {
    /// A Linux host of the testbed. Least, median and sigma are calibrated on the column without loss of Table 2 and on the
    /// least and median completion time of the artifact's unprotected flows alone. Timers count ticks of 1 ms, as in the
    /// kernel that the authors ran (5.4, low latency), and the cards moderate interrupts as they do unless told otherwise.
    pub const KERNEL: HostLatency = HostLatency {
        least: Time::from_nanos(2_500),
        median: Time::from_nanos(13_000),
        sigma: 0.53,
        burst_median: Time::ZERO,
        burst_sigma: 0.0,
        is_moderated: true,
        timer_tick: Time::from_nanos(1_000_000),
        late_ticks: 0.0,
    };

    /// The same host with more of the kernel. Its latency for a frame alone is calibrated on the round-trip time that the
    /// paper states for TCP, about 30 us (section 4), and for several frames on the columns without loss as above. A tick is late on half of the
    /// processors that do not keep the clock, which is what a race between equals gives; on a measured kernel it was 11 to 72 %
    /// (decision 0052). Nothing is calibrated on results with loss.
    pub const TESTBED: HostLatency = HostLatency {
        median: Time::from_nanos(5_100),
        burst_median: Time::from_nanos(17_000),
        burst_sigma: 0.5,
        late_ticks: 0.5,
        ..HostLatency::KERNEL
    };

    /// A card that does the transport by itself. Calibrated on the artifact's median completion time of RDMA writes alone.
    /// Their least, 5.9 us, is less than the path takes here.
    pub const CARD: HostLatency = HostLatency {
        least: Time::from_nanos(1_000),
        median: Time::from_nanos(230),
        sigma: 0.5,
        is_moderated: false,
        timer_tick: Time::ZERO,
        burst_median: Time::ZERO,
        burst_sigma: 0.0,
        late_ticks: 0.0,
    };
}
