//! When a port is served next.

use super::Network;
use super::hosts::Hosts;
use crate::event_queue::EventQueue;
use crate::link::pipeline::Pipeline;
use crate::link::port::Port;
use crate::link::rare::Inserting;
use crate::link::scheme::LinkRetry;
use crate::link::{Observer, PortId, Scheme};
use crate::time::Time;

impl<O: Observer<S>, S: Scheme, H: Hosts> Network<O, S, H> {
    /// Serves the port as soon as it can start sending something.
    #[inline(always)]
    pub(super) fn wake(&mut self, port: PortId) {
        self.ports[port.index()].wake(self.now, &mut self.queue);
    }

    /// As [`Network::wake`], after data has arrived, which makes a scheme that retries in the port send at most an acknowledgement.
    #[inline]
    pub(super) fn wake_when_due(&mut self, port: PortId) {
        let this = &self.ports[port.index()];
        if !this.retries {
            return this.wake(self.now, &mut self.queue);
        }
        let due = self.schemes[port.index()].link_retry().and_then(LinkRetry::next_service);
        let at = due.map_or(Time::NEVER, |due| due.max(this.next_start(self.now)));
        if at < self.queue.time_of(port.service()) {
            self.queue.set(port.service(), at);
        }
    }

    /// Like [`Network::wake`], for the last action of an event. If the service would be the next event anyway, as at
    /// most idle ports, it happens immediately, because a pass through the event queue would cost more than the service
    /// itself.
    #[inline(always)]
    pub(super) fn wake_last(&mut self, port: PortId) {
        let this = &self.ports[port.index()];
        let planned = self.queue.time_of(port.service());
        if planned > this.free_at.max(self.now) {
            let at = this.next_start(self.now);
            if at == self.now && self.queue.next().is_none_or(|next| (at, port.service()) < next) {
                self.events += 1;
                self.acts = port.service();
                self.serve_port(port);
            } else if at < planned {
                self.queue.set(port.service(), at);
            }
        }
    }
}

impl<S: Scheme> Port<S> {
    /// The pipeline behind the port.
    pub(super) fn pipeline(&mut self) -> Option<&mut Pipeline> {
        self.rare.as_mut()?.pipeline.as_mut()
    }

    /// When ordered sets may be inserted into its frames.
    pub(super) fn inserting(&mut self) -> Option<&mut Inserting> {
        self.rare.as_mut()?.inserting.as_mut()
    }

    /// When its clock acts next.
    #[inline]
    pub(super) fn clock_at(&self) -> Time {
        self.timer.traffic_at.min(self.timer.timeout_at).min(self.pipeline_at())
    }

    /// Schedules service of the port for when it can start sending something.
    #[inline(always)]
    pub(super) fn wake(&self, now: Time, queue: &mut EventQueue) {
        // A busy port serves itself when it is free.
        let planned = queue.time_of(self.id.service());
        if planned > self.free_at.max(now) {
            let at = self.next_start(now);
            if at < planned {
                queue.set(self.id.service(), at);
            }
        }
    }
}
