//! Checks everything that can be checked without a device.

use super::bounds::RATE_BPS;
use super::daemon::DaemonConfig;
use super::error::{Place, Problem};
use super::interface_name::{HOST_PORT_NAME_BYTES_MAX, INTERFACE_NAME_BYTES_MAX};
use super::link::{EcnThreshold, InnerPort, LinkConfig, PortKind};
use super::protect::validate_protection;
use super::udp;
use crate::link_use::LinkUse;
use crate::udp_link::UdpLink;
use linkmend_diagnose::is_printable;
use linkmend_protocol::Format;
use linkmend_quantity::{BitRate, ByteSize};
use std::path::Path;

/// Longest path of a Unix socket (`sun_path` without its terminator), less the suffix it carries while it is created.
const SOCKET_PATH_BYTES_MAX: usize = 100;
/// Longest name of a link.
const LINK_NAME_BYTES_MAX: usize = 32;
/// The smallest bound of the queue: a few frames of the largest MTU.
const QUEUE_BYTES_MIN: u64 = 64 * 1024;
/// The largest bound of the queue: half a second at 16 Gbit/s.
const QUEUE_BYTES_MAX: u64 = 1 << 30;
/// With fewer chunks, all would be in the kernel's rings; more would take over 4 GiB.
const POOL_CHUNKS: std::ops::RangeInclusive<u32> = 4_096..=1_048_576;

type Verdict = Result<(), (&'static str, Problem)>;

impl DaemonConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// The place and the problem of the first mistake.
    pub fn validate(&self) -> Result<(), (Place, Problem)> {
        daemon(self)
    }
}

fn daemon(config: &DaemonConfig) -> Result<(), (Place, Problem)> {
    let own = |(key, problem)| (Place { link: None, key }, problem);
    if let Some(path) = &config.control {
        socket_path(path).map_err(own)?;
    }
    if let Some(path) = config.state.as_ref().filter(|path| !path.is_absolute() || path.file_name().is_none())
    {
        return Err(own(Problem::value("state", path.display(), "must be the absolute path of a file")));
    }
    if config.links.is_empty() {
        return Err(own(("link", Problem::NoLink)));
    }
    for (index, config_of_link) in config.links.iter().enumerate() {
        let name = config_of_link.name().to_owned();
        let placed = |(key, problem)| (Place { link: Some((index, name)), key }, problem);
        link(config_of_link)
            .and_then(|()| against(config_of_link, &config.links[..index]))
            .map_err(placed)?;
    }
    Ok(())
}

fn socket_path(path: &Path) -> Verdict {
    let fits = path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX;
    if path.is_absolute() && fits && path.file_name().is_some() {
        return Ok(());
    }
    let requirement = format!("must be an absolute path of at most {SOCKET_PATH_BYTES_MAX} bytes");
    Err(Problem::value("control", path.display(), requirement))
}

fn link(config: &LinkConfig) -> Verdict {
    link_port(config, "link", &config.link)?;
    let (inner, limit) = match &config.inner {
        InnerPort::Existing(name) => (name, INTERFACE_NAME_BYTES_MAX),
        InnerPort::Create(name) => (name, HOST_PORT_NAME_BYTES_MAX),
    };
    interface_name(inner, limit).map_err(|problem| ("inner", problem))?;
    link_name(config.name()).map_err(|problem| ("name", problem))?;
    if interfaces(config).contains(&config.link) {
        return Err(("link", Problem::InnerIsLink { interface: config.link.clone() }));
    }
    if config.offloads && config.ports == PortKind::Packet {
        return Err(Problem::value(
            "offloads",
            true,
            "requires AF_XDP at the link, so it cannot be used with `ports = \"packet\"`",
        ));
    }
    backup(config)?;
    udp::validate(config)?;
    key(config)?;
    quantities(config)?;
    validate_protection(&config.protect, config.format)?;
    let fallback = config.fallback.settings();
    let valid = config.parameters.validate(config.pool, config.format.into(), fallback);
    valid.map_err(|error| (error.parameter, Problem::Value(error)))
}

/// An interface that faces the other end, or a link over UDP.
fn link_port(config: &LinkConfig, key: &'static str, text: &str) -> Verdict {
    match UdpLink::is_meant(text) {
        true => udp::validate_link(config, key, text),
        false => interface_name(text, INTERFACE_NAME_BYTES_MAX).map_err(|problem| (key, problem)),
    }
}

