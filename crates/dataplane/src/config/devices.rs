//! Checks the interfaces without changing them.

use super::link::{InnerPort, LinkConfig};
use crate::bypass;
use crate::port::NOT_ETHERNET_HINT;
use linkmend_diagnose::Diagnose;
use linkmend_linux::interface_use::{self, InterfaceUse};
use linkmend_linux::login;
use linkmend_linux::route::{self, InterfaceFacts};
use linkmend_protocol::wire::{HEADER_GROWTH_MAX, SEALED_GROWTH_MAX};
use std::error::Error;
use std::{fmt, io};

/// Why the interfaces of a link cannot be used as they are.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// There is no such interface.
    #[error("link {link}: there is no interface `{interface}` in this network namespace")]
    Missing {
        /// Name of the link.
        link: String,
        /// Name of the interface.
        interface: String,
    },
    /// The kernel does not answer.
    #[error("link {link}: cannot look up interface `{interface}`")]
    Lookup {
        /// Name of the link.
        link: String,
        /// Name of the interface.
        interface: String,
        /// What the kernel said.
        source: io::Error,
    },
    #[error("link {link}: interface `{interface}` is not an Ethernet interface")]
    NotEthernet {
        /// Name of the link.
        link: String,
        /// Name of the interface.
        interface: String,
    },
    #[error("link {link}: interface `{interface}` is down")]
    Down {
        /// Name of the link.
        link: String,
        /// Name of the interface.
        interface: String,
    },
    /// A port would take the interface away from this machine.
    #[error("link {link}: `{interface}` is in use: it {}", listed(uses))]
    InUse {
        /// Name of the link.
        link: String,
        /// Name of the interface.
        interface: String,
        /// There is at least one.
        uses: Vec<InterfaceUse>,
    },
    /// Full frames would not fit the link with a header.
    #[error(
        "link {link}: `{link_interface}` has MTU {link_mtu}, but frames of `{inner_interface}` (MTU {inner_mtu}) \
         need {needed} with their header"
    )]
    MtuTooSmall {
        /// Name of the link.
        link: String,
        /// The inner port.
        inner_interface: String,
        inner_mtu: u32,
        /// The link port.
        link_interface: String,
        link_mtu: u32,
        /// The smallest MTU that the link port needs.
        needed: u32,
    },
}

impl Diagnose for DeviceError {
    fn hint(&self) -> Option<String> {
        match self {
            DeviceError::Missing { .. } => Some("list the interfaces with `ip link`".to_owned()),
            DeviceError::Down { interface, .. } => {
                Some(format!("bring it up with `ip link set dev {interface} up`"))
            }
            DeviceError::MtuTooSmall { inner_interface, inner_mtu, link_interface, link_mtu, needed, .. } => {
                let lower = link_mtu.saturating_sub(needed - inner_mtu);
                Some(format!(
                    "`ip link set dev {link_interface} mtu {needed}` (and as much at the other end), or \
                     `ip link set dev {inner_interface} mtu {lower}` at the hosts, or --allow-oversize to let \
                     the longest frames pass unprotected"
                ))
            }
            DeviceError::InUse { .. } => Some(
                "a port carries other hosts' frames, and this machine can no longer use it itself: choose \
                 another interface, end that use, or allow it with --use-port-in-use (`use-port-in-use = true` in a \
                 [[link]])"
                    .to_owned(),
            ),
            DeviceError::NotEthernet { .. } => Some(NOT_ETHERNET_HINT.to_owned()),
            DeviceError::Lookup { .. } => None,
        }
    }
}

fn listed(uses: &[InterfaceUse]) -> String {
    uses.iter().map(InterfaceUse::to_string).collect::<Vec<_>>().join(", ")
}

/// All reasons why the interfaces of some links cannot be used as they are. There is at least one.
#[derive(Debug)]
pub struct DeviceErrors(Vec<DeviceError>);

impl fmt::Display for DeviceErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{error}")?;
            if let Some(source) = error.source() {
                write!(f, ": {source}")?;
            }
        }
        Ok(())
    }
}

impl Error for DeviceErrors {}

impl Diagnose for DeviceErrors {
    /// The hints of all errors, each once.
    fn hint(&self) -> Option<String> {
        let mut hints: Vec<String> = Vec::new();
        for hint in self.0.iter().filter_map(Diagnose::hint) {
            if !hints.contains(&hint) {
                hints.push(hint);
            }
        }
        (!hints.is_empty()).then(|| hints.join("; "))
    }
}

