//! Frames that leave on the link, in the order of section 3: retransmissions and urgent control, the normal queue, and
//! dummies and explicit ACKs only when the port would otherwise idle.

use super::Engine;
use super::queue::Waiting;
use crate::capture::{CapturePort, Direction};
use linkmend_protocol::wire::{self, ADDRESSES_BYTES, CONTROL_FRAME_MAX, Encapsulation, HEADER_GROWTH_MAX};
use linkmend_protocol::{Admission, Control, Format, FrameHandle, Instant, PerMode, Priority, Transmit};

pub(super) const ETHERNET_HEADER_BYTES: usize = ADDRESSES_BYTES + 2;
/// Two tags.
const VLAN_TAGS_BYTES: usize = 8;
/// Room of the link port that normal frames leave for urgent ones.
const URGENT_ROOM: usize = 64;

impl Engine {
    pub(super) fn send_to_link(&mut self, now: u64) -> usize {
        let mut sent = self.send_protocol(now, Priority::High);
        sent += self.send_normal(now);
        // Empty or held: either way the port idles. A closed shaper is a busy link.
        if self.shaper.is_open(now) {
            sent += self.send_protocol(now, Priority::Low);
        }
        sent
    }

    fn send_protocol(&mut self, now: u64, priority: Priority) -> usize {
        let mut sent = 0;
        while self.ports.link.transmit_room() > 0
            && let Some(transmit) = self.end.poll_transmit(Instant(now), priority)
        {
            match transmit {
                Transmit::Retransmission { frame, .. } => {
                    wire::mark_retransmitted(self.ports.pool.head_mut(frame));
                    self.post(now, frame);
                }
                Transmit::Control(control) => self.send_control(now, &control),
            }
            sent += 1;
        }
        sent
    }

    fn send_normal(&mut self, now: u64) -> usize {
        let mut sent = 0;
        let mut held = PerMode::default();
        while self.shaper.is_open(now)
            && self.ports.link.transmit_room() > URGENT_ROOM
            && let Some(waiting) = self.queue.next(held)
        {
            if self.send_waiting(now, waiting) {
                self.queue.pop(waiting.mode);
                sent += 1;
            } else {
                held[waiting.mode] = true;
            }
        }
        sent
    }

    /// Sends the first frame of its class; `false` if it must wait.
    fn send_waiting(&mut self, now: u64, waiting: Waiting) -> bool {
        let Waiting { frame, bytes, mode } = waiting;
        let fits_with_header = bytes as usize + HEADER_GROWTH_MAX <= self.interfaces.link_frame_bytes();
        let protectable =
            fits_with_header && wire::can_protect(self.settings.format, self.ports.pool.head(frame));
        match self.end.admission(mode, bytes) {
            Admission::Held => return false,
            Admission::Protected if protectable => {
                if let Some(header) = self.end.send(Instant(now), mode, frame, bytes) {
                    let head = self.ports.pool.head(frame);
                    if let Some(encapsulation) = wire::encapsulate(self.settings.format, &header, head) {
                        self.wrap(frame, &encapsulation);
                    }
                    self.post(now, frame);
                    return true;
                }
            }
            Admission::Protected | Admission::Unprotected => {}
        }
        self.send_unprotected(now, frame, bytes, fits_with_header);
        true
    }

    fn send_unprotected(&mut self, now: u64, frame: FrameHandle, bytes: u32, fits_with_header: bool) {
        self.counters.unprotected_frames += 1;
        // VLAN tags are not counted by most drivers; one that does refuses the frame, and the port counts that.
        if bytes as usize > self.interfaces.link_frame_bytes() + VLAN_TAGS_BYTES {
            self.counters.oversize_dropped_frames += 1;
            self.ports.pool.release(frame);
            return;
        }
        if !fits_with_header {
            self.counters.oversize_unprotected_frames += 1;
        } else if self.end.peer_known() || self.settings.format == Format::Linkguardian {
            let head = self.ports.pool.head(frame);
            // The authors' program knows no escape.
            let escape = if self.settings.format == Format::Linkguardian { None } else { wire::escape(head) };
            let encapsulation = escape.or_else(|| self.acknowledge_on(now, frame));
            if let Some(encapsulation) = encapsulation {
                self.wrap(frame, &encapsulation);
            }
        }
        self.post(now, frame);
        self.ports.pool.release(frame);
    }

    /// An unprotected frame carries an ACK that is owed.
    fn acknowledge_on(&mut self, now: u64, frame: FrameHandle) -> Option<Encapsulation> {
        let format = self.settings.format;
        if !wire::can_protect(format, self.ports.pool.head(frame)) {
            return None;
        }
        let ack = self.end.poll_piggyback(Instant(now))?;
        wire::encapsulate_ack(format, ack, self.ports.pool.head(frame))
    }

    fn send_control(&mut self, now: u64, control: &Control) {
        let mut buffer = [0; CONTROL_FRAME_MAX];
        let length = wire::emit_control(control, self.ports.link.mac(), &mut buffer);
        match self.ports.pool.copy_in(&buffer[..length]) {
            Some(frame) => {
                self.post(now, frame);
                self.ports.pool.release(frame);
            }
            // A control frame that is lost is repeated by the protocol.
            None => self.counters.pool_exhausted += 1,
        }
    }

    fn wrap(&mut self, frame: FrameHandle, encapsulation: &Encapsulation) {
        let growth = encapsulation.growth();
        let head = self.ports.pool.push_front(frame, growth as u32);
        head.copy_within(growth..growth + ADDRESSES_BYTES, 0);
        let bytes = encapsulation.bytes();
        head[ADDRESSES_BYTES..ADDRESSES_BYTES + bytes.len()].copy_from_slice(bytes);
    }

    /// Puts a frame on the link port; the caller has seen that there is room.
    fn post(&mut self, now: u64, frame: FrameHandle) {
        self.shaper.take(now, self.ports.pool.frame_length(frame) as u64);
        // A frame of several chunks may still find no room: it is lost on the link, and the protocol recovers it.
        if self.ports.link.send(&mut self.ports.pool, frame).is_ok() {
            self.taps.show(CapturePort::Link, Direction::Outbound, frame, &self.ports.pool);
        }
    }
}
