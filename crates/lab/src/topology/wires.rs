//! The fifth namespace of a laboratory with impairments or a second link: the interfaces that are joined in pairs there, by
//! delay lines, or by bridges where frames are not to be delayed.
//!
//! ```text
//!   h1 eth0 <-> host1 ~ path's line ~ end1 <-> inner g1 link <-> link1 ~ link's line ~ link2 <-> link g2 inner <-> eth0 h2
//!                                               g1 backup <-> backup1 ~ its line ~ backup2 <-> backup g2
//! ```

use super::role::{
    BACKUP_INTERFACE, HOST_INTERFACE, INNER_HEADROOM_BYTES, INNER_INTERFACE, LINK_HEADROOM_BYTES,
    LINK_INTERFACE, Role,
};
use linkmend_protocol::paths::Path;

/// The suffix of the namespace's name.
pub(crate) const SUFFIX: &str = "w";

/// One of its interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireInterface {
    /// Faces the left host.
    Host1,
    /// Faces the left link end's inner port.
    End1,
    /// Faces the left link end's link port.
    Link1,
    /// Faces the right link end's link port.
    Link2,
    /// Faces the left link end's second link port.
    Backup1,
    /// Faces the right link end's second link port.
    Backup2,
}

impl WireInterface {
    /// The two of the path between the left host and its link end.
    pub const PATH: [Self; 2] = [Self::Host1, Self::End1];

    /// The two of one of the links, left and right.
    pub const fn of_link(link: Path) -> [Self; 2] {
        match link {
            Path::Primary => [Self::Link1, Self::Link2],
            Path::Backup => [Self::Backup1, Self::Backup2],
        }
    }

    /// The name of the interface in its namespace.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host1 => "host1",
            Self::End1 => "end1",
            Self::Link1 => "link1",
            Self::Link2 => "link2",
            Self::Backup1 => "backup1",
            Self::Backup2 => "backup2",
        }
    }

    /// The interface at its other end, in one of the four places.
    pub fn faces(self) -> (Role, &'static str) {
        match self {
            Self::Host1 => (Role::Host1, HOST_INTERFACE),
            Self::End1 => (Role::End1, INNER_INTERFACE),
            Self::Link1 => (Role::End1, LINK_INTERFACE),
            Self::Link2 => (Role::End2, LINK_INTERFACE),
            Self::Backup1 => (Role::End1, BACKUP_INTERFACE),
            Self::Backup2 => (Role::End2, BACKUP_INTERFACE),
        }
    }

    /// The link that it belongs to; `None` on the path before it.
    pub fn link(self) -> Option<Path> {
        match self {
            Self::Host1 | Self::End1 => None,
            Self::Link1 | Self::Link2 => Some(Path::Primary),
            Self::Backup1 | Self::Backup2 => Some(Path::Backup),
        }
    }

    /// Its MTU in bytes: that of the ports on the same path.
    pub fn mtu(self, host_mtu: u32) -> u32 {
        host_mtu + if self.link().is_some() { LINK_HEADROOM_BYTES } else { INNER_HEADROOM_BYTES }
    }

    /// Its MAC address, the same in every lab.
    pub fn mac(self) -> [u8; 6] {
        [0x02, b'L', b'M', 0, Role::ALL.len() as u8 + 1, self as u8]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_addresses_differ() {
        let macs = Role::ALL.map(|role| role.interfaces().iter().map(move |name| role.mac(name)));
        let mut macs: Vec<_> = macs.into_iter().flatten().collect();
        macs.extend([Role::End1, Role::End2].map(|role| role.mac(BACKUP_INTERFACE)));
        let [primary, backup] = [Path::Primary, Path::Backup].map(WireInterface::of_link);
        macs.extend([WireInterface::PATH, primary, backup].concat().into_iter().map(WireInterface::mac));
        macs.sort_unstable();
        macs.dedup();
        assert_eq!(macs.len(), 14);
    }
}
