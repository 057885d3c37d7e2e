//! The fifth namespace of a laboratory with impairments: the interfaces that the delay lines join.
//!
//! ```text
//!   h1 eth0 <-> host1 ~ path's line ~ end1 <-> inner g1 link <-> link1 ~ link's line ~ link2 <-> link g2 inner <->
//! eth0 h2
//! ```

use super::role::{
    HOST_INTERFACE, INNER_HEADROOM_BYTES, INNER_INTERFACE, LINK_HEADROOM_BYTES, LINK_INTERFACE, Role,
};
use crate::impairments::Impairments;

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
}

impl WireInterface {
    /// The pairs of interfaces that are joined, left and right, with these impairments.
    pub fn pairs(impairments: &Impairments) -> Vec<[Self; 2]> {
        let path = impairments.on_path().then_some([Self::Host1, Self::End1]);
        let link = impairments.on_link().then_some([Self::Link1, Self::Link2]);
        path.into_iter().chain(link).collect()
    }

    /// The name of the interface in its namespace.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host1 => "host1",
            Self::End1 => "end1",
            Self::Link1 => "link1",
            Self::Link2 => "link2",
        }
    }

    /// The interface at its other end, in one of the four places.
    pub fn faces(self) -> (Role, &'static str) {
        match self {
            Self::Host1 => (Role::Host1, HOST_INTERFACE),
            Self::End1 => (Role::End1, INNER_INTERFACE),
            Self::Link1 => (Role::End1, LINK_INTERFACE),
            Self::Link2 => (Role::End2, LINK_INTERFACE),
        }
    }

    /// Whether it belongs to the corrupting link and not to the path before it.
    pub fn is_on_link(self) -> bool {
        matches!(self, Self::Link1 | Self::Link2)
    }

    /// Its MTU in bytes: that of the ports on the same path.
    pub fn mtu(self, host_mtu: u32) -> u32 {
        host_mtu + if self.is_on_link() { LINK_HEADROOM_BYTES } else { INNER_HEADROOM_BYTES }
    }

    /// Its MAC address, the same in every lab.
    pub fn mac(self) -> [u8; 6] {
        [0x02, b'L', b'M', 0, Role::ALL.len() as u8 + 1, self as u8]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_what_is_impaired_has_a_line() {
        let mut impairments = Impairments::default();
        assert!(WireInterface::pairs(&impairments).is_empty());
        impairments.link_delay = Duration::from_micros(100);
        assert_eq!(WireInterface::pairs(&impairments), [[WireInterface::Link1, WireInterface::Link2]]);
        impairments = Impairments { delay: Duration::from_millis(1), ..Impairments::default() };
        assert_eq!(WireInterface::pairs(&impairments), [[WireInterface::Host1, WireInterface::End1]]);
        impairments.rate_bps = Some(1_000_000_000);
        assert_eq!(WireInterface::pairs(&impairments).len(), 2);
    }

    #[test]
    fn all_addresses_differ() {
        let macs = Role::ALL.map(|role| role.interfaces().iter().map(move |name| role.mac(name)));
        let mut macs: Vec<_> = macs.into_iter().flatten().collect();
        use WireInterface::{End1, Host1, Link1, Link2};
        macs.extend([Host1, End1, Link1, Link2].map(WireInterface::mac));
        macs.sort_unstable();
        macs.dedup();
        assert_eq!(macs.len(), 10);
    }
}
