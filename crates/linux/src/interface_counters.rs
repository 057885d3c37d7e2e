//! Counters of all interfaces of a network namespace in one request (rtnetlink, a dump of `RTM_GETLINK`): how to see
//! every second which links lose frames, on a host with thousands of them. Names in capitals are those of
//! `linux/if_link.h`.

use std::convert::Infallible;
use std::io;

use netlink_packet_core::{NetlinkDeserializable, NetlinkHeader};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::dump::Dump;
use crate::netlink::{RequestSocket, attribute, attributes, may_be_a_name, text_of, u32_of, u64_of};

/// `struct ifinfomsg`, in front of the attributes, and where it holds the index and the flags.
const HEADER_BYTES: usize = 16;
const INDEX_OFFSET: usize = 4;
const FLAGS_OFFSET: usize = 8;

const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_CARRIER_CHANGES: u16 = 35;
const IFLA_INFO_KIND: u16 = 1;

/// An interface, and its counters since it was created (`struct rtnl_link_stats64`). Drivers add some of them up from
/// others in their own ways; where a driver has it, [`crate::link_statistics`] is defined by the standard of Ethernet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounters {
    /// Its index in the kernel, which stays the same when the interface is renamed.
    pub index: u32,
    /// Its name now.
    pub name: String,
    /// What makes a virtual interface, such as `veth` or `bridge` (`IFLA_INFO_KIND`); `None` for others.
    pub kind: Option<String>,
    /// Whether somebody has set it up (`IFF_UP`).
    pub up: bool,
    /// Whether it has a carrier, and so the other end of the cable is there (`IFF_LOWER_UP`).
    pub carrier: bool,
    /// How often the carrier came or went (`IFLA_CARRIER_CHANGES`), modulo 2^32.
    pub carrier_changes: Option<u32>,
    /// Frames received without an error.
    pub rx_packets: u64,
    /// Bytes of these frames, in most drivers without the check sequence.
    pub rx_bytes: u64,
    /// Frames received with any error.
    pub rx_errors: u64,
    /// Frames received with a wrong check sequence.
    pub rx_crc_errors: u64,
    /// Frames received that were not whole bytes.
    pub rx_frame_errors: u64,
    /// Frames received that were too short or too long.
    pub rx_length_errors: u64,
    /// Frames dropped by the kernel after they were received.
    pub rx_dropped: u64,
    /// Frames that the device dropped because the host was too slow.
    pub rx_missed_errors: u64,
    /// Frames handed to the driver and sent, multicast among them.
    pub tx_packets: u64,
    /// Bytes of these frames.
    pub tx_bytes: u64,
    /// Frames that could not be sent for any error.
    pub tx_errors: u64,
    /// Frames dropped before they were sent.
    pub tx_dropped: u64,
}

/// A socket for these requests. It belongs to the network namespace in which it was opened, wherever it is used.
pub struct InterfaceCounterSocket(RequestSocket);

