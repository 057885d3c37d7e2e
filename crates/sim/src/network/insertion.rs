//! Ordered sets inside frames: one that becomes due while a frame is being sent does not wait for its end.

use super::Network;
use super::hosts::Hosts;
use crate::link::scheme::{ControlFrames, LinkRetry};
use crate::link::{Observer, OnWire, PortId, Scheme, Sent};

impl<O: Observer<S>, S: Scheme, H: Hosts> Network<O, S, H> {
    /// The port may just have begun to send a frame.
    #[cold]
    pub(super) fn begin_insertions(&mut self, port: PortId) {
        if let Some(inserting) = self.ports[port.index()].inserting() {
            inserting.begin(self.now);
        }
        self.plan_insertion(port);
    }

    /// Serves the port when the next ordered set is due, if that is before the end of the frame that it is sending.
    #[cold]
    pub(super) fn plan_insertion(&mut self, port: PortId) {
        let due = self.schemes[port.index()].link_retry().and_then(LinkRetry::ordered_set_due);
        let this = &mut self.ports[port.index()];
        let Some((due, inserting)) = due.zip(this.inserting()) else { return };
        let at = due.max(inserting.not_before).max(self.now);
        if at < this.free_at && at < self.queue.time_of(port.service()) {
            self.queue.set(port.service(), at);
        }
    }

    /// Inserts an ordered set into the frame that the port is sending. Returns `false` if it is sending none.
    #[cold]
    pub(super) fn insert_ordered_set(&mut self, port: PortId) -> bool {
        let this = &mut self.ports[port.index()];
        if self.now >= this.free_at {
            return false;
        }
        let frames = self.schemes[port.index()].control_frames();
        if let Some(ack) = frames.and_then(|frames| frames.poll_ack(self.now)) {
            this.count_ack();
            let (arrives_at, corrupted) = this.insert_ack(self.now, ack);
            let on_wire = OnWire::Ack { ack };
            self.observer.sent(
                port,
                self.now,
                &Sent { frame: &on_wire, control: None, arrives_at, corrupted },
            );
            self.queue.set(port.peer().arrival(), this.next_arrival());
            if let Some(inserting) = this.inserting() {
                inserting.insert(self.now);
            }
        }
        self.queue.set(port.service(), this.free_at);
        self.plan_insertion(port);
        true
    }
}
