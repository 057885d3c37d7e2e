//! What options, commands and socket options set of the simulated host.

mod commands;

use crate::error::Lacking;
use crate::script::Expression;
use linkmend_transport::Nanos;
use linkmend_transport::tcp::{Algorithm, Config, Ecn, LossDetection, PathProbing};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Headers of IPv4 and of IPv6, each with TCP without options.
const HEADERS: u32 = 40;
const HEADERS_IPV6: u32 = 60;
/// The timestamps option with its padding.
const TIMESTAMPS: u32 = 12;
/// The least send buffer in bytes, whatever is asked for (Linux, 64 bits).
const SEND_BUFFER_MIN: u64 = 4_608;
/// Most bytes that leave at once from a host that paces.
const OFFLOAD: u32 = 65_000;
/// Bits of `net.ipv4.tcp_recovery`: RACK, and RACK whose reordering window DSACKs do not widen. The third changes it in a way
/// that the simulated TCP does not have.
const RECOVERY_RACK: u64 = 1;
const RECOVERY_STATIC_WINDOW: u64 = 2;

/// Settings of the kernel that change nothing of what the simulated TCP does, at any value.
const WITHOUT_EFFECT: [&str; 29] = [
    "tcp_adv_win_scale",
    "tcp_autocorking",
    "tcp_challenge_ack_limit",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_fin_timeout",
    "tcp_invalid_ratelimit",
    "tcp_limit_output_bytes",
    "tcp_max_orphans",
    "tcp_max_syn_backlog",
    "tcp_mem",
    "tcp_moderate_rcvbuf",
    "tcp_no_metrics_save",
    "tcp_no_ssthresh_metrics_save",
    "tcp_orphan_retries",
    "tcp_pacing_ca_ratio",
    "tcp_pacing_ss_ratio",
    "tcp_reflect_tos",
    "tcp_retries1",
    "tcp_syncookies",
    "tcp_thin_linear_timeouts",
    "tcp_tso_rtt_log",
    "tcp_tso_win_divisor",
    "tcp_tw_reuse",
    "tcp_wmem",
    "tcp_workaround_signed_windows",
    "tcp_ecn_fallback",
    // Of accurate ECN (RFC 9768), which no value of `tcp_ecn` that the simulated TCP has asks for.
    "tcp_ecn_option",
    "tcp_ecn_option_beacon",
];

/// Settings that the simulated TCP has at this value only.
const FIXED: [(&str, &str); 17] = [
    ("tcp_min_snd_mss", "48"),
    ("tcp_abort_on_overflow", "0"),
    ("tcp_app_win", "31"),
    ("tcp_dsack", "1"),
    ("tcp_fack", "0"),
    ("tcp_max_reordering", "300"),
    ("tcp_min_rtt_wlen", "300"),
    ("tcp_reordering", "3"),
    ("tcp_retrans_collapse", "1"),
    ("tcp_retries2", "15"),
    ("tcp_rfc1337", "0"),
    ("tcp_shrink_window", "0"),
    ("tcp_stdurg", "0"),
    ("tcp_syn_linear_timeouts", "0"),
    ("tcp_syn_retries", "6"),
    ("tcp_synack_retries", "5"),
    ("tcp_window_scaling", "1"),
];

/// Options of sockets that change nothing of what the simulated TCP does, at any value.
const SOCKET_OPTIONS_WITHOUT_EFFECT: [&str; 8] = [
    "IP_FREEBIND",
    "IP_MTU_DISCOVER",
    "IP_TOS",
    "IPV6_TCLASS",
    "SO_MARK",
    "SO_PRIORITY",
    "SO_REUSEADDR",
    "SO_REUSEPORT",
];

