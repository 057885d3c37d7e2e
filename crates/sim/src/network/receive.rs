//! What happens when a frame arrives, comes round, or is waited for too long.

use super::end::Destination;
use super::frame::{Frame, OnWire};
use super::recirculation::{Buffer, Circling};
use super::{End, Network, Observer, SOURCES};
use crate::time::Time;
use linkmend_protocol::{Control, DataHeader, FrameHandle, Instant, Mode, PerMode, PiggybackAck, Reception};

/// A Tx buffer in which less is left may have kept a frame waiting: more than two of the longest frames.
const NEARLY_FULL_BYTES: u64 = 20_000;

impl<O: Observer> Network<O> {
    /// The next frame in flight towards `end` is there.
    #[inline(never)]
    pub(super) fn arrive(&mut self, end: usize) {
        let from = &mut self.ends[end ^ 1];
        let Some((_, on_wire)) = from.in_flight.pop_front() else { return };
        self.queue.set(SOURCES * end, from.next_arrival());
        let control = self.controls.content(&on_wire);
        self.observer.received(end, self.now, &on_wire, control);
        match on_wire {
            OnWire::Plain { frame } => self.deliver(end, frame),
            OnWire::Protected { header, frame } => self.handle_protected(end, &header, frame),
            OnWire::Ack { next } => {
                let this = &mut self.ends[end];
                if let Some(link_end) = &mut this.link_end {
                    // Its lane is the one in use: the authors' header names none.
                    link_end.handle_ack(Instant(self.now.0), PiggybackAck { mode: Mode::Ordered, next });
                    this.release(self.now);
                }
            }
            OnWire::Control { place } => {
                self.handle_control(end, place);
                self.controls.free(place);
            }
        }
        if self.ends[end].link_end.is_some() {
            self.wake(end);
        }
    }

    fn handle_protected(&mut self, end: usize, header: &DataHeader, frame: Frame) {
        let now = self.now;
        let peer = self.ends[end].peer;
        if !header.retransmitted {
            self.ends[peer].losses.arrived(now);
        }
        let this = &mut self.ends[end];
        let Some(link_end) = &mut this.link_end else { return };
        // A place in the Rx buffer, in case the link end keeps the frame.
        let slot = this.rx.next();
        let reception = link_end.handle_data(Instant(now.0), header, FrameHandle(slot), frame.bytes);
        let disturbed = link_end.missing() > 0;
        this.attention |= link_end.is_urgent();
        if header.ack.is_some() {
            this.release(now);
        }
        match reception {
            Reception::Deliver => {
                self.deliver(end, frame);
                if self.ends[end].rx_bytes > 0 {
                    self.deliver_directly(end);
                }
            }
            Reception::Drop => {}
            Reception::Buffered => {
                this.rx.put(frame);
                match this.recirculation {
                    Some(port) => self.insert(port, end, Buffer::Rx, slot, frame),
                    None => {
                        this.rx_bytes += u64::from(frame.bytes);
                        this.rx_levels.set(now, this.rx_bytes);
                        self.deliver_directly(end);
                    }
                }
            }
        }
        self.follow_loss(end, header, frame, reception);
        if disturbed {
            self.arm_recovery(end);
        }
    }

    /// Keeps account of a frame that was corrupted, or finds no room.
    fn follow_loss(&mut self, end: usize, header: &DataHeader, frame: Frame, reception: Reception) {
        let now = self.now;
        let peer = self.ends[end].peer;
        let matters = if header.retransmitted {
            self.ends[peer].losses.follows(frame.id)
        } else {
            reception == Reception::Drop
        };
        if !matters {
            return;
        }
        let this = &mut self.ends[end];
        let overflows = this.link_end.as_ref().map_or(0, |link_end| {
            let stats = link_end.stats();
            // What comes while the window is full of frames that still circle finds no room, either.
            stats.rx_buffer_overflows + stats.overflowed_copies + stats.out_of_window_frames
        });
        let overflowed = std::mem::replace(&mut this.overflows, overflows) != overflows;
        let losses = &mut self.ends[peer].losses;
        if header.retransmitted {
            losses.copy_arrived(frame.id, now, overflowed);
        } else if overflowed {
            losses.overflowed(frame.id, header, now);
        }
    }

