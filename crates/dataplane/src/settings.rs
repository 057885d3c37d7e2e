//! The settings with which one link end starts. Configuration files and arguments are turned into them elsewhere.

use crate::link_use::LinkUse;
use crate::port_pair::PortChoice;
use crate::udp_link::UdpLink;
use linkmend_protocol::classify::Classifier;
use linkmend_protocol::daemon_profile::{DaemonProfile, Overrides, POOL_CHUNKS_DEFAULT};
use linkmend_protocol::paths::PathsConfig;
use linkmend_protocol::{Copies, FallbackConfig, Format, Mode, Tick, Ticks};
use std::path::PathBuf;
use std::time::Duration;

/// Everything one link end needs.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkSettings {
    /// Name for status, metrics and commands.
    pub name: String,
    /// Interface that faces the host or switch. It must exist.
    pub inner: String,
    /// Interface that faces the corrupting link, or a [`UdpLink`].
    pub link: String,
    /// A second link between the same two ends, for when the first fails.
    pub backup: Option<BackupSettings>,
    /// Kind of sockets.
    pub ports: PortChoice,
    /// Whether the host at the inner port leaves segmentation and checksums to it.
    pub offloads: bool,
    /// Whether the peer of a link over UDP may have a public address, although nothing is encrypted.
    pub insecure: bool,
    /// Whether the congestion control limits what links over UDP carry.
    pub is_controlled: bool,
    /// Header format of protected frames.
    pub format: Format,
    /// Protection of the sending direction from the start; `None` starts dormant.
    pub protection: Option<ProtectionSettings>,
    /// Values that are not to be derived from measurements.
    pub overrides: Overrides,
    /// Limits of the automatic fallback.
    pub fallback: FallbackConfig,
    /// Rate of the link in bit/s, for a link slower than its port; `None`: as fast as the port takes frames.
    pub rate_bps: Option<u64>,
    /// Bound of each class in the queue of frames that wait for the link, in bytes; beyond it, new frames are dropped.
    pub queue_bytes: u64,
    /// ECN-capable frames that find more than this many bytes of their class waiting are marked; `None` marks never.
    pub ecn_threshold_bytes: Option<u64>,
    /// Accept [`crate::Command::Corrupt`].
    pub allow_corruption: bool,
    /// Spin instead of sleeping: lowest delay, one core at 100 %.
    pub busy_poll: bool,
    /// Seed of session numbers and of injected corruption; `None` draws one.
    pub seed: Option<u64>,
    /// File with the key that both ends share; `None`: frames are not authenticated.
    pub key: Option<PathBuf>,
    /// Chunks of the frame pool: 2 KiB each up to an MTU of 1700 or so, 4 KiB above.
    pub pool_chunks: u32,
    /// Remove the in-kernel bypass on a normal stop, which cuts the link. Otherwise it stays and forwards.
    pub detach_on_stop: bool,
    /// Write every call of the state machines to this file, as a protocol log that can be replayed.
    pub protocol_log: Option<PathBuf>,
}

/// A second link, and when it is used.
#[derive(Debug, Clone, PartialEq)]
pub struct BackupSettings {
    /// Interface that faces it, or a [`UdpLink`].
    pub interface: String,
    /// Its rate in bit/s, if it is slower than its port.
    pub rate_bps: Option<u64>,
    /// A link has failed when the peer is not heard on it for as long while it is on the other; see [`PathsConfig`].
    pub detection: Duration,
    /// How long the first link must have been up before it is used again.
    pub return_after: Duration,
    /// How the two links are used.
    pub link_use: LinkUse,
}

impl BackupSettings {
    /// A second link at `interface` with the protocol's default times.
    pub fn new(interface: &str) -> BackupSettings {
        let PathsConfig { detection, return_after, .. } = PathsConfig::new(Tick::Nanosecond);
        BackupSettings {
            interface: interface.to_owned(),
            rate_bps: None,
            detection: Duration::from_nanos(detection.0),
            return_after: Duration::from_nanos(return_after.0),
            link_use: LinkUse::default(),
        }
    }

    /// The parameters of the protocol.
    pub(crate) fn paths(&self) -> PathsConfig {
        let ticks = |time: Duration| Ticks(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        PathsConfig {
            detection: ticks(self.detection),
            return_after: ticks(self.return_after),
            ..PathsConfig::new(Tick::Nanosecond)
        }
    }
}

/// How a frame travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameClass {
    /// The mode in which it is protected, and with whose frames it waits for the link.
    pub mode: Mode,
    /// The place of its deadline, if it has one. While the peer does not take such frames, the mode protects them.
    pub deadline: Option<u8>,
}

impl From<Mode> for FrameClass {
    fn from(mode: Mode) -> FrameClass {
        FrameClass { mode, deadline: None }
    }
}

/// How the sending direction is protected.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtectionSettings {
    /// How frames travel.
    pub classifier: Box<Classifier<FrameClass>>,
    /// The deadlines of classes that have one.
    pub deadlines: Vec<Duration>,
    /// How the number of copies of a lost frame is chosen.
    pub copies: Copies,
}

impl LinkSettings {
    /// The default settings of a link between `inner` and `link`.
    pub fn new(name: &str, inner: &str, link: &str) -> LinkSettings {
        LinkSettings {
            name: name.to_owned(),
            inner: inner.to_owned(),
            link: link.to_owned(),
            backup: None,
            ports: PortChoice::Auto,
            offloads: false,
            insecure: false,
            is_controlled: false,
            format: Format::Transparent,
            protection: None,
            overrides: Overrides::default(),
            fallback: FallbackConfig::new(Tick::Nanosecond),
            rate_bps: None,
            queue_bytes: 1 << 20,
            ecn_threshold_bytes: Some(100_000),
            allow_corruption: false,
            busy_poll: false,
            seed: None,
            pool_chunks: POOL_CHUNKS_DEFAULT,
            detach_on_stop: false,
            key: None,
            protocol_log: None,
        }
    }

    /// The interface and the rate of each link, in the order of their [`Path`](linkmend_protocol::paths::Path).
    pub fn links(&self) -> impl Iterator<Item = (&str, Option<u64>)> {
        let second = self.backup.as_ref().map(|backup| (backup.interface.as_str(), backup.rate_bps));
        [(self.link.as_str(), self.rate_bps)].into_iter().chain(second)
    }

    /// Whether a link is one over UDP.
    pub fn has_udp(&self) -> bool {
        self.links().any(|(link, _)| UdpLink::is_meant(link))
    }

    /// What the link end's parameters are derived from.
    pub fn profile(&self) -> DaemonProfile {
        DaemonProfile {
            tick: Tick::Nanosecond,
            overrides: self.overrides,
            format: self.format,
            fallback: self.fallback,
            pool_chunks: self.pool_chunks,
        }
    }
}

impl ProtectionSettings {
    /// The mode of frames that belong to no class.
    pub fn default_mode(&self) -> Mode {
        self.classifier.default_class().mode
    }

    /// Whether frames travel in both modes.
    pub fn uses_both_modes(&self) -> bool {
        self.classifier.classes().any(|class| class.mode != self.default_mode())
    }

    /// All frames in `mode`, copies for an effective loss of 1e-8 (the paper's target), starting from a loss of 1e-3.
    pub fn new(mode: Mode) -> ProtectionSettings {
        ProtectionSettings {
            classifier: Box::new(Classifier::new(mode.into())),
            deadlines: Vec::new(),
            copies: Copies::Target { target_loss: 1e-8, initial_loss: 1e-3 },
        }
    }
}
