//! Observers of a run: the events of a network, and what an observer needs in order to be skipped exactly.
//!
//! A network measures nothing itself. It tells its observer what happens, by static dispatch: calls to [`NoObserver`]
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
    /// Its content if it is a control frame.
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
    /// Its content if it is a control frame.
    pub control: Option<&'a S::Control>,
}

/// Observes a network with links of these schemes.
pub trait Observer<S: Scheme = Schemes> {
    /// Whether it wants to know of each event when it happens. If not, the network need not make events of all that happens.
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

    /// A frame that had arrived at `port` as a copy, or is dropped there, has been handled by its scheme.
    fn handled(&mut self, port: PortId, at: Time, header: &S::Header, frame: &Frame, receiver: &S) {
        let _ = (port, at, header, frame, receiver);
    }

    /// The peer of port `port` may have given up frames that `port` sent ([`Account::has_moved_past`](super::scheme::Account::has_moved_past)).
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
    /// By port: how many frames the generator at its peer has produced.
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

/// An observer for which a steady state can be skipped, so that afterwards it has counted what it would have counted.
/// Skipped frames are clean, and all cycles are alike: what the observer counted in one cycle it counts in each, if its
/// state at the end of the cycle is that at the beginning.
pub trait Skip {
    /// The counts at a moment.
    type Mark;

    /// Records this moment. Everything that determines how the observer will count goes to `state`, relative to the
    /// clock and to the frames' numbers: two moments with the same state are alike. `None` while it follows something
    /// that will pass.
    fn mark(&self, present: &ObservedMoment<'_>, state: &mut Vec<u64>) -> Option<Self::Mark>;

    /// Counts what was counted since `before`, one cycle ago, as many times more as cycles are skipped.
    fn skip(&mut self, before: &Self::Mark, skipped: &Skipped<'_>);
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

    fn skip(&mut self, (): &(), _: &Skipped<'_>) {}
}
