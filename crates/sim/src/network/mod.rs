//! Link ends, wires and recirculation ports, and the loop that runs them.
//!
//! A [`Network`] is made of link ends in pairs. An end takes frames from its own [`Traffic`] or from another end of its
//! switch, sends them to its peer, and passes what it receives to its [`Destination`]. Two ends and one line-rate source
//! are the paper's stress test; ends in a chain are a path of several links; ends that share a recirculation port are
//! several links of one switch.
//!
//! # What is an event
//!
//! The sources of the [`EventQueue`] are, for each end, the arrival of the next frame in flight towards it, its port,
//! and its clock (timeouts and paced traffic); then the recirculation ports. At one time they act in that order.
//!
//! # Self-replenishing queues
//!
//! On the Tofino an idle port sends dummies or ACKs without a gap (section 3). All but the first that says something new
//! change nothing, so only that one is simulated: it leaves in the slot in which the real queue would send it, counted
//! from the end of the last real frame, and a frame that becomes ready within a slot waits for its end. A corrupted one
//! is followed by its like in the next slot.

mod end;
mod fast_forward;
mod frame;
mod levels;
mod losses;
mod observer;
mod port;
mod queue;
mod receive;
mod recirculation;
mod traffic;

pub use end::{Delivered, Destination, EndConfig, EndError};
pub use fast_forward::Moment;
pub use frame::{COMPACT_HEADER_BYTES, FRAME_BYTES_MIN, Frame, OnWire, WIRE_OVERHEAD_BYTES};
pub use levels::Levels;
pub use losses::GivenUp;
pub use observer::{NoObserver, Observer};
pub use queue::QueueLimits;
pub use traffic::Traffic;

use crate::corruption::{Corruption, CorruptionProcess, ParameterError};
use crate::event_queue::EventQueue;
use crate::measure::{Histogram, TimeSeries};
use crate::random::Random;
use crate::time::{Rate, TICK, Time};
use end::End;
use frame::ControlStore;
use linkmend_protocol::{Copies, Instant, LinkEnd, Protection, Status, Ticks};
use recirculation::RecirculationPort;

/// An hour. Timeouts from here on are those of idle sessions, which are set out of a simulation's reach.
const OUT_OF_REACH: Ticks = TICK.secs(3_600);
/// Sessions that are not open after a second will not be: that is a thousand handshakes.
pub(crate) const OPENING_MAX: Time = Time(1_000_000_000_000);
/// Longest wait for the last handshake frame, 1 ms: light travels 200 km in it.
const SETTLING_MAX: Time = Time(1_000_000_000);
/// Longest wait for the last frames: a second, which is beyond all recovery timeouts.
const DRAINING_MAX: Time = Time(1_000_000_000_000);
/// Events between two looks at whether the run is still wanted.
const EVENTS_AT_ONCE: u64 = 1 << 22;
/// Event sources of an end: arrival, port, clock.
const SOURCES: usize = 3;

/// How the opening of the sessions ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// All are open.
    Open,
    /// That of link end `end` is not, and others may not be either.
    Failed {
        /// Its index.
        end: usize,
    },
    /// It was ended early.
    Unwanted,
}

/// A network of link ends. Frames, link ends and ports are named by their index.
#[derive(Debug)]
pub struct Network<O = NoObserver> {
    now: Time,
    events: u64,
    queue: EventQueue,
    ends: Vec<End>,
    ports: Vec<RecirculationPort>,
    controls: ControlStore,
    /// Whoever watches.
    pub observer: O,
}

