//! One end of a flow on a host: a transport protocol's state machine, and when it wants to be called.

use super::clock::{instant, time};
use super::packets::Packet;
use super::progress::Progress;
use super::writes::Writes;
use crate::time::Time;
use linkmend_protocol::Mode;
use linkmend_transport::tcp;
use linkmend_transport::tcp::congestion::Phase;

/// The state machine of one end of a flow.
#[derive(Debug)]
pub(crate) enum Machine {
    Tcp(Box<tcp::Connection>),
    Roce(Box<Writes>),
}

/// When an end of a flow wants to be called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeout {
    pub(crate) at: Time,
    /// Whether it does not wait for a tick: a kernel paces by a timer of its own.
    pub(crate) is_exact: bool,
}

/// One end of a flow.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) machine: Machine,
    /// Number of the host that it is on.
    pub(crate) host: u32,
    /// Class of its frames.
    pub(crate) mode: Mode,
    /// Whether it is among those that the host's card asks for packets.
    pub(crate) is_ready: bool,
    /// The earliest of its times among the timers of its host; later ones there are ignored.
    pub(crate) timer_at: Time,
}

impl Endpoint {
    pub(crate) fn new(machine: Machine, host: u32, mode: Mode) -> Endpoint {
        Endpoint { machine, host, mode, is_ready: false, timer_at: Time::NEVER }
    }

    /// Handles a packet from the other end, several of them if they were joined. `marked` if a switch has marked one of them.
    pub(crate) fn handle(&mut self, now: Time, packet: &Packet, marked: bool) {
        match (&mut self.machine, packet) {
            (Machine::Tcp(connection), Packet::Tcp(segment)) => {
                let mut segment = *segment;
                if marked && segment.codepoint != tcp::Codepoint::NotEct {
                    segment.codepoint = tcp::Codepoint::Ce;
                }
                connection.handle_segment(instant(now), &segment);
            }
            (Machine::Roce(writes), Packet::Roce(packet)) => {
                let mut packet = *packet;
                if marked && packet.codepoint != tcp::Codepoint::NotEct {
                    packet.codepoint = tcp::Codepoint::Ce;
                }
                writes.queue_pair.handle_packet(instant(now), &packet);
            }
            // A frame of a flow that has ended, whose number another flow has now.
            _ => {}
        }
    }

    /// The next packet for the network; a segment may be as long as segmentation offload allows.
    pub(crate) fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        match &mut self.machine {
            Machine::Tcp(connection) => connection.poll_transmit(instant(now)).map(Packet::Tcp),
            Machine::Roce(writes) => writes.queue_pair.poll_transmit(instant(now)).map(Packet::Roce),
        }
    }

    /// When it wants to be called if nothing arrives.
    pub(crate) fn next_timeout(&self) -> Timeout {
        let (at, paced) = match &self.machine {
            Machine::Tcp(connection) => (connection.next_timeout(), connection.paced_until()),
            Machine::Roce(writes) => (writes.queue_pair.next_timeout(), None),
        };
        Timeout { at: at.map_or(Time::NEVER, time), is_exact: at == paced }
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        match &mut self.machine {
            Machine::Tcp(connection) => connection.handle_timeout(instant(now)),
            Machine::Roce(writes) => writes.queue_pair.handle_timeout(instant(now)),
        }
    }

    /// What has happened since the last call.
    pub(crate) fn poll_progress(&mut self) -> Option<Progress> {
        match &mut self.machine {
            Machine::Tcp(connection) => loop {
                match connection.poll_event()? {
                    tcp::Event::Delivered(bytes) => return Some(Progress::Delivered(bytes)),
                    tcp::Event::Acknowledged { all: true, .. } => return Some(Progress::Acknowledged),
                    tcp::Event::Aborted(_) => return Some(Progress::Failed),
                    _ => {}
                }
            },
            Machine::Roce(writes) => writes.poll_progress(),
        }
    }

    /// The state of its connection, if it is one of TCP.
    pub(crate) fn tcp_info(&self, now: Time) -> Option<tcp::Info> {
        match &self.machine {
            Machine::Tcp(connection) => Some(connection.info(instant(now))),
            Machine::Roce(_) => None,
        }
    }

    /// Bytes that it has not sent yet, and whether it recovers from a loss: from one that it has inferred, or from what its
    /// timer has found.
    pub(crate) fn pending(&self, now: Time) -> (u64, bool) {
        match &self.machine {
            Machine::Tcp(connection) => {
                let info = connection.info(instant(now));
                let recovers = matches!(info.phase, Phase::Recovery | Phase::Loss);
                (info.notsent_bytes, recovers)
            }
            Machine::Roce(writes) => (writes.left(), false),
        }
    }

    /// The queue pair with what is written over it, if it is one.
    pub(crate) fn writes(&mut self) -> Option<&mut Writes> {
        match &mut self.machine {
            Machine::Tcp(_) => None,
            Machine::Roce(writes) => Some(writes),
        }
    }

    /// How many segments or packets it has sent again, and how often its retransmission timer has expired, since that was
    /// last accounted for.
    pub(crate) fn effort(&self, now: Time) -> (u32, u32) {
        let (retransmissions, timeouts) = match &self.machine {
            Machine::Tcp(connection) => {
                let info = connection.info(instant(now));
                (info.total_retrans, info.timeouts)
            }
            Machine::Roce(writes) => {
                let info = writes.queue_pair.info();
                let (resent, timeouts) = writes.accounted;
                (info.requests_resent - resent, info.timeouts - timeouts)
            }
        };
        (u32::try_from(retransmissions).unwrap_or(u32::MAX), u32::try_from(timeouts).unwrap_or(u32::MAX))
    }
}