    /// The receiver may have given up frames of its peer.
    fn count_given_up(&mut self, end: usize) {
        let peer = self.ends[end].peer;
        if self.ends[peer].losses.is_empty() {
            return;
        }
        let Some(link_end) = &self.ends[end].link_end else { return };
        let awaited = PerMode(Mode::ALL.map(|mode| link_end.awaited(mode)));
        let sender = &mut self.ends[peer];
        let copies = sender.link_end.as_ref().map_or(0, |end| end.status().copies);
        sender.losses.give_up(awaited, copies);
    }

    #[inline(never)]
    fn handle_control(&mut self, end: usize, place: u32) {
        let now = self.now;
        let peer = self.ends[end].peer;
        let control = self.controls.at(place);
        if matches!(control, Control::Dummy { .. } | Control::CompactDummy { .. }) {
            self.ends[peer].losses.arrived(now);
        }
        let told_at = self.ends[peer].told_at;
        let this = &mut self.ends[end];
        let Some(link_end) = &mut this.link_end else { return };
        link_end.handle_control(Instant(now.0), control);
        let paused = link_end.is_paused();
        if this.paused != paused {
            this.paused = paused;
            this.resumed_at = (!paused).then_some(told_at);
        }
        this.attention = true;
        this.release(now);
        // A withdrawal lets go what is behind the frame that was waited for.
        self.count_given_up(end);
        self.deliver_directly(end);
        self.arm_recovery(end);
    }

    /// Does what is due at `end`: timeouts, and the next frame of paced traffic.
    #[inline(never)]
    pub(super) fn handle_clock(&mut self, end: usize) {
        let now = self.now;
        if self.ends[end].traffic_at <= now {
            let emitted = self.ends[end].source.emit(now);
            let this = &mut self.ends[end];
            this.traffic_at = emitted.and_then(|(_, next)| next).unwrap_or(Time::NEVER);
            if let Some((frame, _)) = emitted {
                this.push_normal(frame);
            }
        }
        let this = &mut self.ends[end];
        if this.timeout_at <= now {
            this.timeout_at = Time::NEVER;
            if let Some(link_end) = &mut this.link_end {
                link_end.handle_timeout(Instant(now.0));
                this.attention = true;
                this.release(now);
                self.count_given_up(end);
                self.deliver_directly(end);
                self.arm_recovery(end);
            }
        }
        self.set_clock(end);
        self.wake(end);
    }

    /// Lets the clock act when the receiver is to give up what is missing: with the timer packet after `ackNoTimeout`.
    fn arm_recovery(&mut self, end: usize) {
        let this = &self.ends[end];
        let Some(at) = this.link_end.as_ref().and_then(|link_end| link_end.next_recovery_timeout()) else {
            return;
        };
        let at = Time(at.0.next_multiple_of(this.timer_interval.0.max(1)));
        self.arm(end, at.max(self.now));
    }

    /// A frame comes round: it is let go, sent on, or sent round once more. `false` if nothing else will ever happen.
    #[inline(never)]
    pub(super) fn come_round(&mut self, port: usize) -> bool {
        if self.is_stuck() {
            return false;
        }
        let Some(circling) = self.ports[port].take() else { return true };
        let stays = match circling.buffer {
            Buffer::Tx => self.tx_stays(&circling),
            Buffer::Rx => self.rx_stays(&circling),
        };
        if stays {
            self.ports[port].insert(self.now, circling);
        }
        self.queue.set(SOURCES * self.ends.len() + port, self.ports[port].next());
        true
    }

