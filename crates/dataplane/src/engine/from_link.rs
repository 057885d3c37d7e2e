//! Frames from the link: corruption (in tests), the protocol, delivery to the inner port.

use super::{BATCH, Engine, INNER_STUCK_NS};
use crate::clock;
use crate::port::QueueFull;
use linkmend_control::Side;
use linkmend_control::capture::Direction;
use linkmend_protocol::paths::Path;
use linkmend_protocol::trace::{CorruptedFrame, Step};
use linkmend_protocol::wire::{self, ADDRESSES_BYTES, Decapsulation, LinkFrame};
use linkmend_protocol::{Control, DataHeader, Format, FrameHandle, Instant, ReceiveState, Reception};

impl Engine {
    /// Takes a batch from the link port, but not more than the inner port can take; the rest waits in the link port's
    /// ring. Returns the number, whether there may be more, and the time, which was read after the ring: a loop that is
    /// interrupted in between would otherwise date frames before they arrived, and measure round trips as too short.
    pub(super) fn take_from_link(&mut self, now: u64) -> (usize, bool, u64) {
        if self.inner_frames_room() > 0 {
            self.inner_open_ns = now;
        }
        let (mut taken, mut more, mut read_at) = (0, false, now);
        for path in self.sides.paths() {
            let (count, more_there, now) = self.take_from(path, now);
            (taken, more, read_at) = (taken + count, more | more_there, now);
        }
        (taken, more, read_at)
    }

    /// Takes a batch from the port of one link.
    fn take_from(&mut self, path: Path, now: u64) -> (usize, bool, u64) {
        let budget = if self.is_inner_stuck(now) { BATCH } else { BATCH.min(self.inner_frames_room()) };
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        self.sides[path].port.receive(&mut self.pool, &mut batch, budget);
        let now = clock::now_ns();
        self.batch_left = batch.len();
        let mut whole = 0;
        for &frame in &batch {
            self.batch_left -= 1;
            if self.is_corrupted(now, path, frame) {
                self.pool.release(frame);
            } else {
                whole += 1;
                self.handle_link_frame(now, path, frame);
            }
        }
        if whole > 0 {
            self.heard(now, path);
        }
        let count = batch.len();
        self.batch = batch;
        (count, count == budget && count > 0, now)
    }

    /// Whether an arriving frame is lost on purpose.
    #[inline]
    fn is_corrupted(&mut self, now: u64, path: Path, frame: FrameHandle) -> bool {
        let parse = || wire::parse(self.pool.head(frame));
        let side = &mut self.sides[path];
        let corrupted = side.corruption.as_mut().is_some_and(|losses| {
            let bytes = self.pool.frame_length(frame) + wire::FCS_BYTES;
            losses.corrupts(bytes as u32, parse)
        });
        self.taps.show_from_link(path.into(), corrupted, frame, &self.pool);
        if corrupted {
            side.corrupted_frames += 1;
            let step = || Step::Corrupted { frame: CorruptedFrame::from(&parse()) };
            self.end.note(Instant(now), step);
        }
        corrupted
    }

    /// Whether the inner port has taken nothing for so long that frames are lost there.
    pub(super) fn is_inner_stuck(&self, now: u64) -> bool {
        now.saturating_sub(self.inner_open_ns) >= INNER_STUCK_NS
    }

    /// How many frames of the greatest length the inner port has room for.
    pub(super) fn inner_frames_room(&self) -> usize {
        self.inner.transmit_room() / self.chunks_per_frame
    }

    /// Hands the inner port as many of the frames that wait for it as it takes.
    pub(super) fn deliver_buffered(&mut self) -> usize {
        let mut count = 0;
        while self.inner_frames_room() > self.batch_left
            && let Some(frame) = self.end.poll_deliver()
        {
            self.deliver(frame);
            count += 1;
        }
        count
    }

    fn handle_link_frame(&mut self, now: u64, path: Path, frame: FrameHandle) {
        let head = self.pool.head(frame);
        let believed = self.believes(head);
        let parsed = match self.settings.format {
            // Nobody speaks the authors' headers here, so a frame with them is a host's.
            Format::Transparent if wire::is_compact(head) => LinkFrame::Foreign,
            _ => wire::parse(head),
        };
        match parsed {
            LinkFrame::Control(Control::Probe(probe)) if self.is_stranger(now, &probe) => {
                self.handle_stranger(now, path, frame, &probe);
                self.pool.release(frame);
            }
            // The hosts behind another end have nothing to do with those of this one.
            LinkFrame::Foreign
            | LinkFrame::Data { .. }
            | LinkFrame::Escaped(_)
            | LinkFrame::Acknowledging { .. }
                if self.is_foreign(path) =>
            {
                self.pool.release(frame);
            }
            LinkFrame::Foreign => self.handle_foreign(now, frame),
            LinkFrame::Data { .. } if !believed => self.deliver_in_turn(frame),
            LinkFrame::Data { header, decapsulation } if self.uses_both() => {
                self.merge_data(now, path, frame, &header, decapsulation);
            }
            // The peer has left this link, and sends it again on the other.
            LinkFrame::Data { .. } if !self.takes(path) => self.pool.release(frame),
            LinkFrame::Data { header, decapsulation } => {
                if let Some(header) = self.unwrap_data(path, frame, &header, decapsulation) {
                    self.take_data(now, frame, &header);
                }
            }
            LinkFrame::Control(control) if !control.has_magic() && !believed => {
                // This is a host's frame that happens to have the authors' EtherType.
                self.deliver_in_turn(frame);
            }
            LinkFrame::Control(control) => self.handle_control(now, path, frame, &control),
            LinkFrame::Escaped(decapsulation) if believed => {
                self.restore(frame, decapsulation);
                self.deliver_in_turn(frame);
            }
            LinkFrame::Acknowledging { ack, decapsulation } if believed => {
                let (is_genuine, decapsulation) = self.open_ack(frame, ack, decapsulation);
                if is_genuine && self.takes(path) {
                    self.end.handle_ack(Instant(now), ack);
                }
                self.restore(frame, decapsulation);
                self.deliver_in_turn(frame);
            }
            LinkFrame::InTime if believed && self.sides[path].port.is_udp() => {
                self.handle_in_time(now, frame);
            }
            LinkFrame::Malformed | LinkFrame::InTime if believed => {
                self.counters.malformed_frames += 1;
                self.pool.release(frame);
            }
            // The peer does not speak Linkmend, so this is a host's frame that looks like ours.
            LinkFrame::Escaped(_)
            | LinkFrame::Acknowledging { .. }
            | LinkFrame::InTime
            | LinkFrame::Malformed => {
                self.deliver_in_turn(frame);
            }
        }
    }

