//! Generic netlink: families that the kernel knows by name and numbers as it loads them.

use std::convert::Infallible;
use std::io;

use netlink_packet_core::{
    DefaultNla, Emitable, NLA_F_NESTED, NetlinkDeserializable, NetlinkHeader, NetlinkSerializable,
};
use netlink_sys::protocols::NETLINK_GENERIC;

use crate::dump::Dump;
use crate::netlink::{RequestSocket, attribute};

/// `struct genlmsghdr`: command, version, two reserved bytes.
const HEADER_BYTES: usize = 4;
const VERSION: u8 = 1;

// The family that numbers all others, and what is asked of it (`linux/genetlink.h`).
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

/// A family, and a socket for requests to it.
pub(crate) struct Family {
    socket: RequestSocket,
    number: u16,
}

impl Family {
    /// Looks a family up. A kernel that does not have it says that it is not found.
    pub(crate) fn find(name: &str) -> io::Result<Family> {
        let control = Family { socket: RequestSocket::open(NETLINK_GENERIC)?, number: GENL_ID_CTRL };
        let name = DefaultNla::new(CTRL_ATTR_FAMILY_NAME, [name.as_bytes(), &[0]].concat());
        let answer = control.request(CTRL_CMD_GETFAMILY, vec![name])?;
        let number = u16::from_ne_bytes(answer.value(CTRL_ATTR_FAMILY_ID)?);
        Ok(Family { number, ..control })
    }

    /// Sends a command with these attributes, and returns those of the answer.
    pub(crate) fn request(&self, command: u8, attributes: Vec<DefaultNla>) -> io::Result<Attributes> {
        let answer = self.socket.request(Request { family: self.number, command, attributes }, 0)?;
        Ok(answer.unwrap_or_default())
    }

    /// Sends a command with these attributes for everything that it can be asked of.
    pub(crate) fn dump(&self, command: u8, attributes: Vec<DefaultNla>) -> io::Result<Dump<Attributes>> {
        self.socket.dump(Request { family: self.number, command, attributes })
    }
}

/// An attribute that consists of others.
pub(crate) fn nested(kind: u16, parts: &[DefaultNla]) -> DefaultNla {
    let mut bytes = vec![0; parts.buffer_len()];
    parts.emit(&mut bytes);
    DefaultNla::new(kind | NLA_F_NESTED, bytes)
}

#[derive(Clone)]
struct Request {
    family: u16,
    command: u8,
    attributes: Vec<DefaultNla>,
}

impl NetlinkSerializable for Request {
    fn message_type(&self) -> u16 {
        self.family
    }

    fn buffer_len(&self) -> usize {
        HEADER_BYTES + self.attributes.as_slice().buffer_len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..HEADER_BYTES].copy_from_slice(&[self.command, VERSION, 0, 0]);
        self.attributes.as_slice().emit(&mut buffer[HEADER_BYTES..]);
    }
}

/// The attributes of an answer, as the kernel wrote them.
#[derive(Debug, Default)]
pub(crate) struct Attributes(Vec<u8>);

impl NetlinkDeserializable for Attributes {
    type Error = Infallible;

    fn deserialize(_: &NetlinkHeader, payload: &[u8]) -> Result<Attributes, Infallible> {
        Ok(Attributes(payload.get(HEADER_BYTES..).unwrap_or_default().to_vec()))
    }
}

impl Attributes {
    /// The bytes of all of them.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The value of an attribute, which must be there and of this length.
    pub(crate) fn value<const BYTES: usize>(&self, kind: u16) -> io::Result<[u8; BYTES]> {
        let value = attribute(&self.0, kind).and_then(|value| value.try_into().ok());
        value.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

    use super::*;

    #[test]
    fn attributes_are_found_again_by_kind_and_length() {
        let attributes = vec![DefaultNla::new(1, vec![7, 0]), DefaultNla::new(2, b"veth\0".to_vec())];
        let request = Request { family: 30, command: 1, attributes };
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        assert_eq!(bytes.len(), 4 + 8 + 12);
        let Ok(answer) = Attributes::deserialize(&NetlinkHeader::default(), &bytes);
        assert_eq!(answer.value::<2>(1).unwrap(), [7, 0]);
        assert_eq!(&answer.value::<5>(2).unwrap(), b"veth\0");
        assert!(answer.value::<4>(1).is_err() && answer.value::<2>(3).is_err());
    }

    #[test]
    fn a_family_that_the_kernel_does_not_have_is_not_found() {
        let error = Family::find("no such family").err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