/// The settings of a host, or of one of its sockets, which inherits those of the host.
#[derive(Debug, Clone)]
pub struct Settings {
    pub config: Config,
    /// How far a time may be off.
    pub tolerance: Nanos,
    /// The unit of the timestamps option, if its values are to be compared.
    pub timestamp_tick: Option<Nanos>,
    /// What `nstat` is expected to show of segments beyond the window.
    pub expected_beyond_window: Option<u64>,
    /// What segments receive offload joins long inbound packets from; 0 if it is not said.
    pub inbound_segment: u16,
    /// `--strict_segments`: each expected packet is one that was sent, and none is joined from several.
    pub has_strict_segments: bool,
    headers: u32,
    mtu: u32,
    /// The route's `advmss`.
    offered_segment: Option<u32>,
    /// `net.ipv4.tcp_mtu_probing` is not 0, and how the path is probed then.
    probes_path: bool,
    path_probing: PathProbing,
    maximum_segment: Option<u32>,
    /// `net.ipv4.tcp_ecn`.
    ecn: u64,
    has_tail_loss_probe: bool,
    has_rack: bool,
    /// Nagle's algorithm (RFC 9293, section 3.7.4), unless `TCP_NODELAY`.
    pub has_nagle: bool,
    /// `TCP_CORK`.
    pub is_corked: bool,
    /// `TCP_INQ`: whether `recvmsg` says how much is left to read.
    pub tells_unread: bool,
    /// `TCP_NOTSENT_LOWAT`, 0 unless it was set, and `net.ipv4.tcp_notsent_lowat` in its place.
    pub unsent_limit: u32,
    system_unsent_limit: u32,
    /// `TCP_USER_TIMEOUT`.
    pub user_timeout: Option<Nanos>,
    /// A queueing discipline with room for nothing.
    pub has_full_queue: bool,
    /// Bytes of the files that commands have written.
    pub files: BTreeMap<String, u64>,
    /// Whether the script sets the receive buffer.
    sets_receive_buffer: bool,
    /// What the shell scripts contain that the script calls.
    shell_scripts: Rc<ShellScripts>,
}

/// The text of shell scripts by the name with which they are called.
pub type ShellScripts = BTreeMap<String, String>;

impl Default for Settings {
    fn default() -> Settings {
        let config = Config {
            receive_buffer: 6 << 20,
            timer_slack: Config::LINUX_TIMER_SLACK,
            counts_packet_memory: true,
            ..Config::default()
        };
        Settings {
            config,
            tolerance: Nanos::from_micros(4_000),
            timestamp_tick: None,
            expected_beyond_window: None,
            inbound_segment: 0,
            has_strict_segments: false,
            headers: HEADERS,
            mtu: 1_500,
            offered_segment: None,
            probes_path: false,
            path_probing: PathProbing::default(),
            maximum_segment: None,
            ecn: 2,
            has_tail_loss_probe: true,
            has_rack: true,
            has_nagle: true,
            is_corked: false,
            tells_unread: false,
            unsent_limit: 0,
            system_unsent_limit: u32::MAX,
            user_timeout: None,
            has_full_queue: false,
            files: BTreeMap::new(),
            sets_receive_buffer: false,
            shell_scripts: Rc::default(),
        }
    }
}

impl Settings {
    /// Those of a host on which these shell scripts can be called.
    pub fn new(shell_scripts: ShellScripts) -> Settings {
        Settings { shell_scripts: Rc::new(shell_scripts), ..Settings::default() }
    }

    /// A script that does not set the receive buffer says by the window scale which it expects in the host's SYN how large
    /// that of the machine is which it was written on.
    pub fn expect_window_scale(&mut self, shift: u8) {
        if !self.sets_receive_buffer {
            self.config.receive_buffer = u32::from(u16::MAX) << shift.min(14);
        }
    }

    /// The configuration of a connection that is opened now, by this side or the other.
    ///
    /// # Errors
    /// If the settings ask for a combination that the simulated TCP does not have.
    pub fn connection(&self, is_server: bool) -> Result<Config, Lacking> {
        let mut config = self.config;
        let options = if config.timestamps { TIMESTAMPS } else { 0 };
        let largest = self.largest_segment();
        if let Some(offered) = self.offered_segment.filter(|&offered| offered != largest) {
            return Err(format!(
                "a route whose advmss of {offered} is not what its MTU has room for ({largest})"
            ));
        }
        config.path_probing = self.probes_path.then_some(self.path_probing);
        config.mss = largest.saturating_sub(options).max(1);
        // Without pacing it makes no difference what leaves as one, and single segments say most.
        config.offload_bytes = if config.pacing { OFFLOAD } else { config.mss + options };
        config.ecn = match self.ecn {
            1 | 2 if config.algorithm == Algorithm::Dctcp => Ecn::Dctcp,
            1 => Ecn::Classic,
            2 if is_server => Ecn::Classic,
            0 | 2 => Ecn::Off,
            other => return Err(format!("net.ipv4.tcp_ecn={other}")),
        };
        config.tail_loss_probe = self.has_tail_loss_probe;
        config.loss_detection = match (self.has_rack, self.has_tail_loss_probe) {
            (true, _) => LossDetection::RackTlp,
            (false, false) => LossDetection::AdaptiveDuplicateAcks,
            (false, true) => return Err("tail loss probes without RACK (net.ipv4.tcp_recovery)".to_owned()),
        };
        config.check().map_err(|error| format!("the configuration {error}"))?;
        Ok(config)
    }

