//! The test frames: whatever may occur on an Ethernet, and especially what could be mistaken for Linkmend's own frames.

use super::build::{arp, filled, filler, neighbour_solicitation, udp_packet};
use super::{TestFrame, source_of};
use crate::packet::FramePath;
use linkmend_protocol::wire::{MAGIC, ethertype as kind};

/// Payload that makes a frame of the smallest size, 60 bytes.
const SHORTEST: usize = 46;
const BROADCAST: [u8; 6] = [0xff; 6];
const LLDP_GROUP: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x0e];
const SPANNING_TREE_GROUP: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0];
const SLOW_PROTOCOLS_GROUP: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 2];
const SOLICITED_NODE_GROUP: [u8; 6] = [0x33, 0x33, 0xff, 0, 0, 0x99];
const MULTICAST: [u8; 6] = [0x01, 0x00, 0x5e, 0x01, 0x02, 0x03];
const NO_ONE: [u8; 6] = [0x02, 0, 0, 0, 0, 0x77];

/// All test frames, for the addresses and the MTU of `path`.
pub fn catalogue(path: &FramePath) -> Vec<TestFrame> {
    let mut list = List { frames: Vec::new(), to: path.to.mac, mtu: path.mtu as usize };
    list.add_neighbours();
    list.add_tags();
    list.add_lengths();
    list.add_sizes();
    list.add_ethertypes();
    for ethertype in [kind::TRANSPARENT, kind::COMPACT] {
        list.add_imitations(ethertype);
    }
    list.frames
}

struct List {
    frames: Vec<TestFrame>,
    to: [u8; 6],
    mtu: usize,
}

impl List {
    fn add(&mut self, name: impl Into<String>, destination: [u8; 6], ethertype: u16, payload: &[u8]) {
        let mut bytes = destination.to_vec();
        bytes.extend(source_of(self.frames.len()));
        bytes.extend(ethertype.to_be_bytes());
        bytes.extend(payload);
        self.frames.push(TestFrame { name: name.into(), bytes });
    }

    fn add_neighbours(&mut self) {
        let own = |list: &Self| source_of(list.frames.len());
        self.add("ARP request, padded", BROADCAST, kind::ARP, &padded(arp(1, own(self), [0; 6])));
        self.add("ARP request, 42 bytes as veth allows", BROADCAST, kind::ARP, &arp(1, own(self), [0; 6]));
        self.add("ARP reply", self.to, kind::ARP, &padded(arp(2, own(self), self.to)));
        let solicitation = neighbour_solicitation(own(self));
        self.add("IPv6 neighbour solicitation", SOLICITED_NODE_GROUP, kind::IPV6, &solicitation);
        self.add("LLDP", LLDP_GROUP, kind::LLDP, &filled(&[2, 7, 4, 2, b'L', b'M'], SHORTEST));
        self.add("LACP", SLOW_PROTOCOLS_GROUP, kind::SLOW_PROTOCOLS, &filled(&[1, 1], 110));
        self.add("multicast", MULTICAST, kind::IPV4, &udp_packet(SHORTEST));
        self.add("unicast to no one", NO_ONE, kind::IPV4, &udp_packet(SHORTEST));
    }

    fn add_tags(&mut self) {
        let tagged = |tags: &[u16], inner: u16, payload: &[u8]| -> Vec<u8> {
            let mut bytes: Vec<u8> = tags.iter().flat_map(|word| word.to_be_bytes()).collect();
            bytes.extend(inner.to_be_bytes());
            bytes.extend(payload);
            bytes
        };
        let packet = udp_packet(SHORTEST);
        for (name, tci) in
            [("VLAN 7", 7), ("VLAN 4094, priority 7", 0xeffe), ("priority tag, VLAN 0", 0xa000)]
        {
            self.add(format!("802.1Q, {name}"), self.to, kind::VLAN, &tagged(&[tci], kind::IPV4, &packet));
        }
        self.add("802.1Q, drop eligible", self.to, kind::VLAN, &tagged(&[0x1007], kind::IPV6, &packet));
        self.add(
            "802.1Q around ARP",
            self.to,
            kind::VLAN,
            &tagged(&[7], kind::ARP, &arp(2, self.to, self.to)),
        );
        let inner = &[9, kind::VLAN, 7];
        self.add("QinQ, 88A8 + 8100", self.to, kind::SERVICE_VLAN, &tagged(inner, kind::IPV4, &packet));
        self.add("802.1Q twice, 8100 + 8100", self.to, kind::VLAN, &tagged(inner, kind::IPV4, &packet));
        self.add("88A8 alone", self.to, kind::SERVICE_VLAN, &tagged(&[9], kind::IPV4, &packet));
        let disguised = filled(&[0x80, MAGIC[0], MAGIC[1], MAGIC[2]], SHORTEST);
        self.add("802.1Q around 88B5", self.to, kind::VLAN, &tagged(&[7], kind::TRANSPARENT, &disguised));
        self.add(
            "QinQ around 88B5",
            self.to,
            kind::SERVICE_VLAN,
            &tagged(inner, kind::TRANSPARENT, &disguised),
        );
        let full = udp_packet(self.mtu);
        self.add("802.1Q, largest", self.to, kind::VLAN, &tagged(&[7], kind::IPV4, &full));
        let less = udp_packet(self.mtu - 8);
        self.add("QinQ, large", self.to, kind::SERVICE_VLAN, &tagged(inner, kind::IPV4, &less));
    }

