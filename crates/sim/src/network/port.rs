//! What a port sends next: urgent frames, then normal ones, then dummies and ACKs (section 3, Figure 5).

use super::end::{TxFrame, Urgent};
use super::frame::{Frame, OnWire, WIRE_OVERHEAD_BYTES};
use super::recirculation::{Buffer, Circling};
use super::{Network, OUT_OF_REACH, Observer, SOURCES};
use crate::time::Time;
use linkmend_protocol::{Admission, Control, FrameHandle, Instant, Mode, Priority, SequenceNumber, Transmit};

impl<O: Observer> Network<O> {
    /// The port of `end` is free: sends the first thing that may go.
    pub(super) fn serve_port(&mut self, end: usize) {
        let now = self.now;
        if self.ends[end].attention {
            self.collect_urgent(end);
        }
        if let Some(urgent) = self.next_urgent(end) {
            return self.transmit(end, urgent.on_wire, urgent.pauses);
        }
        if let Some(on_wire) = self.next_normal(end) {
            return self.transmit(end, on_wire, false);
        }
        if let Some(next) = self.ends[end].next_ack(now) {
            return self.transmit_ack(end, next);
        }
        if let Some(on_wire) = self.next_idle(end) {
            return self.transmit(end, on_wire, false);
        }
        // Nothing may go: whatever changes that wakes the port.
        let later = self.ends[end].urgent.front().map_or(Time::NEVER, |urgent| urgent.ready_at);
        self.queue.set(SOURCES * end + 1, later);
        let waiting = self.ends[end].is_opening()
            || self.ends[end].link_end.as_ref().is_some_and(|link_end| {
                link_end.outstanding() > 0 || link_end.steady_state(Instant(now.0), OUT_OF_REACH).is_none()
            });
        if waiting && let Some(link_end) = &self.ends[end].link_end {
            let at = Time(link_end.next_timeout().map_or(u64::MAX, |at| at.0));
            // Something due in the past could not be sent just now; what unblocks it wakes the port.
            if at > now {
                self.arm(end, at);
            }
        }
    }

    /// Asks the link end what is urgent, and lines it up.
    fn collect_urgent(&mut self, end: usize) {
        let now = Instant(self.now.0);
        let this = &mut self.ends[end];
        this.attention = false;
        let Some(link_end) = &mut this.link_end else { return };
        while let Some(control) = link_end.poll_urgent(now) {
            let (mut ready_at, mut pauses) = (self.now, false);
            if let Control::Feedback(feedback) = &control {
                let paused = feedback.lanes[Mode::Ordered].paused;
                if paused != this.told_paused {
                    (this.told_paused, this.told_at) = (paused, self.now);
                    pauses = true;
                    // Pause and resume are made out of timer packets (section 3.5).
                    if let Some(ticks) = self.now.0.checked_next_multiple_of(this.timer_interval.0.max(1)) {
                        ready_at = Time(ticks);
                    }
                }
            }
            let on_wire = OnWire::Control { place: self.controls.put(control) };
            this.urgent.push_back(Urgent { ready_at, pauses, on_wire });
        }
        if this.recirculation.is_none() {
            while let Some(copy) = this.link_end.as_mut().and_then(|link_end| link_end.poll_retransmission())
            {
                this.push_copy(copy, self.now);
            }
        }
    }

    #[inline]
    fn next_urgent(&mut self, end: usize) -> Option<Urgent> {
        let urgent = &mut self.ends[end].urgent;
        if urgent.is_empty() {
            return None;
        }
        // A copy need not wait behind a pause that waits for its timer packet.
        let index = urgent.iter().position(|urgent| urgent.ready_at <= self.now)?;
        urgent.remove(index)
    }

    /// A normal frame, if one waits and its lane may send.
    #[inline]
    fn next_normal(&mut self, end: usize) -> Option<OnWire> {
        let this = &mut self.ends[end];
        if this.started
            && let Some(frame) = this.source.ready()
            && this.admits(&frame)
        {
            this.source.take();
            return Some(self.send_normal(end, frame));
        }
        if this.waiting == 0 {
            return None;
        }
        for offset in 0..Mode::ALL.len() {
            let lane = (this.turn + offset) % Mode::ALL.len();
            if let Some(&frame) = this.normal.0[lane].front()
                && this.admits(&frame)
            {
                this.normal.0[lane].pop();
                this.waiting -= 1;
                this.turn = (lane + 1) % Mode::ALL.len();
                return Some(self.send_normal(end, frame));
            }
        }
        None
    }

