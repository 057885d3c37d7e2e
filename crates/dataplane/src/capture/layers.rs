//! Takes a frame apart from its first bytes: the Linkmend header, if it is on the link, and the original frame behind
//! it.

use linkmend_control::Side;
use linkmend_control::capture::CapturedFrame;
use linkmend_protocol::wire::{self, ADDRESSES_BYTES, Decapsulation, LinkFrame, Untagged, ethertype};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(super) const ICMP: u8 = 1;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const ICMPV6: u8 = 58;
const SCTP: u8 = 132;
/// IPv6 extension headers that are skipped: hop-by-hop, routing, destination options (RFC 8200, section 4).
const IPV6_EXTENSIONS: [u8; 3] = [0, 43, 60];
const IPV6_FRAGMENT: u8 = 44;
/// The largest number of extension headers that are skipped; nobody sends more.
const IPV6_EXTENSIONS_MAX: usize = 8;

/// A frame taken apart.
#[derive(Debug, Clone)]
pub struct Layers {
    /// The frame on the link; `None` on the inner port, where Linkmend's EtherTypes have no meaning.
    pub link: Option<LinkFrame>,
    /// The tag behind its header, on a link with a key.
    pub(super) tag: Option<u32>,
    /// Destination and source address.
    pub(super) macs: Option<([u8; 6], [u8; 6])>,
    /// EtherType on the wire.
    pub(super) wire_ethertype: Option<u16>,
    /// EtherType of the original frame, behind its VLAN tags. `None` for control frames.
    pub(super) ethertype: Option<u16>,
    /// VLAN identifiers, the outer one first.
    pub(super) vlans: Vec<u16>,
    /// IP addresses, or the IPv4 addresses in an ARP frame.
    pub(super) addresses: Option<(IpAddr, IpAddr)>,
    /// Protocol over IP.
    pub(super) protocol: Option<u8>,
    /// Source and destination port of TCP, UDP or SCTP.
    pub(super) ports: Option<(u16, u16)>,
}

impl Layers {
    /// Takes a captured frame apart.
    pub fn of(frame: &CapturedFrame) -> Layers {
        Self::parse(frame.port, frame.is_tagged, &frame.bytes)
    }

    /// Takes apart a frame that was seen on `port`, of a link with a key if `is_tagged`. Parts that are cut off or make no sense
    /// are absent.
    pub fn parse(port: Side, is_tagged: bool, frame: &[u8]) -> Layers {
        let mut link = port.is_on_link().then(|| wire::parse(frame));
        let tag = link.as_mut().filter(|_| is_tagged).and_then(|link| take_tag(link, frame));
        let mut layers = Layers {
            link,
            tag,
            macs: macs(frame),
            wire_ethertype: u16_at(frame, ADDRESSES_BYTES),
            ethertype: None,
            vlans: Vec::new(),
            addresses: None,
            protocol: None,
            ports: None,
        };
        if let Some((ethertype, payload)) = original(layers.link.as_ref(), frame) {
            layers.untag(ethertype, payload);
        }
        layers
    }

    fn untag(&mut self, ethertype: u16, payload: &[u8]) {
        let Untagged { tags, ethertype, payload } = Untagged::of_payload(ethertype, payload);
        self.vlans.extend(tags.into_iter().flatten().map(|tag| tag & 0x0fff));
        self.ethertype = Some(ethertype);
        match ethertype {
            ethertype::IPV4 => self.ipv4(payload),
            ethertype::IPV6 => self.ipv6(payload),
            ethertype::ARP => {
                if let (Some(source), Some(target)) = (ipv4_at(payload, 14), ipv4_at(payload, 24)) {
                    self.addresses = Some((source.into(), target.into()));
                }
            }
            _ => {}
        }
    }

    fn ipv4(&mut self, packet: &[u8]) {
        let (Some(source), Some(destination)) = (ipv4_at(packet, 12), ipv4_at(packet, 16)) else { return };
        self.addresses = Some((source.into(), destination.into()));
        self.protocol = packet.get(9).copied();
        let first_fragment = u16_at(packet, 6).is_some_and(|field| field & 0x1fff == 0);
        let header_bytes = usize::from(packet[0] & 0x0f) * 4;
        if first_fragment {
            self.transport(packet.get(header_bytes..).unwrap_or_default());
        }
    }

    fn ipv6(&mut self, packet: &[u8]) {
        let (Some(source), Some(destination)) = (ipv6_at(packet, 8), ipv6_at(packet, 24)) else { return };
        self.addresses = Some((source.into(), destination.into()));
        let Some(mut next) = packet.get(6).copied() else { return };
        let mut rest = packet.get(40..).unwrap_or_default();
        for _ in 0..IPV6_EXTENSIONS_MAX {
            let (Some(&following), Some(&length)) = (rest.first(), rest.get(1)) else { break };
            let bytes = if IPV6_EXTENSIONS.contains(&next) {
                8 + 8 * usize::from(length)
            } else if next == IPV6_FRAGMENT {
                if u16_at(rest, 2).is_none_or(|field| field & 0xfff8 != 0) {
                    // A later fragment does not contain the ports of what it carries.
                    self.protocol = Some(following);
                    return;
                }
                8
            } else {
                break;
            };
            next = following;
            rest = rest.get(bytes..).unwrap_or_default();
        }
        self.protocol = Some(next);
        self.transport(rest);
    }

    fn transport(&mut self, segment: &[u8]) {
        if matches!(self.protocol, Some(TCP | UDP | SCTP))
            && let (Some(source), Some(destination)) = (u16_at(segment, 0), u16_at(segment, 2))
        {
            self.ports = Some((source, destination));
        }
    }
}

/// The tag behind the header of a host's frame, which belongs to what is to be removed.
fn take_tag(link: &mut LinkFrame, frame: &[u8]) -> Option<u32> {
    let (LinkFrame::Data { decapsulation, .. } | LinkFrame::Acknowledging { decapsulation, .. }) = link
    else {
        return None;
    };
    let (tag, without) = wire::without_tag(frame, *decapsulation)?;
    *decapsulation = without;
    Some(u32::from_be_bytes(tag))
}

/// EtherType and payload of the host's frame; `None` if there is none.
fn original<'a>(link: Option<&LinkFrame>, frame: &'a [u8]) -> Option<(u16, &'a [u8])> {
    let restored = |removes: usize, ethertype: Option<u16>| {
        let at = ADDRESSES_BYTES + removes;
        match ethertype {
            Some(ethertype) => Some((ethertype, frame.get(at..)?)),
            None => Some((u16_at(frame, at)?, frame.get(at + 2..)?)),
        }
    };
    match link {
        None | Some(LinkFrame::Foreign) => restored(0, None),
        Some(
            LinkFrame::Data { decapsulation, .. }
            | LinkFrame::Acknowledging { decapsulation, .. }
            | LinkFrame::Escaped(decapsulation),
        ) => {
            let Decapsulation { removes, ethertype } = *decapsulation;
            restored(removes, ethertype)
        }
        Some(LinkFrame::Control(_) | LinkFrame::InTime | LinkFrame::Malformed) => None,
    }
}

fn macs(frame: &[u8]) -> Option<([u8; 6], [u8; 6])> {
    Some((frame.get(..6)?.try_into().ok()?, frame.get(6..12)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn ipv4_at(bytes: &[u8], at: usize) -> Option<Ipv4Addr> {
    let octets: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(octets.into())
}

fn ipv6_at(bytes: &[u8], at: usize) -> Option<Ipv6Addr> {
    let octets: [u8; 16] = bytes.get(at..at + 16)?.try_into().ok()?;
    Some(octets.into())
}
