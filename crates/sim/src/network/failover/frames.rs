//! Frames at guarded ports, their copies in caching queues, and frames that are handed over.

use super::guard::{Guard, Inserted, State, Store};
use super::ring::{Kept, Pass};
use crate::link::{Frame, Observer, PortId, Scheme, WIRE_OVERHEAD_BYTES};
use crate::network::Network;
use crate::network::hosts::Hosts;
use crate::time::Time;
use linkmend_protocol::Admission;

impl<O: Observer<S>, S: Scheme, H: Hosts> Network<O, S, H> {
    /// Puts a copy into the caching queue that it has reached.
    pub(super) fn queue_copy(&mut self, index: usize) {
        let Some(failover) = &mut self.failover else { return };
        if let Some((tag, port)) = failover.guards[index].poll_queued(self.now) {
            if port == failover.guards[index].way && failover.guards[index].has_no_way() {
                failover.stopped[index].push_back(tag);
                return;
            }
            failover.caching[port.index()].copies.push_back((index as u32, tag));
            self.wake(port);
        }
    }

    /// Serves a port of a network in which links fail: its caching queue and its other queues take turns.
    pub(in crate::network) fn serve_with_copies(&mut self, port: PortId) {
        let Some(failover) = &mut self.failover else { return };
        let caching = &mut failover.caching[port.index()];
        let has_others = self.ports[port.index()].has_normal() || !failover.released[port.index()].is_empty();
        let takes_copy = !caching.copies.is_empty() && (caching.is_next || !has_others);
        caching.is_next = !takes_copy;
        if takes_copy {
            self.pass_copy(port);
            return self.schedule_failover();
        }
        if !self.serve_released(port) {
            self.serve_frames(port);
        }
        let Some(failover) = &self.failover else { return };
        let free_at = self.ports[port.index()].free_at.max(self.now);
        if !failover.caching[port.index()].copies.is_empty() && self.queue.time_of(port.service()) > free_at {
            self.queue.set(port.service(), free_at);
        }
    }

    /// Lets the first copy in the caching queue of a port pass through the egress pipeline.
    fn pass_copy(&mut self, port: PortId) {
        let Some(failover) = &mut self.failover else { return };
        let Some((index, tag)) = failover.caching[port.index()].copies.pop_front() else { return };
        let index = index as usize;
        let guard = &mut failover.guards[index];
        let (bytes, share) = guard.pass_size(tag);
        let this = &mut self.ports[port.index()];
        let lasts = this.rate.time_of(u64::from(bytes) + WIRE_OVERHEAD_BYTES).0 as f64 * share;
        this.free_at = self.now + Time(lasts as u64);
        // Anything else may be sent after that.
        self.queue.set(port.service(), this.free_at);
        match guard.pass(self.now, tag) {
            None | Some(Pass::Again | Pass::Waits) => {}
            Some(Pass::Dropped(kept)) => {
                self.hosts.dropped(&kept.frame);
                self.close(index);
            }
            Some(Pass::Released(kept)) => {
                self.release(index, kept);
                self.close(index);
            }
        }
    }

    /// Hands a frame over.
    pub(super) fn release(&mut self, index: usize, kept: Kept) {
        let Some(failover) = &mut self.failover else { return };
        let guard = &mut failover.guards[index];
        guard.released(self.now, &kept);
        let receiver_knows = matches!(guard.store, Store::Unacknowledged { .. });
        if receiver_knows && !kept.is_lost && !kept.is_held {
            return self.hosts.dropped(&kept.frame);
        }
        let way = guard.way;
        failover.released[way.index()].push_back(kept.frame);
        self.wake(way);
    }

