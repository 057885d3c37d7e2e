//! Links that fail, and switches that hand over what a failed link lost: SQR (ICNP 2019), and a switch that knows what was
//! acknowledged.
//!
//! A link fails in both directions at the same time. Frames that it carries at that moment are lost, and so are frames
//! sent until its switches detect the failure; a [`guard::Guard`] at each end keeps frames for this case. Once the
//! failure is detected, frames that would leave through the failed port are held after those. When there is another
//! path, all of them are sent on it in order. Frames that arrive in the meantime wait, and then take that path from the
//! start.
//!
//! # What is an event
//!
//! All failures share one source of events, the last one: the next change to a link, and the next copy that reaches a
//! caching queue. A caching queue is one of the queues of its port, and is served together with them.

mod changes;
mod config;
mod frames;
mod guard;
mod load;
mod ring;
mod stats;
mod times;

pub use config::{FailingLink, HandOff, SqrConfig};
pub use stats::{FailoverStats, Recovery};
pub(crate) use times::FailureTimes;

use super::Network;
use super::hosts::Hosts;
use crate::link::{Frame, Observer, PortId, Scheme};
use crate::time::Time;
use guard::Guard;
pub(super) use guard::Latencies;
use std::collections::VecDeque;

/// How long a switch waits before it checks again whether frames may return to the failed link.
const RETURN_CHECK: Time = Time::from_nanos(10_000);
const NO_GUARD: u32 = u32::MAX;

/// All failing links of a network.
#[derive(Debug)]
pub(super) struct Failover {
    links: Vec<Failing>,
    /// Two for each failing link.
    guards: Vec<Guard>,
    /// By port: its guard, the port that frames use instead, the frames handed over to it, and its caching queue.
    guard_of: Vec<u32>,
    way_of: Vec<PortId>,
    released: Vec<VecDeque<Frame>>,
    caching: Vec<CachingQueue>,
    /// By guard: copies in the caching queue of a port that sends nothing yet. It is not served.
    stopped: Vec<VecDeque<u64>>,
}

/// The caching queue of a port.
#[derive(Debug, Clone, Default)]
struct CachingQueue {
    /// The guard and the number of each copy.
    copies: VecDeque<(u32, u64)>,
    /// Whether it is its turn.
    is_next: bool,
}

/// A failing link, and what happens to it next.
#[derive(Debug)]
struct Failing {
    config: FailingLink,
    /// When it fails or failed.
    times: FailureTimes,
    /// Number of remaining failures.
    left: u64,
    next: Change,
    at: Time,
}

impl Failing {
    /// Sets when it fails next.
    fn set_cut(&mut self, now: Time) {
        self.times.skip_to(now);
        let at = if self.left > 0 { self.times.at() } else { Time::NEVER };
        (self.next, self.at) = (Change::Cut, at);
    }
}

/// What happens to a failing link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Cut,
    /// Its switches know.
    Detected,
    /// There is another path, which is the link itself if it has no backup.
    HasWay,
    /// It works again.
    Mended,
    /// Frames use it again.
    Returns,
}

impl Failover {
    /// `latencies` are those of the link that leaves a port.
    pub(super) fn new(
        links: Vec<FailingLink>,
        ports: usize,
        seed: u64,
        latencies: impl Fn(PortId) -> Latencies,
    ) -> Option<Failover> {
        if links.is_empty() {
            return None;
        }
        let mut failover = Failover {
            links: Vec::new(),
            guards: Vec::new(),
            guard_of: vec![NO_GUARD; ports],
            way_of: (0..ports).map(PortId::at).collect(),
            released: vec![VecDeque::new(); ports],
            caching: vec![CachingQueue::default(); ports],
            stopped: Vec::new(),
        };
        for config in links {
            for port in PortId::both(config.link) {
                failover.guard_of[port.index()] = failover.guards.len() as u32;
                failover.stopped.push(VecDeque::new());
                failover.guards.push(Guard::new(&config, port, latencies(port)));
            }
            let at = config.first;
            let times = FailureTimes::new(seed, config.link.0, at, config.every, config.jitter_max());
            let left = config.failures_max;
            let at = if left > 0 { at } else { Time::NEVER };
            failover.links.push(Failing { config, times, left, next: Change::Cut, at });
        }
        Some(failover)
    }

    /// When something happens next.
    pub(super) fn next_time(&self) -> Time {
        let links = self.links.iter().map(|link| link.at);
        let copies = self.guards.iter().map(Guard::next_queued);
        links.chain(copies).min().unwrap_or(Time::NEVER)
    }

    fn stats(&self) -> FailoverStats {
        let mut stats = FailoverStats::default();
        self.guards.iter().for_each(|guard| stats.add(&guard.stats));
        // Each direction counts.
        stats.failures /= 2;
        stats
    }
}

impl<O: Observer<S>, S: Scheme, H: Hosts> Network<O, S, H> {
    /// The cost of all failures so far, over all links.
    pub fn failover_stats(&self) -> FailoverStats {
        self.failover.as_ref().map_or_else(FailoverStats::default, |failover| failover.stats())
    }

    /// Frames that the link of `port` had corrupted before it was cut, if it is cut now.
    pub(super) fn corrupted_before_cut(&self, port: PortId) -> Option<u64> {
        let failover = self.failover.as_ref()?;
        let guard = failover.guards.iter().find(|guard| guard.port == port)?;
        guard.is_cut().then_some(guard.corrupted_before)
    }

    /// The port from which a frame leaves that was to leave from `out`.
    #[inline]
    pub(super) fn way_of(&self, out: PortId) -> PortId {
        self.failover.as_ref().map_or(out, |failover| failover.way_of[out.index()])
    }

    /// Does what is due.
    #[cold]
    #[inline(never)]
    pub(super) fn act_on_failover(&mut self) {
        let Some(failover) = &self.failover else { return };
        let now = self.now;
        if let Some(link) = failover.links.iter().position(|link| link.at <= now) {
            self.change_link(link);
        } else if let Some(guard) = failover.guards.iter().position(|guard| guard.next_queued() <= now) {
            self.queue_copy(guard);
        }
        self.schedule_failover();
    }

    /// Schedules the source for its next event.
    pub(super) fn schedule_failover(&mut self) {
        if let Some(failover) = &self.failover {
            let source = PortId::sources(self.ports.len()) + self.loops.len() + self.hosts.sources();
            self.queue.set(source, failover.next_time());
        }
    }
}
