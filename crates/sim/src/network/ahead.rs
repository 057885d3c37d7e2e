//! Ports that plan ahead ([`crate::link::departures`]): ports of switches whose links neither recover losses nor fail,
//! if nobody observes the run. Results are the same to the picosecond; only the number of events differs. A departure
//! is an event only if it has an immediate effect: if the link corrupts the frame, or if a peer is paused and may have
//! to be told to resume (PFC).

use super::Network;
use super::hosts::Hosts;
use super::pfc::{Change, Pfc};
use crate::link::departures::{Departure, Departures, Present};
use crate::link::port::Port;
use crate::link::{Frame, Observer, OnWire, PortId, Scheme};
use crate::node::Node;
use crate::time::Time;
use linkmend_protocol::schedule::Arrival;
use std::hint::cold_path;

impl<O: Observer<S>, S: Scheme, H: Hosts> Network<O, S, H> {
    /// Chooses the ports that plan ahead. There are none in a network in which links fail, because frames may have to
    /// wait for others.
    pub(super) fn choose_ports_ahead(&mut self) {
        if !H::ANY || O::OBSERVES || self.failover.is_some() {
            return;
        }
        let has_second = self.second_links.is_some();
        for port in &mut self.ports {
            let is_spare = self.second_links.as_ref().is_some_and(|links| links.is_spare(port.id));
            let is_host = matches!(self.nodes[port.node.index()], Node::Host);
            port.takes_ahead = is_host && port.is_inert && !port.exchanges_control && !has_second;
            if port.may_plan_ahead() && !is_spare && matches!(self.nodes[port.node.index()], Node::Switch(_))
            {
                port.departures = Some(Box::new(Departures::new(*port.normal.limits(), port.rate)));
            }
        }
    }

    /// Plans when a frame that arrived at `port` leaves from `out`, or drops it. Returns whether another port was told
    /// to wait.
    #[inline]
    pub(super) fn plan_departure(&mut self, [port, out]: [PortId; 2], frame: &Frame) -> bool {
        self.settle(out);
        let present = self.present();
        let this = &mut self.ports[out.index()];
        let Some(departures) = &mut this.departures else { return false };
        let mut frame = *frame;
        match departures.arrival(frame.bytes) {
            Arrival::Queue => {}
            Arrival::Mark => {
                frame.marked = true;
                this.marked += 1;
            }
            Arrival::Drop => {
                cold_path();
                this.dropped += 1;
                self.hosts.dropped(&frame);
                return false;
            }
        }
        let corrupted = this.corruption.corrupts(u32::from(frame.bytes));
        let coming = Departure { at: self.now, frame, ingress: port, corrupted };
        let sent_at = departures.push(present, coming, this.is_paused);
        if !corrupted && sent_at != Time::NEVER {
            let arrives_at = sent_at + this.wire_latency + this.ingress_latency;
            this.propagate(&mut self.queue, arrives_at, OnWire::Plain { frame });
        }
        if corrupted || self.pfc_awaits(out) {
            cold_path();
            self.plan_service(out);
        }
        self.pfc_came_in(port, &frame)
    }

    #[inline]
    fn present(&self) -> Present {
        Present { now: self.now, event: self.events, acts: self.acts }
    }

    /// Applies the effects of all departures up to now.
    #[inline]
    pub(super) fn settle(&mut self, port: PortId) {
        let present = self.present();
        while let Some(consequence) = self.ports[port.index()].settle(present, self.pfc.as_mut()) {
            cold_path();
            if let Some(change) = consequence.change {
                self.tell(change);
            }
            if let Some(frame) = consequence.corrupted {
                self.hosts.corrupted(&frame);
                self.hosts.dropped(&frame);
            }
        }
    }

    /// The same for every port, so that their counters are complete.
    pub(super) fn settle_all(&mut self) {
        for index in 0..self.ports.len() {
            self.settle(PortId::at(index));
        }
    }

