//! The configuration of one end of a reliable connection.

use crate::time::Nanos;
use linkmend_diagnose::ParameterError;

/// Payloads of full packets (path MTUs) that the specification defines, in bytes.
const PATH_MTUS: [u16; 5] = [256, 512, 1_024, 2_048, 4_096];
/// Maximum number of outstanding packets: less than half of the 24-bit numbers, so that duplicates can be distinguished
/// from new packets (section 9.7.1).
const WINDOW_MAX: u32 = (1 << 23) - 1;
/// Largest window of selective repeat: both ends keep a bit, and the responder 16 bytes, for each packet in it.
const SELECTIVE_WINDOW_MAX: u32 = 65_536;
/// Largest of the 5-bit exponents of the transport timer.
const TIMEOUT_EXPONENT_MAX: u8 = 31;
/// Unit of the transport timer (section 9.7.6.1.3).
const TIMEOUT_UNIT: Nanos = Nanos(4_096);
/// The timer expires within four times its length (section 9.7.6.1.3).
const TIMEOUT_FACTOR_MAX: u8 = 4;
/// Both retry counters have three bits (section 9.9.2).
const RETRIES_MAX: u8 = 7;
/// With this count, a receiver that is not ready is retried forever (section 9.7.5.2.8).
pub(super) const RNR_RETRIES_WITHOUT_END: u8 = 7;
/// Maximum number of DCQCN increases from nothing to the line rate.
const RISES_MAX: u64 = 1_000_000;
/// Lengths of the RNR NAK timer in units of 10 us (section 9.7.5.2.8, table 45).
const RNR_TIMERS_10_US: [u64; 32] = [
    65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024, 1_536, 2_048,
    3_072, 4_096, 6_144, 8_192, 12_288, 16_384, 24_576, 32_768, 49_152,
];

/// Configuration of one end of a reliable connection. The default is a NIC without extensions, with perftest's timeout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Payload of full packets in bytes: 256, 512, 1,024, 2,048 or 4,096.
    pub path_mtu: u16,
    /// Exponent t of the transport timer, 4.096 us x 2^t; 0 disables it, 31 is the largest (section 9.7.6.1.3).
    pub timeout_exponent: u8,
    /// After how many periods of the transport timer the NIC notices a timeout, 1 to 4 (section 9.7.6.1.3). A
    /// ConnectX-6 at t = 14 took 266 ms (JCST paper, section 6.2), so the default is four.
    pub timeout_factor: u8,
    /// Retries after timeouts and NAKs without progress, 0 to 7; one more is an error (section 9.9.2).
    pub retries: u8,
    /// Retries while the receiver is not ready, 0 to 7; 7 means no limit (section 9.7.5.2.8).
    pub rnr_retries: u8,
    /// How long a peer must wait if its SEND finds no buffer here, as a code of table 45, 0 to 31 (section 9.7.5.2.8).
    pub rnr_timer: u8,
    /// Number of SENDs for which there are buffers before more are posted; `None` if there is always one.
    pub receives: Option<u32>,
    /// Every packet after this many requests an ACK, in addition to the last packet of a message; 0 for only the last
    /// (section 9.7.5.1.2, coalesced ACKs).
    pub ack_interval: u32,
    /// Maximum number of outstanding packets, below 2^23. The specification has no other limit; IRN's is the
    /// bandwidth-delay product ([`bdp_packets`](Self::bdp_packets)).
    pub window_packets: u32,
    /// Maximum number of messages that are posted but not completed.
    pub send_queue: u32,
    /// Maximum number of outstanding READs, both as requester and as responder, 1 to 255 (called `max_rd_atomic` in
    /// verbs).
    pub reads: u8,
    /// What is retransmitted after a loss.
    pub recovery: Recovery,
    /// Congestion control, which also marks requests as ECN-capable and responds to marks.
    pub dcqcn: Option<Dcqcn>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            path_mtu: 1_024,
            timeout_exponent: 14,
            timeout_factor: 1,
            retries: 7,
            rnr_retries: RNR_RETRIES_WITHOUT_END,
            rnr_timer: 12,
            receives: None,
            ack_interval: 16,
            window_packets: WINDOW_MAX,
            send_queue: 8_192,
            reads: 16,
            recovery: Recovery::GoBackN,
            dcqcn: None,
        }
    }
}

