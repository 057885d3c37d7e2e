//! A port sends what [`linkmend_protocol::schedule`] says: urgent frames, then normal ones, then dummies and ACKs
//! (section 3, Figure 5).

use super::Network;
use super::context::port_context;
use super::hosts::Hosts;
use crate::link::port::{QueuedUrgent, Ready};
use crate::link::scheme::{ControlFrame, ControlFrames, Idle, LinkRetry, SchemeContext, Urgent};
use crate::link::{FRAME_BYTES_MIN, Frame, Observer, OnWire, PortId, Scheme, Sent, WIRE_OVERHEAD_BYTES};
use crate::time::Time;
use linkmend_protocol::Admission;
use linkmend_protocol::schedule::Next;

impl<O: Observer<S>, S: Scheme, H: Hosts> Network<O, S, H> {
    /// Serves a free port.
    #[inline(never)]
    pub(super) fn serve_port(&mut self, port: PortId) {
        if H::ANY && self.ports[port.index()].departures.is_some() {
            return self.depart(port);
        }
        if H::ANY && self.failover.is_some() {
            return self.serve_with_copies(port);
        }
        self.serve_frames(port);
    }

    /// Sends the first frame that may be sent.
    #[inline(always)]
    pub(super) fn serve_frames(&mut self, port: PortId) {
        if self.ports[port.index()].inserts {
            if !self.insert_ordered_set(port) {
                self.serve_next(port);
                self.begin_insertions(port);
            }
            return;
        }
        self.serve_next(port);
    }

    #[inline(always)]
    fn serve_next(&mut self, port: PortId) {
        if H::ANY && self.ports[port.index()].parallel.is_some() {
            self.take_from_parallel(port);
        }
        if self.ports[port.index()].attention {
            self.collect_urgent(port);
        }
        if self.ports[port.index()].retries {
            self.take_retry(port);
        }
        if H::ANY && self.ports[port.index()].host_has_frames {
            if self.failover.is_none() && self.ports[port.index()].sends_at_once() {
                return self.send_of_host(port);
            }
            self.take_from_host(port);
        }
        let scheme = &mut self.schemes[port.index()];
        match self.ports[port.index()].next(scheme, self.now) {
            Some(Next::Normal(waiting, admission)) => {
                if H::ANY {
                    self.pfc_left(port, &waiting.frame);
                    if self.failover.is_some() {
                        return self.send_guarded(port, waiting.frame, admission);
                    }
                }
                match admission {
                    Admission::Protected => self.send_protected(port, waiting.frame),
                    _ => self.send_plain(port, waiting.frame),
                };
            }
            Some(Next::Urgent(Ready::Ack(ack)) | Next::Idle(Ready::Ack(ack))) => self.transmit_ack(port, ack),
            Some(Next::Urgent(Ready::Urgent(index)) | Next::Idle(Ready::Urgent(index))) => {
                if let Some(urgent) = self.ports[port.index()].urgent.remove(index) {
                    self.transmit(port, urgent.on_wire, urgent.overtakes);
                }
            }
            None => self.serve_idle(port),
        }
    }

    /// Takes the next frame that a scheme retransmits, if the previous one has left.
    #[inline(never)]
    fn take_retry(&mut self, port: PortId) {
        let this = &mut self.ports[port.index()];
        if this.urgent.is_empty()
            && let Some(scheme) = self.schemes[port.index()].link_retry()
            && let Some((header, frame)) = scheme.poll_retry(self.now)
        {
            this.push_copy(self.now, header, frame);
        }
    }

    /// Takes a frame from the parallel queues of the port, if none is waiting after them.
    #[cold]
    fn take_from_parallel(&mut self, port: PortId) {
        let this = &mut self.ports[port.index()];
        if let Some(parallel) = &mut this.parallel
            && this.normal.is_empty()
            && let Some((frame, ingress)) = parallel.pop(self.now)
        {
            this.push_normal(frame);
            self.pfc_queued(ingress, port, &frame);
        }
    }

    /// Takes a frame from the host of the port, if none is waiting.
    fn take_from_host(&mut self, port: PortId) {
        let this = &mut self.ports[port.index()];
        if !this.normal.is_empty() {
            return;
        }
        match self.hosts.poll_frame(self.now, port) {
            Some(frame) => {
                self.frame_bytes_max = self.frame_bytes_max.max(frame.bytes);
                this.push_normal(frame);
            }
            None => this.host_has_frames = false,
        }
        self.take_changes();
    }

    /// Sends the next frame of the host of the port, which no other frame precedes.
    #[inline]
    fn send_of_host(&mut self, port: PortId) {
        let Some(frame) = self.hosts.poll_frame(self.now, port) else {
            self.ports[port.index()].host_has_frames = false;
            self.take_changes();
            return self.serve_idle(port);
        };
        self.frame_bytes_max = self.frame_bytes_max.max(frame.bytes);
        self.take_changes();
        self.send_plain(port, frame);
    }

