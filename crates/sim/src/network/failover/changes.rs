//! What happens to a failing link, and how its two switches react.

use super::guard::State;
use super::ring::Kept;
use super::{Change, Failing, RETURN_CHECK};
use crate::link::port::{Admits, Ready};
use crate::link::{Observer, OnWire, Scheme};
use crate::network::Network;
use crate::network::hosts::Hosts;
use crate::time::Time;
use linkmend_protocol::schedule::Next;

impl<O: Observer<S>, S: Scheme, H: Hosts> Network<O, S, H> {
    /// Makes the next change to a link.
    pub(super) fn change_link(&mut self, link: usize) {
        let Some(failover) = &mut self.failover else { return };
        let Failing { config, times, left, next, at } = &mut failover.links[link];
        let (now, change, cut) = (self.now, *next, times.at());
        *left -= u64::from(change == Change::Cut);
        let comes_back = config.backup.is_none();
        (*next, *at) = match change {
            Change::Cut => (Change::Detected, cut + config.detection),
            Change::Detected => (Change::HasWay, cut + config.route_failure_time()),
            Change::HasWay if comes_back => (Change::Returns, now),
            Change::HasWay => (Change::Mended, cut + config.down_for),
            Change::Mended => (Change::Returns, now),
            Change::Returns => (Change::Returns, now + RETURN_CHECK),
        };
        let delay = match change {
            Change::Detected => Some(config.route_failure_time()),
            _ => None,
        };
        let guards = [2 * link, 2 * link + 1];
        for index in guards {
            match change {
                Change::Cut => self.cut(index),
                Change::Detected => self.detect(index, delay),
                Change::HasWay => {
                    if comes_back {
                        self.mend(index);
                    }
                    self.open_way(index);
                }
                Change::Mended => self.mend(index),
                Change::Returns => self.go_back(index),
            }
        }
        let Some(failover) = &mut self.failover else { return };
        let is_up = guards.iter().all(|index| failover.guards[*index].state == State::Up);
        if change == Change::Returns && is_up {
            failover.links[link].set_cut(now);
        }
    }

    /// The direction of a link that leaves a port fails.
    fn cut(&mut self, index: usize) {
        let Some(failover) = &mut self.failover else { return };
        let guard = &mut failover.guards[index];
        guard.cut(self.now);
        let port = guard.port;
        let this = &mut self.ports[port.index()];
        guard.corrupted_before = this.corrupted;
        let (uncut, lost) = this.cut(self.now);
        guard.uncut = uncut;
        for on_wire in lost {
            self.lose(index, on_wire);
        }
        self.queue.set(port.peer().arrival(), self.ports[port.index()].next_arrival());
    }

    /// A frame on a link is lost because the link has failed.
    fn lose(&mut self, index: usize, on_wire: OnWire<S>) {
        let Some(failover) = &mut self.failover else { return };
        let guard = &mut failover.guards[index];
        if let Some(frame) = on_wire.original() {
            guard.stats.frames_lost += 1;
            self.hosts.corrupted(frame);
            self.hosts.met_failure(frame);
        }
        match &on_wire {
            OnWire::Plain { frame } | OnWire::WithAck { frame, .. } => self.hosts.dropped(frame),
            _ => {
                let port = guard.port;
                self.corrupted(port, on_wire);
            }
        }
    }

    /// The switch learns that its port has failed.
    fn detect(&mut self, index: usize, delay: Option<Time>) {
        let Some(failover) = &mut self.failover else { return };
        let guard = &mut failover.guards[index];
        guard.state = State::Down { has_way: false };
        if let Some(delay) = delay {
            guard.set_delay(delay);
        }
        if guard.keeps() {
            let port = guard.port;
            self.ports[port.index()].admits = Admits::All;
            self.wake(port);
        }
    }

    /// There is another path.
    fn open_way(&mut self, index: usize) {
        let Some(failover) = &mut self.failover else { return };
        let guard = &mut failover.guards[index];
        guard.state = State::Down { has_way: true };
        let way = guard.way;
        if guard.keeps() {
            // Frames that arrive from now on wait until the stored frames have left. If they joined the stored frames
            // at a busy port, the store would never become empty.
            self.ports[guard.port.index()].admits = Admits::None;
        }
        let stopped = failover.stopped[index].drain(..).map(|tag| (index as u32, tag));
        failover.caching[way.index()].copies.extend(stopped);
        self.wake(way);
        let Some(failover) = &mut self.failover else { return };
        let guard = &mut failover.guards[index];
        while let Some(acknowledged) = guard.poll_acknowledged(self.now) {
            self.hosts.dropped(&acknowledged.frame);
        }
        while let Some(kept) = self.failover.as_mut().and_then(|all| all.guards[index].poll_unacknowledged())
        {
            self.release(index, kept);
        }
        self.close(index);
    }

    /// The direction of a link that leaves a port works again.
    fn mend(&mut self, index: usize) {
        let Some(failover) = &mut self.failover else { return };
        let guard = &mut failover.guards[index];
        let port = guard.port;
        if let Some(uncut) = guard.uncut.take() {
            let this = &mut self.ports[port.index()];
            this.corruption = uncut;
            this.corrupted = guard.corrupted_before;
        }
        self.wake(port);
    }

    /// Frames use the failed port again, once those before them have left.
    fn go_back(&mut self, index: usize) {
        let Some(failover) = &mut self.failover else { return };
        let guard = &mut failover.guards[index];
        let (port, way) = (guard.port, guard.way);
        if guard.state != State::Rerouted || !self.ports[way.index()].normal.is_empty() {
            return;
        }
        if failover.released[way.index()].is_empty() {
            failover.way_of[port.index()] = port;
            guard.state = State::Up;
        }
    }

    /// Ends the hand-over once everything has been handed over.
    pub(super) fn close(&mut self, index: usize) {
        let Some(failover) = &mut self.failover else { return };
        let guard = &mut failover.guards[index];
        let (port, way) = (guard.port, guard.way);
        if guard.state != (State::Down { has_way: true }) || guard.kept_bytes() > 0 {
            return;
        }
        let detection = failover.links[index / 2].config.detection;
        guard.set_delay(detection);
        guard.state = if way == port { State::Up } else { State::Rerouted };
        failover.way_of[port.index()] = way;
        if way != port && guard.keeps() {
            self.move_waiting(index);
        }
        let this = &mut self.ports[port.index()];
        this.admits = Admits::usual(this.is_inert);
        self.wake(port);
    }

    /// Hands over what waits in the queues of a port that has failed.
    fn move_waiting(&mut self, index: usize) {
        let Some(failover) = &self.failover else { return };
        let port = failover.guards[index].port;
        self.ports[port.index()].admits = Admits::All;
        while !self.ports[port.index()].normal.is_empty() {
            let scheme = &mut self.schemes[port.index()];
            match self.ports[port.index()].next(scheme, self.now) {
                Some(Next::Normal(waiting, _)) => {
                    self.pfc_left(port, &waiting.frame);
                    let (frame, now) = (waiting.frame, self.now);
                    self.hosts.met_failure(&frame);
                    let kept =
                        Kept { frame, left_at: now, arrives_at: Time::NEVER, is_lost: false, is_held: true };
                    self.release(index, kept);
                }
                Some(Next::Urgent(Ready::Urgent(place))) => {
                    // On a failed link, it would be lost.
                    if let Some(urgent) = self.ports[port.index()].urgent.remove(place) {
                        self.corrupted(port, urgent.on_wire);
                    }
                }
                _ => break,
            }
        }
    }
}