/// What is retransmitted after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recovery {
    /// Everything from the lost packet on (section 9.7.5.2, NAK of a sequence error): the responder drops what arrives
    /// out of order.
    #[default]
    GoBackN,
    /// Only what is missing, as in IRN (SIGCOMM 2018, section 3.1): the responder keeps packets that arrive out of
    /// order. Both ends need the same window.
    SelectiveRepeat {
        /// Maximum number of outstanding packets, and therefore of packets that the responder keeps; up to 65,536.
        window_packets: u32,
        /// A shorter timeout while little is outstanding.
        short_timeout: Option<ShortTimeout>,
    },
}

/// IRN's second timeout (section 3.1): while few packets are outstanding, no NAK may follow a loss, and a spurious
/// timeout costs little. IRN uses 100 us below 3 packets, and 320 us otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortTimeout {
    /// It applies while fewer packets than this are outstanding.
    pub below_packets: u32,
    pub timeout: Nanos,
}

/// Parameters of DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, sections 3
/// and 5).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dcqcn {
    /// Bits per second of the port: the rate without congestion.
    pub line_rate: u64,
    /// Gain g of the congestion estimate alpha.
    pub gain: f64,
    /// K: alpha falls if no CNP arrives for this long. Longer than `cnp_interval`.
    pub alpha_interval: Nanos,
    /// T: the rate rises after this long.
    pub increase_interval: Nanos,
    /// B: the rate also rises after this many bytes.
    pub increase_bytes: u64,
    /// F: number of increases in fast recovery before the target also increases.
    pub fast_recovery: u32,
    /// R_AI in bits per second: what additive increase adds to the target.
    pub additive_increase: u64,
    /// R_HAI in bits per second: hyper increase adds this times its step. The paper omits it for brevity; this is the
    /// value in its authors' simulator.
    pub hyper_increase: u64,
    /// Minimum rate in bits per second.
    pub min_rate: u64,
    /// The notification point sends at most one CNP in this time.
    pub cnp_interval: Nanos,
}

impl Dcqcn {
    /// The paper's parameters for a port of this many bits per second.
    pub const fn of_paper(line_rate: u64) -> Dcqcn {
        Dcqcn {
            line_rate,
            gain: 1.0 / 256.0,
            alpha_interval: Nanos::from_micros(55),
            increase_interval: Nanos::from_micros(55),
            increase_bytes: 10_000_000,
            fast_recovery: 5,
            additive_increase: 40_000_000,
            hyper_increase: 200_000_000,
            min_rate: 10_000_000,
            cnp_interval: Nanos::from_micros(50),
        }
    }
}

impl Config {
    /// The bandwidth-delay product in full packets, IRN's limit for outstanding packets (BDP-FC, section 3.2); at least
    /// 1. `rate` is in bits per second.
    pub fn bdp_packets(rate: u64, rtt: Nanos, path_mtu: u16) -> u32 {
        let bits = u128::from(rate) * u128::from(rtt.0) / 1_000_000_000;
        let packets = (bits / 8).div_ceil(u128::from(path_mtu.max(1)));
        u32::try_from(packets).unwrap_or(u32::MAX).clamp(1, WINDOW_MAX)
    }

    /// How long the requester waits for progress; `None` if it waits forever (section 9.7.6.1.3).
    pub fn timeout(&self) -> Option<Nanos> {
        let exponent = self.timeout_exponent.min(TIMEOUT_EXPONENT_MAX);
        (exponent > 0).then(|| TIMEOUT_UNIT * (1 << exponent) * u64::from(self.timeout_factor))
    }

    /// The waiting time that a code of table 45 (section 9.7.5.2.8) stands for. Only its low five bits count.
    pub fn rnr_wait(timer: u8) -> Nanos {
        Nanos::from_micros(10 * RNR_TIMERS_10_US[usize::from(timer % 32)])
    }

    /// Maximum number of outstanding packets under both limits.
    pub(super) fn outstanding_max(&self) -> u32 {
        self.selective_window().map_or(self.window_packets, |window| window.min(self.window_packets))
    }

    /// How many packets the responder keeps; `None` without selective repeat.
    pub(super) fn selective_window(&self) -> Option<u32> {
        match self.recovery {
            Recovery::GoBackN => None,
            Recovery::SelectiveRepeat { window_packets, .. } => Some(window_packets),
        }
    }

