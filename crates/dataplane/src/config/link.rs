//! One link, as people write it: the same struct is a `[[link]]` of the file and the arguments of `linkmend run`.

use super::failover::FailoverConfig;
use super::fallback::FallbackLimits;
use super::header_format::HeaderFormat;
use super::interface_name::PEER_PREFIX;
use super::parameters::ParametersConfig;
use super::protect::protection;
use crate::link_use::LinkUse;
use crate::port_pair::PortChoice;
use crate::settings::{BackupSettings, LinkSettings};
use crate::udp_link::UdpLink;
use linkmend_control::ProtectConfig;
use linkmend_quantity::{BitRate, ByteSize, QuantityError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Prefix of the name of an interface that is to be created.
const CREATE: &str = "create:";

/// One link end: two ports and what happens between them.
///
/// As arguments, it stands beside an argument `config`. With `config`, `inner` and `link` may be left out and are
/// empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", command(next_help_heading = "Link"))]
pub struct LinkConfig {
    /// Name for status, metrics and commands [default: the name of the link interface, or `udp`]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Interface that faces the host or switch, or create:NAME to create a veth pair whose other end, NAME, the host uses
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "IF",
            required_unless_present = "config",
            default_value = "",
            hide_default_value = true
        )
    )]
    pub inner: InnerPort,
    /// Interface that faces the corrupting link. Or a path without a cable: udp:PEER calls the other end over UDP (a name or
    /// an address), udp:listen waits for its call; either may be followed by :PORT [default port: 34997]
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "IF",
            required_unless_present = "config",
            default_value = "",
            hide_default_value = true
        )
    )]
    pub link: String,
    /// Interface of a second link to the same peer, which takes over without frame loss when the first one fails; or a path
    /// over UDP, like --link
    #[cfg_attr(feature = "clap", arg(long, value_name = "IF"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// How the two links are used. Either setting works with a peer that has the other one
    #[cfg_attr(feature = "clap", arg(long = "use", value_name = "HOW", value_enum, default_value_t))]
    #[serde(default, rename = "use")]
    pub link_use: LinkUse,
    /// Let the peer of a link over UDP have a public address without a key, although its datagrams are then neither encrypted nor
    /// authenticated
    #[cfg_attr(feature = "clap", arg(long))]
    #[serde(default)]
    pub insecure: bool,
    /// Kind of socket
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    #[serde(default)]
    pub ports: PortKind,
    /// Let the host at the inner port keep its offloads: it may hand over large segments without checksums, which is several
    /// times faster for TCP. Requires Linux 6.6, and links over AF_XDP or UDP
    #[cfg_attr(feature = "clap", arg(long))]
    #[serde(default)]
    pub offloads: bool,
    /// Header format of protected frames
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    #[serde(default)]
    pub format: HeaderFormat,
    /// File with the key that both ends share: 32 hexadecimal digits, readable only by its owner. Protocol frames from anyone
    /// without the key are then rejected. Over UDP, all datagrams are encrypted and authenticated (Noise)
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// Rate of a link that is slower than its port, like 25G or 100M [default: as fast as the port accepts frames]
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Whether a link over UDP adapts its rate to what the path carries beside others
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t))]
    #[serde(default)]
    pub congestion: CongestionControl,
    /// Queue limit of each class, in bytes; frames beyond it are dropped
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE", default_value_t = LinkConfig::QUEUE_DEFAULT))]
    #[serde(default = "queue_default")]
    pub queue: ByteSize,
    /// Queue length of a class above which ECN-capable frames are marked; `off` disables marking
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE|off", default_value_t))]
    #[serde(default)]
    pub ecn: EcnThreshold,
    /// Number of chunks in the frame pool, 2 KiB each (4 KiB above an MTU of 1762); bounds the memory of the link end
    #[cfg_attr(feature = "clap", arg(long, value_name = "CHUNKS", default_value_t = LinkConfig::POOL_DEFAULT))]
    #[serde(default = "pool_default")]
    pub pool: u32,
    /// Spin instead of sleeping: lowest delay, one core at 100 %
    #[cfg_attr(feature = "clap", arg(long))]
    #[serde(default)]
    pub busy_poll: bool,
    /// Leave frames that are too long for a header unprotected, instead of refusing to start
    #[cfg_attr(feature = "clap", arg(long))]
    #[serde(default)]
    pub allow_oversize: bool,
    /// Take over ports even if this machine itself uses them (addresses, bridge or bond, default route, login); it can
    /// then no longer use them
    #[cfg_attr(feature = "clap", arg(long))]
    #[serde(default)]
    pub use_port_in_use: bool,
    /// Accept `linkmend corrupt`, which drops frames on purpose; for tests
    #[cfg_attr(feature = "clap", arg(long))]
    #[serde(default)]
    pub allow_corruption: bool,
    /// Remove the in-kernel bypass on a normal stop, which cuts the link; by default it stays and forwards
    #[cfg_attr(feature = "clap", arg(long))]
    #[serde(default)]
    pub detach_on_stop: bool,
    /// Seed for session numbers and injected corruption [default: random, and logged]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NUMBER"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Write a protocol log to this file: all inputs and outputs of the link end, for `linkmend sim replay`
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_log: Option<PathBuf>,
    /// How the sending direction is protected.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(default)]
    pub protect: ProtectConfig,
    /// When the two links change places.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(default)]
    pub failover: FailoverConfig,
    /// What is not to be derived.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(default)]
    pub parameters: ParametersConfig,
    /// Limits of the automatic fallback.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[serde(default)]
    pub fallback: FallbackLimits,
}

