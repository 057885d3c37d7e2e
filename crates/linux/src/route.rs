//! Requests to rtnetlink: the facts about an interface, its XDP program, and its promiscuous mode.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage, LinkXdp, XdpAttached};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::netlink::RequestSocket;

/// How an XDP program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum XdpMode {
    /// In the driver, before the kernel makes a socket buffer of the frame.
    Native,
    /// In the network stack, on any interface.
    Generic,
}

impl XdpMode {
    fn flag(self) -> u32 {
        match self {
            XdpMode::Generic => 1 << 1,
            XdpMode::Native => 1 << 2,
        }
    }
}

impl std::fmt::Display for XdpMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            XdpMode::Native => "native",
            XdpMode::Generic => "generic",
        })
    }
}

/// An XDP program found on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachedProgram {
    /// Its id in the kernel.
    pub id: u32,
    /// How it runs.
    pub mode: XdpMode,
}

/// Facts about an interface at the time of the request.
#[derive(Clone, Debug)]
pub struct InterfaceFacts {
    /// Its index in the kernel, which stays the same when the interface is renamed.
    pub index: u32,
    /// Bytes, without the Ethernet header.
    pub mtu: u32,
    /// The largest MTU that its driver takes, in bytes; `None` if the driver sets no limit, or the kernel does not say.
    pub mtu_max: Option<u32>,
    /// The queueing discipline of what the kernel sends over it (tc(8)), like `noqueue`; empty if the kernel does not say.
    pub queueing_discipline: String,
    /// The source address of its own frames.
    pub mac: [u8; 6],
    /// Whether it is up.
    pub up: bool,
    /// Whether somebody has made it promiscuous, packet sockets aside.
    pub promiscuous: bool,
    /// Whether it has a carrier, and so the other end of the cable is there.
    pub carrier: bool,
    /// Whether its frames are Ethernet frames.
    pub ethernet: bool,
    /// The XDP program on it.
    pub program: Option<AttachedProgram>,
    /// What somebody wrote about it; empty without.
    pub alias: String,
}

/// Sends one request and returns the first message of the answer (`None` for a bare success).
pub(crate) fn request(message: RouteNetlinkMessage, flags: u16) -> io::Result<Option<RouteNetlinkMessage>> {
    RequestSocket::open(NETLINK_ROUTE)?.request(message, flags)
}

/// Looks an interface up by name. `None` when there is no such interface.
///
/// # Errors
/// Those of the system, except the one for a missing interface.
pub fn interface(name: &str) -> io::Result<Option<InterfaceFacts>> {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::IfName(name.to_owned()));
    look_up(message)
}

/// Looks an interface up by its index, which stays the same when the interface is renamed. `None` if it is gone.
///
/// # Errors
/// See [`interface`].
pub fn interface_by_index(index: u32) -> io::Result<Option<InterfaceFacts>> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    look_up(message)
}

fn look_up(message: LinkMessage) -> io::Result<Option<InterfaceFacts>> {
    let answer = match request(RouteNetlinkMessage::GetLink(message), 0) {
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(None),
        other => other?,
    };
    let Some(RouteNetlinkMessage::NewLink(link)) = answer else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let mut facts = InterfaceFacts {
        index: link.header.index,
        mtu: 0,
        mtu_max: None,
        queueing_discipline: String::new(),
        mac: [0; 6],
        up: link.header.flags.contains(LinkFlags::Up),
        promiscuous: link.header.flags.contains(LinkFlags::Promisc),
        carrier: link.header.flags.contains(LinkFlags::LowerUp),
        ethernet: u16::from(link.header.link_layer_type) == libc::ARPHRD_ETHER,
        program: None,
        alias: String::new(),
    };
    for attribute in link.attributes {
        match attribute {
            LinkAttribute::Mtu(mtu) => facts.mtu = mtu,
            LinkAttribute::MaxMtu(mtu) => facts.mtu_max = (mtu > 0).then_some(mtu),
            LinkAttribute::Qdisc(name) => facts.queueing_discipline = name,
            LinkAttribute::Address(address) => {
                facts.mac = address.as_slice().try_into().unwrap_or_default();
            }
            LinkAttribute::Xdp(xdp) => facts.program = attached_program(&xdp),
            LinkAttribute::IfAlias(alias) => facts.alias = alias,
            _ => {}
        }
    }
    Ok(Some(facts))
}

fn attached_program(xdp: &[LinkXdp]) -> Option<AttachedProgram> {
    let mut mode = XdpMode::Native;
    let mut id = None;
    for attribute in xdp {
        match attribute {
            LinkXdp::Attached(XdpAttached::None) => return None,
            LinkXdp::Attached(XdpAttached::SocketBuffer) => mode = XdpMode::Generic,
            LinkXdp::ProgId(program) => id = Some(*program),
            _ => {}
        }
    }
    id.map(|id| AttachedProgram { id, mode })
}

/// Attaches `program` (or, with `None`, detaches what is there) in one step.
///
/// This uses netlink and not a BPF link, because a link would end with the process, and the program must not.
///
/// # Errors
/// Those of the system: without CAP_NET_ADMIN, or where the driver cannot run it in this mode.
pub fn set_xdp_program(
    interface_index: u32,
    program: Option<BorrowedFd<'_>>,
    mode: XdpMode,
) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = interface_index;
    let fd = program.map_or(-1, |program| program.as_raw_fd());
    message.attributes.push(LinkAttribute::Xdp(vec![LinkXdp::Fd(fd), LinkXdp::Flags(mode.flag())]));
    request(RouteNetlinkMessage::SetLink(message), 0).map(drop)
}

/// Sets whether the interface receives frames with any destination address, also after this process has ended.
///
/// # Errors
/// Without CAP_NET_ADMIN, or without such an interface.
pub fn set_promiscuous(interface_index: u32, promiscuous: bool) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = interface_index;
    message.header.change_mask = LinkFlags::Promisc;
    if promiscuous {
        message.header.flags = LinkFlags::Promisc;
    }
    request(RouteNetlinkMessage::SetLink(message), 0).map(drop)
}
