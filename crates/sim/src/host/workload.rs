//! Which flows begin when.

use super::sizes::FlowSizes;
use super::steps::Steps;
use crate::random::Random;
use crate::time::Time;
use std::fmt::Debug;

/// A flow that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    pub at: Time,
    /// Number of the host that sends, among the hosts of the workload.
    pub source: u32,
    /// Number of the host that receives.
    pub destination: u32,
    /// Bytes that the application writes.
    pub bytes: u64,
}

impl Start {
    /// Bytes of a flow without an end: 1 EiB, four months at 800G.
    pub const ENDLESS: u64 = 1 << 60;
}

/// The flows of a run, in the order in which they begin.
pub trait Workload: Debug + Send {
    /// When the next flow begins; [`Time::NEVER`] if none does unless one ends.
    fn next_at(&self) -> Time;

    /// The flow that begins at `now`.
    fn start(&mut self, now: Time) -> Option<Start>;

    /// Moves all times later by this much: the workload's time begins then.
    fn begin_at(&mut self, now: Time);

    /// A flow has arrived, and may not be acknowledged yet. Flows are numbered from 0 in the order in which they began.
    fn delivered(&mut self, now: Time, flow: u64) {
        let _ = (now, flow);
    }

    /// A flow has ended.
    fn ended(&mut self, now: Time) {
        let _ = now;
    }

    /// Whether no flow will begin any more.
    fn is_finished(&self) -> bool;

    /// What it has done so far, if its flows belong to steps.
    fn steps(&self) -> Option<&Steps> {
        None
    }
}

/// Flows each of which begins some time after the one before has ended: the trials of the paper's section
/// 4.3.
#[derive(Debug)]
pub struct Trials {
    left: u64,
    start: Start,
    sizes: FlowSizes,
    /// Pauses between the end of a trial and the beginning of the next are uniform from `gap` to twice that.
    gap: Time,
    random: Random,
    next_at: Time,
}

impl Trials {
    /// `count` flows of these sizes and otherwise like `first`, which begins at its time.
    pub fn new(count: u64, first: Start, sizes: FlowSizes, gap: Time, random: Random) -> Trials {
        Trials {
            left: count,
            start: first,
            sizes,
            gap,
            random,
            next_at: if count > 0 { first.at } else { Time::NEVER },
        }
    }
}

impl Workload for Trials {
    fn next_at(&self) -> Time {
        self.next_at
    }

    fn start(&mut self, now: Time) -> Option<Start> {
        if now < self.next_at {
            return None;
        }
        self.next_at = Time::NEVER;
        self.left = self.left.checked_sub(1)?;
        let bytes = self.sizes.only().unwrap_or_else(|| self.sizes.draw(&mut self.random));
        Some(Start { at: now, bytes, ..self.start })
    }

    fn ended(&mut self, now: Time) {
        if self.left > 0 {
            let further = (self.gap.0 as f64 * self.random.uniform()) as u64;
            self.next_at = now + self.gap + Time(further);
        }
    }

    fn begin_at(&mut self, now: Time) {
        self.next_at = later(self.next_at, now);
    }

    fn is_finished(&self) -> bool {
        self.left == 0
    }
}

/// Rounds in which several hosts send a flow each to one host at once. A round begins some time after all flows of the one
/// before have ended.
#[derive(Debug)]
pub struct Incast {
    rounds_left: u64,
    senders: u32,
    /// The next host to send in this round.
    next_sender: u32,
    active: u32,
    start: Start,
    /// Pauses between two rounds are uniform from `gap` to twice that.
    gap: Time,
    random: Random,
    next_at: Time,
}

impl Incast {
    /// `rounds` rounds of flows like `first` by the first `senders` hosts, at least one, of which none is its destination.
    pub fn new(rounds: u64, senders: u32, first: Start, gap: Time, random: Random) -> Incast {
        let next_at = if rounds > 0 { first.at } else { Time::NEVER };
        Incast { rounds_left: rounds, senders, next_sender: 0, active: 0, start: first, gap, random, next_at }
    }
}

impl Workload for Incast {
    fn next_at(&self) -> Time {
        self.next_at
    }

    fn start(&mut self, now: Time) -> Option<Start> {
        if now < self.next_at {
            return None;
        }
        let source = self.next_sender;
        self.active += 1;
        self.next_sender += 1;
        if self.next_sender == self.senders {
            self.next_sender = 0;
            self.rounds_left = self.rounds_left.saturating_sub(1);
            self.next_at = Time::NEVER;
        }
        Some(Start { at: now, source, ..self.start })
    }

    fn ended(&mut self, now: Time) {
        self.active -= 1;
        if self.active == 0 && self.next_sender == 0 && self.rounds_left > 0 {
            let further = (self.gap.0 as f64 * self.random.uniform()) as u64;
            self.next_at = now + self.gap + Time(further);
        }
    }

    fn begin_at(&mut self, now: Time) {
        self.next_at = later(self.next_at, now);
    }

    fn is_finished(&self) -> bool {
        self.rounds_left == 0
    }
}