impl<O: Observer> Network<O> {
    /// Links between consecutive ends: the first with the second, the third with the fourth, and so on; and
    /// recirculation ports with their rates and loop latencies. Nothing is sent yet.
    ///
    /// # Errors
    /// [`EndError`] names the parameter that cannot be used.
    ///
    /// # Panics
    /// If the number of ends is odd, or an end names a port or an end that does not exist.
    pub fn new(
        seed: u64,
        ends: Vec<EndConfig>,
        ports: &[(Rate, Time)],
        observer: O,
    ) -> Result<Network<O>, EndError> {
        assert!(ends.len().is_multiple_of(2), "a link has two ends");
        let count = ends.len();
        for end in &ends {
            assert!(end.recirculation.is_none_or(|port| port < ports.len()), "no such recirculation port");
            assert!(!matches!(end.destination, Destination::End(to) if to >= count), "no such end");
        }
        let protect: Vec<_> = ends.iter().map(|end| end.protect).collect();
        let ends: Result<Vec<End>, EndError> =
            ends.into_iter().enumerate().map(|(index, end)| End::new(end, index ^ 1, index, seed)).collect();
        let mut network = Network {
            now: Time::ZERO,
            events: 0,
            queue: EventQueue::new(SOURCES * count + ports.len()),
            ends: ends?,
            ports: ports.iter().map(|&(rate, latency)| RecirculationPort::new(rate, latency)).collect(),
            controls: ControlStore::default(),
            observer,
        };
        for index in 0..count {
            network.ends[index].peer_mode = network.ends[index ^ 1].source.mode();
        }
        for (index, &copies) in protect.iter().enumerate() {
            network.ends[index].housekeeping = network.housekeeping(index, &protect);
            let end = &mut network.ends[index];
            if let (Some(copies), Some(link_end)) = (copies, &mut end.link_end) {
                link_end.protect(Instant(0), Protection { copies });
            }
            end.attention = end.link_end.is_some();
            network.wake(index);
        }
        Ok(network)
    }

    /// A port that is never idle lets no ACK out, repeats no handshake, and tries no fallback again. An end that may
    /// have to do so while it sends is therefore looked after as often as its ACKs are due.
    fn housekeeping(&self, end: usize, protect: &[Option<Copies>]) -> Option<Time> {
        let config = self.ends[end].link_end.as_ref()?.config();
        let fallback = protect[end].is_some() && config.fallback.enabled;
        let needed = fallback || protect[end ^ 1].is_some();
        (needed && config.ack_interval < OUT_OF_REACH).then_some(Time(config.ack_interval.0))
    }

    /// From now on the link corrupts what `end` sends in another way, with random numbers of its own.
    ///
    /// # Errors
    /// [`ParameterError`] names the parameter that cannot be used.
    pub fn set_corruption(
        &mut self,
        end: usize,
        corruption: &Corruption,
        random: Random,
    ) -> Result<(), ParameterError> {
        self.ends[end].corruption = CorruptionProcess::new(corruption, random)?;
        Ok(())
    }

    /// Whether the dummies and ACKs of `end` are sent again and again until one is not corrupted, as the Tofino's
    /// self-replenishing queues do (section 3.2). They do unless this says otherwise.
    pub fn set_replenishing(&mut self, end: usize, replenishes: bool) {
        self.ends[end].replenishes = replenishes;
    }

    /// Runs until the session of every end that protects is open and the wires are silent, or for a second. `wanted` is
    /// asked now and then whether to go on.
    pub fn open_sessions(&mut self, wanted: &mut dyn FnMut() -> bool) -> Opening {
        let opening = |network: &Self| network.ends.iter().position(|end| end.is_opening());
        // On long links a keepalive is always under way.
        let goes_on = self.run_while(OPENING_MAX, |network| opening(network).is_some(), wanted)
            && self.run_while(self.now + SETTLING_MAX, |network| !network.is_silent(), wanted);
        match opening(self) {
            _ if !goes_on => Opening::Unwanted,
            None => Opening::Open,
            Some(end) => Opening::Failed { end },
        }
    }

    /// Simulates as long as `goes_on`, and at most until `last`. `false` as soon as `wanted`, which is asked after some
    /// millions of events, says that the run is not.
    pub(crate) fn run_while(
        &mut self,
        last: Time,
        goes_on: impl Fn(&Self) -> bool,
        wanted: &mut dyn FnMut() -> bool,
    ) -> bool {
        let mut asked_at = self.events;
        while goes_on(self) && self.now < last && self.step() {
            if self.events - asked_at >= EVENTS_AT_ONCE {
                asked_at = self.events;
                if !wanted() {
                    return false;
                }
            }
        }
        true
    }