    /// Numbers a frame and keeps a copy of it.
    #[inline]
    fn send_normal(&mut self, end: usize, frame: Frame) -> OnWire {
        let now = self.now;
        if let Some(interval) = self.ends[end].housekeeping {
            self.arm(end, now + interval);
        }
        let this = &mut self.ends[end];
        let Some(link_end) = &mut this.link_end else { return OnWire::Plain { frame } };
        let slot = this.tx.put(TxFrame { frame, released: false, circling: false });
        let handle = FrameHandle(slot);
        let Some(header) = link_end.send(Instant(now.0), frame.mode, handle, frame.bytes) else {
            this.tx.free(slot);
            return OnWire::Plain { frame };
        };
        match this.recirculation {
            None => {
                this.tx_bytes += u64::from(frame.bytes);
                this.tx_levels.set(now, this.tx_bytes);
            }
            Some(port) => {
                this.tx.at(slot).circling = true;
                self.insert(port, end, Buffer::Tx, slot, frame);
            }
        }
        OnWire::Protected { header, frame }
    }

    /// A dummy or an ACK for a port that would otherwise be idle.
    fn next_idle(&mut self, end: usize) -> Option<OnWire> {
        let now = Instant(self.now.0);
        let this = &mut self.ends[end];
        let link_end = this.link_end.as_mut()?;
        let Some(Transmit::Control(control)) = link_end.poll_transmit(now, Priority::Low) else {
            return this.replenished.take();
        };
        if let Some(OnWire::Control { place }) = this.replenished.take() {
            self.controls.free(place);
        }
        Some(match control {
            Control::CompactAck { next } => {
                this.acks_sent += 1;
                OnWire::Ack { next }
            }
            control => {
                this.dummies_sent += u64::from(is_dummy(&control));
                OnWire::Control { place: self.controls.put(control) }
            }
        })
    }

    /// Puts a frame on the wire.
    #[inline]
    fn transmit(&mut self, end: usize, on_wire: OnWire, pauses: bool) {
        let now = self.now;
        let this = &mut self.ends[end];
        let bytes = match &on_wire {
            OnWire::Protected { frame, .. } => frame.bytes + this.header_bytes,
            OnWire::Plain { frame } => frame.bytes,
            OnWire::Ack { .. } => super::FRAME_BYTES_MIN,
            OnWire::Control { place } => self.controls.bytes(*place),
        };
        this.free_at = now + this.rate.time_of(u64::from(bytes) + WIRE_OVERHEAD_BYTES);
        let at_port = this.free_at + this.wire_latency;
        let arrival = at_port + this.ingress_latency;
        let is_copy = matches!(&on_wire, OnWire::Protected { header, .. } if header.retransmitted);
        let corrupted = match &mut this.copy_corruption {
            Some(corruption) if is_copy => corruption.corrupts(bytes),
            _ => this.corruption.corrupts(bytes),
        };
        this.transmitted += 1;
        let control = self.controls.content(&on_wire);
        self.observer.sent(end, now, &on_wire, control, corrupted);
        let control_sent = control.is_some();
        match on_wire {
            OnWire::Protected { header, frame } if !header.retransmitted => {
                this.losses.sent(frame.id, arrival, corrupted);
                if let Some(resumed_at) = this.resumed_at.take() {
                    this.resume_flight_max = this.resume_flight_max.max(arrival - resumed_at);
                }
            }
            OnWire::Protected { frame, .. } if corrupted => {
                let copies = this.link_end.as_ref().map_or(0, |end| end.status().copies);
                this.losses.copy_lost(frame.id, copies);
            }
            OnWire::Plain { .. } => this.losses.sent_unprotected(corrupted),
            _ => {}
        }
        if corrupted {
            self.corrupted(end, on_wire);
        } else {
            let this = &mut self.ends[end];
            let (queue, arrival) = match pauses {
                true => (&mut this.pauses_in_flight, at_port),
                false => (&mut this.in_flight, arrival),
            };
            queue.push_back((arrival, on_wire));
            let source = SOURCES * this.peer;
            if queue.len() == 1 && arrival < self.queue.time_of(source) {
                self.queue.set(source, arrival);
            }
        }
        let this = &self.ends[end];
        // What a control frame asks for may have to be repeated: the idle port sees to it.
        let more = this.has_normal()
            || control_sent
            || this.attention
            || !this.urgent.is_empty()
            || this.replenished.is_some()
            || this.link_end.as_ref().is_some_and(|link_end| link_end.outstanding() > 0);
        self.queue.set(SOURCES * end + 1, if more { this.free_at } else { Time::NEVER });
    }