/// The largest number of bytes by which a frame grows on a link, which may have a key.
pub(super) const fn growth(has_key: bool) -> u32 {
    (if has_key { SEALED_GROWTH_MAX } else { HEADER_GROWTH_MAX }) as u32
}

/// Checks the interfaces of one link. A port that is yet to be created is skipped.
///
/// # Errors
/// The first [`DeviceError`].
pub fn check_devices(config: &LinkConfig) -> Result<(), DeviceError> {
    device_problems(config).into_iter().next().map_or(Ok(()), Err)
}

/// Checks the interfaces of all links. Ports that are yet to be created are skipped.
///
/// # Errors
/// Everything that is wrong with any of them.
pub fn check_all_devices(links: &[LinkConfig]) -> Result<(), DeviceErrors> {
    let errors: Vec<DeviceError> = links.iter().flat_map(device_problems).collect();
    if errors.is_empty() { Ok(()) } else { Err(DeviceErrors(errors)) }
}

/// All problems with the interfaces of one link. A port that is yet to be created is skipped.
pub fn device_problems(config: &LinkConfig) -> Vec<DeviceError> {
    // A port that carries the bypass is lost to this machine already, so a start takes nothing from it.
    let mut problems = match config.use_port_in_use {
        true => Vec::new(),
        false => in_use(config, |interface| !bypass::carries_bypass(interface)),
    };
    let mut link_ports = Vec::new();
    for interface in config.link_interfaces() {
        match usable(config, interface) {
            Ok(facts) => link_ports.push((interface, facts.mtu)),
            Err(error) => problems.push(error),
        }
    }
    let InnerPort::Existing(inner) = &config.inner else { return problems };
    let inner_mtu = match usable(config, inner) {
        Ok(facts) => facts.mtu,
        Err(error) => {
            problems.push(error);
            return problems;
        }
    };
    let needed = inner_mtu.saturating_add(growth(config.key.is_some()));
    let short = |&(interface, link_mtu): &(&String, u32)| {
        (link_mtu < needed && !config.allow_oversize).then(|| DeviceError::MtuTooSmall {
            link: config.name().to_owned(),
            inner_interface: inner.clone(),
            inner_mtu,
            link_interface: interface.clone(),
            link_mtu,
            needed,
        })
    };
    problems.extend(link_ports.iter().filter_map(short));
    problems
}

/// The uses of ports that are no obstacle only as long as the bypass of an earlier run is there.
pub(crate) fn uses_behind_bypass(config: &LinkConfig) -> Vec<DeviceError> {
    if config.use_port_in_use { Vec::new() } else { in_use(config, bypass::carries_bypass) }
}

/// The uses of ports that end because the configuration allows it.
pub(crate) fn uses_that_end(config: &LinkConfig) -> Vec<DeviceError> {
    if config.use_port_in_use { in_use(config, |_| true) } else { Vec::new() }
}

/// Those of `chosen` ports of a link that this machine itself uses.
fn in_use(config: &LinkConfig, chosen: impl Fn(&str) -> bool) -> Vec<DeviceError> {
    let login = login::of_this_process();
    let inner = match &config.inner {
        InnerPort::Existing(inner) => Some(inner),
        InnerPort::Create(_) => None,
    };
    let of_port = |interface: &String| {
        let (link, interface) = (config.name().to_owned(), interface.clone());
        match interface_use::of(&interface, login.as_ref()) {
            Ok(uses) if uses.is_empty() => None,
            Ok(uses) => Some(DeviceError::InUse { link, interface, uses }),
            Err(source) => Some(DeviceError::Lookup { link, interface, source }),
        }
    };
    let ports = inner.into_iter().chain(config.link_interfaces());
    ports.filter(|interface| chosen(interface)).filter_map(of_port).collect()
}

/// The facts about an Ethernet interface that is up, or why it cannot be used.
pub(super) fn usable(config: &LinkConfig, interface: &str) -> Result<InterfaceFacts, DeviceError> {
    let (link, interface) = (config.name().to_owned(), interface.to_owned());
    let facts = match route::interface(&interface) {
        Ok(Some(facts)) => facts,
        Ok(None) => return Err(DeviceError::Missing { link, interface }),
        Err(source) => return Err(DeviceError::Lookup { link, interface, source }),
    };
    if !facts.ethernet {
        return Err(DeviceError::NotEthernet { link, interface });
    }
    if !facts.up {
        return Err(DeviceError::Down { link, interface });
    }
    Ok(facts)
}
