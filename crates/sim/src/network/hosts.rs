//! The network's view of what runs on its hosts.

use crate::link::{Frame, PortId};
use crate::node::{Flow, NodeId};
use crate::time::Time;

/// The hosts of a network: they accept the frames that arrive for them, and pass one frame to a port whenever it is
/// free. All these frames belong to the same class. Calls to [`NoHosts`] compile to nothing.
pub trait Hosts: std::fmt::Debug {
    /// Whether there are any hosts.
    const ANY: bool;

    /// Number of sources of events: one for each host, and others that the implementation needs.
    fn sources(&self) -> usize;

    /// When the source acts next.
    fn next_time(&self, source: usize) -> Time;

    /// Does what is due at a source. This may add flows, whose frames are then sent.
    fn act(&mut self, now: Time, source: usize, flows: &mut Vec<Flow>);

    /// Accepts a frame that has arrived at `node`. Returns the source that handles it.
    fn receive(&mut self, now: Time, node: NodeId, frame: Frame) -> usize;

    /// Until when the source that handles received frames takes whatever comes with those that it has, whenever that is; not
    /// beyond the present if it depends on when they come.
    #[inline]
    fn takes_until(&self, source: usize) -> Time {
        let _ = source;
        Time::ZERO
    }

    /// The next source, other than the one that acted, whose time has changed, or the next port that has frames to
    /// send.
    fn poll_changed(&mut self) -> Option<Changed>;

    /// The next frame for a free port; `None` if there is none until it is reported again by [`Hosts::poll_changed`].
    fn poll_frame(&mut self, now: Time, port: PortId) -> Option<Frame>;

    /// Records that a link has corrupted a frame that it carried for the first time, whether it recovers losses or not.
    fn corrupted(&mut self, frame: &Frame) {
        let _ = frame;
    }

    /// How many copies of a frame a switch makes when it forwards it between two ports. It makes none of a frame from
    /// another switch, unless the frame is for a host.
    #[inline]
    fn copies(&mut self, node: NodeId, ports: [PortId; 2], frame: &Frame) -> u8 {
        let _ = (node, ports, frame);
        0
    }

    /// A copy of a frame; `None` if there is nothing to copy.
    fn copy(&mut self, frame: &Frame) -> Option<Frame> {
        Some(*frame)
    }

    /// Records a frame that a failed link loses, or that waits because its link has failed.
    fn met_failure(&mut self, frame: &Frame) {
        let _ = frame;
    }

    /// A copy of a frame that a switch keeps and may send later.
    fn keep(&mut self, frame: &Frame) -> Option<Frame> {
        Some(*frame)
    }

    /// Forgets a frame that was dropped on its way.
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

/// Hosts send only what generators produce. With `ANY`, there are hosts at which frames arrive.
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