    /// Takes `--name=value`.
    ///
    /// # Errors
    /// If it asks for what is lacking.
    pub fn option(&mut self, name: &str, value: &str) -> Result<(), Lacking> {
        let lacking = || format!("the option --{name}={value}");
        let number = || value.parse::<u64>().map_err(|_| lacking());
        match name {
            // What offload would have joined long inbound packets from.
            "mss" => self.inbound_segment = u16::try_from(number()?).map_err(|_| lacking())?,
            "tolerance_usecs" => self.tolerance = Nanos::from_micros(number()?),
            "tcp_ts_tick_usecs" => {
                let micros = number()?;
                self.timestamp_tick = (micros > 0).then_some(Nanos::from_micros(micros));
            }
            "mtu" => self.mtu = u32::try_from(number()?).map_err(|_| lacking())?,
            "ip_version" if value == "ipv4" => (),
            "ip_version" if value == "ipv6" => self.headers = HEADERS_IPV6,
            "strict_segments" => self.has_strict_segments = true,
            // Addresses, ports, the tool's own output and speed: the simulated host has none of them.
            "local_ip" | "remote_ip" | "netmask_ip" | "gateway_ip" | "bind_port" | "connect_port"
            | "speed" | "verbose" | "debug" | "dry_run" | "non_fatal" | "code_command" | "code_format"
            | "code_sockopt" | "so_filename" | "init_scripts" | "send_omit_free" | "quiet" => (),
            _ => return Err(lacking()),
        }
        Ok(())
    }