    /// Sends a dummy or an ACK if it contains new information; no traffic may be sent, and no plain ACK is due.
    #[inline(never)]
    fn serve_idle(&mut self, port: PortId) {
        if let Some(on_wire) = self.next_idle(port) {
            return self.transmit(port, on_wire, false);
        }
        // Nothing may be sent. Anything that changes this wakes the port.
        let this = &mut self.ports[port.index()];
        let later = this.urgent.front().map_or(Time::NEVER, |urgent| urgent.ready_at);
        let due = self.schemes[port.index()].link_retry().and_then(LinkRetry::next_service);
        self.queue.set(port.service(), due.filter(|at| *at > self.now).unwrap_or(later));
        // Something that was due could not be sent now. Whatever unblocks it wakes the port.
        if let Some(frames) = self.schemes[port.index()].control_frames()
            && let Some(at) = frames.idle_until(self.now)
            && at > self.now
        {
            port_context!(self, this).wake_at(at);
        }
    }

    /// Asks the scheme for urgent frames, and adds them to the queue.
    #[inline(never)]
    fn collect_urgent(&mut self, port: PortId) {
        let this = &mut self.ports[port.index()];
        this.attention = false;
        let (scheme, controls) = (&mut self.schemes[port.index()], &mut self.controls);
        let mut store = |control| controls.put(control);
        if let Some(frames) = scheme.control_frames() {
            while let Some(urgent) = frames.poll_urgent(&mut port_context!(self, this), &mut store) {
                let Urgent { place, ready_at, overtakes } = urgent;
                let on_wire = OnWire::Control { place };
                this.urgent.push_back(QueuedUrgent { ready_at, overtakes, on_wire });
            }
        }
        while let Some((header, frame)) = scheme.poll_retransmission() {
            this.push_copy(self.now, header, frame);
        }
    }

    /// Sends a frame with the scheme's header. The header is written once, to the place where the frame waits for its
    /// arrival, and the observer gets its own copy: a processor stalls if it reads a word that was just written in
    /// pieces. Returns when the peer has it, unless the link corrupts it.
    #[inline]
    pub(super) fn send_protected(&mut self, port: PortId, frame: Frame) -> Time {
        let this = &mut self.ports[port.index()];
        let scheme = &mut self.schemes[port.index()];
        let bytes = u32::from(frame.bytes) + scheme.header_bytes();
        let (arrives_at, corrupted) = this.begin(self.now, bytes, false);
        // It will be outstanding, so the port has more to do.
        self.queue.set(port.service(), this.free_at);
        let header = scheme.send(&mut port_context!(self, this), frame);
        let on_wire = &OnWire::Protected { header, frame };
        self.observer.sent(port, self.now, &Sent { frame: on_wire, control: None, arrives_at, corrupted });
        if !corrupted {
            this.propagate(&mut self.queue, arrives_at, OnWire::Protected { header, frame });
            return arrives_at;
        }
        if this.retries {
            this.propagate(&mut self.queue, arrives_at, OnWire::Damaged { header });
        }
        if H::ANY {
            self.hosts.corrupted(&frame);
            self.note_lost(port, &frame, false);
        }
        arrives_at
    }

    /// The same without a data header. If an ACK is due, it is piggybacked on the frame (section 3.1).
    pub(super) fn send_plain(&mut self, port: PortId, frame: Frame) -> Time {
        let this = &mut self.ports[port.index()];
        let scheme = &mut self.schemes[port.index()];
        if this.retries && scheme.link_retry().is_some_and(|retry| retry.discards(self.now, &frame)) {
            return self.discard(port, frame);
        }
        let mut ack = None;
        if !this.is_inert
            && let Some(frames) = scheme.control_frames()
        {
            frames.send_plain(&mut port_context!(self, this), &frame);
            ack = frames.poll_ack(self.now);
        }
        let (on_wire, bytes) = match ack {
            Some(ack) => (OnWire::WithAck { ack, frame }, u32::from(frame.bytes) + scheme.header_bytes()),
            None => (OnWire::Plain { frame }, u32::from(frame.bytes)),
        };
        let (arrives_at, corrupted) = this.begin(self.now, bytes, false);
        if let Some(ack) = ack
            && corrupted
            && this.replenishes
        {
            this.replenished = Some(OnWire::Ack { ack });
        }
        self.observer.sent(port, self.now, &Sent { frame: &on_wire, control: None, arrives_at, corrupted });
        self.queue.set(port.service(), if this.has_more(scheme) { this.free_at } else { Time::NEVER });
        if !corrupted {
            this.propagate(&mut self.queue, arrives_at, on_wire);
        } else if H::ANY {
            self.hosts.corrupted(&frame);
            self.note_lost(port, &frame, false);
            self.hosts.dropped(&frame);
        }
        arrives_at
    }