    fn handle_control(&mut self, now: u64, path: Path, frame: FrameHandle, control: &Control) {
        if !control.has_magic()
            || self.is_genuine(frame, control) && self.is_from_peer(now, path, frame, control)
        {
            self.meet(control);
            let proofs = self.end.proofs();
            match control {
                Control::Probe(probe) => self.handle_probe(now, path, probe),
                // A hello belongs to no session.
                Control::Hello { .. } => {
                    self.end.handle_control(Instant(now), control);
                }
                _ => self.take_control(now, path, control),
            }
            if self.end.proofs() != proofs {
                self.note_peer(now, path, frame);
            }
            if self.uses_both() {
                self.hand_on(now);
            }
        }
        self.pool.release(frame);
    }

    /// Restores a protected frame; returns what its header says that is to be believed. A forged one is dropped.
    pub(super) fn unwrap_data(
        &mut self,
        path: Path,
        frame: FrameHandle,
        header: &DataHeader,
        decapsulation: Decapsulation,
    ) -> Option<DataHeader> {
        let Some((is_genuine, decapsulation)) = self.open_data(path, frame, header, decapsulation) else {
            self.counters.forged_frames += 1;
            self.pool.release(frame);
            return None;
        };
        self.restore(frame, decapsulation);
        Some(DataHeader { ack: header.ack.filter(|_| is_genuine), ..*header })
    }

    /// Gives the protocol a frame, and delivers what that allows.
    pub(super) fn take_data(&mut self, now: u64, frame: FrameHandle, header: &DataHeader) {
        let bytes = self.pool.frame_length(frame) as u32;
        match self.end.handle_data(Instant(now), header, frame, bytes) {
            Reception::Deliver => {
                self.deliver(frame);
                self.deliver_buffered();
            }
            Reception::Buffered => {}
            Reception::Drop => self.pool.release(frame),
        }
    }

    /// Whether to believe that a header in our format or the authors' comes from the peer and not from some host: there is a
    /// session, or the peer has proved lately that it hears this end. Without a session, what the peer still sends of one that
    /// this end has lost is unwrapped, which gives nobody more than a frame without a header would.
    fn believes(&self, head: &[u8]) -> bool {
        if self.settings.format == Format::Linkguardian {
            // The operator's configuration says so, because there is no handshake that could.
            return wire::is_compact(head);
        }
        self.end.peer_known() || self.end.status().receive == ReceiveState::Active
    }

    /// Handles a host's frame, or a pause of the authors' program.
    fn handle_foreign(&mut self, now: u64, frame: FrameHandle) {
        if self.settings.format == Format::Linkguardian
            && let Some(pause) = wire::parse_priority_pause(self.pool.head(frame))
        {
            self.end.handle_control(Instant(now), &pause);
            self.pool.release(frame);
        } else {
            self.deliver_in_turn(frame);
        }
    }

    /// Restores the original form of the frame.
    fn restore(&mut self, frame: FrameHandle, decapsulation: Decapsulation) {
        let shrinkage = decapsulation.shrinkage();
        let head = self.pool.head_mut(frame);
        head.copy_within(..ADDRESSES_BYTES, shrinkage);
        if let Some(ethertype) = decapsulation.ethertype {
            let at = shrinkage + ADDRESSES_BYTES;
            head[at..at + 2].copy_from_slice(&ethertype.to_be_bytes());
        }
        self.pool.pull_front(frame, shrinkage as u32);
    }

    /// Delivers an unprotected frame behind those that the inner port has not taken yet.
    fn deliver_in_turn(&mut self, frame: FrameHandle) {
        self.deliver_buffered();
        self.deliver(frame);
    }

    pub(super) fn deliver(&mut self, frame: FrameHandle) {
        match self.inner.send(&mut self.pool, frame) {
            Ok(()) => self.taps.show(Side::Inner, Direction::Outbound, frame, &self.pool),
            Err(QueueFull) => self.counters.inner_port_drops += 1,
        }
        self.pool.release(frame);
    }
}