    fn system_settings<'a>(&mut self, settings: impl Iterator<Item = &'a String>) -> Result<(), Lacking> {
        for setting in settings {
            if let Some((name, value)) = setting.split_once('=') {
                let name = name.trim_start_matches("/proc/sys/").replace('/', ".");
                self.system_setting(&name, value.trim())?;
            }
        }
        Ok(())
    }

    /// `net.ipv4.tcp_...`; others concern what the simulated host does not have, and nothing that it does.
    fn system_setting(&mut self, name: &str, value: &str) -> Result<(), Lacking> {
        let Some(short) = name.strip_prefix("net.ipv4.").filter(|name| name.starts_with("tcp_")) else {
            return Ok(());
        };
        let lacking = || format!("{name}={value}");
        let number = || value.parse::<u64>().map_err(|_| lacking());
        let small = || value.parse::<u32>().map_err(|_| lacking());
        match short {
            "tcp_congestion_control" => self.algorithm(value)?,
            "tcp_ecn" => self.ecn = number()?,
            "tcp_sack" => self.config.sack = number()? != 0,
            "tcp_timestamps" => self.config.timestamps = number()? != 0,
            "tcp_frto" => self.config.f_rto = number()? != 0,
            "tcp_slow_start_after_idle" => self.config.restart_after_idle = number()? != 0,
            "tcp_early_retrans" => self.has_tail_loss_probe = number()? >= 3,
            "tcp_recovery" => match number()? {
                bits if bits & !(RECOVERY_RACK | RECOVERY_STATIC_WINDOW) == 0 => {
                    self.has_rack = bits & RECOVERY_RACK != 0;
                    self.config.adapt_reordering_window = bits & RECOVERY_STATIC_WINDOW == 0;
                }
                _ => return Err(lacking()),
            },
            "tcp_rmem" => {
                let largest = value.split_whitespace().nth(2).and_then(|word| word.parse().ok());
                self.config.receive_buffer = largest.ok_or_else(lacking)?;
                self.config.receive_memory =
                    value.split_whitespace().nth(1).and_then(|word| word.parse().ok());
                self.sets_receive_buffer = true;
            }
            "tcp_min_tso_segs" => self.config.burst_segments_min = small()?,
            "tcp_notsent_lowat" => self.system_unsent_limit = small()?,
            "tcp_mtu_probing" => {
                let mode = small().ok().filter(|mode| *mode <= 2).ok_or_else(lacking)?;
                (self.probes_path, self.path_probing.from_beginning) = (mode > 0, mode == 2);
            }
            "tcp_base_mss" => self.path_probing.base_mss = small()?,
            "tcp_mtu_probe_floor" => self.path_probing.floor_mss = small()?,
            "tcp_probe_threshold" => self.path_probing.threshold = small()?,
            "tcp_probe_interval" => self.path_probing.interval = Nanos::from_secs(number()?),
            "tcp_rto_min_us" => self.config.rto_min = Nanos::from_micros(number()?),
            _ if WITHOUT_EFFECT.contains(&short) || short.starts_with("tcp_comp_sack") => (),
            _ if FIXED.contains(&(short, value)) => (),
            // The suite asks for one SYN less than the kernel's default, which no script waits for.
            "tcp_syn_retries" if value == "5" => (),
            _ => return Err(lacking()),
        }
        Ok(())
    }

    /// Whether a socket option changes nothing of what the simulated TCP does.
    pub fn is_without_effect(name: &str) -> bool {
        SOCKET_OPTIONS_WITHOUT_EFFECT.contains(&name)
    }

    /// What `TCP_MAXSEG` reads: the payload of a full segment without regard to options.
    pub fn largest_segment(&self) -> u32 {
        self.mtu.saturating_sub(self.headers).min(self.maximum_segment.unwrap_or(u32::MAX))
    }

    /// From how many bytes that were written and not sent on a socket takes no more.
    pub fn unsent_limit(&self) -> u64 {
        u64::from(if self.unsent_limit > 0 { self.unsent_limit } else { self.system_unsent_limit })
    }

    fn algorithm(&mut self, name: &str) -> Result<(), Lacking> {
        let found = Algorithm::named(name);
        self.config.algorithm = found.ok_or_else(|| format!("the congestion control {name}"))?;
        Ok(())
    }

    /// Takes the option of a socket that a connection notices.
    ///
    /// # Errors
    /// If the simulated host does not have it.
    pub fn socket_option(&mut self, name: &str, value: &Expression) -> Result<(), Lacking> {
        let lacking = || format!("the socket option {name}");
        let number = || single(value).and_then(|number| u32::try_from(number).ok()).ok_or_else(lacking);
        match name {
            "TCP_CONGESTION" => match value {
                Expression::Text(algorithm) => self.algorithm(algorithm)?,
                _ => return Err(lacking()),
            },
            "TCP_NODELAY" => self.has_nagle = number()? == 0,
            "TCP_MAXSEG" => self.maximum_segment = Some(number()?),
            // Linux takes twice the number, and scales windows for half of the memory.
            "SO_RCVBUF" | "SO_RCVBUFFORCE" => {
                self.config.receive_buffer = number()?;
                self.config.receive_memory = Some(number()?.saturating_mul(2));
            }
            "SO_SNDBUF" | "SO_SNDBUFFORCE" => {
                self.config.send_buffer = (u64::from(number()?) * 2).max(SEND_BUFFER_MIN);
            }
            "TCP_USER_TIMEOUT" => {
                let milliseconds = number()?;
                self.user_timeout = (milliseconds > 0).then(|| Nanos::from_millis(u64::from(milliseconds)));
            }
            "TCP_CORK" => self.is_corked = number()? != 0,
            "TCP_INQ" => self.tells_unread = number()? != 0,
            "TCP_NOTSENT_LOWAT" => self.unsent_limit = number()?,
            // Zero-copy is asked for here, and used with a flag of its own.
            "SO_ZEROCOPY" => (),
            "SO_KEEPALIVE" if single(value) == Some(0) => (),
            _ if Settings::is_without_effect(name) => (),
            _ => return Err(lacking()),
        }
        Ok(())
    }
}

/// `[1]` or `1`.
pub fn single(value: &Expression) -> Option<i64> {
    match value {
        Expression::Number(number) => Some(*number),
        Expression::Array(list) => match list.as_slice() {
            [Expression::Number(number)] => Some(*number),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests;
