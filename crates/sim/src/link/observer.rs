//! Observers of a run: the events of a network, and what an observer needs so that time can be skipped exactly.
//!
//! A network itself measures nothing. It tells its observer what happens, with static dispatch: calls to [`NoObserver`]
//! compile to nothing. An observer cannot change a run.

use super::frame::Frame;
use super::id::PortId;
use super::on_wire::OnWire;
use super::scheme::{Scheme, Schemes};
use crate::time::Time;

/// A frame that a port begins to send.
#[derive(Debug)]
pub struct Sent<'a, S: Scheme = Schemes> {
    pub frame: &'a OnWire<S>,
    /// Its content, if it is a control frame.
    pub control: Option<&'a S::Control>,
    /// When it arrives, or would have arrived.
    pub arrives_at: Time,
    /// Whether the link corrupts it, so that it will not arrive.
    pub corrupted: bool,
}

/// A frame that has arrived.
#[derive(Debug)]
pub struct Received<'a, S: Scheme = Schemes> {
    pub frame: &'a OnWire<S>,
    /// Its content, if it is a control frame.
    pub control: Option<&'a S::Control>,
}

/// Observes a network whose links have these schemes.
pub trait Observer<S: Scheme = Schemes> {
    /// Whether it must be told of everything when it happens. If not, the network does not have to turn everything into
    /// events.
    const OBSERVES: bool = true;

    /// Port `port` began to send a frame at `at`.
    fn sent(&mut self, port: PortId, at: Time, sent: &Sent<'_, S>) {
        let _ = (port, at, sent);
    }

    /// A frame arrived at port `port`.
    fn received(&mut self, port: PortId, at: Time, received: &Received<'_, S>) {
        let _ = (port, at, received);
    }

    /// Port `port` delivered `frame`.
    fn delivered(&mut self, port: PortId, at: Time, frame: &Frame) {
        let _ = (port, at, frame);
    }

    /// Port `port`, whose scheme is `sender`, sent a copy of `frame`.
    fn copy_sent(&mut self, port: PortId, frame: &Frame, corrupted: bool, sender: &S) {
        let _ = (port, frame, corrupted, sender);
    }

    /// The scheme of `port` has handled a frame that arrived there as a copy, or that it drops.
    fn handled(&mut self, port: PortId, at: Time, header: &S::Header, frame: &Frame, receiver: &S) {
        let _ = (port, at, header, frame, receiver);
    }

    /// The peer of port `port` may have given up on frames that `port` sent
    /// ([`Account::has_moved_past`](super::scheme::Account::has_moved_past)).
    fn peer_moved_past(&mut self, port: PortId, sender: &S, receiver: &S) {
        let _ = (port, sender, receiver);
    }

    /// The Tx buffer of port `port` holds `bytes` from `at` on.
    fn tx_level(&mut self, port: PortId, at: Time, bytes: u64) {
        let _ = (port, at, bytes);
    }

    /// The Rx buffer of port `port` holds `bytes` from `at` on.
    fn rx_level(&mut self, port: PortId, at: Time, bytes: u64) {
        let _ = (port, at, bytes);
    }

    /// Port `port` decided that its peer must pause, or resume.
    fn pause_decided(&mut self, port: PortId, at: Time, paused: bool) {
        let _ = (port, at, paused);
    }

    /// Port `port` paused or resumed, as its peer had decided.
    fn pause_obeyed(&mut self, port: PortId, at: Time, paused: bool) {
        let _ = (port, at, paused);
    }
}

/// A moment as observers see it.
#[derive(Debug, Clone, Copy)]
pub struct ObservedMoment<'a> {
    pub now: Time,
    /// For each port: how many frames the generator at its peer has produced.
    pub arriving: &'a [u64],
}

/// A skipped part of a run: a cycle of events, repeated many times.
#[derive(Debug, Clone, Copy)]
pub struct Skipped<'a> {
    /// The moment at which skipping begins, which is the end of a cycle.
    pub from: Time,
    /// Number of cycles.
    pub times: u64,
    /// Duration of all cycles together.
    pub elapsed: Time,
    /// For each port: how many frames the generator at its peer produces in all cycles.
    pub arriving: &'a [u64],
}

/// An observer for which a steady state can be skipped, so that it ends with the counts that it would have had. Skipped
/// frames are clean, and all cycles are alike: if the observer's state is the same at the beginning and at the end of a
/// cycle, it counts the same in every cycle.
pub trait Skip {
    /// The counts at a moment.
    type Mark;

    /// Records this moment. Everything that determines how the observer will count goes into `state`, relative to the
    /// clock and to frame numbers: two moments with the same state are alike. `None` while the observer follows
    /// something temporary.
    fn mark(&self, present: &ObservedMoment<'_>, state: &mut Vec<u64>) -> Option<Self::Mark>;

    /// For each skipped cycle, counts once more what was counted between these marks, a cycle apart.
    fn skip(&mut self, before: &Self::Mark, after: &Self::Mark, skipped: &Skipped<'_>);
}

/// An observer that records nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl<S: Scheme> Observer<S> for NoObserver {
    const OBSERVES: bool = false;
}

impl Skip for NoObserver {
    type Mark = ();

    fn mark(&self, _: &ObservedMoment<'_>, _: &mut Vec<u64>) -> Option<()> {
        Some(())
    }

    fn skip(&mut self, (): &(), (): &(), _: &Skipped<'_>) {}
}
