//! The measurements that every run makes of its links.

use super::deliveries::Deliveries;
use super::gaps::Gaps;
use super::histogram::Histogram;
use super::levels::Levels;
use super::losses::{GivenUp, Losses};
use super::resumes::Resumes;
use super::time_series::TimeSeries;
use crate::link::scheme::{Account, ControlFrame, Header};
use crate::link::{
    Frame, ObservedMoment, Observer, OnWire, PortId, Received, Scheme, Schemes, Sent, Skip, Skipped,
};
use crate::time::Time;
use linkmend_experiment::Counted;

/// Losses, buffer levels, deliveries and resumes of every port. Measurements of the frames of one direction belong to
/// the port that sends them.
#[derive(Debug)]
pub struct LinkMeasures<S: Scheme = Schemes> {
    ports: Vec<PortMeasures<S>>,
}

#[derive(Debug)]
struct PortMeasures<S: Scheme> {
    losses: Losses<S>,
    /// As receiver: how many frames had not fitted into the buffer at the last check.
    overflows: u64,
    delivered: Deliveries,
    gaps: Gaps,
    resumes: Resumes,
    tx_levels: Levels,
    rx_levels: Levels,
}

/// All counts at a moment, from which a cycle can be computed.
#[derive(Debug)]
pub struct LinkMark {
    ports: Vec<(Deliveries, Levels, Levels)>,
}

impl<S: Scheme> LinkMeasures<S> {
    /// For each port, the step in which its buffer levels are recorded, in bytes.
    pub fn new(level_units: impl IntoIterator<Item = u64>) -> LinkMeasures<S> {
        let port = |unit| PortMeasures {
            losses: Losses::default(),
            overflows: 0,
            delivered: Deliveries::default(),
            gaps: Gaps::default(),
            resumes: Resumes::default(),
            tx_levels: Levels::new(unit),
            rx_levels: Levels::new(unit),
        };
        LinkMeasures { ports: level_units.into_iter().map(port).collect() }
    }

    /// Frames that the port has delivered.
    pub fn deliveries(&self, port: PortId) -> Deliveries {
        self.ports[port.index()].delivered
    }

    /// How many of the `sent` frames to this port were never delivered; each gap in their numbers is a cluster.
    pub fn missing(&self, port: PortId, sent: u64) -> Counted {
        let port = &self.ports[port.index()];
        port.gaps.counted(port.delivered.next_id, sent)
    }

    /// Number of originals of this port that the link corrupted, and the lengths of runs of them: 1, 2, ... frames.
    pub fn losses(&self, port: PortId) -> (u64, &[u64]) {
        (self.ports[port.index()].losses.lost, &self.ports[port.index()].losses.runs)
    }

    /// Number of originals of this port of which the link also corrupted every copy.
    pub fn all_copies_lost(&self, port: PortId) -> u64 {
        self.ports[port.index()].losses.all_copies_lost
    }

    /// Originals of this port that the peer gave up on, either after a timeout or because this port withdrew them.
    pub fn given_up(&self, port: PortId) -> GivenUp {
        self.ports[port.index()].losses.given_up
    }

    /// Time from the peer's detection of a loss of this port's frames until the first copy arrives, in ps.
    pub fn retransmission_delay(&self, port: PortId) -> &Histogram {
        &self.ports[port.index()].losses.delay
    }

    /// The longest time from the peer's decision to let this port resume until the first frame arrives.
    pub fn resume_flight_max(&self, port: PortId) -> Time {
        self.ports[port.index()].resumes.flight_max
    }

    /// Tx buffer levels of the port.
    pub fn tx_levels(&self, port: PortId) -> &Levels {
        &self.ports[port.index()].tx_levels
    }

    /// Rx buffer levels of the port.
    pub fn rx_levels(&self, port: PortId) -> &Levels {
        &self.ports[port.index()].rx_levels
    }

    /// Records buffer levels from `now` on.
    pub fn start_recording(&mut self, now: Time) {
        for port in &mut self.ports {
            port.tx_levels.start(now);
            port.rx_levels.start(now);
        }
    }

    /// Stops recording buffer levels, which then cover the time since [`LinkMeasures::start_recording`].
    pub fn stop_recording(&mut self, now: Time) {
        for port in &mut self.ports {
            port.tx_levels.stop(now);
            port.rx_levels.stop(now);
        }
    }

