//! Handles arrivals, frames that return from loops, and timeouts.

use super::Network;
use super::context::port_context;
use super::hosts::Hosts;
use crate::link::recirculation::Circling;
use crate::link::scheme::{Buffer, ControlFrames, Header, LinkRetry, Loops, Reception, Round, SchemeContext};
use crate::link::{ControlPlace, Frame, Observer, OnWire, PortId, Received, Scheme};
use crate::node::Node;
use crate::time::Time;
use std::hint::cold_path;

impl<O: Observer<S>, S: Scheme, H: Hosts> Network<O, S, H> {
    /// Handles the next frame in flight towards `port`. Until then, the frame stays in its place: a processor stalls if
    /// it reads a header in words that was just copied in pieces.
    #[inline(never)]
    pub(super) fn arrive(&mut self, port: PortId) {
        if self.ports[port.index()].retries {
            self.count_plain(port);
        }
        self.arrive_over(port, port);
        if self.ports[port.index()].inserts {
            self.plan_insertion(port);
        }
    }

    /// The same for a frame that arrives `at` one of the ports of an end; `port` is the one with the scheme.
    #[inline(always)]
    pub(super) fn arrive_over(&mut self, at: PortId, port: PortId) {
        let ends = self.ports.get_disjoint_mut([port.index(), at.peer().index()]);
        let Ok([this, from]) = ends else { unreachable!("a link has two ports") };
        let scheme = &mut self.schemes[port.index()];
        let Some((_, on_wire)) = from.in_flight.front() else { return };
        let control = on_wire.control(&self.controls);
        self.observer.received(port, self.now, &Received { frame: on_wire, control });
        let (frame, reception) = match on_wire {
            OnWire::Plain { frame } => (*frame, Reception::Deliver),
            OnWire::WithAck { ack, frame } => {
                let frame = *frame;
                if let Some(frames) = scheme.control_frames() {
                    frames.handle_ack(&mut port_context!(self, this), *ack);
                }
                (frame, Reception::Deliver)
            }
            OnWire::Protected { header, frame } => {
                let frame = *frame;
                let reception = scheme.handle_data(&mut port_context!(self, this), header, frame);
                if reception == Reception::Dropped || header.is_copy() {
                    self.observer.handled(port, self.now, header, &frame, scheme);
                }
                (frame, reception)
            }
            OnWire::Damaged { header } => {
                let header = *header;
                return self.arrive_damaged(at, port, &header);
            }
            OnWire::Pause { paused } => {
                let paused = *paused;
                return self.obey_pause(at, port, paused);
            }
            OnWire::Control { place } => {
                let place = *place;
                return self.arrive_control(at, port, place);
            }
            OnWire::Ack { ack } => {
                if let Some(frames) = scheme.control_frames() {
                    frames.handle_ack(&mut port_context!(self, this), *ack);
                }
                from.in_flight.pop_front();
                self.queue.set(at.arrival(), from.next_arrival());
                return this.wake(self.now, &mut self.queue);
            }
        };
        from.in_flight.pop_front();
        self.queue.set(at.arrival(), from.next_arrival());
        let wakes = this.exchanges_control;
        if reception == Reception::Deliver {
            if this.retries {
                self.come_out(port, frame);
                return self.wake_when_due(port);
            }
            self.observer.delivered(port, self.now, &frame);
            if self.passed_on {
                self.pass_on(port, &frame, !wakes);
                if wakes {
                    self.wake(port);
                }
            } else if wakes {
                this.wake(self.now, &mut self.queue);
            }
            return;
        }
        self.deliver_otherwise(port, frame, reception);
        if wakes {
            self.wake(port);
        }
    }

    /// Tells a scheme that retries in the port of a frame that arrives without a header.
    fn count_plain(&mut self, port: PortId) {
        if let Some((_, OnWire::Plain { .. })) = self.ports[port.peer().index()].in_flight.front()
            && let Some(scheme) = self.schemes[port.index()].link_retry()
        {
            scheme.handle_plain();
        }
    }