    /// Sends the first frame that was handed over to a port, if one may be sent.
    fn serve_released(&mut self, port: PortId) -> bool {
        let Some(failover) = &mut self.failover else { return false };
        let released = &mut failover.released[port.index()];
        let Some(&frame) = released.front() else { return false };
        let this = &self.ports[port.index()];
        let admission = match (this.is_paused, this.is_inert) {
            (true, _) => Admission::Held,
            (_, true) => Admission::Unprotected,
            _ => self.schemes[port.index()].admission(frame.mode, u32::from(frame.bytes)),
        };
        if admission == Admission::Held {
            return false;
        }
        released.pop_front();
        let is_last = released.is_empty();
        self.send_over(port, frame, admission);
        if !is_last {
            self.queue.set(port.service(), self.ports[port.index()].free_at);
        }
        true
    }

    /// Sends a frame that leaves the queues of a port, and keeps it if the port is guarded. If the port has failed, it
    /// holds the frame.
    pub(in crate::network) fn send_guarded(&mut self, port: PortId, frame: Frame, admission: Admission) {
        let Some(failover) = &mut self.failover else { return };
        let index = failover.guard_of[port.index()];
        let Some(guard) = failover.guards.get_mut(index as usize) else {
            self.send_over(port, frame, admission);
            return;
        };
        let index = index as usize;
        if guard.diverts() {
            return self.hold(index, frame);
        }
        let copy = (guard.keeps() && guard.state == State::Up).then(|| self.hosts.keep(&frame)).flatten();
        let (arrives_at, is_lost) = self.send_over(port, frame, admission);
        let Some(failover) = &mut self.failover else { return };
        let guard = &mut failover.guards[index];
        while let Some(acknowledged) = guard.poll_acknowledged(self.now) {
            self.hosts.dropped(&acknowledged.frame);
        }
        let kept = Kept { frame, left_at: self.now, arrives_at, is_lost, is_held: false };
        guard.sent(self.now, &kept);
        let Some(copy) = copy else { return };
        if guard.insert(Kept { frame: copy, ..kept }) != Inserted::Kept {
            self.hosts.dropped(&copy);
        }
        self.schedule_failover();
    }

    /// Holds a frame whose port has failed.
    fn hold(&mut self, index: usize, frame: Frame) {
        let Some(failover) = &mut self.failover else { return };
        let guard = &mut failover.guards[index];
        let (port, now) = (guard.port, self.now);
        self.hosts.met_failure(&frame);
        let kept = Kept { frame, left_at: now, arrives_at: Time::NEVER, is_lost: false, is_held: true };
        match guard.insert(kept) {
            Inserted::Kept => {}
            Inserted::NotKept(kept) => {
                guard.stats.frames_lost += 1;
                self.hosts.corrupted(&kept.frame);
                self.hosts.dropped(&kept.frame);
            }
        }
        // It only takes time in the pipeline, and leaves the wire to other frames.
        let this = &self.ports[port.index()];
        if this.has_normal() {
            self.queue.set(port.service(), this.free_at.max(now));
        } else {
            self.queue.set(port.service(), Time::NEVER);
        }
        self.schedule_failover();
    }

    /// Sends a frame. Returns when the peer's port has it, and whether a failed link lost it.
    fn send_over(&mut self, port: PortId, frame: Frame, admission: Admission) -> (Time, bool) {
        let is_cut = self.is_cut(port);
        if is_cut {
            self.hosts.met_failure(&frame);
        }
        let arrives_at = match admission {
            Admission::Protected => self.send_protected(port, frame),
            _ => self.send_plain(port, frame),
        };
        let this = &self.ports[port.index()];
        let (node, latency) = (this.node, this.ingress_latency);
        if let Some(failover) = &mut self.failover {
            for guard in &mut failover.guards {
                guard.stats.frames_lost += u64::from(guard.port == port && is_cut);
                if let Store::Ring { loads, .. } = &mut guard.store
                    && self.ports[guard.port.index()].node == node
                {
                    loads.sent(self.now, port, frame.bytes);
                }
            }
        }
        (arrives_at - latency, is_cut)
    }

    /// Whether the link that leaves a port has failed.
    fn is_cut(&self, port: PortId) -> bool {
        let Some(failover) = &self.failover else { return false };
        let guard = failover.guards.get(failover.guard_of[port.index()] as usize);
        guard.is_some_and(Guard::is_cut)
    }
}
