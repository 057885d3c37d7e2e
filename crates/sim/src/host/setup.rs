//! What hosts are: their transport, its configuration, and their latency.

use super::HostLatency;
use super::endpoint::{Endpoint, Machine};
use super::packets::{self, Packet};
use super::rdma::RdmaConfig;
use super::transport::TransportProtocol;
use super::verb::RdmaVerb;
use super::workload::Start;
use super::writes::Writes;
use crate::link::WIRE_OVERHEAD_BYTES;
use crate::link::config::ParameterError;
use crate::time::Time;
use linkmend_protocol::Mode;
use linkmend_transport::{Instant, Nanos, roce, tcp};
use std::sync::Arc;

/// The transport of a host's flows.
#[derive(Debug, Clone, PartialEq)]
pub enum Transport {
    Tcp(Arc<tcp::Config>),
    Roce(Arc<roce::Config>),
    /// One that this crate does not know: [`Transport::other`].
    Other(OtherTransport),
}

/// A transport of another crate. It equals only itself.
#[derive(Debug, Clone)]
pub struct OtherTransport(Arc<dyn TransportProtocol>);

impl PartialEq for OtherTransport {
    fn eq(&self, other: &OtherTransport) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Transport {
    /// A transport that this crate does not know.
    pub fn other(protocol: impl TransportProtocol + 'static) -> Transport {
        Transport::Other(OtherTransport(Arc::new(protocol)))
    }
}

impl RdmaConfig {
    /// Most connections between two hosts.
    const QUEUE_PAIRS_MAX: u32 = 1_024;

    fn validate(&self, transport: &Transport) -> Result<(), ParameterError> {
        self.mechanisms.validate()?;
        let is_rdma = matches!(transport, Transport::Roce(_));
        let requirement = "needs an RDMA transport";
        if !is_rdma && !self.mechanisms.is_none() {
            return Err(ParameterError::new("rdma-mechanisms", "with TCP", requirement));
        }
        if let (RdmaVerb::Read, name) = (self.verb, self.verb.name()) {
            match transport {
                Transport::Tcp(_) | Transport::Other(_) => {
                    return Err(ParameterError::new("rdma-verb", name, requirement));
                }
                Transport::Roce(card) if card.recovery != roce::Recovery::GoBackN => {
                    return Err(ParameterError::new(
                        "rdma-verb",
                        name,
                        "needs `host-recovery` go-back-n: after a gap, a READ requests everything from there on \
                         again",
                    ));
                }
                Transport::Roce(_) => {}
            }
        }
        match self.queue_pairs {
            Some(count) if !is_rdma => Err(ParameterError::new("queue-pairs", count, requirement)),
            Some(count) if !(1..=Self::QUEUE_PAIRS_MAX).contains(&count) => {
                Err(ParameterError::new("queue-pairs", count, "must be 1 to 1024"))
            }
            _ => Ok(()),
        }
    }
}

/// The configuration of hosts that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct HostsConfig {
    pub transport: Transport,
    pub latency: HostLatency,
    /// The round-trip time that a TCP connection knows when its flow begins, as from its handshake.
    pub known_rtt: Option<Nanos>,
    /// Whether a flow of TCP begins with the handshake of its connection; if not, that is open already.
    pub handshake: bool,
    /// Class of all frames.
    pub mode: Mode,
    pub rdma: RdmaConfig,
}

