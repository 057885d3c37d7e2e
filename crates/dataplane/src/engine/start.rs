//! What a link end needs at its start besides its ports, and what may prevent it from starting.

use super::both_links::BothLinks;
use super::failover::Failover;
use super::share::Share;
use crate::key_file::{self, KeyFileError};
use crate::link_use::LinkUse;
use crate::port::PortError;
use crate::port_pair::PortPair;
use crate::protocol_log::ProtocolLog;
use crate::settings::LinkSettings;
use linkmend_diagnose::Diagnose;
use linkmend_protocol::merge::MergeConfig;
use linkmend_protocol::paths::Paths;
use linkmend_protocol::trace::LogHeader;
use linkmend_protocol::wire::Seal;
use linkmend_protocol::{Config, ConfigError, LinkEnd};
use linkmend_tunnel::{KEY_BYTES, shared_key};
use std::path::PathBuf;

/// Why a link end could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A parameter cannot be used.
    #[error("link {link}: parameter {error}")]
    Parameter {
        /// Name of the link.
        link: String,
        /// Which parameter, and why.
        error: ConfigError,
    },
    /// A port cannot be opened.
    #[error("link {link}: cannot open its ports")]
    Port {
        /// Name of the link.
        link: String,
        /// Which port, and why.
        source: PortError,
    },
    /// The key cannot be used.
    #[error("link {link}: cannot take the key from {}", path.display())]
    Key {
        /// Name of the link.
        link: String,
        path: PathBuf,
        /// What is wrong with it.
        source: KeyFileError,
    },
    /// The protocol log cannot be written.
    #[error("link {link}: cannot write the protocol log {}", path.display())]
    ProtocolLog {
        /// Name of the link.
        link: String,
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The system refused something else.
    #[error("link {link}: {step} failed")]
    System {
        /// Name of the link.
        link: String,
        /// What was tried.
        step: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl Diagnose for StartError {
    fn hint(&self) -> Option<String> {
        match self {
            StartError::Port { source, .. } => source.hint(),
            StartError::Key { source, .. } => source.hint(),
            StartError::Parameter { .. } | StartError::ProtocolLog { .. } | StartError::System { .. } => None,
        }
    }
}

/// Logs the ports, and what is missing where the kernel cannot forward by itself.
pub(super) fn log_ports(settings: &LinkSettings, seed: u64, ports: &PortPair) {
    let LinkSettings { name: link, .. } = settings;
    let inner = ports.inner.description();
    tracing::info!(%link, inner, link_port = ports.links[0].description(), seed, "ports are open");
    if let Some(second) = ports.links.get(1) {
        tracing::info!(%link, backup = second.description(), "the port of the second link is open");
        match settings.backup.as_ref().map_or(LinkUse::Active, |backup| backup.link_use) {
            LinkUse::Active => {}
            LinkUse::Duplicate => {
                tracing::info!(%link, "every frame goes out on both links, and the first copy is delivered");
            }
            LinkUse::Share => tracing::info!(%link, "each frame goes out on one of both links"),
        }
    }
    if ports.bypass.is_none() {
        tracing::warn!(
            link,
            "no in-kernel bypass on AF_PACKET: a dormant link is forwarded by this process, and nothing forwards when it ends"
        );
    }
    if let Some(hint) = ports.fell_back.as_ref().and_then(Diagnose::hint) {
        tracing::warn!(link, "the ports are AF_PACKET ports because AF_XDP cannot be used; hint: {hint}");
    }
}

/// The number of chunks that the longest frame takes.
pub(super) fn chunks_per_frame(ports: &PortPair) -> usize {
    let ports_bytes =
        [&ports.inner].into_iter().chain(&ports.links).map(|port| port.interface().frame_bytes());
    ports.pool.chunks_for(ports_bytes.fold(0, usize::max))
}

/// The state of two links, if there are two.
pub(super) fn failover(
    settings: &LinkSettings,
    seed: u64,
    config: &Config,
) -> Result<Option<Box<Failover>>, StartError> {
    let Some(backup) = &settings.backup else { return Ok(None) };
    // The ends must differ, also those of one experiment with one seed, so the name is part of it.
    let name = settings.name.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let own = (seed ^ name.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 16;
    let paths = backup.paths();
    // What waits for the other link counts as part of the Rx buffer: neither is acknowledged, so both together hold no more than
    // the peer's Tx buffer.
    let both = match backup.link_use {
        LinkUse::Active => None,
        LinkUse::Duplicate => {
            Some(BothLinks::new(MergeConfig::duplicating(&paths, config.rx_buffer_bytes / 2), None))
        }
        LinkUse::Share => {
            let merge = MergeConfig::sharing(&paths, config.rx_buffer_bytes);
            Some(BothLinks::new(merge, Some(Share::new(&paths))))
        }
    };
    Paths::new(paths, own as u32)
        .map(|paths| Some(Box::new(Failover::new(paths, both))))
        .map_err(|error| StartError::Parameter { link: settings.name.clone(), error })
}

/// What recognises the peer's frames, on a link with a key.
pub(super) fn seal(settings: &LinkSettings, end: &LinkEnd) -> Result<Option<Box<Seal>>, StartError> {
    let Some(path) = &settings.key else { return Ok(None) };
    let failed = |source| StartError::Key { link: settings.name.clone(), path: path.clone(), source };
    let key = key_file::read(path).map_err(failed)?;
    Ok(Some(Box::new(Seal::new(key, end.nonce()))))
}

/// With what the datagrams of links over UDP are encrypted, on a link with a key.
pub(super) fn udp_key(settings: &LinkSettings) -> Result<Option<[u8; KEY_BYTES]>, PortError> {
    let Some(path) = settings.key.as_ref().filter(|_| settings.has_udp()) else { return Ok(None) };
    let failed = PortError::system(&settings.link, "reading the key again");
    let key = key_file::read(path).map_err(|error| failed(std::io::Error::other(error)))?;
    Ok(Some(shared_key(key.as_bytes())))
}

/// Opens the protocol log, if one is configured.
pub(super) fn protocol_log(
    settings: &LinkSettings,
    seed: u64,
    config: Config,
) -> Result<Option<Box<ProtocolLog>>, StartError> {
    let Some(path) = &settings.protocol_log else { return Ok(None) };
    let header = LogHeader { protocol_log: LogHeader::VERSION, link: settings.name.clone(), seed, config };
    match ProtocolLog::create(path, &header) {
        Ok(log) => Ok(Some(Box::new(log))),
        Err(source) => {
            Err(StartError::ProtocolLog { link: settings.name.clone(), path: path.clone(), source })
        }
    }
}
