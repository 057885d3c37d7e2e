//! What a port sends next: urgent frames, then normal ones, then dummies and ACKs (section 3, Figure 5).

use super::end::{TxFrame, Urgent};
use super::frame::{Frame, OnWire, WIRE_OVERHEAD_BYTES};
use super::recirculation::{Buffer, Circling};
use super::{Network, OUT_OF_REACH, Observer, SOURCES};
use crate::time::Time;
use linkmend_protocol::{Admission, Control, FrameHandle, Instant, Mode, Priority, SequenceNumber, Transmit};

impl<O: Observer> Network<O> {
    /// The port of `end` is free: sends the first thing that may go.
    #[inline(never)]
    pub(super) fn serve_port(&mut self, end: usize) {
        if self.ends[end].attention {
            self.collect_urgent(end);
        }
        let this = &mut self.ends[end];
        if !this.urgent.is_empty()
            && let Some(urgent) = this.next_urgent(self.now)
        {
            return self.transmit(end, urgent.on_wire, urgent.pauses);
        }
        if this.started
            && let Some(frame) = this.source.ready()
        {
            match this.admission(&frame) {
                Admission::Protected => {
                    this.source.take();
                    return self.send_protected(end, frame);
                }
                Admission::Unprotected => {
                    this.source.take();
                    return self.send_plain(end, frame);
                }
                Admission::Held => {}
            }
        }
        if this.waiting > 0 && self.send_waiting(end) {
            return;
        }
        match self.ends[end].next_ack(self.now) {
            Some(next) => self.transmit_ack(end, next),
            None => self.serve_idle(end),
        }
    }

    /// Sends a frame that has lined up, if one may go; the lanes take turns.
    #[inline(never)]
    fn send_waiting(&mut self, end: usize) -> bool {
        for offset in 0..Mode::ALL.len() {
            let this = &mut self.ends[end];
            let lane = (this.turn + offset) % Mode::ALL.len();
            let Some(&frame) = this.normal.0[lane].front() else { continue };
            let admission = this.admission(&frame);
            if admission == Admission::Held {
                continue;
            }
            this.normal.0[lane].pop();
            this.waiting -= 1;
            this.turn = (lane + 1) % Mode::ALL.len();
            match admission {
                Admission::Protected => self.send_protected(end, frame),
                _ => self.send_plain(end, frame),
            }
            return true;
        }
        false
    }