    /// A departure that is an event.
    #[inline(never)]
    pub(super) fn depart(&mut self, port: PortId) {
        self.settle(port);
        self.plan_service(port);
    }

    /// Turns the next departure with a consequence into an event.
    pub(super) fn plan_service(&mut self, port: PortId) {
        let is_awaited = self.pfc_awaits(port);
        if let Some(departures) = &self.ports[port.index()].departures {
            self.queue.set(port.service(), departures.next(!is_awaited));
        }
    }

    /// Plans again after the other end has told the port to pause or resume.
    pub(super) fn plan_anew(&mut self, port: PortId) {
        self.settle(port);
        let this = &mut self.ports[port.index()];
        let Some(departures) = &mut this.departures else { return };
        if this.is_paused {
            let planned = departures.hold(this.free_at);
            this.take_back(planned);
        } else {
            let latency = this.wire_latency + this.ingress_latency;
            let in_flight = &mut this.in_flight;
            departures.go_on(self.now, |frame, sent_at| {
                in_flight.push_back((sent_at + latency, OnWire::Plain { frame }));
            });
        }
        self.queue.set(port.peer().arrival(), this.next_arrival());
        self.plan_service(port);
    }
}

/// The effects of a departure outside its port.
struct Consequence {
    /// The frame, if the link corrupted it.
    corrupted: Option<Frame>,
    /// A port whose peer must be told something.
    change: Option<Change>,
}

impl<S: Scheme> Port<S> {
    /// Applies departures until one of them has a consequence elsewhere.
    #[inline(always)]
    fn settle(&mut self, present: Present, mut pfc: Option<&mut Pfc>) -> Option<Consequence> {
        let service = self.id.service();
        let departures = self.departures.as_deref_mut()?;
        while let Some(departure) = departures.settle(present, service) {
            self.free_at = departure.at + departures.lasts(departure.frame);
            self.transmitted += 1;
            self.corrupted += u64::from(departure.corrupted);
            let change = pfc.as_mut().and_then(|pfc| pfc.went(departure.ingress, departure.frame.bytes));
            if departure.corrupted || change.is_some() {
                cold_path();
                let corrupted = departure.corrupted.then_some(departure.frame);
                return Some(Consequence { corrupted, change });
            }
        }
        None
    }

    /// Number of frames that a settled port, whose switch may have run ahead, has put on the wire until `now`.
    pub(super) fn transmitted_until(&self, now: Time) -> u64 {
        let Some(departures) = &self.departures else { return self.transmitted };
        let latency = self.wire_latency + self.ingress_latency;
        let begins_later = |(arrives_at, on_wire): &&(Time, OnWire<S>)| match on_wire {
            OnWire::Plain { frame } => *arrives_at > now + latency + departures.lasts(*frame),
            _ => false,
        };
        let later = self.in_flight.iter().filter(begins_later).count() as u64;
        self.transmitted + departures.arriving_after(now) - later
    }

    /// Whether its switch runs ahead of the rest of the network.
    #[inline]
    pub(super) fn runs_ahead(&self) -> bool {
        self.departures.as_ref().is_some_and(|departures| departures.runs_ahead)
    }

    /// Whether the link will corrupt the first of its frames.
    pub(super) fn departs_corrupted(&self) -> bool {
        self.departures.as_ref().is_some_and(|departures| departures.first_is_corrupted())
    }

    /// Whether only frames leave the port, in the order in which they arrive there, and without gaps.
    fn may_plan_ahead(&self) -> bool {
        let others = self.exchanges_control || self.fills_idle_slots || self.generator.left() > 0;
        self.is_inert && self.parallel.is_none() && !others
    }

    /// Removes the last `frames` frames in flight. What the port has told its peer in the meantime stays.
    fn take_back(&mut self, mut frames: usize) {
        let mut index = self.in_flight.len();
        while frames > 0 && index > 0 {
            index -= 1;
            if matches!(self.in_flight[index].1, OnWire::Plain { .. }) {
                self.in_flight.remove(index);
                frames -= 1;
            }
        }
    }
}
