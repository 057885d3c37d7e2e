//! Tests expressions against frames, and messages about wrong expressions.

#![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

use super::super::Layers;
use super::Filter;
use linkmend_control::Side;
use linkmend_protocol::wire;
use linkmend_protocol::{DataHeader, Format, Mode, SequenceNumber};

/// TCP from 10.1.2.3:5201 to 10.9.0.1:40000, from 02::1 to 02::2, behind `tags`.
fn tcp(tags: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend(tags);
    frame.extend([8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 1, 2, 3, 10, 9, 0, 1]);
    frame.extend(5201u16.to_be_bytes());
    frame.extend(40000u16.to_be_bytes());
    frame.extend([0; 16]);
    frame
}

fn arp() -> Vec<u8> {
    let mut frame = vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1];
    frame.extend([2, 0, 0, 0, 0, 1, 10, 1, 2, 3, 0, 0, 0, 0, 0, 0, 10, 9, 0, 1]);
    frame
}

/// UDP from port 53 to 9999 over IPv6, behind a hop-by-hop header.
fn udp6() -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 16, 0, 64];
    frame.extend([0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    frame.extend([0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    frame.extend([17, 0, 0, 0, 0, 0, 0, 0, 0, 53, 0x27, 0x0f, 0, 8, 0, 0]);
    frame
}

/// The same frame as it travels on a protected link.
fn protected(frame: &[u8], format: Format) -> Vec<u8> {
    let header = DataHeader {
        sequence: SequenceNumber::new(7, false),
        mode: Mode::Ordered,
        retransmitted: false,
        ack: None,
    };
    let encapsulation = wire::encapsulate(format, &header, frame).unwrap();
    let mut out = frame[..12].to_vec();
    out.extend(encapsulation.bytes());
    out.extend(&frame[12 + usize::from(encapsulation.removes)..]);
    out
}

fn passes(filter: &str, frame: &[u8]) -> bool {
    Filter::parse(filter).unwrap().passes(&Layers::parse(Side::Link, false, frame))
}

#[test]
fn primitives_ask_for_what_they_say() {
    let frame = tcp(&[]);
    for filter in [
        "",
        "ip",
        "tcp",
        "host 10.1.2.3",
        "src host 10.1.2.3",
        "dst host 10.9.0.1",
        "net 10.0.0.0/8",
        "src net 10.1.0.0/16",
        "net 0.0.0.0/0",
        "port 5201",
        "tcp port 40000",
        "tcp src port 5201",
        "portrange 5000-6000",
        "ether proto 0x0800",
        "ether proto ip",
        "ether host 02:00:00:00:00:01",
        "ether dst 2:0:0:0:0:2",
        "not udp",
        "!udp",
        "tcp and (port 1 or port 5201)",
        "udp||tcp&&port 5201",
    ] {
        assert!(passes(filter, &frame), "{filter}");
    }
    for filter in [
        "ip6",
        "udp",
        "arp",
        "icmp",
        "dst host 10.1.2.3",
        "host 10.1.2.4",
        "src net 10.9.0.0/16",
        "net fd00::/8",
        "udp port 5201",
        "dst port 5201",
        "portrange 1-5200",
        "vlan",
        "ether proto 2054",
        "ether src host 02:00:00:00:00:02",
        "not tcp",
        "tcp and not (port 1 or port 5201)",
    ] {
        assert!(!passes(filter, &frame), "{filter}");
    }
}

#[test]
fn the_original_frame_is_looked_at_behind_a_linkmend_header_and_tags() {
    let tagged = tcp(&[0x88, 0xa8, 0x20, 9, 0x81, 0, 0x60, 7]);
    for frame in [protected(&tcp(&[]), Format::Transparent), protected(&tcp(&[]), Format::Compact)] {
        assert!(passes("host 10.1.2.3 and tcp port 5201 and ether proto ip", &frame));
        assert_eq!(passes("ether proto 0x88b5", &frame), frame[12] == 0x88);
    }
    for frame in [tagged.clone(), protected(&tagged, Format::Transparent)] {
        assert!(passes("vlan and vlan 7 and vlan 9 and not vlan 8 and tcp port 5201", &frame));
    }
}

#[test]
fn ipv6_and_arp_have_addresses_too() {
    assert!(passes("ip6 and udp port 53 and host fd77::1 and net fd77::/64 and not icmp6", &udp6()));
    assert!(!passes("host fd77::3 or net 10.0.0.0/8", &udp6()));
    assert!(passes("arp and src host 10.1.2.3 and dst host 10.9.0.1", &arp()));
}

#[test]
fn cut_off_frames_pass_no_filter_that_needs_what_is_missing() {
    for frame in [tcp(&[]), arp(), udp6(), protected(&tcp(&[0x81, 0, 0, 7]), Format::Transparent)] {
        for length in 0..frame.len() {
            // The test is that this does not panic; nothing can be said about the beginning of a frame alone.
            let _ = passes(
                "tcp port 5201 or host 10.1.2.3 or vlan 7 or ether host 02:00:00:00:00:01",
                &frame[..length],
            );
        }
        assert!(!passes("ip or ip6 or arp", &frame[..13]));
    }
}

#[test]
fn errors_name_the_word_and_what_is_understood() {
    let said = |filter: &str| Filter::parse(filter).unwrap_err().to_string();
    assert_eq!(
        said("tcp and prot 80"),
        "filter `tcp and prot 80`: `prot` (word 3) is not understood, expected host, net, port, portrange (with src or \
         dst before them, tcp or udp before ports), ether proto, ether host, vlan, ip, ip6, arp, tcp, udp, icmp, icmp6, \
         not and parentheses"
    );
    assert_eq!(
        said("port http"),
        "filter `port http`: `http` (word 2) is not understood, expected a port number"
    );
    assert_eq!(
        said("host 10.0.0"),
        "filter `host 10.0.0`: `10.0.0` (word 2) is not understood, expected an IPv4 or IPv6 address"
    );
    assert_eq!(said("(tcp"), "filter `(tcp`: it ends too early, expected `and`, `or` or `)`");
    assert_eq!(
        said("tcp udp"),
        "filter `tcp udp`: `udp` (word 2) is not understood, expected `and`, `or` or the end"
    );
    for wrong in [
        "net 10.0.0.0/33",
        "tcp host 10.0.0.1",
        "src",
        "ether",
        "ether host 02:00",
        "portrange 9-8",
        "port 65536",
        "ether proto 0x12345",
        "and",
        "not",
        "()",
        "tcp)",
        "port +5",
    ] {
        assert!(Filter::parse(wrong).is_err(), "{wrong}");
    }
    assert!(Filter::parse(&"(".repeat(100_000)).is_err());
    assert!(Filter::parse(&"not ".repeat(100_000)).is_err());
}
