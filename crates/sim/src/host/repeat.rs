//! Top-of-rack switches that repeat what must not be lost (sections 4.1, 4.2 and 5.1 of the JCST paper): each NAK at the
//! responder's switch, and at the requester's the packet that a NAK has asked for.
//!
//! A switch sees packet numbers and no queue pairs of senders, so its table of numbers that were asked for is one for all
//! connections: a packet of another connection with the same number is repeated instead, and the right one is not.

use super::flow::End;
use super::packets::Packet;
use crate::node::NodeId;
use linkmend_random::mix;
use linkmend_rdma::Mechanisms;
use linkmend_transport::roce::{Body, Nak, Syndrome};
use std::collections::BTreeSet;

/// Packet numbers have 24 bits on the wire.
const PSN_MASK: u64 = (1 << 24) - 1;

/// The tables of all switches.
#[derive(Debug)]
pub(super) struct Repeaters {
    mechanisms: Mechanisms,
    /// By node: numbers that NAKs have asked for.
    asked_for: Vec<BTreeSet<u32>>,
}

/// Where a switch sees a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sight {
    pub(super) node: NodeId,
    /// Whether it has come from a host, and goes to one.
    pub(super) from_host: bool,
    pub(super) to_host: bool,
    /// The end that has sent it.
    pub(super) end: End,
}

impl Repeaters {
    /// Tables for so many nodes; `None` if nothing is repeated.
    pub(super) fn new(mechanisms: Mechanisms, nodes: usize) -> Option<Repeaters> {
        let repeats = mechanisms.nak_replicas > 0 || mechanisms.packet_replicas > 0;
        repeats.then(|| Repeaters { mechanisms, asked_for: vec![BTreeSet::new(); nodes] })
    }

    /// How many copies a switch makes of a packet that it forwards.
    pub(super) fn copies(&mut self, sight: Sight, packet: &Packet) -> u8 {
        let Packet::Roce(packet) = packet else { return 0 };
        let asked_for = &mut self.asked_for[sight.node.index()];
        match &packet.body {
            Body::Response(response) if response.syndrome == Syndrome::Nak(Nak::SequenceError) => {
                if sight.to_host && self.mechanisms.packet_replicas > 0 {
                    // The number is one of the requester's, at the other end.
                    asked_for.insert(on_wire(sight.end.other(), packet.psn));
                }
                if sight.from_host { self.mechanisms.nak_replicas } else { 0 }
            }
            Body::Request(_) if sight.from_host && asked_for.remove(&on_wire(sight.end, packet.psn)) => {
                self.mechanisms.packet_replicas
            }
            _ => 0,
        }
    }
}

/// A number as the wire has it: each connection begins with another one.
fn on_wire(requester: End, psn: u64) -> u32 {
    (mix(u64::from(requester.0)).wrapping_add(psn) & PSN_MASK) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_transport::roce::{self, Opcode, Position, RequestPacket, Response};
    use linkmend_transport::tcp::Codepoint;

    const NAK: Syndrome = Syndrome::Nak(Nak::SequenceError);

    fn response(psn: u64, syndrome: Syndrome) -> Packet {
        let body = Body::Response(Response { syndrome, messages: 0, selective: None });
        Packet::Roce(roce::Packet { psn, codepoint: Codepoint::NotEct, body })
    }

    fn request(psn: u64) -> Packet {
        let body = Body::Request(RequestPacket {
            opcode: Opcode::Write,
            position: Position::Middle,
            payload: 1_024,
            ack_request: false,
            dma_length: None,
        });
        Packet::Roce(roce::Packet { psn, codepoint: Codepoint::NotEct, body })
    }

    fn repeaters() -> Repeaters {
        let mechanisms = Mechanisms { nak_replicas: 2, packet_replicas: 3, ..Mechanisms::NONE };
        Repeaters::new(mechanisms, 4).expect("it repeats")
    }

    fn from_host(node: u32, end: u32) -> Sight {
        Sight { node: NodeId(node), from_host: true, to_host: false, end: End(end) }
    }

    fn to_host(node: u32, end: u32) -> Sight {
        Sight { node: NodeId(node), from_host: false, to_host: true, end: End(end) }
    }

    /// Ends 6 and 7 are a connection whose requester is at node 0 and whose responder is at node 3.
    #[test]
    fn a_nak_is_repeated_where_it_begins_and_its_packet_once_where_it_began() {
        let mut repeaters = repeaters();
        assert_eq!(repeaters.copies(from_host(3, 7), &response(41, NAK)), 2);
        assert_eq!(repeaters.copies(from_host(3, 7), &response(41, Syndrome::Ack)), 0);
        assert_eq!(repeaters.copies(from_host(0, 6), &request(41)), 0, "not asked for yet");
        assert_eq!(repeaters.copies(to_host(0, 7), &response(41, NAK)), 0);
        assert_eq!(repeaters.copies(to_host(0, 7), &response(41, NAK)), 0, "the replica changes nothing");
        assert_eq!(repeaters.copies(from_host(0, 6), &request(42)), 0);
        assert_eq!(repeaters.copies(from_host(1, 6), &request(41)), 0, "another switch knows nothing of it");
        assert_eq!(repeaters.copies(from_host(0, 6), &request(41)), 3);
        assert_eq!(repeaters.copies(from_host(0, 6), &request(41)), 0, "only once");
    }

    #[test]
    fn another_connection_with_the_same_number_takes_the_copies() {
        let mut repeaters = repeaters();
        let number = on_wire(End(6), 41);
        let same = (0..=PSN_MASK).find(|psn| on_wire(End(8), *psn) == number).expect("numbers wrap");
        repeaters.copies(to_host(0, 7), &response(41, NAK));
        assert_eq!(repeaters.copies(from_host(0, 8), &request(same)), 3);
        assert_eq!(repeaters.copies(from_host(0, 6), &request(41)), 0);
    }

    #[test]
    fn without_replicas_there_are_no_tables() {
        assert!(Repeaters::new(Mechanisms { dummies: 3, ..Mechanisms::NONE }, 4).is_none());
    }
}