fn queue_default() -> ByteSize {
    LinkConfig::QUEUE_DEFAULT
}

fn pool_default() -> u32 {
    LinkConfig::POOL_DEFAULT
}

/// The port that faces the host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum InnerPort {
    Existing(String),
    /// A veth pair is created, and the host uses the end of this name.
    Create(String),
}

impl InnerPort {
    /// The interface that Linkmend opens.
    pub fn interface(&self) -> String {
        match self {
            InnerPort::Existing(name) => name.clone(),
            InnerPort::Create(host) => format!("{PEER_PREFIX}{host}"),
        }
    }
}

impl From<String> for InnerPort {
    fn from(text: String) -> InnerPort {
        match text.strip_prefix(CREATE) {
            Some(name) => InnerPort::Create(name.to_owned()),
            None => InnerPort::Existing(text),
        }
    }
}

impl FromStr for InnerPort {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<InnerPort, Self::Err> {
        Ok(InnerPort::from(text.to_owned()))
    }
}

impl From<InnerPort> for String {
    fn from(port: InnerPort) -> String {
        port.to_string()
    }
}

impl fmt::Display for InnerPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InnerPort::Existing(name) => f.write_str(name),
            InnerPort::Create(name) => write!(f, "{CREATE}{name}"),
        }
    }
}

/// Kind of sockets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum PortKind {
    /// AF_XDP, or AF_PACKET where AF_XDP is not available
    #[default]
    Auto,
    /// AF_XDP only; fail where it is not available
    Xdp,
    /// AF_PACKET only
    Packet,
}

impl From<PortKind> for PortChoice {
    fn from(kind: PortKind) -> PortChoice {
        match kind {
            PortKind::Auto => PortChoice::Auto,
            PortKind::Xdp => PortChoice::Xdp,
            PortKind::Packet => PortChoice::Packet,
        }
    }
}

/// Whether the rate of a link over UDP adapts to what the path carries beside others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum CongestionControl {
    /// Never
    None,
    /// Unless the rate is given
    #[default]
    Auto,
    /// Also below the given rate
    Always,
}

/// The number of waiting bytes above which frames are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "EcnText", into = "String")]
pub enum EcnThreshold {
    Off,
    Above(ByteSize),
}

impl Default for EcnThreshold {
    fn default() -> Self {
        EcnThreshold::Above(ByteSize(100_000))
    }
}

/// `"off"` or a size. Untagged, so that a bare number gets the error message of sizes.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`off` or a size with its unit, in quotes, like \"100kB\"")]
enum EcnText {
    Text(String),
}

impl TryFrom<EcnText> for EcnThreshold {
    type Error = QuantityError;

    fn try_from(EcnText::Text(text): EcnText) -> Result<Self, QuantityError> {
        text.parse()
    }
}

impl FromStr for EcnThreshold {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        if text == "off" { Ok(EcnThreshold::Off) } else { text.parse().map(EcnThreshold::Above) }
    }
}

impl fmt::Display for EcnThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EcnThreshold::Off => f.write_str("off"),
            EcnThreshold::Above(size) => size.fmt(f),
        }
    }
}

