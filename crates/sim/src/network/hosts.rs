//! What runs on the hosts of a network, as the network sees it.

use crate::link::{Frame, PortId};
use crate::node::{Flow, NodeId};
use crate::time::Time;

/// The hosts of a network: they take the frames that arrive for them, and hand frames to their ports, one whenever the
/// port is free. All these frames belong to one class. Calls to [`NoHosts`] compile to nothing.
pub trait Hosts: std::fmt::Debug {
    /// Whether there are any.
    const ANY: bool;

    /// Number of sources of events: one for each host, and others that the implementation needs.
    fn sources(&self) -> usize;

    /// When the source acts next.
    fn next_time(&self, source: usize) -> Time;

    /// Does what is due at a source. It may add flows, whose frames it then sends.
    fn act(&mut self, now: Time, source: usize, flows: &mut Vec<Flow>);

    /// Takes a frame that has arrived at `node`; returns the source that handles it.
    fn receive(&mut self, now: Time, node: NodeId, frame: Frame) -> usize;

    /// The next source whose time has changed besides the one that acted, and the next port that has frames to send.
    fn poll_changed(&mut self) -> Option<Changed>;

    /// The next frame for a free port; `None` if there is none until it is reported again by [`Hosts::poll_changed`].
    fn poll_frame(&mut self, now: Time, port: PortId) -> Option<Frame>;

    /// Takes note that a link has corrupted a frame that it carried for the first time, whether it recovers or not.
    fn corrupted(&mut self, frame: &Frame) {
        let _ = frame;
    }

    /// How many copies a switch makes of a frame that it forwards from one of its ports to another. It makes none of what comes
    /// from another switch, unless it goes to a host.
    #[inline]
    fn copies(&mut self, node: NodeId, ports: [PortId; 2], frame: &Frame) -> u8 {
        let _ = (node, ports, frame);
        0
    }

    /// A copy of a frame; `None` if there is nothing to copy.
    fn copy(&mut self, frame: &Frame) -> Option<Frame> {
        Some(*frame)
    }

    /// Takes note of a frame that a failed link loses, or that waits because its link has failed.
    fn met_failure(&mut self, frame: &Frame) {
        let _ = frame;
    }

    /// A copy of a frame that a switch keeps, and may send later.
    fn keep(&mut self, frame: &Frame) -> Option<Frame> {
        Some(*frame)
    }

    /// Forgets a frame that has been dropped on its way.
    fn dropped(&mut self, frame: &Frame);
}

/// What a host has changed for the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// The time at which a source acts next.
    Time(usize),
    /// The port has frames to send.
    Port(PortId),
}

/// No host sends anything but what the generators make. With `ANY`, there are hosts, at which frames arrive.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHosts<const ANY: bool = false>;

impl<const ANY: bool> Hosts for NoHosts<ANY> {
    const ANY: bool = ANY;

    fn sources(&self) -> usize {
        usize::from(ANY)
    }

    fn next_time(&self, _: usize) -> Time {
        Time::NEVER
    }

    fn act(&mut self, _: Time, _: usize, _: &mut Vec<Flow>) {}

    fn receive(&mut self, _: Time, _: NodeId, _: Frame) -> usize {
        0
    }

    fn poll_changed(&mut self) -> Option<Changed> {
        None
    }

    fn poll_frame(&mut self, _: Time, _: PortId) -> Option<Frame> {
        None
    }

    fn dropped(&mut self, _: &Frame) {}
}
