//! What drivers report about their XDP features (generic netlink family `netdev`, Linux 6.3).

use std::io;

use netlink_packet_core::{NlaBuffer, NlasIterator};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};

const MESSAGE_HEADER_BYTES: usize = 16;
const GENERIC_HEADER_BYTES: usize = 4;
const ATTRIBUTE_HEADER_BYTES: usize = 4;
const RECEIVE_BUFFER_BYTES: usize = 16 * 1024;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;

const CONTROL_FAMILY: u16 = 16;
const CONTROL_GET_FAMILY: u8 = 3;
const CONTROL_FAMILY_ID: u16 = 1;
const CONTROL_FAMILY_NAME: u16 = 2;
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

    /// Whether a native program may redirect frames to this interface.
    pub fn redirected_to(self, jumbo: bool) -> bool {
        let wanted = (1 << 2) | if jumbo { 1 << 6 } else { 0 };
        self.0 & wanted == wanted
    }
}

/// Asks for the features of an interface.
///
/// # Errors
/// Among others, if the kernel is older than the family.
pub fn xdp_features(interface_index: u32) -> io::Result<XdpFeatures> {
    let socket = Socket::new(NETLINK_GENERIC)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let answer = request(&socket, CONTROL_FAMILY, CONTROL_GET_FAMILY, CONTROL_FAMILY_NAME, b"netdev\0")?;
    let family = u16::from_ne_bytes(attribute(&answer, CONTROL_FAMILY_ID)?);
    let index = interface_index.to_ne_bytes();
    let answer = request(&socket, family, NETDEV_GET, NETDEV_IFINDEX, &index)?;
    let features = u64::from_ne_bytes(attribute(&answer, NETDEV_XDP_FEATURES)?);
    Ok(XdpFeatures(features))
}

/// Sends a command with one attribute and returns the attributes of the answer.
fn request(socket: &Socket, family: u16, command: u8, kind: u16, value: &[u8]) -> io::Result<Vec<u8>> {
    let attribute_bytes = ATTRIBUTE_HEADER_BYTES + value.len();
    let length = MESSAGE_HEADER_BYTES + GENERIC_HEADER_BYTES + attribute_bytes.next_multiple_of(4);
    let mut message = Vec::with_capacity(length);
    message.extend((length as u32).to_ne_bytes());
    message.extend(family.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([command, 1, 0, 0]);
    message.extend((attribute_bytes as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(value);
    message.resize(length, 0);
    socket.send(&message, 0)?;
    let mut answer = Vec::with_capacity(RECEIVE_BUFFER_BYTES);
    socket.recv(&mut answer, 0)?;
    match answer.get(4..6) {
        Some(kind) if kind != NLMSG_ERROR.to_ne_bytes() => {}
        _ => return Err(io::ErrorKind::NotFound.into()),
    }
    let attributes = answer.get(MESSAGE_HEADER_BYTES + GENERIC_HEADER_BYTES..);
    Ok(attributes.unwrap_or_default().to_vec())
}

fn attribute<const N: usize>(attributes: &[u8], kind: u16) -> io::Result<[u8; N]> {
    NlasIterator::new(attributes)
        .filter_map(|attribute: Result<NlaBuffer<&[u8]>, _>| attribute.ok())
        .find(|attribute| attribute.kind() == kind)
        .and_then(|attribute| attribute.value().try_into().ok())
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
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