    /// IEEE 802.3 frames: below 0x0600 the field is a length, not an EtherType.
    fn add_lengths(&mut self) {
        let spanning_tree = padded(filled(&[0x42, 0x42, 3, 0, 0, 0, 0, 0], 38));
        self.add("802.3 LLC, spanning tree", SPANNING_TREE_GROUP, 38, &spanning_tree);
        let snap = [0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0];
        self.add("802.3 LLC/SNAP", self.to, 100, &filled(&snap, 100));
        self.add("802.3 raw", self.to, SHORTEST as u16, &filled(&[0xff, 0xff], SHORTEST));
        self.add("802.3 of length 0", self.to, 0, &filler(SHORTEST));
        self.add("802.3, largest length", self.to, 1500, &filler(self.mtu.min(1500)));
        self.add("0x05DD, neither length nor EtherType", self.to, 0x05dd, &filler(SHORTEST));
    }

    fn add_sizes(&mut self) {
        for payload in [SHORTEST, SHORTEST + 1, SHORTEST + 2, SHORTEST + 3, 243, 499] {
            self.add(format!("IPv4, {} bytes", payload + 14), self.to, kind::IPV4, &udp_packet(payload));
        }
        for less in [9, 8, 5, 3, 1, 0] {
            let payload = self.mtu - less;
            let name = if payload > 1500 { "jumbo, " } else { "" };
            self.add(format!("{name}IPv4, MTU - {less}"), self.to, kind::IPV4, &udp_packet(payload));
            self.add(format!("{name}88B6, MTU - {less}"), self.to, kind::EXPERIMENTAL_2, &filler(payload));
        }
    }

    fn add_ethertypes(&mut self) {
        let kinds = [
            0x0600,
            kind::IPV4,
            kind::ARP,
            0x1234,
            kind::IPV6,
            kind::MPLS,
            0x8848,
            0x8863,
            kind::PPPOE_SESSION,
            kind::EXPERIMENTAL_2,
            kind::LLDP,
            0x88f7,
            0xffff,
        ];
        for ethertype in kinds {
            self.add(format!("{ethertype:04X} with garbage"), self.to, ethertype, &filler(SHORTEST + 7));
        }
        self.add("1234, all zero", self.to, 0x1234, &[0; SHORTEST]);
        self.add("0800, all ones", self.to, kind::IPV4, &[0xff; SHORTEST]);
    }

    /// Frames by which a host could imitate the other link end: each kind of header, with and without what makes it
    /// plausible.
    fn add_imitations(&mut self, ethertype: u16) {
        let name = |what: String| format!("{ethertype:04X}, {what}");
        let mut add = |what: String, payload: &[u8]| self.add(name(what), self.to, ethertype, payload);
        add("all zero".to_owned(), &[0; SHORTEST]);
        add("all ones".to_owned(), &[0xff; SHORTEST]);
        add("garbage".to_owned(), &filler(SHORTEST));
        for code in 0..8 {
            let explicit = [code, 0, 1, 0x08, 0];
            add(format!("data header, EtherType code {code}"), &filled(&explicit, SHORTEST));
        }
        for flags in [0x08, 0x10, 0x20, 0x38] {
            add(format!("data header, flags {flags:#04x}"), &filled(&[flags | 1, 0x7f, 0xff], SHORTEST));
        }
        for ack in [0x00, 0x40, 0x80, 0xc0] {
            add(format!("data header with ACK {ack:#04x}"), &filled(&[0x41, 0, 2, ack, 0, 1], SHORTEST));
        }
        for control in 0..16 {
            let mut bytes = [0; SHORTEST];
            bytes[0] = 0x80 | control;
            bytes[1..4].copy_from_slice(&MAGIC);
            add(format!("control type {control}, body zero"), &bytes);
            add(format!("control type {control}, body garbage"), &filled(&bytes[..4], SHORTEST));
        }
        add("control type 63".to_owned(), &filled(&[0xbf, MAGIC[0], MAGIC[1], MAGIC[2]], SHORTEST));
        add("control without magic".to_owned(), &filled(&[0x81, 0, 0, 0], SHORTEST));
        let escape = [0xc0, MAGIC[0], MAGIC[1], MAGIC[2]];
        let [high, low] = kind::TRANSPARENT.to_be_bytes();
        let nested: Vec<u8> = escape.iter().chain(&[high, low]).chain(&escape).copied().collect();
        add("escaped".to_owned(), &filled(&escape, SHORTEST));
        add("escaped, escaped inside".to_owned(), &filled(&nested, SHORTEST));
        add("escaped without magic".to_owned(), &filled(&[0xc0, 0, 0, 0], SHORTEST));
        add("escaped, low bits set".to_owned(), &filled(&[0xc5, MAGIC[0], MAGIC[1], MAGIC[2]], SHORTEST));
        let mtu = self.mtu;
        for less in [8, 4, 0] {
            let what = format!("{ethertype:04X}, escaped, MTU - {less}");
            self.add(what, self.to, ethertype, &filled(&escape, mtu - less));
        }
    }
}

/// Zeros up to the smallest size.
fn padded(mut payload: Vec<u8>) -> Vec<u8> {
    payload.resize(payload.len().max(SHORTEST), 0);
    payload
}