impl InterfaceCounterSocket {
    /// Opens one in the network namespace of the calling thread.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open() -> io::Result<InterfaceCounterSocket> {
        RequestSocket::open(NETLINK_ROUTE).map(InterfaceCounterSocket)
    }

    /// All interfaces of the namespace, up or down.
    ///
    /// # Errors
    /// Those of the system, and if an answer does not have the form that it should have.
    pub fn all(&self) -> io::Result<Dump<InterfaceCounters>> {
        // Without IFLA_EXT_MASK, the kernel leaves out what is large: virtual functions, and VLANs of bridges. It has no
        // mask that leaves out more of a link and keeps the counters.
        let Dump { answers, consistent } =
            self.0.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
        let answers: Option<Vec<_>> = answers.into_iter().map(|Link(counters)| counters).collect();
        Ok(Dump { answers: answers.ok_or(io::ErrorKind::InvalidData)?, consistent })
    }

    /// The interface with this name; `None` if there is none.
    ///
    /// # Errors
    /// See [`InterfaceCounterSocket::all`].
    pub fn named(&self, name: &str) -> io::Result<Option<InterfaceCounters>> {
        if !may_be_a_name(name) {
            return Ok(None);
        }
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_owned()));
        match self.0.request(RouteNetlinkMessage::GetLink(message), 0) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(error),
            Ok(Some(Link(Some(counters)))) => Ok(Some(counters)),
            Ok(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// One answer; `None` if it has no counters. Only what is needed is read of it, because there are thousands a second,
/// and because a link has many more attributes, whose forms change from one kernel to the next.
struct Link(Option<InterfaceCounters>);

impl NetlinkDeserializable for Link {
    type Error = Infallible;

    fn deserialize(_: &NetlinkHeader, payload: &[u8]) -> Result<Link, Infallible> {
        Ok(Link(parsed(payload)))
    }
}

fn parsed(payload: &[u8]) -> Option<InterfaceCounters> {
    let flags = u32_of(payload.get(FLAGS_OFFSET..)?)?;
    let has = |flag: libc::c_int| flags & flag.cast_unsigned() != 0;
    let mut interface = InterfaceCounters {
        index: u32_of(payload.get(INDEX_OFFSET..)?)?,
        up: has(libc::IFF_UP),
        carrier: has(libc::IFF_LOWER_UP),
        ..InterfaceCounters::default()
    };
    let mut counted = false;
    for (kind, value) in attributes(payload.get(HEADER_BYTES..)?) {
        match kind {
            IFLA_IFNAME => interface.name = text_of(value),
            IFLA_LINKINFO => interface.kind = attribute(value, IFLA_INFO_KIND).map(text_of),
            IFLA_CARRIER_CHANGES => interface.carrier_changes = u32_of(value),
            IFLA_STATS64 => {
                count(&mut interface, value)?;
                counted = true;
            }
            _ => {}
        }
    }
    (counted && !interface.name.is_empty()).then_some(interface)
}

/// Reads `struct rtnl_link_stats64`, to which newer kernels append.
fn count(interface: &mut InterfaceCounters, statistics: &[u8]) -> Option<()> {
    let counter = |place: usize| u64_of(statistics.get(place * size_of::<u64>()..)?);
    interface.rx_packets = counter(0)?;
    interface.tx_packets = counter(1)?;
    interface.rx_bytes = counter(2)?;
    interface.tx_bytes = counter(3)?;
    interface.rx_errors = counter(4)?;
    interface.tx_errors = counter(5)?;
    interface.rx_dropped = counter(6)?;
    interface.tx_dropped = counter(7)?;
    interface.rx_length_errors = counter(10)?;
    interface.rx_crc_errors = counter(12)?;
    interface.rx_frame_errors = counter(13)?;
    interface.rx_missed_errors = counter(15)?;
    Some(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

    use super::*;
    use proptest::prelude::*;

    fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = (value.len() as u16 + 4).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn header() -> Vec<u8> {
        let words = [0, 12, (libc::IFF_UP | libc::IFF_LOWER_UP).cast_unsigned(), 0];
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// Counter n is 100 + n.
    fn statistics(counters: u64) -> Vec<u8> {
        let values: Vec<u8> = (0..counters).flat_map(|place| (100 + place).to_ne_bytes()).collect();
        attribute_of(IFLA_STATS64, &values)
    }

    #[test]
    fn each_counter_is_read_from_its_place() {
        let kind = attribute_of(IFLA_INFO_KIND, b"veth");
        let rest = [
            attribute_of(IFLA_IFNAME, b"eth0\0"),
            attribute_of(999, &[1]),
            attribute_of(IFLA_LINKINFO | 0x8000, &kind),
            statistics(25),
            attribute_of(IFLA_CARRIER_CHANGES, &7_u32.to_ne_bytes()),
        ];
        let expected = InterfaceCounters {
            index: 12,
            name: "eth0".to_owned(),
            kind: Some("veth".to_owned()),
            up: true,
            carrier: true,
            carrier_changes: Some(7),
            rx_packets: 100,
            rx_bytes: 102,
            rx_errors: 104,
            rx_crc_errors: 112,
            rx_frame_errors: 113,
            rx_length_errors: 110,
            rx_dropped: 106,
            rx_missed_errors: 115,
            tx_packets: 101,
            tx_bytes: 103,
            tx_errors: 105,
            tx_dropped: 107,
        };
        assert_eq!(parsed(&[header(), rest.concat()].concat()), Some(expected));
    }

    #[test]
    fn a_link_without_name_or_counters_is_none() {
        let name = attribute_of(IFLA_IFNAME, b"eth0\0");
        assert_eq!(parsed(&[header(), name.clone()].concat()), None);
        assert_eq!(parsed(&[header(), statistics(24)].concat()), None);
        assert_eq!(parsed(&[header(), name.clone(), statistics(15)].concat()), None, "too few");
        assert!(parsed(&[header(), name, statistics(16)].concat()).is_some());
        assert_eq!(parsed(&header()[..11]), None);
    }

    #[test]
    fn loopback_is_among_all_and_found_by_its_name() {
        let socket = InterfaceCounterSocket::open().unwrap();
        let loopback = socket.all().unwrap().answers.into_iter().find(|interface| interface.name == "lo");
        let alone = socket.named("lo").unwrap().unwrap();
        assert_eq!((alone.index, alone.kind.clone()), (1, None));
        assert_eq!(loopback.unwrap().index, 1);
        for unknown in ["no-such-thing", "", &"long".repeat(20_000)] {
            assert_eq!(socket.named(unknown).unwrap(), None);
        }
        assert!(socket.named("lo").is_ok(), "the socket is in step again");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = parsed(&bytes);
            let _ = parsed(&[header(), bytes.clone()].concat());
            let _ = count(&mut InterfaceCounters::default(), &bytes);
        }
    }
}
