//! Captures what passes one port of a network with hosts, as a file for packet analysers, which read TCP and RoCEv2 in it.

use super::network::{FlowNetwork, FlowObserver};
use crate::host::{End, FlowIdentity, Packet, Transport};
use crate::link::scheme::{Acknowledgement, ControlFrame, Header, Shown};
use crate::link::{FRAME_BYTES_MIN, Frame, Observer, OnWire, PortId, Received, Scheme, Sent};
use crate::measure::CaptureFile;
use crate::time::{Rate, Time};
use linkmend_pcapng::{Direction, PortId as FilePort};
use linkmend_protocol::wire;
use linkmend_transport::tcp::Codepoint;
use linkmend_transport::wire::{Host, Way, roce, tcp};
use std::io::{self, Write};

/// Bytes that are captured of each frame. TCP's headers take 114 at most. The check sequence of RoCE stands behind the payload,
/// so its packets are captured whole.
const SNAP_TCP: u32 = 128;
const SNAP_ROCE: u32 = 65_535;
/// EtherType of frames whose format is not known; not the one of Linkmend's own frames.
const UNKNOWN: u16 = wire::ethertype::EXPERIMENTAL_2;
const FCS_BYTES: u32 = wire::FCS_BYTES as u32;
/// Ports of flows: a client's is one of the dynamic range (RFC 6335), and when they are used up the server's changes.
const CLIENT_PORTS: (u16, u64) = (49_152, 16_384);
const SERVER_PORTS: (u16, u64) = (5_001, 40_000);
/// Where a WRITE of RDMA goes.
const REMOTE_ADDRESS: u64 = 0x1000_0000;

/// What to capture.
#[derive(Debug, Clone, PartialEq)]
pub struct PortCaptureOptions {
    /// The port: what it sends and what it receives.
    pub port: PortId,
    /// Its name in the file.
    pub name: String,
    /// Rate of its link.
    pub rate: Rate,
    /// The largest number of frames; the run continues without being captured.
    pub frames_max: u64,
}

/// Something that was seen in the present event.
#[derive(Debug)]
struct Seen {
    at: Time,
    direction: Direction,
    corrupted: bool,
    what: What,
}

#[derive(Debug)]
enum What {
    /// A frame of the hosts, and what the link's scheme says of it.
    Frame(Frame, String),
    /// A frame of the link's scheme: its beginning, its length, and a comment.
    Scheme(Vec<u8>, u32, String),
}

/// An [`Observer`] that writes what one port sends and receives to a pcapng file, until that is full. Times are those at
/// which a frame's first bit leaves, or its last has arrived. A frame that the link corrupts is marked where it leaves, and does
/// not arrive.
///
/// Frames have the bytes that their packets would have. A header that the link's scheme adds is left out, so that analysers
/// see the hosts' packet; a comment tells of it. Frames of the scheme itself are those of a real link end, if it has any.
/// Every flow has ports of its own.
#[derive(Debug)]
pub struct PortCapture<W> {
    file: CaptureFile<W>,
    file_port: FilePort,
    port: PortId,
    seen: Vec<Seen>,
    frame: Vec<u8>,
}

impl<W: Write> PortCapture<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// As of `output`.
    pub fn new(output: W, options: &PortCaptureOptions) -> io::Result<PortCapture<W>> {
        let mut file = CaptureFile::new(output, SNAP_ROCE, options.frames_max)?;
        let file_port = file.port(&options.name, options.rate)?;
        Ok(PortCapture { file, file_port, port: options.port, seen: Vec::new(), frame: Vec::new() })
    }

    /// The file, to be ended after the run.
    pub fn into_file(self) -> CaptureFile<W> {
        self.file
    }

    fn see<S: Scheme>(
        &mut self,
        at: Time,
        direction: Direction,
        frame: &OnWire<S>,
        control: Option<&S::Control>,
    ) {
        self.file.take();
        let sender = if direction == Direction::Outbound { self.port } else { self.port.peer() };
        let what = match frame {
            OnWire::Protected { header, frame } => What::Frame(*frame, header.show(frame)),
            // The three bytes of an ACK that rides on it are left out.
            OnWire::Plain { frame } | OnWire::WithAck { frame, .. } => What::Frame(*frame, String::new()),
            OnWire::Ack { ack } => What::control(ack.show(port_mac(sender)), FRAME_BYTES_MIN, sender),
            OnWire::Pause { .. } | OnWire::Damaged { .. } => return,
            OnWire::Control { .. } => {
                let Some(control) = control else { return };
                What::control(control.show(port_mac(sender)), control.bytes(), sender)
            }
        };
        self.seen.push(Seen { at, direction, corrupted: false, what });
    }

    /// Whether anything more of this port is to be written.
    fn wants(&self, port: PortId) -> bool {
        port == self.port && self.file.is_open()
    }
}

impl<S: Scheme, W: Write> Observer<S> for PortCapture<W> {
    fn sent(&mut self, port: PortId, at: Time, sent: &Sent<'_, S>) {
        if self.wants(port) {
            self.see(at, Direction::Outbound, sent.frame, sent.control);
            if let Some(seen) = self.seen.last_mut() {
                seen.corrupted = sent.corrupted;
            }
        }
    }

    fn received(&mut self, port: PortId, at: Time, received: &Received<'_, S>) {
        if self.wants(port) {
            self.see(at, Direction::Inbound, received.frame, received.control);
        }
    }
}

impl<X: Scheme, W: Write + Send> FlowObserver<X> for PortCapture<W> {
    /// Writes what the event has shown; only now are its packets at hand.
    #[inline]
    fn after_event(network: &mut FlowNetwork<Self, X>) {
        if !network.observer.seen.is_empty() {
            write_seen(network);
        }
    }
}

