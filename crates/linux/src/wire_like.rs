//! Device features, over ethtool's netlink family (`Documentation/networking/ethtool-netlink.rst`).
//!
//! A frame on the pair must look as it would on a wire: complete, with its checksum and its VLAN tag in it.

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};
use std::io;

/// Features that leave work to hardware that is not there.
const OFF: [&str; 10] = [
    "tx-checksum-ip-generic",
    "tx-checksum-sctp",
    "tx-scatter-gather",
    "tx-generic-segmentation",
    "tx-tcp-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp6-segmentation",
    "tx-udp-segmentation",
    "tx-vlan-hw-insert",
    "tx-vlan-stag-hw-insert",
];
/// On a veth this also switches on NAPI, without which frames redirected into the device are dropped.
const GRO: &str = "rx-gro";

const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST_ACK: u16 = 1 | 4;
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const ETHTOOL_MSG_FEATURES_SET: u8 = 12;
const ETHTOOL_A_FEATURES_HEADER: u16 = 1;
const ETHTOOL_A_FEATURES_WANTED: u16 = 3;
const ETHTOOL_A_HEADER_DEV_NAME: u16 = 2;
const ETHTOOL_A_HEADER_FLAGS: u16 = 3;
const ETHTOOL_FLAG_OMIT_REPLY: u32 = 1 << 1;
const ETHTOOL_A_BITSET_BITS: u16 = 3;
const ETHTOOL_A_BITSET_BITS_BIT: u16 = 1;
const ETHTOOL_A_BITSET_BIT_NAME: u16 = 2;
const ETHTOOL_A_BITSET_BIT_VALUE: u16 = 3;
const NLA_F_NESTED: u16 = 1 << 15;
const HEADER_BYTES: usize = 16;
const GENERIC_HEADER_BYTES: usize = 4;
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Switches off the features that a wire does not have, and sets generic receive offload to `gro`.
///
/// # Errors
/// Without CAP_NET_ADMIN, or where the device refuses.
pub fn make_wire_like(interface: &str, gro: bool) -> io::Result<()> {
    let bit = |name: &str, on: bool| {
        let value = if on { attribute(ETHTOOL_A_BITSET_BIT_VALUE, &[]) } else { Vec::new() };
        let named = attribute(ETHTOOL_A_BITSET_BIT_NAME, &text(name));
        nested(ETHTOOL_A_BITSET_BITS_BIT, &[named, value].concat())
    };
    let mut bits: Vec<u8> = OFF.iter().flat_map(|name| bit(name, false)).collect();
    bits.extend(bit(GRO, gro));
    let header = [
        attribute(ETHTOOL_A_HEADER_DEV_NAME, &text(interface)),
        attribute(ETHTOOL_A_HEADER_FLAGS, &ETHTOOL_FLAG_OMIT_REPLY.to_ne_bytes()),
    ]
    .concat();
    let body = [
        nested(ETHTOOL_A_FEATURES_HEADER, &header),
        nested(ETHTOOL_A_FEATURES_WANTED, &nested(ETHTOOL_A_BITSET_BITS, &bits)),
    ]
    .concat();
    request(ethtool_family()?, ETHTOOL_MSG_FEATURES_SET, &body).map(drop)
}

/// The number of the family `ethtool` in this kernel.
fn ethtool_family() -> io::Result<u16> {
    let name = attribute(CTRL_ATTR_FAMILY_NAME, &text("ethtool"));
    let answer = request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, &name)?;
    let mut rest = answer.get(GENERIC_HEADER_BYTES..).unwrap_or_default();
    while let Some((kind, value, next)) = split_attribute(rest) {
        if kind == CTRL_ATTR_FAMILY_ID
            && let Ok(number) = value.try_into()
        {
            return Ok(u16::from_ne_bytes(number));
        }
        rest = next;
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// Sends one generic netlink request. Returns the answer without the netlink header; it is empty for a bare success.
fn request(family: u16, command: u8, body: &[u8]) -> io::Result<Vec<u8>> {
    let length = HEADER_BYTES + GENERIC_HEADER_BYTES + body.len();
    let length = u32::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(family.to_ne_bytes());
    message.extend(NLM_F_REQUEST_ACK.to_ne_bytes());
    let (sequence, port) = (1u32, 0u32);
    message.extend(sequence.to_ne_bytes());
    message.extend(port.to_ne_bytes());
    message.extend([command, 1, 0, 0]);
    message.extend(body);
    let socket = Socket::new(NETLINK_GENERIC)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&message, 0)?;
    let mut answer = Vec::with_capacity(ANSWER_BYTES_MAX);
    socket.recv(&mut answer, 0)?;
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let payload = answer.get(HEADER_BYTES..).ok_or(io::ErrorKind::InvalidData)?;
    if kind != Some(NLMSG_ERROR) {
        return Ok(payload.to_vec());
    }
    let code = payload.get(..4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match code {
        Some(0) => Ok(Vec::new()),
        Some(code) => Err(io::Error::from_raw_os_error(code.saturating_neg())),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

fn nested(kind: u16, value: &[u8]) -> Vec<u8> {
    attribute(kind | NLA_F_NESTED, value)
}

/// Encodes length, type and value, padded to four bytes. All values here are short.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Returns type and value of the first attribute, and what follows it.
fn split_attribute(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
    let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?) & !NLA_F_NESTED;
    let value = bytes.get(4..length)?;
    Some((kind, value, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_come_apart_again() {
        let bytes = [attribute(1, &[7, 0]), nested(2, &text("veth"))].concat();
        let (kind, value, rest) = split_attribute(&bytes).expect("the first");
        assert_eq!((kind, value), (1, &[7u8, 0][..]));
        let (kind, value, rest) = split_attribute(rest).expect("the second");
        assert_eq!((kind, value, rest), (2, &b"veth\0"[..], &[][..]));
        assert_eq!(split_attribute(&[200, 0, 1, 0, 5]), None);
        assert_eq!(split_attribute(&[]), None);
    }
}