    /// Lets the traffic of every end begin.
    pub fn start_traffic(&mut self) {
        for index in 0..self.ends.len() {
            self.ends[index].started = true;
            if self.ends[index].source.is_paced() {
                self.ends[index].traffic_at = self.now;
                self.set_clock(index);
            }
            self.wake(index);
        }
    }

    /// Simulates until the source of `end` has produced `frames`, or for some millions of events. `false` if nothing
    /// happens any more.
    pub fn run_until_produced(&mut self, end: usize, frames: u64) -> bool {
        let last = self.events + EVENTS_AT_ONCE;
        while self.ends[end].source.produced() < frames && self.events < last {
            if !self.step() {
                return false;
            }
        }
        true
    }

    /// Simulates until nothing of the traffic is left to deliver or to give up, or for a second. `false` if `wanted`,
    /// which is asked now and then, ended it.
    pub fn drain(&mut self, wanted: &mut dyn FnMut() -> bool) -> bool {
        self.run_while(self.now + DRAINING_MAX, |network| !network.is_drained(), wanted)
    }

    /// Simulates the next event. `false` if there is none.
    #[inline(always)]
    pub fn step(&mut self) -> bool {
        let Some((at, source)) = self.queue.next() else { return false };
        debug_assert!(at >= self.now, "time goes on");
        self.now = at;
        self.events += 1;
        let end = source / SOURCES;
        if end >= self.ends.len() {
            return self.come_round(source - SOURCES * self.ends.len());
        }
        match source % SOURCES {
            0 => self.arrive(end),
            1 => self.serve_port(end),
            _ => self.handle_clock(end),
        }
        true
    }

    /// Whether every source has produced all its frames, and none of them is under way or waiting.
    pub fn is_drained(&self) -> bool {
        self.ends.iter().all(|end| end.is_drained())
    }

    /// Whether nothing will ever happen but frames going round: what was lost behind them was never noticed.
    #[inline]
    fn is_stuck(&self) -> bool {
        (0..SOURCES * self.ends.len()).all(|source| self.queue.time_of(source) == Time::NEVER)
            && self.ports.iter().all(|port| port.iter().all(|circling| self.circles_on(circling)))
    }

    /// Whether a frame will be sent round once more when it comes round.
    fn circles_on(&self, circling: &recirculation::Circling) -> bool {
        let end = &self.ends[circling.end as usize];
        let handle = Some(linkmend_protocol::FrameHandle(circling.slot));
        match circling.buffer {
            recirculation::Buffer::Tx => {
                let due = end.link_end.as_ref().and_then(LinkEnd::next_timeout);
                !end.tx.get(circling.slot).released && due.is_none_or(|at| at.0 > self.now.0)
            }
            recirculation::Buffer::Rx => end.link_end.as_ref().and_then(LinkEnd::next_delivery) != handle,
        }
    }

    fn is_silent(&self) -> bool {
        self.ends.iter().all(End::is_silent)
    }

    /// Simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events simulated so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The end's state machine, unless its link is unprotected.
    pub fn link_end(&self, end: usize) -> Option<&LinkEnd> {
        self.ends[end].link_end.as_ref()
    }

    /// What the end has passed on.
    pub fn delivered(&self, end: usize) -> Delivered {
        self.ends[end].delivered
    }

    /// Originals that the end's own source has produced.
    pub fn produced(&self, end: usize) -> u64 {
        self.ends[end].source.produced()
    }

    /// Originals of this end that the link corrupted, and the lengths of runs of them: 1, 2, ... frames.
    pub fn losses(&self, end: usize) -> (u64, &[u64]) {
        (self.ends[end].losses.lost, &self.ends[end].losses.runs)
    }