    /// Rejects parameters that cannot work, and names the first of them.
    ///
    /// # Errors
    /// The first parameter that is out of its range.
    pub fn check(&self) -> Result<(), ParameterError> {
        let within = |parameter, value: u64, low: u64, high: u64, requirement| {
            let error = || ParameterError::new(parameter, value, requirement);
            if (low..=high).contains(&value) { Ok(()) } else { Err(error()) }
        };
        if !PATH_MTUS.contains(&self.path_mtu) {
            let requirement = "must be 256, 512, 1024, 2048 or 4096 bytes";
            return Err(ParameterError::new("path_mtu", self.path_mtu, requirement));
        }
        within(
            "timeout_exponent",
            self.timeout_exponent.into(),
            0,
            TIMEOUT_EXPONENT_MAX.into(),
            "must be 0 to 31",
        )?;
        within("timeout_factor", self.timeout_factor.into(), 1, TIMEOUT_FACTOR_MAX.into(), "must be 1 to 4")?;
        within("retries", self.retries.into(), 0, RETRIES_MAX.into(), "must be 0 to 7")?;
        within("rnr_retries", self.rnr_retries.into(), 0, RETRIES_MAX.into(), "must be 0 to 7")?;
        within("rnr_timer", self.rnr_timer.into(), 0, 31, "must be 0 to 31")?;
        within(
            "window_packets",
            self.window_packets.into(),
            1,
            WINDOW_MAX.into(),
            "must be 1 to 8388607 packets",
        )?;
        within("send_queue", self.send_queue.into(), 1, u32::MAX.into(), "must be at least 1 message")?;
        within("reads", self.reads.into(), 1, u8::MAX.into(), "must be 1 to 255")?;
        if let Recovery::SelectiveRepeat { window_packets, .. } = self.recovery {
            let max = SELECTIVE_WINDOW_MAX.into();
            within("recovery.window_packets", window_packets.into(), 1, max, "must be 1 to 65536 packets")?;
        }
        self.dcqcn.map_or(Ok(()), |dcqcn| dcqcn.check())
    }
}