    /// Puts an ACK on the wire: what [`Network::transmit`] does, for the frame that is as frequent as data.
    #[inline]
    fn transmit_ack(&mut self, end: usize, next: SequenceNumber) {
        let now = self.now;
        let this = &mut self.ends[end];
        let on_wire = OnWire::Ack { next };
        this.free_at = now + Time(this.idle_slot.value);
        this.transmitted += 1;
        let corrupted = this.corruption.corrupts(super::FRAME_BYTES_MIN);
        self.observer.sent(end, now, &on_wire, None, corrupted);
        if corrupted {
            this.replenished = this.replenishes.then_some(on_wire);
        } else {
            let arrival = this.free_at + this.wire_latency + this.ingress_latency;
            this.in_flight.push_back((arrival, on_wire));
            let source = SOURCES * this.peer;
            if this.in_flight.len() == 1 && arrival < self.queue.time_of(source) {
                self.queue.set(source, arrival);
            }
        }
        // What is urgent may wait for its timer packet.
        let more = this.replenished.is_some()
            || !this.urgent.is_empty()
            || this.has_normal()
            || this.link_end.as_ref().is_some_and(|end| end.outstanding() > 0);
        self.queue.set(SOURCES * end + 1, if more { this.free_at } else { Time::NEVER });
    }

    /// What becomes of a frame that does not arrive.
    fn corrupted(&mut self, end: usize, on_wire: OnWire) {
        let idle = match on_wire {
            OnWire::Ack { .. } => true,
            OnWire::Control { place } => is_idle_frame(self.controls.at(place)),
            _ => false,
        };
        if idle && self.ends[end].replenishes {
            self.ends[end].replenished = Some(on_wire);
        } else if let OnWire::Control { place } = on_wire {
            self.controls.free(place);
        }
    }

    /// Lets a frame circle. The bounds of the two buffers are the link end's to keep.
    pub(super) fn insert(&mut self, port: usize, end: usize, buffer: Buffer, slot: u32, frame: Frame) {
        let wire_bytes = frame.bytes + self.ends[end].header_bytes + WIRE_OVERHEAD_BYTES as u32;
        let circling = Circling { end: end as u32, buffer, slot, wire_bytes };
        let next = self.ports[port].insert(self.now, circling);
        let this = &mut self.ends[end];
        match buffer {
            Buffer::Tx => {
                this.tx_bytes += u64::from(frame.bytes);
                this.tx_levels.set(self.now, this.tx_bytes);
            }
            Buffer::Rx => {
                this.rx_bytes += u64::from(frame.bytes);
                this.rx_levels.set(self.now, this.rx_bytes);
            }
        }
        self.queue.set(SOURCES * self.ends.len() + port, next);
    }

    /// Lets the clock of `end` act at `at` at the latest.
    pub(super) fn arm(&mut self, end: usize, at: Time) {
        if at < self.ends[end].timeout_at && at.0 - self.now.0 < OUT_OF_REACH.0 {
            self.ends[end].timeout_at = at;
            self.set_clock(end);
        }
    }
}

impl super::End {
    /// An ACK in the authors' format, if that is what an idle port would send.
    #[inline]
    fn next_ack(&mut self, now: Time) -> Option<SequenceNumber> {
        let next = self.link_end.as_mut()?.poll_compact_ack(Instant(now.0))?;
        self.acks_sent += 1;
        // It says more than the one that would have been repeated, which was an ACK as well.
        if self.replenished.is_some_and(|on_wire| matches!(on_wire, OnWire::Ack { .. })) {
            self.replenished = None;
        }
        Some(next)
    }

    /// Whether a normal frame may go now.
    #[inline]
    fn admits(&self, frame: &Frame) -> bool {
        let Some(link_end) = &self.link_end else { return true };
        let has_room = self.tx_bytes + u64::from(frame.bytes) <= self.tx_bytes_max;
        has_room && link_end.admission(frame.mode, frame.bytes) != Admission::Held
    }

    /// Lines up a copy of a frame in the Tx buffer.
    pub(super) fn push_copy(&mut self, copy: Transmit, now: Time) {
        if let Transmit::Retransmission { frame: FrameHandle(slot), header } = copy {
            let frame = self.tx.at(slot).frame;
            self.urgent.push_back(Urgent {
                ready_at: now,
                pauses: false,
                on_wire: OnWire::Protected { header, frame },
            });
        }
    }
}

fn is_dummy(control: &Control) -> bool {
    matches!(control, Control::Dummy { .. } | Control::CompactDummy { .. })
}

/// Whether a self-replenishing queue would send it: it says nothing that cannot wait for an idle port.
fn is_idle_frame(control: &Control) -> bool {
    is_dummy(control) || matches!(control, Control::CompactAck { .. } | Control::Feedback(_))
}