    /// Delivers a frame, through the pipeline behind the port if there is one.
    #[inline(never)]
    fn come_out(&mut self, port: PortId, frame: Frame) {
        let this = &mut self.ports[port.index()];
        if let Some(pipeline) = this.pipeline() {
            pipeline.push(self.now, frame);
            self.set_clock(port);
        } else {
            self.deliver(port, frame);
        }
    }

    /// Delivers a frame, and those after it if the scheme says so.
    #[inline(always)]
    fn deliver_otherwise(&mut self, port: PortId, frame: Frame, reception: Reception) {
        if reception == Reception::DeliverMore {
            cold_path();
            self.come_out(port, frame);
        }
        if matches!(reception, Reception::DeliverMore | Reception::BufferedMore) {
            cold_path();
            self.deliver_more(port);
        }
    }

    /// Handles a damaged frame, which tells a scheme that retries in the port what is missing.
    #[cold]
    #[inline(never)]
    fn arrive_damaged(&mut self, at: PortId, port: PortId, header: &S::Header) {
        let this = &mut self.ports[port.index()];
        if let Some(scheme) = self.schemes[port.index()].link_retry() {
            scheme.handle_damaged(&mut port_context!(self, this), header);
        }
        let from = &mut self.ports[at.peer().index()];
        from.in_flight.pop_front();
        self.queue.set(at.arrival(), from.next_arrival());
        self.wake(port);
    }

    /// Handles a control frame other than an ACK; these are rare.
    #[cold]
    #[inline(never)]
    fn arrive_control(&mut self, at: PortId, port: PortId, place: ControlPlace) {
        let this = &mut self.ports[port.index()];
        let scheme = &mut self.schemes[port.index()];
        if let Some(frames) = scheme.control_frames() {
            frames.handle_control(&mut port_context!(self, this), self.controls.at(place));
        }
        self.controls.free(place);
        let from = &mut self.ports[at.peer().index()];
        from.in_flight.pop_front();
        self.queue.set(at.arrival(), from.next_arrival());
        self.handle_withdrawals(port);
        self.wake(port);
    }

    /// Does what is due at `port`: timeouts, and the next frame of paced traffic.
    #[inline(never)]
    pub(super) fn handle_clock(&mut self, port: PortId) {
        let now = self.now;
        let this = &mut self.ports[port.index()];
        if this.timer.traffic_at <= now {
            let emitted = this.generator.emit(now);
            this.timer.traffic_at = emitted.and_then(|(_, next)| next).unwrap_or(Time::NEVER);
            if let Some((frame, _)) = emitted {
                this.push_normal(frame);
            }
        }
        if this.pipeline_at() <= now {
            self.leave_pipeline(port);
        }
        let this = &mut self.ports[port.index()];
        if this.timer.timeout_at <= now {
            this.timer.timeout_at = Time::NEVER;
            self.schemes[port.index()].handle_timeout(&mut port_context!(self, this));
            self.handle_withdrawals(port);
        }
        self.set_clock(port);
        if self.passed_on { self.wake_last(port) } else { self.wake(port) }
    }

    /// Delivers frames that have come through the pipeline behind the port.
    #[inline(never)]
    fn leave_pipeline(&mut self, port: PortId) {
        while let Some(pipeline) = self.ports[port.index()].pipeline()
            && let Some(frame) = pipeline.pop(self.now)
        {
            self.deliver(port, frame);
        }
    }

    /// Handles a frame that returns from its loop: it is released, sent, or sent through the loop again. Returns
    /// `false` if nothing else will ever happen.
    #[inline(never)]
    pub(super) fn handle_round(&mut self, recirculation: usize) -> bool {
        if self.is_stuck() {
            return false;
        }
        let Some(circling) = self.loops[recirculation].take() else { return true };
        if self.stays(&circling) {
            self.loops[recirculation].insert(self.now, circling);
        }
        let this = &self.loops[recirculation];
        self.queue.set(this.source, this.next());
        true
    }