    /// Figure 18: dropped once acknowledged, retransmitted once requested, and buffered on otherwise.
    #[inline]
    fn tx_stays(&mut self, circling: &Circling) -> bool {
        let end = circling.end as usize;
        let handle = FrameHandle(circling.slot);
        let this = &mut self.ends[end];
        let Some(link_end) = &mut this.link_end else { return false };
        let held = *this.tx.at(circling.slot);
        let mut leaves = held.released;
        if !leaves && let Some(copy) = link_end.poll_retransmission_of(handle) {
            // The copy is gone with its retransmission (appendix A.2), unless it may be asked for again.
            leaves = link_end.config().max_rounds == 1;
            let mut copy = Some(copy);
            while let Some(next) = copy {
                let this = &mut self.ends[end];
                this.push_copy(next, self.now);
                copy = this.link_end.as_mut().and_then(|end| end.poll_retransmission_of(handle));
            }
            self.wake(end);
        }
        if !leaves {
            return true;
        }
        let this = &mut self.ends[end];
        this.tx_bytes -= u64::from(held.frame.bytes);
        this.tx_levels.set(self.now, this.tx_bytes);
        this.tx.at(circling.slot).circling = false;
        if held.released {
            this.tx.free(circling.slot);
        }
        if this.tx_bytes + NEARLY_FULL_BYTES > this.tx_bytes_max {
            // A normal frame may have waited for room.
            self.wake(end);
        }
        false
    }

    /// Algorithm 1 for a buffered frame: forwarded when its turn has come.
    #[inline]
    fn rx_stays(&mut self, circling: &Circling) -> bool {
        let end = circling.end as usize;
        let this = &mut self.ends[end];
        let Some(link_end) = &mut this.link_end else { return false };
        if link_end.next_delivery() != Some(FrameHandle(circling.slot)) {
            return true;
        }
        link_end.poll_deliver();
        let urgent = link_end.is_urgent();
        this.attention |= urgent;
        let frame = this.rx.free(circling.slot);
        this.rx_bytes -= u64::from(frame.bytes);
        this.rx_levels.set(self.now, this.rx_bytes);
        self.deliver(end, frame);
        self.deliver_directly(end);
        if urgent {
            self.wake(end);
        }
        false
    }

    /// With direct buffering, passes on all whose turn has come. Where frames circle, only what was given up behind the
    /// last of them is passed over, which otherwise would close the window for good.
    fn deliver_directly(&mut self, end: usize) {
        if self.ends[end].recirculation.is_some() && self.ends[end].rx.used() > 0 {
            return;
        }
        loop {
            let this = &mut self.ends[end];
            let Some(FrameHandle(slot)) = this.link_end.as_mut().and_then(|end| end.poll_deliver()) else {
                break;
            };
            let frame = this.rx.free(slot);
            this.rx_bytes -= u64::from(frame.bytes);
            this.rx_levels.set(self.now, this.rx_bytes);
            this.attention |= this.link_end.as_ref().is_some_and(|end| end.is_urgent());
            self.deliver(end, frame);
        }
    }

    #[inline]
    fn deliver(&mut self, end: usize, frame: Frame) {
        let this = &mut self.ends[end];
        let delivered = &mut this.delivered;
        delivered.frames += 1;
        delivered.bytes += u64::from(frame.bytes);
        delivered.reordered += u64::from(frame.id < delivered.next_id);
        delivered.next_id = delivered.next_id.max(frame.id + 1);
        delivered.last_at = self.now;
        let destination = this.destination;
        self.observer.delivered(end, self.now, &frame);
        if let Destination::End(to) = destination {
            self.ends[to].push_normal(frame);
            self.wake(to);
        }
    }
}

impl End {
    pub(super) fn is_opening(&self) -> bool {
        self.link_end.as_ref().is_some_and(|link_end| {
            let status = link_end.status();
            status.protection_requested && status.transmit != linkmend_protocol::TransmitState::Active
        })
    }

    /// Whether no frame of the traffic is to come, waits, is outstanding, or is buffered.
    pub(super) fn is_drained(&self) -> bool {
        self.source.left() == 0
            && self.waiting == 0
            && self.urgent.is_empty()
            && self.rx.used() == 0
            && self.link_end.as_ref().is_none_or(|end| end.outstanding() == 0 && end.missing() == 0)
            && !self.in_flight.iter().any(|(_, on_wire)| on_wire.is_traffic())
    }
}