    /// Records the levels of `sender`'s Tx buffer and of `receiver`'s Rx buffer over time, each in a copy of `series`,
    /// which is empty. What fast-forward skips is not recorded.
    pub fn watch_levels(&mut self, sender: PortId, receiver: PortId, series: &TimeSeries) {
        self.ports[sender.index()].tx_levels.watch(series.clone());
        self.ports[receiver.index()].rx_levels.watch(series.clone());
    }

    /// The two series of [`LinkMeasures::watch_levels`] until `now`: Tx and Rx buffer.
    pub fn watched_levels(
        &mut self,
        sender: PortId,
        receiver: PortId,
        now: Time,
    ) -> Option<(TimeSeries, TimeSeries)> {
        let tx = self.ports[sender.index()].tx_levels.series(now);
        tx.zip(self.ports[receiver.index()].rx_levels.series(now))
    }

    /// Counts a run of losses that was cut short by the end of the traffic.
    pub fn finish(&mut self) {
        self.ports.iter_mut().for_each(|port| port.losses.finish());
    }
}

impl<S: Scheme> Observer<S> for LinkMeasures<S> {
    #[inline(always)]
    fn sent(&mut self, port: PortId, _: Time, sent: &Sent<'_, S>) {
        match sent.frame {
            OnWire::Protected { header, frame } if !header.is_copy() => {
                let this = &mut self.ports[port.index()];
                this.losses.sent(frame.id, header, sent.arrives_at, sent.corrupted);
                this.resumes.sent(sent.arrives_at);
            }
            OnWire::Plain { .. } | OnWire::WithAck { .. } => {
                self.ports[port.index()].losses.sent_unprotected(sent.corrupted)
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn received(&mut self, port: PortId, at: Time, received: &Received<'_, S>) {
        let sender = port.peer();
        match received.frame {
            OnWire::Protected { header, .. } if header.is_copy() => {}
            OnWire::Protected { .. } => self.ports[sender.index()].losses.arrived(at),
            OnWire::Control { .. } => {
                if received.control.is_some_and(ControlFrame::announces) {
                    self.ports[sender.index()].losses.arrived(at);
                }
            }
            OnWire::Damaged { .. }
            | OnWire::Plain { .. }
            | OnWire::WithAck { .. }
            | OnWire::Ack { .. }
            | OnWire::Pause { .. } => {}
        }
    }

    #[inline(always)]
    fn delivered(&mut self, port: PortId, at: Time, frame: &Frame) {
        let PortMeasures { delivered, gaps, .. } = &mut self.ports[port.index()];
        if frame.id != delivered.next_id {
            gaps.out_of_order(frame.id, delivered.next_id);
        }
        delivered.record(at, frame);
    }

    fn copy_sent(&mut self, port: PortId, frame: &Frame, corrupted: bool, sender: &S) {
        self.ports[port.index()].losses.copy_sent(frame.id, corrupted, sender);
    }

    /// Accounts for a frame that was corrupted, or for which there is no room.
    fn handled(&mut self, port: PortId, at: Time, header: &S::Header, frame: &Frame, receiver: &S) {
        let sender = port.peer().index();
        let copy = header.is_copy();
        if copy && !self.ports[sender].losses.follows(frame.id) {
            return;
        }
        let overflows = receiver.account().map_or(0, Account::overflows);
        let overflowed = std::mem::replace(&mut self.ports[port.index()].overflows, overflows) != overflows;
        let losses = &mut self.ports[sender].losses;
        if copy {
            losses.copy_arrived(frame.id, at, overflowed);
        } else if overflowed {
            losses.overflowed(frame.id, header, at);
        }
    }

    fn peer_moved_past(&mut self, port: PortId, sender: &S, receiver: &S) {
        self.ports[port.index()].losses.give_up(sender, receiver);
    }

    #[inline(always)]
    fn tx_level(&mut self, port: PortId, at: Time, bytes: u64) {
        self.ports[port.index()].tx_levels.set(at, bytes);
    }

    #[inline(always)]
    fn rx_level(&mut self, port: PortId, at: Time, bytes: u64) {
        self.ports[port.index()].rx_levels.set(at, bytes);
    }

    fn pause_decided(&mut self, port: PortId, at: Time, _: bool) {
        self.ports[port.index()].resumes.decided_at = at;
    }

    fn pause_obeyed(&mut self, port: PortId, _: Time, paused: bool) {
        let decided_at = self.ports[port.peer().index()].resumes.decided_at;
        self.ports[port.index()].resumes.resumed_at = (!paused).then_some(decided_at);
    }
}

impl<S: Scheme> Skip for LinkMeasures<S> {
    type Mark = LinkMark;

    fn mark(&self, present: &ObservedMoment<'_>, state: &mut Vec<u64>) -> Option<LinkMark> {
        for (port, &arriving) in self.ports.iter().zip(present.arriving) {
            if !port.losses.is_empty() || port.resumes.resumed_at.is_some() {
                return None;
            }
            state.push(port.delivered.next_id.wrapping_sub(arriving));
        }
        let accounted = |levels: &Levels| {
            let mut levels = levels.clone();
            levels.account(present.now);
            levels
        };
        let mark =
            |port: &PortMeasures<S>| (port.delivered, accounted(&port.tx_levels), accounted(&port.rx_levels));
        Some(LinkMark { ports: self.ports.iter().map(mark).collect() })
    }

    fn skip(&mut self, before: &LinkMark, after: &LinkMark, skipped: &Skipped<'_>) {
        let &Skipped { from, times, elapsed, arriving } = skipped;
        for (index, port) in self.ports.iter_mut().enumerate() {
            let [was, is] = [before, after].map(|mark| &mark.ports[index]);
            port.gaps.close_all();
            port.delivered.repeat((&was.0, &is.0), times, elapsed, arriving[index]);
            for (levels, cycle) in
                [(&mut port.tx_levels, (&was.1, &is.1)), (&mut port.rx_levels, (&was.2, &is.2))]
            {
                levels.account(from);
                levels.repeat(cycle, times, elapsed);
            }
        }
    }
}

/// The measurements of the links, and an additional observer, which does not see what fast-forward skips.
#[derive(Debug)]
pub struct Measured<O, S: Scheme = Schemes> {
    pub links: LinkMeasures<S>,
    /// The additional observer.
    pub watch: O,
}

impl<S: Scheme, O: Observer<S>> Observer<S> for Measured<O, S> {
    #[inline(always)]
    fn sent(&mut self, port: PortId, at: Time, sent: &Sent<'_, S>) {
        self.watch.sent(port, at, sent);
        self.links.sent(port, at, sent);
    }

    #[inline(always)]
    fn received(&mut self, port: PortId, at: Time, received: &Received<'_, S>) {
        self.watch.received(port, at, received);
        self.links.received(port, at, received);
    }

    #[inline(always)]
    fn delivered(&mut self, port: PortId, at: Time, frame: &Frame) {
        self.links.delivered(port, at, frame);
        self.watch.delivered(port, at, frame);
    }

    fn copy_sent(&mut self, port: PortId, frame: &Frame, corrupted: bool, sender: &S) {
        self.links.copy_sent(port, frame, corrupted, sender);
        self.watch.copy_sent(port, frame, corrupted, sender);
    }

    fn handled(&mut self, port: PortId, at: Time, header: &S::Header, frame: &Frame, receiver: &S) {
        self.links.handled(port, at, header, frame, receiver);
        self.watch.handled(port, at, header, frame, receiver);
    }

    fn peer_moved_past(&mut self, port: PortId, sender: &S, receiver: &S) {
        self.links.peer_moved_past(port, sender, receiver);
        self.watch.peer_moved_past(port, sender, receiver);
    }

    #[inline(always)]
    fn tx_level(&mut self, port: PortId, at: Time, bytes: u64) {
        self.links.tx_level(port, at, bytes);
        self.watch.tx_level(port, at, bytes);
    }

    #[inline(always)]
    fn rx_level(&mut self, port: PortId, at: Time, bytes: u64) {
        self.links.rx_level(port, at, bytes);
        self.watch.rx_level(port, at, bytes);
    }

    fn pause_decided(&mut self, port: PortId, at: Time, paused: bool) {
        self.links.pause_decided(port, at, paused);
        self.watch.pause_decided(port, at, paused);
    }

    fn pause_obeyed(&mut self, port: PortId, at: Time, paused: bool) {
        self.links.pause_obeyed(port, at, paused);
        self.watch.pause_obeyed(port, at, paused);
    }
}

impl<O, S: Scheme> Skip for Measured<O, S> {
    type Mark = LinkMark;

    fn mark(&self, present: &ObservedMoment<'_>, state: &mut Vec<u64>) -> Option<LinkMark> {
        self.links.mark(present, state)
    }

    fn skip(&mut self, before: &LinkMark, after: &LinkMark, skipped: &Skipped<'_>) {
        self.links.skip(before, after, skipped);
    }
}
