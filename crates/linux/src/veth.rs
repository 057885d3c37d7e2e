//! Creates, marks and removes veth pairs.

use crate::route::request;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use std::io;

/// Creates `host` and `peer`, both down.
///
/// # Errors
/// Without CAP_NET_ADMIN, or where one of the names is taken.
pub fn create_pair(host: &str, peer: &str, mtu: u32) -> io::Result<()> {
    let mut other = named(peer);
    other.attributes.push(LinkAttribute::Mtu(mtu));
    let mut message = named(host);
    message.attributes.push(LinkAttribute::Mtu(mtu));
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(other))),
    ]));
    request(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL).map(drop)
}

/// Sets the alias of an interface.
///
/// # Errors
/// Without CAP_NET_ADMIN, or without such an interface.
pub fn mark(interface: &str, alias: &str) -> io::Result<()> {
    let mut message = named(interface);
    message.attributes.push(LinkAttribute::IfAlias(alias.to_owned()));
    request(RouteNetlinkMessage::SetLink(message), 0).map(drop)
}

/// Sets the MTU and brings the interface up.
///
/// # Errors
/// See [`mark`]; also if the MTU is out of range.
pub fn bring_up(interface: &str, mtu: u32) -> io::Result<()> {
    let mut message = named(interface);
    message.attributes.push(LinkAttribute::Mtu(mtu));
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    request(RouteNetlinkMessage::SetLink(message), 0).map(drop)
}

/// Brings the interface down, which takes the carrier from its peer.
///
/// # Errors
/// See [`mark`].
pub fn take_down(interface: &str) -> io::Result<()> {
    let mut message = named(interface);
    message.header.change_mask = LinkFlags::Up;
    request(RouteNetlinkMessage::SetLink(message), 0).map(drop)
}

/// Removes the interface together with its peer.
///
/// # Errors
/// See [`mark`].
pub fn delete(interface: &str) -> io::Result<()> {
    request(RouteNetlinkMessage::DelLink(named(interface)), 0).map(drop)
}

fn named(interface: &str) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::IfName(interface.to_owned()));
    message
}
