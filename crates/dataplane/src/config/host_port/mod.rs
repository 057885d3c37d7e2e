//! A port for a machine without a second one: a veth pair of which the host uses one end (`inner = "create:NAME"`).
//!
//! The pair carries the mark `linkmend:<link>` in its alias. Interfaces without that mark are never touched. A marked
//! pair that a crash left behind is used again, with the addresses that the host has given it.

use super::devices::{growth, usable};
use super::link::{InnerPort, LinkConfig};
use super::{DeviceError, HostPortError::*};
use crate::udp_link::UdpLink;
use linkmend_diagnose::Diagnose;
use linkmend_linux::features::make_wire_like;
use linkmend_linux::route::{self, InterfaceFacts};
use linkmend_linux::veth;
use std::io;

/// Prefix of the alias of a pair; the name of the link follows.
const MARK: &str = "linkmend:";
/// The smallest MTU that IPv6 works with (RFC 8200, section 5).
const MTU_MIN: u32 = 1280;
/// The MTU over UDP: each frame then fits one datagram on a path with an MTU of 1,500, with IPv6, too.
const MTU_OVER_UDP: u32 = 1400;
/// The same with a key, which makes datagrams longer.
const MTU_SEALED: u32 = 1360;

/// Why a host port cannot be created or removed.
#[derive(Debug, thiserror::Error)]
pub enum HostPortError {
    /// An interface of this name exists, and it is not ours.
    #[error("link {link}: interface `{interface}` exists and was not created by Linkmend for this link")]
    Foreign {
        /// Name of the link.
        link: String,
        interface: String,
    },
    /// The link port cannot be used, so no MTU can be derived from it.
    #[error(transparent)]
    LinkPort(#[from] DeviceError),
    /// The header would leave too small an MTU.
    #[error(
        "link {link}: an MTU of {link_mtu} at `{link_interface}` leaves {mtu} for the host port, which is too little"
    )]
    MtuTooSmall {
        /// Name of the link.
        link: String,
        /// The link port.
        link_interface: String,
        link_mtu: u32,
        /// The MTU that would be left.
        mtu: u32,
    },
    /// The kernel refused.
    #[error("link {link}: {step} `{interface}` failed")]
    System {
        /// Name of the link.
        link: String,
        interface: String,
        /// What was tried.
        step: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}

impl Diagnose for HostPortError {
    fn hint(&self) -> Option<String> {
        match self {
            Foreign { .. } => Some("choose another name after create:".to_owned()),
            LinkPort(error) => error.hint(),
            MtuTooSmall { link_interface, .. } => {
                Some(format!("raise it with `ip link set dev {link_interface} mtu 1508`"))
            }
            System { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("creating interfaces requires CAP_NET_ADMIN; run as root".to_owned())
            }
            System { .. } => None,
        }
    }
}

/// A pair that was created, or found and used again.
#[derive(Debug)]
pub struct HostPort {
    link: String,
    host: String,
    reused: bool,
}

impl HostPort {
    /// Creates the pair that `config` asks for and brings it up; `None` if it asks for none.
    ///
    /// # Errors
    /// [`HostPortError`]. In that case nothing new is left behind.
    pub fn make(config: &LinkConfig) -> Result<Option<HostPort>, HostPortError> {
        let InnerPort::Create(host) = &config.inner else {
            return Ok(None);
        };
        let (link, peer) = (config.name().to_owned(), config.inner.interface());
        let link_mtu = match UdpLink::is_meant(&config.link) {
            true => {
                growth(config.key.is_some()) + if config.key.is_some() { MTU_SEALED } else { MTU_OVER_UDP }
            }
            false => usable(config, &config.link)?.mtu,
        };
        let mtu = link_mtu.saturating_sub(growth(config.key.is_some()));
        if mtu < MTU_MIN {
            let link_interface = config.link.clone();
            return Err(MtuTooSmall { link, link_interface, link_mtu, mtu });
        }
        let mark = format!("{MARK}{link}");
        let found = [host, &peer].map(|name| find(&link, name));
        let [host_found, peer_found] = found;
        let reused = match (host_found?, peer_found?) {
            (None, None) => false,
            (Some(a), Some(b)) if a.alias == mark && b.alias == mark => true,
            (Some(other), _) if other.alias != mark => {
                return Err(Foreign { link, interface: host.clone() });
            }
            _ => return Err(Foreign { link, interface: peer }),
        };
        let port = HostPort { link, host: host.clone(), reused };
        if !reused {
            veth::create_pair(host, &peer, mtu).map_err(port.failed("creating the veth pair", host))?;
        }
        match port.set_up(&peer, &mark, mtu, config.offloads) {
            Ok(()) => Ok(Some(port)),
            Err(error) => {
                if !reused {
                    let _ = veth::delete(host);
                }
                Err(error)
            }
        }
    }

    fn set_up(&self, peer: &str, mark: &str, mtu: u32, offloads: bool) -> Result<(), HostPortError> {
        for interface in [peer, &self.host] {
            veth::mark(interface, mark).map_err(self.failed("marking", interface))?;
        }
        for (interface, gro) in [(peer, false), (&self.host, true)] {
            if !offloads {
                make_wire_like(interface, gro).map_err(self.failed("setting the features of", interface))?;
            }
            veth::bring_up(interface, mtu).map_err(self.failed("bringing up", interface))?;
        }
        Ok(())
    }

    fn failed(&self, step: &'static str, interface: &str) -> impl FnOnce(io::Error) -> HostPortError + use<> {
        let (link, interface) = (self.link.clone(), interface.to_owned());
        move |source| System { link, interface, step, source }
    }

    /// The interface that the host uses.
    pub fn host_interface(&self) -> &str {
        &self.host
    }

    /// Whether this is a pair that a crash left behind.
    pub fn reused(&self) -> bool {
        self.reused
    }

    /// Removes the pair, if it is still ours.
    ///
    /// # Errors
    /// [`HostPortError::System`].
    pub fn remove(self) -> Result<(), HostPortError> {
        match find(&self.link, &self.host)? {
            Some(found) if found.alias == format!("{MARK}{}", self.link) => {
                veth::delete(&self.host).map_err(self.failed("removing", &self.host))
            }
            _ => Ok(()),
        }
    }
}

fn find(link: &str, interface: &str) -> Result<Option<InterfaceFacts>, HostPortError> {
    route::interface(interface).map_err(|source| System {
        link: link.to_owned(),
        interface: interface.to_owned(),
        step: "looking up",
        source,
    })
}