impl HostsConfig {
    /// # Errors
    /// The first parameter of the transport that cannot be used.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        self.rdma.validate(&self.transport)?;
        match &self.transport {
            Transport::Tcp(config) => config.check(),
            Transport::Roce(config) => config.check(),
            Transport::Other(_) => Ok(()),
        }
    }

    /// Most bytes of a segment's payload.
    pub(crate) fn mss(&self) -> u32 {
        match &self.transport {
            Transport::Tcp(config) => config.mss,
            Transport::Roce(_) | Transport::Other(_) => u32::MAX,
        }
    }

    /// Bytes that the frames of a flow take on a wire, headers, preambles and gaps included.
    pub(crate) fn wire_bytes(&self, bytes: u64) -> u64 {
        let (payload, frame) = self.full_frame();
        bytes + bytes.div_ceil(u64::from(payload)) * u64::from(frame - payload + WIRE_OVERHEAD_BYTES as u32)
    }

    /// The payload of a full packet, and its frame, in bytes.
    pub(crate) fn full_frame(&self) -> (u32, u32) {
        match &self.transport {
            Transport::Tcp(config) => {
                (config.mss, packets::tcp_headers_bytes(config.timestamps) + config.mss)
            }
            Transport::Roce(config) => {
                let request = roce::RequestPacket {
                    opcode: roce::Opcode::Write,
                    position: roce::Position::Middle,
                    payload: config.path_mtu,
                    ack_request: false,
                    dma_length: None,
                };
                let body = roce::Body::Request(request);
                let packet = roce::Packet { psn: 0, codepoint: tcp::Codepoint::NotEct, body };
                (config.path_mtu.into(), packet.frame_bytes().into())
            }
            Transport::Other(OtherTransport(protocol)) => protocol.full_packet(),
        }
    }

    /// How many packets of a flow with this many bytes come after this one; `None` if it carries no data.
    pub(super) fn packets_behind(&self, packet: &Packet, bytes: u64) -> Option<u64> {
        match (packet, &self.transport) {
            // The first byte of data has the number 1, behind the SYN.
            (Packet::Tcp(segment), Transport::Tcp(config)) if segment.length > 0 => {
                Some((bytes + 1).saturating_sub(segment.end()).div_ceil(u64::from(config.mss)))
            }
            (Packet::Roce(packet), Transport::Roce(config))
                if match packet.body {
                    roce::Body::Request(_) => self.rdma.verb == RdmaVerb::Write,
                    roce::Body::ReadResponse(_) => true,
                    _ => false,
                } =>
            {
                Some(bytes.div_ceil(u64::from(config.path_mtu)).saturating_sub(packet.psn + 1))
            }
            _ => None,
        }
    }

    /// How many copies of a packet follow it at once: of the last one of a message, if that is a mechanism.
    pub(super) fn copies_of(&self, packet: &Packet) -> u8 {
        match packet {
            Packet::Roce(roce::Packet { body: roce::Body::Request(request), .. })
                if request.position.ends() && request.payload > 0 =>
            {
                self.rdma.mechanisms.tail_replicas
            }
            Packet::Roce(roce::Packet { body: roce::Body::ReadResponse(response), .. })
                if response.position.ends() && response.payload > 0 =>
            {
                self.rdma.mechanisms.tail_replicas
            }
            _ => 0,
        }
    }

    /// The hosts of the two ends of a flow's connection: that of the requester first, which with READs is where data goes.
    pub(super) fn requester_and_responder(&self, start: &Start) -> [u32; 2] {
        match self.rdma.verb {
            RdmaVerb::Write => [start.source, start.destination],
            RdmaVerb::Read => [start.destination, start.source],
        }
    }

    /// The two ends of a connection, that of the requester or sender first. It is open already, as with LinkGuardian's trials,
    /// unless it begins with a handshake.
    pub(super) fn endpoints(&self, now: Time, start: &Start) -> [Endpoint; 2] {
        let now: Instant = super::clock::instant(now);
        let machines = match &self.transport {
            Transport::Tcp(config) => {
                self.connection(now, config).map(|connection| Machine::Tcp(Box::new(connection)))
            }
            Transport::Roce(config) => {
                [(); 2].map(|()| Machine::Roce(Box::new(Writes::new(queue_pair(config), self.rdma))))
            }
            Transport::Other(OtherTransport(protocol)) => protocol.connect().map(Machine::Other),
        };
        let [requesting, responding] = self.requester_and_responder(start);
        let [first, second] = machines;
        [Endpoint::new(first, requesting, self.mode), Endpoint::new(second, responding, self.mode)]
    }
}

impl HostsConfig {
    /// The two ends of a connection of TCP, that of the sender first.
    ///
    /// # Panics
    /// If the configuration cannot be used, which is checked before a run.
    fn connection(&self, now: Instant, config: &Arc<tcp::Config>) -> [tcp::Connection; 2] {
        let config = || Arc::clone(config);
        let ends = if self.handshake {
            [tcp::Connection::new_client(config()), tcp::Connection::new_server(config())]
        } else {
            [(); 2].map(|()| tcp::Connection::established_with(now, config(), self.known_rtt))
        };
        let mut ends = ends.map(|end| match end {
            Ok(connection) => connection,
            Err(error) => panic!("{error}"),
        });
        ends[0].open();
        ends
    }
}

/// A queue pair.
///
/// # Panics
/// If the configuration cannot be used, which is checked before a run.
fn queue_pair(config: &Arc<roce::Config>) -> roce::QueuePair {
    match roce::QueuePair::new(Arc::clone(config)) {
        Ok(queue_pair) => queue_pair,
        Err(error) => panic!("{error}"),
    }
}