    /// Nothing of the traffic may go, and no plain ACK is owed: sends a dummy or an ACK, if one says something new.
    #[inline(never)]
    fn serve_idle(&mut self, end: usize) {
        let now = self.now;
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
    #[inline(never)]
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
            this.dummies_sent += u64::from(is_dummy(&control));
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

    /// Numbers a frame, keeps a copy of it, and sends it.
    #[inline]
    fn send_protected(&mut self, end: usize, frame: Frame) {
        let now = self.now;
        self.keep_house(end);
        let this = &mut self.ends[end];
        let Some(link_end) = &mut this.link_end else { return };
        let circling = this.recirculation.is_some();
        let slot = this.tx.put(TxFrame { frame, released: false, circling });
        let header = link_end.send_admitted(Instant(now.0), frame.mode, FrameHandle(slot), frame.bytes);
        let other_lane_waits = link_end.outstanding() > link_end.outstanding_in(header.mode);
        match this.recirculation {
            None => {
                this.tx_bytes += u64::from(frame.bytes);
                this.tx_levels.set(now, this.tx_bytes);
            }
            Some(port) => self.insert(port, end, Buffer::Tx, slot, frame),
        }
        if other_lane_waits {
            self.arm_dummy(end);
        }
        let on_wire = OnWire::Protected { header, frame };
        let this = &mut self.ends[end];
        let (arrival, corrupted) = this.begin(now, frame.bytes + this.header_bytes, false);
        self.observer.sent(end, now, &on_wire, None, corrupted);
        this.losses.sent(frame.id, &header, arrival, corrupted);
        if let Some(resumed_at) = this.resumed_at.take() {
            this.resume_flight_max = this.resume_flight_max.max(arrival - resumed_at);
        }
        // It is outstanding, so the port has more to do.
        self.queue.set(SOURCES * end + 1, this.free_at);
        if !corrupted {
            self.fly(end, arrival, on_wire);
        }
    }

    /// Sends a frame as it is.
    fn send_plain(&mut self, end: usize, frame: Frame) {
        let now = self.now;
        self.keep_house(end);
        let this = &mut self.ends[end];
        if let Some(link_end) = &mut this.link_end {
            // Only counts it.
            link_end.send(Instant(now.0), frame.mode, FrameHandle::default(), frame.bytes);
        }
        self.arm_dummy(end);
        let this = &mut self.ends[end];
        let on_wire = OnWire::Plain { frame };
        let (arrival, corrupted) = this.begin(now, frame.bytes, false);
        self.observer.sent(end, now, &on_wire, None, corrupted);
        this.losses.sent_unprotected(corrupted);
        self.queue.set(SOURCES * end + 1, if this.has_more() { this.free_at } else { Time::NEVER });
        if !corrupted {
            self.fly(end, arrival, on_wire);
        }
    }

    /// Sees to it that an end that sends without pause is looked after, if that may be needed.
    #[inline]
    fn keep_house(&mut self, end: usize) {
        if let Some(interval) = self.ends[end].housekeeping {
            self.arm(end, self.now + interval);
        }
    }

    /// A port that what else there is keeps busy has no idle slot for the dummies of a lane that has nothing to send: sees
    /// to it that they go when they are overdue.
    #[inline(never)]
    fn arm_dummy(&mut self, end: usize) {
        let this = &mut self.ends[end];
        let Some(link_end) = this.link_end.as_ref().filter(|link_end| link_end.outstanding() > 0) else {
            return;
        };
        let Some(at) = link_end.dummy_overdue_at() else { return };
        if at.0 <= self.now.0 {
            this.attention = true;
        } else {
            self.arm(end, Time(at.0));
        }
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

    /// Sends a copy or a control frame.
    fn transmit(&mut self, end: usize, on_wire: OnWire, pauses: bool) {
        let now = self.now;
        let this = &mut self.ends[end];
        let (bytes, is_copy) = match &on_wire {
            OnWire::Protected { frame, .. } => (frame.bytes + this.header_bytes, true),
            OnWire::Plain { frame } => (frame.bytes, false),
            OnWire::Ack { .. } => (super::FRAME_BYTES_MIN, false),
            OnWire::Control { place } => (self.controls.bytes(*place), false),
        };
        let (arrival, corrupted) = this.begin(now, bytes, is_copy);
        let control = self.controls.content(&on_wire);
        self.observer.sent(end, now, &on_wire, control, corrupted);
        if let OnWire::Protected { frame, .. } = &on_wire
            && !this.losses.is_empty()
        {
            let copies = this.link_end.as_ref().map_or(0, |end| end.status().copies);
            this.losses.copy_sent(frame.id, corrupted, copies);
        }
        let control_sent = control.is_some();
        if corrupted {
            self.corrupted(end, on_wire);
        } else if pauses {
            self.overtake(end, on_wire);
        } else {
            self.fly(end, arrival, on_wire);
        }
        let this = &self.ends[end];
        let more = control_sent || this.has_more();
        self.queue.set(SOURCES * end + 1, if more { this.free_at } else { Time::NEVER });
    }

    /// Sends an ACK: what [`Network::transmit`] does, for the frame that is as frequent as data.
    #[inline]
    fn transmit_ack(&mut self, end: usize, next: SequenceNumber) {
        let now = self.now;
        let on_wire = OnWire::Ack { next };
        let this = &mut self.ends[end];
        let (arrival, corrupted) = this.begin(now, super::FRAME_BYTES_MIN, false);
        self.observer.sent(end, now, &on_wire, None, corrupted);
        if corrupted {
            this.replenished = this.replenishes.then_some(on_wire);
        }
        self.queue.set(SOURCES * end + 1, if this.has_more() { this.free_at } else { Time::NEVER });
        if !corrupted {
            self.fly(end, arrival, on_wire);
        }
    }

    /// Lets a frame arrive at the peer, behind all that are under way.
    #[inline]
    fn fly(&mut self, end: usize, arrival: Time, on_wire: OnWire) {
        let this = &mut self.ends[end];
        if this.in_flight.is_empty() {
            self.queue.set(SOURCES * this.peer, arrival);
        }
        this.in_flight.push_back((arrival, on_wire));
    }

    /// Lets a change of the pause state, which is sent now, arrive ahead of what the peer's pipeline works on then.
    fn overtake(&mut self, end: usize, on_wire: OnWire) {
        let this = &mut self.ends[end];
        let arrival = this.free_at + this.wire_latency;
        let place = this.in_flight.partition_point(|(at, _)| *at < arrival);
        this.in_flight.insert(place, (arrival, on_wire));
        self.queue.set(SOURCES * this.peer, this.next_arrival());
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
        self.ports[port].insert(self.now, circling);
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
        self.queue.set(SOURCES * self.ends.len() + port, self.ports[port].next());
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

    fn next_urgent(&mut self, now: Time) -> Option<Urgent> {
        // A copy need not wait behind a pause that waits for its timer packet.
        let index = self.urgent.iter().position(|urgent| urgent.ready_at <= now)?;
        self.urgent.remove(index)
    }

    /// Whether a normal frame may go now.
    #[inline]
    fn admission(&self, frame: &Frame) -> Admission {
        let Some(link_end) = &self.link_end else { return Admission::Unprotected };
        if self.tx_bytes + u64::from(frame.bytes) > self.tx_bytes_max {
            return Admission::Held;
        }
        link_end.admission(frame.mode, frame.bytes)
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
