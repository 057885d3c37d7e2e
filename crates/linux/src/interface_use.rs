//! What an interface is used for by the machine that it is in.

use crate::login::Login;
use crate::netlink::RequestSocket;
use crate::route;
use netlink_packet_route::address::{AddressAttribute, AddressMessage, AddressScope};
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkInfo, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::IpAddr;

/// Finds the interface of a line of a routing table, if the line is a default route's.
type OfLine = fn(&str) -> Option<&str>;

/// The main routing tables as text, in the network namespace of the calling thread. Over netlink they would come as a
/// whole, and on some machines they have a million entries.
const ROUTES: [(&str, OfLine); 2] = [
    ("/proc/thread-self/net/route", default_route_v4),
    ("/proc/thread-self/net/ipv6_route", default_route_v6),
];

/// A route that answers instead of leading anywhere (`linux/route.h`).
const RTF_REJECT: u32 = 0x200;

/// A use to which an interface is put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InterfaceUse {
    /// It has an address, or an interface on it has, such as a VLAN.
    Address {
        /// The interface on it; `None` if the address is its own.
        on: Option<String>,
        /// One at a time, if there are several.
        address: IpAddr,
        /// Bits of its prefix.
        prefix: u8,
    },
    /// It is part of a bridge, a bond or the like.
    Member {
        /// Name of that.
        of: String,
    },
    /// The default route goes over it.
    DefaultRoute,
    /// A login comes in over it.
    Login {
        /// The other end.
        from: IpAddr,
    },
}

impl fmt::Display for InterfaceUse {
    /// Continues a sentence that begins with the interface.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InterfaceUse::Address { on: None, address, prefix } => {
                write!(f, "has the address {address}/{prefix}")
            }
            InterfaceUse::Address { on: Some(on), address, prefix } => {
                write!(f, "carries `{on}`, which has the address {address}/{prefix}")
            }
            InterfaceUse::Member { of } => write!(f, "belongs to `{of}`"),
            InterfaceUse::DefaultRoute => f.write_str("carries the default route"),
            InterfaceUse::Login { from } => write!(f, "carries the login from {from}"),
        }
    }
}

/// What the interface with this index is used for, also by interfaces on it. A link-local IPv6 address is no use: every
/// interface that is up has one. Neither is an interface of which this machine has both ends, as of a veth pair.
///
/// # Errors
/// Those of the system.
pub fn of_interface(index: u32, login: Option<&Login>) -> io::Result<Vec<InterfaceUse>> {
    let socket = RequestSocket::open(NETLINK_ROUTE)?;
    let links = Links::read(&socket)?;
    let stack = links.stack(index);
    let mut uses: Vec<InterfaceUse> =
        links.master(index).map(|of| InterfaceUse::Member { of }).into_iter().collect();
    for message in dump(&socket, RouteNetlinkMessage::GetAddress(AddressMessage::default()))? {
        let RouteNetlinkMessage::NewAddress(found) = message else { continue };
        let Some(&on) = stack.iter().find(|on| **on == found.header.index) else { continue };
        let is_v6 = found.header.family == AddressFamily::Inet6;
        if is_v6 && found.header.scope == AddressScope::Link {
            continue;
        }
        let own = |attribute: &AddressAttribute| match attribute {
            AddressAttribute::Local(address) => Some((0, *address)),
            AddressAttribute::Address(address) => Some((1, *address)),
            _ => None,
        };
        // Between two points, the other attribute is the far end's.
        let Some((_, address)) = found.attributes.iter().filter_map(own).min_by_key(|(rank, _)| *rank) else {
            continue;
        };
        let on = (on != index).then(|| links.name(on));
        uses.push(InterfaceUse::Address { on, address, prefix: found.header.prefix_len });
    }
    let names: Vec<String> = stack.iter().map(|&on| links.name(on)).collect();
    if ROUTES.iter().any(|&(path, of_line)| carries_default_route(path, of_line, &names)) {
        uses.push(InterfaceUse::DefaultRoute);
    }
    if let Some(login) = login
        && carries(&socket, login, &stack, &names)
    {
        uses.push(InterfaceUse::Login { from: login.from });
    }
    Ok(uses)
}

fn dump(socket: &RequestSocket, request: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
    socket.dump(request).map(|dump| dump.answers)
}

/// Whether what is sent to the other end of a login leaves by one of these interfaces.
fn carries(socket: &RequestSocket, login: &Login, stack: &[u32], names: &[String]) -> bool {
    if let Some(zone) = &login.zone {
        return names.contains(zone);
    }
    let mut request = RouteMessage::default();
    let (family, length, address) = match login.from {
        IpAddr::V4(address) => (AddressFamily::Inet, 32, RouteAddress::Inet(address)),
        IpAddr::V6(address) => (AddressFamily::Inet6, 128, RouteAddress::Inet6(address)),
    };
    (request.header.address_family, request.header.destination_prefix_length) = (family, length);
    request.attributes.push(RouteAttribute::Destination(address));
    // Without a route there is no way back to it.
    let answer = socket.request(RouteNetlinkMessage::GetRoute(request), 0);
    let Ok(Some(RouteNetlinkMessage::NewRoute(route))) = answer else { return false };
    route
        .attributes
        .iter()
        .any(|attribute| matches!(attribute, RouteAttribute::Oif(index) if stack.contains(index)))
}