/// Which hosts send to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// Each flow is between two of so many hosts, drawn at random.
    FullMesh { hosts: u32 },
    /// All flows are from one host to another.
    PointToPoint { source: u32, destination: u32 },
    /// Each flow is from one of the first half of so many hosts to one of the second, drawn at random.
    Halves { hosts: u32 },
}

/// When no more flows begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// After this time.
    Duration(Time),
    /// After so many flows.
    Flows(u64),
}

/// Flows that begin as in a Poisson process, until the end of a period or a number of flows.
#[derive(Debug)]
pub struct Poisson {
    sizes: FlowSizes,
    pairs: Pairs,
    /// Mean time between two flows, ps.
    mean_interval: f64,
    until: Time,
    left: u64,
    random: Random,
    next_at: Time,
}

impl Poisson {
    /// Flows of these sizes between hosts, at least two of them, `mean_interval` apart on average.
    pub fn new(
        sizes: FlowSizes,
        pairs: Pairs,
        mean_interval: Time,
        extent: Extent,
        random: Random,
    ) -> Poisson {
        let mean_interval = mean_interval.0 as f64;
        let (until, left) = match extent {
            Extent::Duration(duration) => (duration, u64::MAX),
            Extent::Flows(flows) => (Time::NEVER, flows),
        };
        let mut poisson = Poisson { sizes, pairs, mean_interval, until, left, random, next_at: Time::ZERO };
        poisson.advance();
        poisson
    }

    fn advance(&mut self) {
        let interval = (self.mean_interval * self.random.exponential()) as u64;
        let next = self.next_at + Time(interval.max(1));
        self.next_at = if next < self.until && self.left > 0 { next } else { Time::NEVER };
        self.left = self.left.saturating_sub(1);
    }

    /// A number below `count`.
    fn below(&mut self, count: u32) -> u32 {
        (((self.random.next_u64() >> 32) * u64::from(count)) >> 32) as u32
    }
}

impl Workload for Poisson {
    fn next_at(&self) -> Time {
        self.next_at
    }

    fn start(&mut self, now: Time) -> Option<Start> {
        if now < self.next_at {
            return None;
        }
        self.advance();
        let (source, destination) = match self.pairs {
            Pairs::FullMesh { hosts } => {
                let source = self.below(hosts);
                let other = self.below(hosts - 1);
                (source, if other < source { other } else { other + 1 })
            }
            Pairs::PointToPoint { source, destination } => (source, destination),
            Pairs::Halves { hosts } => {
                let half = hosts / 2;
                (self.below(half.max(1)), half + self.below((hosts - half).max(1)))
            }
        };
        let bytes = self.sizes.draw(&mut self.random);
        Some(Start { at: now, source, destination, bytes })
    }

    fn begin_at(&mut self, now: Time) {
        self.next_at = later(self.next_at, now);
        self.until = later(self.until, now);
    }

    fn is_finished(&self) -> bool {
        self.next_at == Time::NEVER
    }
}

/// A request of one host and an answer of another, as long, again and again: each begins when the one before has arrived.
#[derive(Debug)]
pub struct PingPong {
    /// Requests and answers.
    left: u64,
    next: Start,
}

impl PingPong {
    /// So many rounds that begin with `first`.
    pub fn new(rounds: u64, first: Start) -> PingPong {
        PingPong { left: 2 * rounds, next: first }
    }
}

impl Workload for PingPong {
    fn next_at(&self) -> Time {
        self.next.at
    }

    fn start(&mut self, now: Time) -> Option<Start> {
        if now < self.next.at {
            return None;
        }
        self.next.at = Time::NEVER;
        self.left = self.left.checked_sub(1)?;
        Some(Start { at: now, ..self.next })
    }

    fn delivered(&mut self, now: Time, _: u64) {
        if self.left > 0 {
            let Start { source, destination, .. } = self.next;
            self.next = Start { at: now, source: destination, destination: source, ..self.next };
        }
    }

    fn begin_at(&mut self, now: Time) {
        self.next.at = later(self.next.at, now);
    }

    fn is_finished(&self) -> bool {
        self.left == 0
    }
}

/// Flows that begin at given times.
#[derive(Debug)]
pub struct Schedule {
    /// The latest first.
    starts: Vec<Start>,
}

impl Schedule {
    /// These flows, in any order.
    pub fn new(mut starts: Vec<Start>) -> Schedule {
        starts.sort_by_key(|start| std::cmp::Reverse((start.at, start.source, start.destination)));
        Schedule { starts }
    }
}

impl Workload for Schedule {
    fn next_at(&self) -> Time {
        self.starts.last().map_or(Time::NEVER, |start| start.at)
    }

    fn start(&mut self, now: Time) -> Option<Start> {
        if self.next_at() > now {
            return None;
        }
        self.starts.pop()
    }

    fn begin_at(&mut self, now: Time) {
        self.starts.iter_mut().for_each(|start| start.at = later(start.at, now));
    }

    fn is_finished(&self) -> bool {
        self.starts.is_empty()
    }
}

/// A time that is later by another; never stays never.
fn later(at: Time, by: Time) -> Time {
    Time(at.0.saturating_add(by.0))
}