fn backup(config: &LinkConfig) -> Verdict {
    if let Some(interface) = &config.backup {
        link_port(config, "backup", interface)?;
        let is_taken = resource(interface).is_some_and(|own| resource(&config.link).as_ref() == Some(&own));
        if is_taken || interfaces(config).contains(interface) {
            return Err(("backup", Problem::BackupTaken { interface: interface.clone() }));
        }
        let format = Format::from(config.format);
        if format != Format::Transparent {
            return Err(("backup", Problem::BackupFormat { format }));
        }
    }
    if config.backup.is_none() && config.link_use != LinkUse::default() {
        return Err(("use", Problem::WithoutBackup));
    }
    config.failover.validate(config.backup.is_some())
}

fn key(config: &LinkConfig) -> Verdict {
    let Some(path) = &config.key else { return Ok(()) };
    let problem = |requirement: &str| Err(Problem::value("key", path.display(), requirement));
    if Format::from(config.format) != Format::Transparent {
        return problem("needs the transparent format, because the authors' headers have no room for a tag");
    }
    if config.seed.is_some() {
        return problem(
            "cannot be used with `seed`, because recorded frames would be accepted in the next run",
        );
    }
    Ok(())
}

/// The interfaces on the inner side: the port, and the host's end if both are to be created.
fn interfaces(config: &LinkConfig) -> Vec<String> {
    match &config.inner {
        InnerPort::Existing(name) => vec![name.clone()],
        InnerPort::Create(host) => vec![host.clone(), config.inner.interface()],
    }
}

/// What only one link can have: an interface, or a UDP port at which it waits. Several links may call one peer.
fn resource(link: &str) -> Option<String> {
    match UdpLink::is_meant(link).then(|| UdpLink::parse(link)) {
        None => Some(link.to_owned()),
        Some(Ok(waits @ UdpLink::Listen { .. })) => Some(waits.to_string()),
        Some(_) => None,
    }
}

fn against(config: &LinkConfig, earlier: &[LinkConfig]) -> Verdict {
    for other in earlier {
        if other.name() == config.name() {
            return Err(("name", Problem::LinkNameTaken));
        }
        let links = other.links().filter_map(|link| resource(link)).collect();
        let taken = [interfaces(other), links].concat();
        let inner = interfaces(config).into_iter().map(|name| ("inner", name));
        let links = ["link", "backup"].into_iter().zip(config.links());
        let links = links.filter_map(|(key, link)| Some((key, resource(link)?)));
        for (key, interface) in inner.chain(links) {
            if taken.contains(&interface) {
                return Err((key, Problem::InterfaceTaken { interface, other: other.name().to_owned() }));
            }
        }
    }
    Ok(())
}

/// Accepts the names that the kernel accepts (`dev_valid_name`).
fn interface_name(name: &str, limit: usize) -> Result<(), Problem> {
    let bad = |c: char| c == '/' || c == ':' || c.is_whitespace() || !is_printable(c);
    if (1..=limit).contains(&name.len()) && name != "." && name != ".." && !name.contains(bad) {
        return Ok(());
    }
    Err(Problem::InterfaceName { name: name.to_owned(), limit })
}

/// The name becomes part of a path and of a metric's label.
fn link_name(name: &str) -> Result<(), Problem> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fits = (1..=LINK_NAME_BYTES_MAX).contains(&name.len());
    if fits && name.chars().all(good) && !name.starts_with(['.', '-']) {
        return Ok(());
    }
    Err(Problem::LinkName { name: name.to_owned() })
}

fn quantities(config: &LinkConfig) -> Verdict {
    let bound = |key, holds, value: String, requirement| match holds {
        true => Ok(()),
        false => Err(Problem::value(key, value, requirement)),
    };
    let queue = config.queue;
    let queue_fits = (QUEUE_BYTES_MIN..=QUEUE_BYTES_MAX).contains(&queue.0);
    bound("queue", queue_fits, queue.to_string(), "must be from 64KiB to 1GiB")?;
    if let EcnThreshold::Above(threshold) = config.ecn {
        let below = threshold > ByteSize(0) && threshold < queue;
        bound(
            "ecn",
            below,
            threshold.to_string(),
            "must be above 0 and below `queue`, or it marks nothing; or `off`",
        )?;
    }
    if let Some(BitRate(rate)) = config.rate {
        bound("rate", RATE_BPS.contains(&rate), BitRate(rate).to_string(), "must be from 100k to 1T")?;
    }
    bound("pool", POOL_CHUNKS.contains(&config.pool), config.pool.to_string(), "must be from 4096 to 1048576")
}
