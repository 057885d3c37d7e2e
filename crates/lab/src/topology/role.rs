//! The four places of a laboratory: their interfaces and addresses.

use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Name of a host's only interface.
pub const HOST_INTERFACE: &str = "eth0";
/// Name of a link end's interface that faces its host.
pub const INNER_INTERFACE: &str = "inner";
/// Name of a link end's interface that faces the corrupting link.
pub const LINK_INTERFACE: &str = "link";
/// Name of a link end's interface that faces the second link, if there is one.
pub const BACKUP_INTERFACE: &str = "backup";
/// How much larger the inner ports' MTU is than the hosts': two VLAN tags, which the hosts may add.
pub const INNER_HEADROOM_BYTES: u32 = 8;
/// How much larger the link ports' MTU is than the hosts': two VLAN tags, and the longest Linkmend header.
pub const LINK_HEADROOM_BYTES: u32 = 16;

/// The four places of the laboratory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The left host, `h1`.
    Host1,
    /// The left link end, `g1`.
    End1,
    /// The right link end, `g2`.
    End2,
    /// The right host, `h2`.
    Host2,
}

impl Role {
    /// All places, left to right.
    pub const ALL: [Self; 4] = [Self::Host1, Self::End1, Self::End2, Self::Host2];

    /// The suffix of the namespace's name: `h1`, `g1`, `g2` or `h2`.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Host1 => "h1",
            Self::End1 => "g1",
            Self::End2 => "g2",
            Self::Host2 => "h2",
        }
    }

    /// The interfaces of the place in every laboratory. With a second link, a link end also has [`BACKUP_INTERFACE`].
    pub fn interfaces(self) -> &'static [&'static str] {
        match self {
            Self::Host1 | Self::Host2 => &[HOST_INTERFACE],
            Self::End1 | Self::End2 => &[INNER_INTERFACE, LINK_INTERFACE],
        }
    }

    /// The MAC address of `interface`; the same in every lab, so that traces can be compared.
    pub fn mac(self, interface: &str) -> [u8; 6] {
        let port = match interface {
            INNER_INTERFACE => 1,
            LINK_INTERFACE => 2,
            BACKUP_INTERFACE => 3,
            _ => 0,
        };
        [0x02, b'L', b'M', 0, self as u8 + 1, port]
    }

    /// The host's IPv4 address; link ends have none.
    pub fn ipv4(self) -> Option<IpAddr> {
        match self {
            Self::Host1 => Some(Ipv4Addr::new(10, 77, 0, 1).into()),
            Self::Host2 => Some(Ipv4Addr::new(10, 77, 0, 2).into()),
            _ => None,
        }
    }

    /// The host's IPv6 address; link ends have none.
    pub fn ipv6(self) -> Option<IpAddr> {
        match self {
            Self::Host1 => Some(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1).into()),
            Self::Host2 => Some(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2).into()),
            _ => None,
        }
    }
}