fn carries_default_route(path: &str, of_line: OfLine, names: &[String]) -> bool {
    // A kernel without this protocol has no such file.
    let Ok(routes) = File::open(path) else { return false };
    BufReader::new(routes)
        .lines()
        .map_while(Result::ok)
        .any(|line| of_line(&line).is_some_and(|interface| names.iter().any(|name| name == interface)))
}

/// The interface of a line of `/proc/net/route`, if it is a default route's.
fn default_route_v4(line: &str) -> Option<&str> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (interface, destination, mask) = (fields.first()?, fields.get(1)?, fields.get(7)?);
    (*destination == "00000000" && *mask == "00000000").then_some(interface)
}

/// The same of `/proc/net/ipv6_route`. The kernel's own route by `lo`, which refuses what no other takes, is none.
fn default_route_v6(line: &str) -> Option<&str> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (destination, length, interface) = (fields.first()?, fields.get(1)?, fields.last()?);
    let flags = u32::from_str_radix(fields.get(8)?, 16).ok()?;
    let leads_out = flags & RTF_REJECT == 0 && destination.bytes().all(|digit| digit == b'0');
    (*length == "00" && leads_out).then_some(interface)
}

/// All interfaces, and how they are stacked.
struct Links(Vec<Link>);

struct Link {
    index: u32,
    name: String,
    /// The interface below it, in this network namespace.
    below: Option<u32>,
    master: Option<u32>,
}

impl Links {
    fn read(socket: &RequestSocket) -> io::Result<Links> {
        let answers = dump(socket, RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
        let links = answers.into_iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewLink(message) => Some(Link::from(&message)),
            _ => None,
        });
        Ok(Links(links.collect()))
    }

    fn name(&self, index: u32) -> String {
        let found = self.0.iter().find(|link| link.index == index);
        found.map_or_else(|| index.to_string(), |link| link.name.clone())
    }

    fn master(&self, index: u32) -> Option<String> {
        let master = self.0.iter().find(|link| link.index == index)?.master?;
        Some(self.name(master))
    }

    /// The interface, and those on it.
    fn stack(&self, index: u32) -> Vec<u32> {
        let mut stack = vec![index];
        let mut next = 0;
        while let Some(&below) = stack.get(next) {
            let on = self.0.iter().filter(|link| link.below == Some(below)).map(|link| link.index);
            let new: Vec<u32> = on.filter(|on| !stack.contains(on)).collect();
            stack.extend(new);
            next += 1;
        }
        stack
    }
}

impl Link {
    fn from(message: &LinkMessage) -> Link {
        let mut link = Link { index: message.header.index, name: String::new(), below: None, master: None };
        let mut stands_on_it = true;
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Link(below) => link.below = Some(*below),
                LinkAttribute::Controller(master) => link.master = Some(*master),
                // The number is that of another network namespace.
                LinkAttribute::LinkNetNsId(_) => stands_on_it = false,
                // For these it is the other end.
                LinkAttribute::LinkInfo(infos) if infos.contains(&LinkInfo::Kind(InfoKind::Veth)) => {
                    stands_on_it = false;
                }
                _ => {}
            }
        }
        link.below = link.below.filter(|_| stands_on_it);
        link
    }
}

/// The uses of an interface of this name; none if there is no such interface.
///
/// # Errors
/// Those of the system.
pub fn of(interface: &str, login: Option<&Login>) -> io::Result<Vec<InterfaceUse>> {
    match route::interface(interface)? {
        Some(facts) => of_interface(facts.index, login),
        None => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_routes_are_told_from_others() {
        let header = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT";
        let to_network = "eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0";
        let default = "eth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0";
        assert_eq!([header, to_network, default, ""].map(default_route_v4), [None, None, Some("eth0"), None]);
        let zeros = "0".repeat(32);
        let v6 = |length: &str, flags: &str, interface: &str| {
            format!("{zeros} {length} {zeros} 00 {zeros} 00000400 00000001 00000000 {flags}     {interface}")
        };
        assert_eq!(default_route_v6(&v6("00", "00000003", "eth0")), Some("eth0"));
        assert_eq!(default_route_v6(&v6("60", "00000003", "eth0")), None);
        assert_eq!(default_route_v6(&v6("00", "00200200", "lo")), None, "it refuses");
        assert_eq!(default_route_v6(""), None);
    }
}
