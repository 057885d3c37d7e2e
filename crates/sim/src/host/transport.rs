//! What a host needs of a transport protocol.

use super::packets::Packet;
use super::progress::Progress;
use crate::time::Time;
use std::fmt::Debug;

/// One end of a connection, as a state machine: it is told the time, and asked what to send and when to be called.
///
/// # Order of calls
///
/// A flow begins with [`write`](TransportEnd::write) at the sending end. After each call of that, `handle` or
/// `handle_timeout`, the host asks [`poll_progress`](TransportEnd::poll_progress) until `None`, and
/// [`next_timeout`](TransportEnd::next_timeout) when there is nothing more to send. Whenever the host's port is free, it asks
/// [`poll_transmit`](TransportEnd::poll_transmit); the receiving end is asked right after `handle`, too.
pub trait TransportEnd: Debug + Send {
    /// Writes a flow of this many bytes, at least one.
    fn write(&mut self, now: Time, bytes: u64);

    /// Handles a packet from the other end, several of them if they were joined. `marked` if a switch has marked one of them. It
    /// may be a late packet of another connection, of another transport even.
    fn handle(&mut self, now: Time, packet: &Packet, marked: bool);

    /// The next packet for the network.
    fn poll_transmit(&mut self, now: Time) -> Option<Packet>;

    /// Does what is due.
    fn handle_timeout(&mut self, now: Time);

    /// When it is to be called if nothing arrives. The host rounds this up to the ticks of its timers.
    fn next_timeout(&self) -> Option<Time>;

    /// When it is to be asked for packets again, if it spreads them over time. The host does not round this.
    fn paced_until(&self) -> Option<Time> {
        None
    }

    /// What has happened since the last call.
    fn poll_progress(&mut self) -> Option<Progress>;

    /// What its flow has cost so far.
    fn effort(&self, now: Time) -> Effort;
}

/// What a flow has cost its sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Segments or packets retransmitted.
    pub retransmissions: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
}

/// A transport protocol that this crate does not know.
pub trait TransportProtocol: Debug + Send + Sync {
    /// The two ends of a new connection, that of the sender first. It is open already.
    fn connect(&self) -> [Box<dyn TransportEnd>; 2];

    /// The payload of a full packet, and the length of its Ethernet frame with frame check sequence, in bytes.
    fn full_packet(&self) -> (u32, u32);
}
