//! Describes a captured frame as text.

use super::class;
use super::layers::{ICMP, ICMPV6, Layers, TCP, UDP};
use linkmend_control::Side;
use linkmend_control::capture::{CapturedFrame, Direction, FrameClass};
use linkmend_protocol::wire::ethertype::{ARP, IPV4, IPV6};
use serde::Serialize;
use std::fmt::Write;
use std::net::IpAddr;

/// A comment for a capture file with what Linkmend knows about the frame; `None` on the inner port.
pub fn comment(frame: &CapturedFrame) -> Option<String> {
    let mut comment = on_link(&Layers::of(frame))?;
    if frame.corrupted {
        comment.push_str("; dropped on purpose");
    }
    Some(comment)
}

/// One line: time (UTC), port, direction, and the frame.
pub fn line(frame: &CapturedFrame) -> String {
    let seconds = frame.at_ns / 1_000_000_000;
    let [hours, minutes, second] = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60];
    let micros = frame.at_ns % 1_000_000_000 / 1000;
    let port = frame.port.word();
    let way = match frame.direction {
        Direction::Inbound => "in ",
        Direction::Outbound => "out",
    };
    let mut line = format!("{hours:02}:{minutes:02}:{second:02}.{micros:06} {port:5} {way} ");
    let layers = Layers::of(frame);
    if let Some(link) = on_link(&layers) {
        let _ = write!(line, "{link}, ");
    }
    original(&mut line, &layers);
    let _ = write!(line, "{} bytes", frame.length);
    if frame.corrupted {
        line.push_str(", dropped on purpose");
    }
    line
}

/// What it is on the link.
fn on_link(layers: &Layers) -> Option<String> {
    let link = layers.link.as_ref()?;
    Some(match layers.tag {
        Some(tag) => format!("{link}, tag {tag:08x}"),
        None => link.to_string(),
    })
}

/// A captured frame for programs: one JSON object. What a frame does not have is `null`.
#[derive(Debug, Serialize)]
pub struct Description {
    /// Time in nanoseconds since 1970.
    at_ns: u64,
    port: Side,
    direction: Direction,
    /// Its length, without frame check sequence.
    length: u32,
    /// Whether injected corruption then dropped it.
    corrupted: bool,
    /// What it is to Linkmend.
    classes: Vec<FrameClass>,
    /// Linkmend's header in words.
    linkmend: Option<String>,
    /// The tag of a host's frame on a link with a key, as hexadecimal digits.
    tag: Option<String>,
    source_mac: Option<String>,
    destination_mac: Option<String>,
    /// Of the host's frame, behind its VLAN tags.
    ethertype: Option<u16>,
    vlans: Vec<u16>,
    source: Option<IpAddr>,
    destination: Option<IpAddr>,
    /// The IP protocol number, of IP packets alone.
    protocol: Option<u8>,
    source_port: Option<u16>,
    destination_port: Option<u16>,
}

/// Describes a frame for programs.
pub fn description(frame: &CapturedFrame) -> Description {
    let layers = Layers::of(frame);
    let mac = |address: [u8; 6]| address.map(|byte| format!("{byte:02x}")).join(":");
    Description {
        at_ns: frame.at_ns,
        port: frame.port,
        direction: frame.direction,
        length: frame.length,
        corrupted: frame.corrupted,
        classes: class::of(&layers),
        linkmend: layers.link.as_ref().map(ToString::to_string),
        tag: layers.tag.map(|tag| format!("{tag:08x}")),
        source_mac: layers.macs.map(|(_, source)| mac(source)),
        destination_mac: layers.macs.map(|(destination, _)| mac(destination)),
        ethertype: layers.ethertype,
        source: layers.addresses.map(|(source, _)| source),
        destination: layers.addresses.map(|(_, destination)| destination),
        protocol: layers.protocol,
        source_port: layers.ports.map(|(source, _)| source),
        destination_port: layers.ports.map(|(_, destination)| destination),
        vlans: layers.vlans,
    }
}

/// Appends the host's frame, as far as the captured bytes contain one.
fn original(line: &mut String, layers: &Layers) {
    let Some(ethertype) = layers.ethertype else { return };
    for vlan in &layers.vlans {
        let _ = write!(line, "VLAN {vlan}, ");
    }
    let _ = match ethertype {
        IPV4 => write!(line, "IPv4"),
        IPV6 => write!(line, "IPv6"),
        ARP => write!(line, "ARP"),
        other => write!(line, "EtherType 0x{other:04x}"),
    };
    let (sender_port, receiver_port) =
        layers.ports.map_or((None, None), |(source, destination)| (Some(source), Some(destination)));
    if let Some((source, destination)) = layers.addresses {
        let _ = write!(line, " {} > {}", place(source, sender_port), place(destination, receiver_port));
    }
    let _ = match layers.protocol {
        Some(TCP) => write!(line, " TCP"),
        Some(UDP) => write!(line, " UDP"),
        Some(ICMP) => write!(line, " ICMP"),
        Some(ICMPV6) => write!(line, " ICMPv6"),
        Some(other) => write!(line, " protocol {other}"),
        None => Ok(()),
    };
    line.push_str(", ");
}

fn place(address: IpAddr, port: Option<u16>) -> String {
    match (address, port) {
        (address, None) => address.to_string(),
        (IpAddr::V4(address), Some(port)) => format!("{address}:{port}"),
        (IpAddr::V6(address), Some(port)) => format!("[{address}]:{port}"),
    }
}