    /// The scheme drops a frame that the port has taken from its queue. The frame takes as long as on the wire, on which nothing is
    /// sent: the scheme is below the queues, which hand over frames at the rate of the line.
    #[cold]
    fn discard(&mut self, port: PortId, frame: Frame) -> Time {
        let this = &mut self.ports[port.index()];
        this.free_at = self.now + this.rate.time_of(u64::from(frame.bytes) + WIRE_OVERHEAD_BYTES);
        let more = this.has_more(&mut self.schemes[port.index()]);
        self.queue.set(port.service(), if more { this.free_at } else { Time::NEVER });
        if H::ANY {
            self.hosts.dropped(&frame);
        }
        Time::NEVER
    }

    /// A dummy or an ACK for a port that would otherwise be idle.
    #[inline(always)]
    fn next_idle(&mut self, port: PortId) -> Option<OnWire<S>> {
        let this = &mut self.ports[port.index()];
        let store = |control| self.controls.put(control);
        let scheme = &mut self.schemes[port.index()];
        let Some(idle) = this.next_idle(scheme, self.now, store) else { return this.replenished.take() };
        if let Some(OnWire::Control { place }) = this.replenished.take() {
            self.controls.free(place);
        }
        Some(match idle {
            Idle::Ack(ack) => OnWire::Ack { ack },
            Idle::Control(place) => OnWire::Control { place },
        })
    }

    /// Sends a copy or a control frame.
    fn transmit(&mut self, port: PortId, on_wire: OnWire<S>, overtakes: bool) {
        let this = &mut self.ports[port.index()];
        let scheme = &mut self.schemes[port.index()];
        let (bytes, is_copy) = match &on_wire {
            OnWire::Protected { frame, .. } => (u32::from(frame.bytes) + scheme.header_bytes(), true),
            OnWire::Plain { frame } | OnWire::WithAck { frame, .. } => (u32::from(frame.bytes), false),
            OnWire::Ack { .. } | OnWire::Pause { .. } | OnWire::Damaged { .. } => (FRAME_BYTES_MIN, false),
            OnWire::Control { place } => (self.controls.at(*place).bytes(), false),
        };
        let (arrives_at, corrupted) = this.begin(self.now, bytes, is_copy);
        let control = on_wire.control(&self.controls);
        self.observer.sent(port, self.now, &Sent { frame: &on_wire, control, arrives_at, corrupted });
        if let OnWire::Protected { frame, .. } = &on_wire {
            self.observer.copy_sent(port, frame, corrupted, scheme);
        }
        let control_sent = control.is_some();
        if corrupted {
            if let OnWire::Protected { frame, header } = &on_wire {
                if this.retries {
                    this.propagate(&mut self.queue, arrives_at, OnWire::Damaged { header: *header });
                }
                if H::ANY {
                    self.note_lost(port, frame, true);
                }
            }
            self.corrupted(port, on_wire);
        } else if overtakes {
            self.overtake(port, on_wire);
        } else {
            this.propagate(&mut self.queue, arrives_at, on_wire);
        }
        let this = &self.ports[port.index()];
        let more = control_sent || this.has_more(&mut self.schemes[port.index()]);
        self.queue.set(port.service(), if more { this.free_at } else { Time::NEVER });
    }

    /// Sends an ACK: like [`Network::transmit`], for the control frame that is as frequent as data.
    #[inline]
    fn transmit_ack(&mut self, port: PortId, ack: S::Ack) {
        let on_wire = OnWire::Ack { ack };
        let this = &mut self.ports[port.index()];
        this.count_ack();
        let (arrives_at, corrupted) = this.begin_ack(self.now, &ack);
        self.observer.sent(port, self.now, &Sent { frame: &on_wire, control: None, arrives_at, corrupted });
        if corrupted {
            this.replenished = this.replenishes.then_some(on_wire);
        }
        self.queue.set(
            port.service(),
            if this.has_more(&mut self.schemes[port.index()]) { this.free_at } else { Time::NEVER },
        );
        if !corrupted {
            this.propagate(&mut self.queue, arrives_at, on_wire);
        }
    }

    /// Puts a pause or resume in flight, so that the peer handles it ahead of its pipeline.
    fn overtake(&mut self, port: PortId, on_wire: OnWire<S>) {
        let this = &mut self.ports[port.index()];
        let arrives_at = this.free_at + this.wire_latency;
        let place = this.in_flight.partition_point(|(at, _)| *at < arrives_at);
        this.in_flight.insert(place, (arrives_at, on_wire));
        self.queue.set(port.peer().arrival(), this.next_arrival());
    }

    /// Handles a frame that does not arrive.
    pub(super) fn corrupted(&mut self, port: PortId, on_wire: OnWire<S>) {
        let idle = match on_wire {
            OnWire::Ack { .. } => true,
            OnWire::Control { place } => self.controls.at(place).replenishes(),
            _ => false,
        };
        let this = &mut self.ports[port.index()];
        if idle && this.replenishes {
            this.replenished = Some(on_wire);
        } else if let OnWire::Control { place } = on_wire {
            self.controls.free(place);
        }
    }
}