    /// Originals of this end of which the link corrupted every copy, too.
    pub fn all_copies_lost(&self, end: usize) -> u64 {
        self.ends[end].losses.all_copies_lost
    }

    /// Originals of this end that the peer gave up, by the clock or because this end let them go.
    pub fn given_up(&self, end: usize) -> GivenUp {
        self.ends[end].losses.given_up
    }

    /// From the peer's noticing a loss of this end's frames to the arrival of the first copy, ps.
    pub fn retransmission_delay(&self, end: usize) -> &Histogram {
        &self.ends[end].losses.delay
    }

    /// The longest time from the peer's decision to let this end resume to the first frame that arrived then.
    pub fn resume_flight_max(&self, end: usize) -> Time {
        self.ends[end].resume_flight_max
    }

    /// Tx buffer levels of the end.
    pub fn tx_levels(&self, end: usize) -> &Levels {
        &self.ends[end].tx_levels
    }

    /// Rx buffer levels of the end.
    pub fn rx_levels(&self, end: usize) -> &Levels {
        &self.ends[end].rx_levels
    }

    /// Frames that came round at a recirculation port.
    pub fn passes(&self, port: usize) -> u64 {
        self.ports[port].passes
    }

    /// Frames that the normal queues of the end dropped and marked, and most bytes they held.
    pub fn normal_queue(&self, end: usize) -> (u64, u64, u64) {
        let queues = &self.ends[end].normal.0;
        let sum = |of: fn(&queue::NormalQueue) -> u64| queues.iter().map(of).sum();
        (sum(|queue| queue.dropped), sum(|queue| queue.marked), sum(|queue| queue.bytes_max))
    }

    /// Records buffer levels from now on.
    pub fn start_recording(&mut self) {
        for end in &mut self.ends {
            end.tx_levels.start(self.now);
            end.rx_levels.start(self.now);
        }
    }

    /// Ends the recording of buffer levels: they are those of the time since [`Network::start_recording`].
    pub fn stop_recording(&mut self) {
        for end in &mut self.ends {
            end.tx_levels.stop(self.now);
            end.rx_levels.stop(self.now);
        }
    }

    /// Keeps the levels of `sender`'s Tx buffer and its peer's Rx buffer over time, from now on: so long a step at first,
    /// and at most so many. Fast-forward shows nothing of what it skips.
    pub fn watch_levels(&mut self, sender: usize, step: Time, samples_max: usize) {
        let series = || TimeSeries::new(self.now, step, samples_max);
        let (tx, rx) = (series(), series());
        self.ends[sender].tx_levels.watch(tx);
        self.ends[sender ^ 1].rx_levels.watch(rx);
    }

    /// What [`Network::watch_levels`] kept until now: Tx and Rx buffer.
    pub fn watched_levels(&mut self, sender: usize) -> Option<(TimeSeries, TimeSeries)> {
        let tx = self.ends[sender].tx_levels.series(self.now);
        tx.zip(self.ends[sender ^ 1].rx_levels.series(self.now))
    }

    /// Counts a run of losses that the end of the traffic cut short.
    pub fn finish(&mut self) {
        self.ends.iter_mut().for_each(|end| end.losses.finish());
    }

    /// State of an end for displays.
    pub fn status(&self, end: usize) -> Option<Status> {
        self.link_end(end).map(LinkEnd::status)
    }

    /// Lets the end's port act as soon as it can begin something.
    #[inline(always)]
    fn wake(&mut self, end: usize) {
        let port = SOURCES * end + 1;
        let this = &self.ends[end];
        // A busy port serves itself when it is free.
        let planned = self.queue.time_of(port);
        if planned > this.free_at.max(self.now) {
            let at = this.next_start(self.now);
            if at < planned {
                self.queue.set(port, at);
            }
        }
    }

    fn set_clock(&mut self, end: usize) {
        let at = self.ends[end].traffic_at.min(self.ends[end].timeout_at);
        self.queue.set(SOURCES * end + 2, at);
    }
}
