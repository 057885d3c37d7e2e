//! What drivers report about their XDP features (generic netlink family `netdev`, Linux 6.3).

use std::io;

use netlink_packet_core::DefaultNla;

use crate::generic_netlink::Family;

const NETDEV_GET: u8 = 1;
const NETDEV_IFINDEX: u16 = 1;
const NETDEV_XDP_FEATURES: u16 = 3;

/// A set of `NETDEV_XDP_ACT_*` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XdpFeatures(u64);

impl XdpFeatures {
    /// Whether a native program may redirect frames that it received, including those of several buffers if `jumbo`.
    pub fn redirects_from(self, jumbo: bool) -> bool {
        let wanted = (1 << 1) | if jumbo { 1 << 5 } else { 0 };
        self.0 & wanted == wanted
    }

    /// Whether AF_XDP sockets may use the driver's own buffers.
    pub fn zero_copy(self) -> bool {
        self.0 & 1 << 3 != 0
    }

    /// Whether a native program may redirect frames to this interface.
    pub fn redirected_to(self, jumbo: bool) -> bool {
        let wanted = (1 << 2) | if jumbo { 1 << 6 } else { 0 };
        self.0 & wanted == wanted
    }
}

/// Asks for the features of an interface.
///
/// # Errors
/// Without such an interface, and when the kernel is older than the family.
pub fn xdp_features(interface_index: u32) -> io::Result<XdpFeatures> {
    let index = DefaultNla::new(NETDEV_IFINDEX, interface_index.to_ne_bytes().to_vec());
    let answer = Family::find("netdev")?.request(NETDEV_GET, vec![index])?;
    Ok(XdpFeatures(u64::from_ne_bytes(answer.value(NETDEV_XDP_FEATURES)?)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

    use super::*;

    /// The loopback interface has no XDP in its driver. The test is that it answers instead of failing.
    #[test]
    fn loopback_answers_and_redirects_nothing() {
        match xdp_features(1) {
            Ok(features) => assert!(!features.redirects_from(false) && !features.redirected_to(false)),
            // Linux before 6.3 has no such family.
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::NotFound),
        }
        assert!(xdp_features(u32::MAX).is_err(), "no such interface");
    }
}
