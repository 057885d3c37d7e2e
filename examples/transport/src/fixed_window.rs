//! A transport with a fixed window: if nothing is acknowledged for a while, all outstanding packets are retransmitted
//! (go-back-N).

use linkmend_sim::host::{Effort, OtherPacket, Packet, Progress, TransportEnd, TransportProtocol};
use linkmend_sim::time::Time;
use std::collections::VecDeque;

/// Ethernet, IPv4 and UDP headers, the transport's own header of eight bytes, and the frame check sequence.
const HEADERS_BYTES: u16 = 14 + 20 + 8 + 8 + 4;

/// The parameters of both ends.
#[derive(Debug, Clone, Copy)]
pub struct FixedWindow {
    /// Maximum number of outstanding packets.
    pub window_packets: u64,
    /// Payload of a full-size packet.
    pub payload_bytes: u16,
    /// How long the sender waits for an acknowledgement.
    pub timeout: Time,
}

impl TransportProtocol for FixedWindow {
    fn connect(&self) -> [Box<dyn TransportEnd>; 2] {
        [Box::new(Sender::new(*self)), Box::new(Receiver::default())]
    }

    fn full_packet(&self) -> (u32, u32) {
        (self.payload_bytes.into(), (HEADERS_BYTES + self.payload_bytes).into())
    }
}

/// Data: the number of the packet, and its payload.
const DATA: u64 = 0;
/// An acknowledgement: the number of the packet that is expected next.
const ACK: u64 = 1;

fn packet(kind: u64, number: u64, payload: u16) -> Packet {
    Packet::Other(OtherPacket {
        frame_bytes: HEADERS_BYTES + payload,
        fields: [kind, number, payload.into()],
    })
}

/// The sending end.
#[derive(Debug)]
struct Sender {
    config: FixedWindow,
    bytes: u64,
    /// All packets before `acknowledged` have arrived; those before `next` have been sent, and those before `sent` at least once.
    acknowledged: u64,
    next: u64,
    sent: u64,
    timeout_at: Option<Time>,
    effort: Effort,
    is_done: bool,
    progress: VecDeque<Progress>,
}

impl Sender {
    fn new(config: FixedWindow) -> Sender {
        Sender {
            config,
            bytes: 0,
            acknowledged: 0,
            next: 0,
            sent: 0,
            timeout_at: None,
            effort: Effort::default(),
            is_done: false,
            progress: VecDeque::new(),
        }
    }

    fn packets(&self) -> u64 {
        self.bytes.div_ceil(u64::from(self.config.payload_bytes))
    }
}

impl TransportEnd for Sender {
    fn write(&mut self, _: Time, bytes: u64) {
        self.bytes += bytes;
        self.is_done = false;
    }

    fn handle(&mut self, now: Time, packet: &Packet, _: bool) {
        let Packet::Other(OtherPacket { fields: [ACK, number, _], .. }) = packet else { return };
        if *number <= self.acknowledged {
            return;
        }
        self.acknowledged = *number;
        self.next = self.next.max(*number);
        self.timeout_at = (self.acknowledged < self.next).then_some(now + self.config.timeout);
        if self.acknowledged == self.packets() && !self.is_done {
            self.is_done = true;
            self.progress.push_back(Progress::Acknowledged);
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if self.next == self.packets().min(self.acknowledged + self.config.window_packets) {
            return None;
        }
        let number = self.next;
        self.next += 1;
        self.effort.retransmissions += u64::from(number < self.sent);
        self.sent = self.sent.max(self.next);
        self.timeout_at = self.timeout_at.or(Some(now + self.config.timeout));
        let full = u64::from(self.config.payload_bytes);
        Some(packet(DATA, number, (self.bytes - number * full).min(full) as u16))
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.timeout_at.is_some_and(|at| at <= now) {
            self.timeout_at = None;
            self.effort.timeouts += 1;
            self.next = self.acknowledged;
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.timeout_at
    }

    fn poll_progress(&mut self) -> Option<Progress> {
        self.progress.pop_front()
    }

    fn effort(&self, _: Time) -> Effort {
        self.effort
    }
}

/// The receiving end: it accepts packets only in order, and acknowledges each.
#[derive(Debug, Default)]
struct Receiver {
    expected: u64,
    owes_ack: bool,
    progress: VecDeque<Progress>,
}

impl TransportEnd for Receiver {
    fn write(&mut self, _: Time, _: u64) {}

    fn handle(&mut self, _: Time, packet: &Packet, _: bool) {
        let Packet::Other(OtherPacket { fields: [DATA, number, payload], .. }) = packet else { return };
        self.owes_ack = true;
        if *number == self.expected {
            self.expected += 1;
            self.progress.push_back(Progress::Delivered(*payload));
        }
    }

    fn poll_transmit(&mut self, _: Time) -> Option<Packet> {
        std::mem::take(&mut self.owes_ack).then(|| packet(ACK, self.expected, 0))
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn next_timeout(&self) -> Option<Time> {
        None
    }

    fn poll_progress(&mut self) -> Option<Progress> {
        self.progress.pop_front()
    }

    fn effort(&self, _: Time) -> Effort {
        Effort::default()
    }
}