    /// Whether a frame that has returned is sent through its loop again.
    #[inline]
    fn stays(&mut self, circling: &Circling) -> bool {
        let &Circling { port, buffer, slot, .. } = circling;
        let Some(loops) = self.schemes[port.index()].loops() else { return false };
        if buffer == Buffer::Tx
            && let Some((header, frame)) = loops.poll_retransmission_of(slot)
        {
            let this = &mut self.ports[port.index()];
            this.push_copy(self.now, header, frame);
            while let Some((header, frame)) = loops.poll_retransmission_of(slot) {
                this.push_copy(self.now, header, frame);
            }
            self.wake(port);
        }
        let this = &mut self.ports[port.index()];
        let Some(loops) = self.schemes[port.index()].loops() else { return false };
        match loops.handle_round(&mut port_context!(self, this), buffer, slot) {
            Round::Stays => return true,
            Round::Leaves { made_room } => {
                if made_room {
                    self.wake(port);
                }
            }
            Round::Delivers { frame, more, urgent } => {
                self.deliver(port, frame);
                if more {
                    self.deliver_more(port);
                }
                if urgent {
                    self.wake(port);
                }
            }
        }
        false
    }

    /// Delivers frames that waited behind those that the scheme of `port` may have given up on, and sets its timer.
    fn handle_withdrawals(&mut self, port: PortId) {
        let sender = port.peer();
        let [sent, received] = [sender, port].map(|port| &self.schemes[port.index()]);
        self.observer.peer_moved_past(sender, sent, received);
        self.deliver_more(port);
        if let Some(at) = self.schemes[port.index()].next_timeout() {
            let this = &mut self.ports[port.index()];
            port_context!(self, this).wake_at(at.max(self.now));
        }
    }

    /// Delivers whatever the scheme releases.
    fn deliver_more(&mut self, port: PortId) {
        loop {
            let this = &mut self.ports[port.index()];
            let scheme = &mut self.schemes[port.index()];
            let Some(frame) = scheme.poll_deliver(&mut port_context!(self, this)) else { break };
            self.come_out(port, frame);
        }
    }

    /// Handles a frame that has crossed a link: it has reached its destination, or its node forwards it.
    #[inline]
    fn deliver(&mut self, port: PortId, frame: Frame) {
        self.observer.delivered(port, self.now, &frame);
        if self.passed_on {
            self.pass_on(port, &frame, false);
        }
    }

    /// Forwards a frame unless it has reached its destination. If this `is_last`, nothing else happens in this event.
    #[inline(never)]
    fn pass_on(&mut self, port: PortId, frame: &Frame, is_last: bool) {
        let node = self.ports[port.index()].node;
        let flow = &self.flows[frame.flow.0 as usize];
        if flow.destination == node {
            if H::ANY {
                let source = self.hosts.receive(self.now, node, *frame);
                self.note_changes(source);
            }
            return;
        }
        let Node::Switch(switch) = &self.nodes[node.index()] else { return };
        let Some(out) = switch.route(self.ways[flow.destination.index()], flow, frame) else { return };
        let out = if H::ANY { self.way_of(out) } else { out };
        let mut is_last = is_last;
        let copies = if H::ANY { self.hosts.copies(node, [port, out], frame) } else { 0 };
        let plans_ahead = H::ANY && self.ports[out.index()].departures.is_some();
        is_last &= !self.forward([port, out], frame);
        for _ in 0..copies {
            cold_path();
            if let Some(copy) = self.hosts.copy(frame) {
                is_last &= !self.forward([port, out], &copy);
            }
        }
        if plans_ahead {
            return;
        }
        if is_last { self.wake_last(out) } else { self.wake(out) }
    }

    /// Puts a frame into the queue of the port from which it leaves a switch, or drops it. Returns whether this woke
    /// another port.
    #[inline]
    fn forward(&mut self, [port, out]: [PortId; 2], frame: &Frame) -> bool {
        if H::ANY && self.ports[out.index()].departures.is_some() {
            return self.plan_departure([port, out], frame);
        }
        if H::ANY
            && let Some(parallel) = &mut self.ports[out.index()].parallel
        {
            let marked = parallel.push(self.now, *frame, port);
            self.ports[out.index()].marked += u64::from(marked);
            return self.pfc_came_in(port, frame);
        }
        if self.ports[out.index()].push_normal(*frame) {
            return H::ANY && self.pfc_entered(port, out, frame);
        }
        if H::ANY {
            self.hosts.dropped(frame);
        }
        false
    }
}
