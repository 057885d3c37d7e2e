//! Classes with a deadline, over UDP: parity and retransmissions in time instead of a lane of the protocol
//! (`linkmend_parity::exchange`).

use super::Engine;
use crate::settings::LinkSettings;
use linkmend_control::report::{InTimeReport, ReceivedInTime, SentInTime};
use linkmend_parity::exchange::{
    DEADLINE_MAX_NS, DEADLINE_MIN_NS, Exchange, MESSAGE_BYTES, ReceivedCounters, SentCounters,
};
use linkmend_protocol::FrameHandle;
use linkmend_protocol::schedule::PortRoom;
use linkmend_protocol::wire::{self, IN_TIME_HEADER_BYTES};

const _: () = assert!(
    DEADLINE_MIN_NS == linkmend_control::DEADLINES.start().as_nanos() as u64
        && DEADLINE_MAX_NS == linkmend_control::DEADLINES.end().as_nanos() as u64
);

/// What frames with a deadline need.
pub(super) struct InTime {
    exchange: Exchange,
    /// A frame, and a message with its header, while they are made or read.
    frame: Vec<u8>,
    message: Vec<u8>,
}

impl InTime {
    /// `None` on a cable.
    pub(super) fn of(settings: &LinkSettings, seed: u64) -> Option<Box<InTime>> {
        let make = || {
            Box::new(InTime { exchange: Exchange::new(seed as u32), frame: Vec::new(), message: Vec::new() })
        };
        settings.has_udp().then(make)
    }

    fn report(&self, now: u64) -> InTimeReport {
        let sent = |sent: SentCounters| SentInTime {
            deadline_ns: sent.deadline_ns,
            is_ready: sent.is_ready,
            round_trip_ns: sent.round_trip_ns,
            frames: sent.sender.frames,
            parity_frames: sent.sender.parity_frames,
            copies: sent.sender.copies,
            refused: sent.sender.refused,
        };
        let received = |received: ReceivedCounters| ReceivedInTime {
            deadline_ns: received.deadline_ns,
            group_frames: received.group[0],
            group_parity: received.group[1],
            delivered: received.receiver.delivered,
            restored: received.receiver.restored,
            lost: received.receiver.given_up,
            late: received.receiver.late,
            duplicates: received.receiver.duplicates,
        };
        InTimeReport {
            sent: self.exchange.sent(now).into_iter().map(sent).collect(),
            received: self.exchange.received().into_iter().map(received).collect(),
            malformed: self.exchange.malformed(),
        }
    }
}

impl Engine {
    /// Offers the peer the classes that have a deadline.
    pub(super) fn offer_deadlines(&mut self) {
        let Some(in_time) = &mut self.in_time else { return };
        let deadlines: Vec<u64> =
            self.protection.deadlines.iter().map(|deadline| deadline.as_nanos() as u64).collect();
        in_time.exchange.set_classes(&deadlines);
    }

    /// Sends a frame of a class with a deadline. `false` if its lane has to protect it: the peer does not take such frames, or
    /// the frame is too long.
    pub(super) fn send_in_time(&mut self, now: u64, class: u8, frame: FrameHandle) -> bool {
        let bytes = self.pool.frame_length(frame) + IN_TIME_HEADER_BYTES + MESSAGE_BYTES;
        let limit = self.lengths.link_frame_bytes();
        let Some(in_time) = &mut self.in_time else { return false };
        if bytes > limit || !in_time.exchange.is_ready(now, class) {
            return false;
        }
        self.pool.copy_out(frame, &mut in_time.frame);
        self.pool.release(frame);
        begin(&mut in_time.message, self.sides[self.active].port.mac());
        in_time.exchange.send(now, class, &in_time.frame, &mut in_time.message);
        self.send_message(now);
        true
    }

    /// Sends the message that was made, in a datagram that no other shares: parity must not be lost with its frames.
    fn send_message(&mut self, now: u64) {
        let Some(in_time) = &self.in_time else { return };
        let frame = self.pool.copy_in(&in_time.message);
        self.send_copied(now, self.active, frame);
        self.sides[self.active].port.end_datagram();
    }

    /// Handles a message from the link.
    pub(super) fn handle_in_time(&mut self, now: u64, frame: FrameHandle) {
        if let Some(in_time) = &mut self.in_time {
            self.pool.copy_out(frame, &mut in_time.frame);
            in_time.exchange.handle(now, in_time.frame.get(IN_TIME_HEADER_BYTES..).unwrap_or_default());
        }
        self.pool.release(frame);
    }

    /// Does what is due, delivers and sends. Returns how many frames that were.
    pub(super) fn service_in_time(&mut self, now: u64) -> usize {
        let Some(in_time) = &mut self.in_time else { return 0 };
        if in_time.exchange.next_timeout().is_some_and(|at| at <= now) {
            in_time.exchange.handle_timeout(now);
        }
        let mut count = 0;
        while self.inner_frames_room() > 0
            && let Some(bytes) = self.in_time.as_mut().and_then(|in_time| in_time.exchange.poll_deliver(now))
        {
            match self.pool.copy_in(&bytes) {
                Some(frame) => self.deliver(frame),
                None => self.counters.pool_exhausted += 1,
            }
            count += 1;
        }
        let source = self.sides[self.active].port.mac();
        while self.link_room(now, self.active) != PortRoom::None
            && let Some(in_time) = &mut self.in_time
        {
            begin(&mut in_time.message, source);
            if !in_time.exchange.poll_message(now, &mut in_time.message) {
                break;
            }
            self.send_message(now);
            count += 1;
        }
        count
    }

    /// When there is something to do.
    pub(super) fn in_time_timeout(&self) -> Option<u64> {
        self.in_time.as_ref()?.exchange.next_timeout()
    }

    /// What was done for classes with a deadline, if there are any.
    pub(super) fn in_time_report(&self, now: u64) -> Option<InTimeReport> {
        let report = self.in_time.as_ref()?.report(now);
        (!report.sent.is_empty() || !report.received.is_empty()).then_some(report)
    }
}

/// Begins a message with its header.
fn begin(message: &mut Vec<u8>, source: [u8; 6]) {
    message.clear();
    message.extend(wire::in_time_header(source));
}
