//! Filter expressions: the part of tcpdump's language (pcap-filter(7)) that asks for addresses, ports and protocols.
//!
//! ```text
//! expression  = term { ("or" | "||") term }
//! term        = factor { ("and" | "&&") factor }
//! factor      = ("not" | "!") factor | "(" expression ")" | primitive
//! primitive   = [side] "host" ADDRESS | [side] "net" ADDRESS["/"BITS]
//!             | ["tcp" | "udp"] [side] "port" NUMBER | ["tcp" | "udp"] [side] "portrange" NUMBER"-"NUMBER
//!             | "ether" "proto" NUMBER | "ether" [side "host" is "src" or "dst"] MAC-ADDRESS
//!             | "vlan" [NUMBER] | "ip" | "ip6" | "arp" | "tcp" | "udp" | "icmp" | "icmp6"
//! side        = "src" | "dst"
//! ```
//!
//! All primitives but `ether proto` look at the original frame, even behind a Linkmend header and VLAN tags; `ether
//! proto` also looks at the EtherType on the wire. Unlike tcpdump's, `vlan` does not change what follows it.

mod parse;
#[cfg(test)]
mod tests;

use super::layers::{self, Layers};
use linkmend_protocol::wire::ethertype;
use std::net::IpAddr;

pub use parse::FilterError;

/// A parsed filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter(Option<Expression>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expression {
    Or(Box<Expression>, Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    Test(Test),
}

/// Which of a frame's two addresses or ports is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Source,
    Destination,
    Either,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Test {
    Network { side: Side, address: IpAddr, bits: u8 },
    Port { side: Side, protocol: Option<u8>, low: u16, high: u16 },
    EtherProtocol(u16),
    EtherHost { side: Side, address: [u8; 6] },
    Vlan(Option<u16>),
    Ethertype(u16),
    Protocol(u8),
}

impl Filter {
    /// Parses an expression; an empty one lets everything pass.
    ///
    /// # Errors
    /// [`FilterError`], which names the word that is not understood.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        parse::parse(text).map(Filter)
    }

    /// Whether the frame passes.
    pub fn passes(&self, layers: &Layers) -> bool {
        self.0.as_ref().is_none_or(|expression| expression.holds(layers))
    }
}

impl Side {
    /// Whether `test` holds for the chosen side of `(source, destination)`.
    fn any<T: Copy>(self, (source, destination): (T, T), test: impl Fn(T) -> bool) -> bool {
        match self {
            Side::Source => test(source),
            Side::Destination => test(destination),
            Side::Either => test(source) || test(destination),
        }
    }
}

impl Expression {
    fn holds(&self, layers: &Layers) -> bool {
        match self {
            Expression::Or(left, right) => left.holds(layers) || right.holds(layers),
            Expression::And(left, right) => left.holds(layers) && right.holds(layers),
            Expression::Not(inner) => !inner.holds(layers),
            Expression::Test(test) => test.holds(layers),
        }
    }
}

impl Test {
    fn holds(&self, layers: &Layers) -> bool {
        match *self {
            Test::Network { side, address, bits } => layers
                .addresses
                .is_some_and(|both| side.any(both, |candidate| same_network(candidate, address, bits))),
            Test::Port { side, protocol, low, high } => {
                protocol.is_none_or(|protocol| layers.protocol == Some(protocol))
                    && layers.ports.is_some_and(|both| side.any(both, |port| (low..=high).contains(&port)))
            }
            Test::EtherProtocol(ethertype) => {
                layers.wire_ethertype == Some(ethertype) || layers.ethertype == Some(ethertype)
            }
            Test::EtherHost { side, address } => layers.macs.is_some_and(|(destination, source)| {
                side.any((source, destination), |candidate| candidate == address)
            }),
            Test::Vlan(None) => !layers.vlans.is_empty(),
            Test::Vlan(Some(id)) => layers.vlans.contains(&id),
            Test::Ethertype(ethertype) => layers.ethertype == Some(ethertype),
            Test::Protocol(protocol) => {
                // As in tcpdump, `icmp` means IPv4 only, and `icmp6` IPv6.
                let family = match protocol {
                    layers::ICMP => layers.ethertype == Some(ethertype::IPV4),
                    layers::ICMPV6 => layers.ethertype == Some(ethertype::IPV6),
                    _ => true,
                };
                family && layers.protocol == Some(protocol)
            }
        }
    }
}

fn same_network(one: IpAddr, other: IpAddr, bits: u8) -> bool {
    let of = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 4),
        IpAddr::V6(address) => (address.to_bits(), 6),
    };
    let ((one, family), (other, other_family)) = (of(one), of(other));
    let differing = (one ^ other).checked_shr(128 - u32::from(bits)).unwrap_or(0);
    family == other_family && differing == 0
}