fn write_seen<X: Scheme, W: Write + Send>(network: &mut FlowNetwork<PortCapture<W>, X>) {
    let hosts = &network.hosts;
    let PortCapture { file, file_port, port, seen, frame: buffer } = &mut network.observer;
    for Seen { at, direction, corrupted, what } in seen.drain(..) {
        let (bytes, mut comment) = match what {
            What::Scheme(head, bytes, comment) => {
                *buffer = head;
                (bytes, comment)
            }
            What::Frame(frame, comment) => {
                let (packet, flow) = hosts.packet(&frame);
                let addresses = Addresses { flow, from_source: End(frame.flow.0).is_sending() };
                let transport = &hosts.config_of(&flow).transport;
                let written =
                    packet.and_then(|packet| addresses.write(buffer, packet, frame.marked, transport));
                let bytes = written.unwrap_or_else(|| {
                    *buffer = unknown(*port);
                    u32::from(frame.bytes) - FCS_BYTES
                });
                (bytes, described(comment, packet.is_some()))
            }
        };
        if corrupted {
            let separator = if comment.is_empty() { "" } else { "; " };
            comment.push_str(separator);
            comment.push_str("corrupted on the link");
        }
        let packet = linkmend_pcapng::Packet {
            port: *file_port,
            at_ticks: at.0,
            direction,
            head: buffer,
            bytes,
            corrupted,
            comment: (!comment.is_empty()).then_some(comment.as_str()),
        };
        file.write(&packet);
    }
}

/// What the link's scheme says of a frame, and whether its packet is known.
fn described(mut comment: String, is_known: bool) -> String {
    if !is_known {
        comment.push_str(" (the packet has been handled already)");
    }
    comment
}

impl What {
    /// A control frame of this length, with its check sequence.
    fn control(shown: Shown, bytes: u32, sender: PortId) -> What {
        What::Scheme(shown.bytes.unwrap_or_else(|| unknown(sender)), bytes - FCS_BYTES, shown.text)
    }
}

/// The beginning of a frame of which nothing but its length is known.
fn unknown(sender: PortId) -> Vec<u8> {
    let [from, to] = [sender, sender.peer()].map(port_mac);
    [&to[..], &from[..], &UNKNOWN.to_be_bytes()].concat()
}

/// Locally administered addresses, of hosts and of ports of links.
const HOST_ADDRESSES: u8 = 0;
const PORT_ADDRESSES: u8 = 1;

fn port_mac(port: PortId) -> [u8; 6] {
    mac(PORT_ADDRESSES, port.index() as u32)
}

fn mac(kind: u8, number: u32) -> [u8; 6] {
    let [_, high, middle, low] = number.to_be_bytes();
    [0x02, b'L', kind, high, middle, low]
}

/// Under which addresses and numbers a frame is seen.
struct Addresses {
    flow: FlowIdentity,
    from_source: bool,
}

impl Addresses {
    /// Writes the frame of a packet; returns its whole length without check sequence. `None` if its format is not known.
    fn write(
        &self,
        buffer: &mut Vec<u8>,
        packet: &Packet,
        marked: bool,
        transport: &Transport,
    ) -> Option<u32> {
        let mark = |codepoint: &mut Codepoint| {
            if marked && *codepoint != Codepoint::NotEct {
                *codepoint = Codepoint::Ce;
            }
        };
        match packet {
            Packet::Tcp(segment) => {
                let mut segment = *segment;
                mark(&mut segment.codepoint);
                Some(tcp::write(buffer, &self.tcp(transport), &segment, SNAP_TCP as usize))
            }
            Packet::Roce(packet) => {
                let mut packet = *packet;
                mark(&mut packet.codepoint);
                Some(roce::write(buffer, &self.roce(), &packet, SNAP_ROCE as usize))
            }
            Packet::Other(_) => None,
        }
    }

    fn way(&self) -> Way {
        let FlowIdentity { number, source, destination } = self.flow;
        let host = |host: u32, (first, count): (u16, u64), number: u64| {
            let [_, high, middle, low] = host.to_be_bytes();
            let port = first + (number % count) as u16;
            Host { mac: mac(HOST_ADDRESSES, host), address: [10, high, middle, low.wrapping_add(1)], port }
        };
        let client = host(source, CLIENT_PORTS, number);
        let server = host(destination, SERVER_PORTS, number / CLIENT_PORTS.1);
        if self.from_source { Way::new(client, server) } else { Way::new(server, client) }
    }

    /// A number that both ends know of the flow, for each of its directions.
    fn number(&self, from_source: bool) -> u32 {
        linkmend_random::mix(2 * self.flow.number + u64::from(from_source)) as u32
    }

    fn tcp(&self, transport: &Transport) -> tcp::Flow {
        let buffer = match transport {
            Transport::Tcp(config) => config.receive_buffer,
            Transport::Roce(_) | Transport::Other(_) => 0,
        };
        // As in a handshake: the least shift with which the window fits into 16 bits (RFC 7323, section 2.3).
        let window_scale = (0..14).find(|shift| buffer >> shift <= u32::from(u16::MAX)).unwrap_or(14);
        tcp::Flow {
            way: self.way(),
            first_sequence: self.number(self.from_source),
            peer_first_sequence: self.number(!self.from_source),
            window_scale,
        }
    }

    fn roce(&self) -> roce::Flow {
        let to_source = u32::from(!self.from_source);
        roce::Flow {
            way: self.way(),
            // Queue pair 1 is for management.
            queue_pair: 16 + 2 * self.flow.number as u32 + to_source,
            first_psn: self.number(self.from_source),
            peer_first_psn: self.number(!self.from_source),
            remote_address: REMOTE_ADDRESS,
            remote_key: self.number(true),
        }
    }
}
