//! Making, marking and removing a veth pair.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;

const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// An interface that exists.
pub(super) struct Found {
    /// Its alias; empty without one.
    pub(super) alias: String,
}

/// Looks an interface up by name.
pub(super) fn find(interface: &str) -> io::Result<Option<Found>> {
    match request(RouteNetlinkMessage::GetLink(named(interface)), 0) {
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
        Err(error) => Err(error),
        Ok(Some(RouteNetlinkMessage::NewLink(link))) => {
            let alias = link.attributes.into_iter().find_map(|attribute| match attribute {
                LinkAttribute::IfAlias(alias) => Some(alias),
                _ => None,
            });
            Ok(Some(Found { alias: alias.unwrap_or_default() }))
        }
        Ok(_) => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Makes `host` and `peer`, both down.
pub(super) fn create_pair(host: &str, peer: &str, mtu: u32) -> io::Result<()> {
    let mut other = named(peer);
    other.attributes.push(LinkAttribute::Mtu(mtu));
    let mut message = named(host);
    message.attributes.push(LinkAttribute::Mtu(mtu));
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(other))),
    ]));
    request(RouteNetlinkMessage::NewLink(message), NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL).map(drop)
}

/// Writes the alias.
pub(super) fn mark(interface: &str, alias: &str) -> io::Result<()> {
    let mut message = named(interface);
    message.attributes.push(LinkAttribute::IfAlias(alias.to_owned()));
    request(RouteNetlinkMessage::SetLink(message), NLM_F_ACK).map(drop)
}

/// Sets the MTU and brings the interface up.
pub(super) fn bring_up(interface: &str, mtu: u32) -> io::Result<()> {
    let mut message = named(interface);
    message.attributes.push(LinkAttribute::Mtu(mtu));
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    request(RouteNetlinkMessage::SetLink(message), NLM_F_ACK).map(drop)
}

/// Removes the interface, and with it its peer.
pub(super) fn delete(interface: &str) -> io::Result<()> {
    request(RouteNetlinkMessage::DelLink(named(interface)), NLM_F_ACK).map(drop)
}

fn named(interface: &str) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::IfName(interface.to_owned()));
    message
}

fn request(message: RouteNetlinkMessage, flags: u16) -> io::Result<Option<RouteNetlinkMessage>> {
    let socket = Socket::new(NETLINK_ROUTE)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    header.sequence_number = 1;
    let mut packet = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
    packet.finalize();
    let mut bytes = vec![0; packet.buffer_len()];
    packet.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let mut answer = Vec::with_capacity(ANSWER_BYTES_MAX);
    socket.recv(&mut answer, 0)?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
        _ => Ok(None),
    }
}