impl Dcqcn {
    fn check(&self) -> Result<(), ParameterError> {
        let demand = |holds: bool, parameter, value: String, requirement| {
            if holds { Ok(()) } else { Err(ParameterError::new(parameter, value, requirement)) }
        };
        let rates = [
            ("dcqcn.line_rate", self.line_rate),
            ("dcqcn.min_rate", self.min_rate),
            ("dcqcn.additive_increase", self.additive_increase),
            ("dcqcn.increase_bytes", self.increase_bytes),
            ("dcqcn.increase_interval", self.increase_interval.0),
            ("dcqcn.alpha_interval", self.alpha_interval.0),
        ];
        for (parameter, value) in rates {
            demand(value > 0, parameter, value.to_string(), "must be above 0")?;
        }
        let in_gain = self.gain > 0.0 && self.gain < 1.0;
        demand(in_gain, "dcqcn.gain", self.gain.to_string(), "must be above 0 and below 1")?;
        // Bounds the work that accumulates during a long pause of the sender.
        let steps = self.line_rate / self.additive_increase;
        let increase = self.additive_increase.to_string();
        let requirement = "must be at least a millionth of the line rate";
        demand(steps <= RISES_MAX, "dcqcn.additive_increase", increase, requirement)?;
        let min_rate = self.min_rate.to_string();
        demand(self.min_rate <= self.line_rate, "dcqcn.min_rate", min_rate, "must be at most the line rate")?;
        let interval = format!("{} ns", self.alpha_interval.0);
        let is_longer = self.alpha_interval > self.cnp_interval;
        demand(is_longer, "dcqcn.alpha_interval", interval, "must be longer than the interval of CNPs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 9.7.6.1.3: 4.096 us x 2^t, disabled at 0. At t = 14 and four times as long it is the 266 ms and more that
    /// the JCST paper measured.
    #[test]
    fn the_timeout_doubles_with_each_exponent() {
        let timeout = |timeout_exponent, timeout_factor| {
            Config { timeout_exponent, timeout_factor, ..Config::default() }.timeout()
        };
        assert_eq!(timeout(0, 4), None);
        assert_eq!(timeout(1, 1), Some(Nanos(8_192)));
        assert_eq!(timeout(8, 1), Some(Nanos(1_048_576)));
        assert_eq!(timeout(14, 1), Some(Nanos(67_108_864)));
        assert_eq!(timeout(14, 4), Some(Nanos(268_435_456)));
        assert_eq!(timeout(31, 4), Some(Nanos(4 * 8_796_093_022_208)), "2.4 hours, four times");
        assert_eq!(timeout(255, 1), timeout(31, 1));
    }

    /// Section 9.7.5.2.8, table 45: 0.01 ms to 491.52 ms, and code 0 is the longest, 655.36 ms.
    #[test]
    fn the_rnr_timer_has_the_lengths_of_the_table() {
        assert_eq!(Config::rnr_wait(1), Nanos::from_micros(10));
        assert_eq!(Config::rnr_wait(12), Nanos::from_micros(640));
        assert_eq!(Config::rnr_wait(14), Nanos::from_micros(1_280));
        assert_eq!(Config::rnr_wait(31), Nanos::from_micros(491_520));
        assert_eq!(Config::rnr_wait(0), Nanos::from_micros(655_360));
        assert_eq!(Config::rnr_wait(32 + 1), Config::rnr_wait(1));
        // From code 4 on, every second code doubles the time.
        assert!((4..30).all(|code| Config::rnr_wait(code + 2) == Config::rnr_wait(code) * 2));
    }

    /// 100 Gb/s for 30 us are 375,000 B: 366.2 packets of 1,024 B.
    #[test]
    fn the_bandwidth_delay_product_is_rounded_up_to_packets() {
        let rtt = Nanos::from_micros(30);
        assert_eq!(Config::bdp_packets(100_000_000_000, rtt, 1_024), 367);
        assert_eq!(Config::bdp_packets(100_000_000_000, rtt, 4_096), 92);
        assert_eq!(Config::bdp_packets(0, rtt, 1_024), 1);
        assert_eq!(Config::bdp_packets(u64::MAX, Nanos::MAX, 0), WINDOW_MAX);
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        let good = Config { dcqcn: Some(Dcqcn::of_paper(100_000_000_000)), ..Config::default() };
        assert_eq!(good.check(), Ok(()));
        let selective = |window_packets| Recovery::SelectiveRepeat { window_packets, short_timeout: None };
        let dcqcn = |change: fn(&mut Dcqcn)| {
            let mut dcqcn = Dcqcn::of_paper(100_000_000_000);
            change(&mut dcqcn);
            Config { dcqcn: Some(dcqcn), ..good }
        };
        let cases = [
            (Config { path_mtu: 1_500, ..good }, "path_mtu", "1500"),
            (Config { timeout_exponent: 32, ..good }, "timeout_exponent", "32"),
            (Config { timeout_factor: 0, ..good }, "timeout_factor", "0"),
            (Config { retries: 8, ..good }, "retries", "8"),
            (Config { rnr_retries: 8, ..good }, "rnr_retries", "8"),
            (Config { rnr_timer: 32, ..good }, "rnr_timer", "32"),
            (Config { window_packets: 1 << 23, ..good }, "window_packets", "8388608"),
            (Config { window_packets: 0, ..good }, "window_packets", "0"),
            (Config { send_queue: 0, ..good }, "send_queue", "0"),
            (Config { recovery: selective(65_537), ..good }, "recovery.window_packets", "65537"),
            (Config { recovery: selective(0), ..good }, "recovery.window_packets", "0"),
            (dcqcn(|dcqcn| dcqcn.gain = 1.0), "dcqcn.gain", "1"),
            (dcqcn(|dcqcn| dcqcn.gain = f64::NAN), "dcqcn.gain", "NaN"),
            (dcqcn(|dcqcn| dcqcn.line_rate = 0), "dcqcn.line_rate", "0"),
            (dcqcn(|dcqcn| dcqcn.additive_increase = 99_999), "dcqcn.additive_increase", "99999"),
            (dcqcn(|dcqcn| dcqcn.min_rate = u64::MAX), "dcqcn.min_rate", "18446744073709551615"),
            (dcqcn(|dcqcn| dcqcn.alpha_interval = Nanos(50_000)), "dcqcn.alpha_interval", "50000 ns"),
        ];
        for (config, parameter, value) in cases {
            let error = config.check().expect_err(parameter);
            assert_eq!((error.parameter, error.value.as_str()), (parameter, value));
        }
    }
}