impl From<EcnThreshold> for String {
    fn from(threshold: EcnThreshold) -> String {
        threshold.to_string()
    }
}

impl LinkConfig {
    /// Default bound of the queue.
    pub const QUEUE_DEFAULT: ByteSize = ByteSize(1 << 20);
    /// Default number of chunks in the frame pool.
    pub const POOL_DEFAULT: u32 = linkmend_protocol::daemon_profile::POOL_CHUNKS_DEFAULT;

    /// The default configuration of a link between `inner` and `link`.
    pub fn new(inner: InnerPort, link: &str) -> LinkConfig {
        LinkConfig {
            name: None,
            inner,
            link: link.to_owned(),
            backup: None,
            link_use: LinkUse::default(),
            insecure: false,
            ports: PortKind::default(),
            offloads: false,
            format: HeaderFormat::default(),
            key: None,
            rate: None,
            congestion: CongestionControl::default(),
            queue: LinkConfig::QUEUE_DEFAULT,
            ecn: EcnThreshold::default(),
            pool: LinkConfig::POOL_DEFAULT,
            busy_poll: false,
            allow_oversize: false,
            use_port_in_use: false,
            allow_corruption: false,
            detach_on_stop: false,
            seed: None,
            protocol_log: None,
            protect: ProtectConfig::default(),
            failover: FailoverConfig::default(),
            parameters: ParametersConfig::default(),
            fallback: FallbackLimits::default(),
        }
    }

    /// The configured name, or else that of the link interface, or `udp`.
    pub fn name(&self) -> &str {
        let default = if UdpLink::is_meant(&self.link) { "udp" } else { &self.link };
        self.name.as_deref().unwrap_or(default)
    }

    /// The link, and the second one if there is one, as they are written.
    pub(super) fn links(&self) -> impl Iterator<Item = &String> {
        [&self.link].into_iter().chain(&self.backup)
    }

    /// The interfaces that face the other end. A link over UDP has none.
    pub fn link_interfaces(&self) -> impl Iterator<Item = &String> {
        self.links().filter(|link| !UdpLink::is_meant(link))
    }

    /// Whether a link is one over UDP.
    pub fn has_udp(&self) -> bool {
        self.links().any(|link| UdpLink::is_meant(link))
    }

    /// The settings of a link without a path over UDP.
    pub(super) fn settings_of_a_cable(&self) -> LinkSettings {
        LinkSettings {
            backup: self.backup.as_deref().map(|interface| BackupSettings {
                link_use: self.link_use,
                ..self.failover.settings(interface)
            }),
            insecure: self.insecure,
            ports: self.ports.into(),
            offloads: self.offloads,
            format: self.format.into(),
            protection: protection(&self.protect),
            overrides: self.parameters.overrides(),
            fallback: self.fallback.settings(),
            rate_bps: self.rate.map(|rate| rate.0),
            is_controlled: match self.congestion {
                CongestionControl::Auto => self.has_udp() && self.rate.is_none(),
                CongestionControl::Always => self.has_udp(),
                CongestionControl::None => false,
            },
            queue_bytes: self.queue.0,
            ecn_threshold_bytes: match self.ecn {
                EcnThreshold::Off => None,
                EcnThreshold::Above(size) => Some(size.0),
            },
            allow_corruption: self.allow_corruption,
            busy_poll: self.busy_poll,
            seed: self.seed,
            protocol_log: self.protocol_log.clone(),
            key: self.key.clone(),
            pool_chunks: self.pool,
            // If the port is removed when the daemon stops, there is nothing left to forward to.
            detach_on_stop: self.detach_on_stop || matches!(self.inner, InnerPort::Create(_)),
            ..LinkSettings::new(self.name(), &self.inner.interface(), &self.link)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_the_engines() {
        let config = LinkConfig::new("eth1".parse().expect("infallible"), "eth2");
        let engine = LinkSettings::new("eth2", "eth1", "eth2");
        assert_eq!(LinkSettings { protection: None, ..config.settings() }, engine);
    }

    #[test]
    fn an_inner_port_may_be_made() {
        let port: InnerPort = "create:host0".parse().expect("infallible");
        assert_eq!(port, InnerPort::Create("host0".to_owned()));
        assert_eq!((port.interface().as_str(), port.to_string().as_str()), ("lm-host0", "create:host0"));
    }
}
