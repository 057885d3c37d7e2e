//! Two nodes and the link between them, driven event by event.

use super::ledger::{FrameId, Ledger, LossCause};
use super::link::{Link, Wire};
use super::node::Node;
use super::random::Random;
use linkmend_protocol::schedule::Waiting;
use linkmend_protocol::{Config, Copies, Mode, Protection, Stats, Tick, Ticks, TransmitState};
use std::collections::VecDeque;
use std::fmt::Write as _;

pub const A: usize = 0;
pub const B: usize = 1;

/// Lines that the trace keeps.
const TRACE_MAX: usize = 120;

/// The settings of a pair; both directions are alike unless changed afterwards.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub config: Config,
    pub mbps: u64,
    pub delay_ns: u64,
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { config: quick_config(), mbps: 10_000, delay_ns: 2_000, seed: 1 }
    }
}

/// The defaults with the times of a fast link, so that scenarios stay short.
pub fn quick_config() -> Config {
    let mut config = Config {
        window_frames: 1024,
        window_bytes: 4 << 20,
        ack_gap: Tick::Nanosecond.micros(1),
        ack_interval: Tick::Nanosecond.micros(20),
        dummy_delay: Ticks(500),
        dummy_interval_min: Tick::Nanosecond.micros(20),
        dummy_interval_max: Tick::Nanosecond.millis(1),
        recovery_timeout: Tick::Nanosecond.millis(2),
        keepalive: Tick::Nanosecond.millis(1),
        peer_timeout: Tick::Nanosecond.millis(6),
        session_expiry: Tick::Nanosecond.millis(20),
        handshake_min: Tick::Nanosecond.micros(50),
        handshake_max: Tick::Nanosecond.millis(5),
        hello_interval: Tick::Nanosecond.millis(10),
        ..Config::new(Tick::Nanosecond)
    };
    config.fallback.enabled = false;
    config
}

pub struct Pair {
    pub now: u64,
    pub nodes: [Node; 2],
    /// By sending end.
    pub links: [Link; 2],
    pub ledger: Ledger,
    pub random: Random,
    pub steps: u64,
    trace: Option<Trace>,
}

/// What was done to the pair, and the last frames that arrived.
#[derive(Default)]
struct Trace {
    actions: Vec<String>,
    arrivals: VecDeque<String>,
}

impl Default for Pair {
    fn default() -> Self {
        Pair::new(Settings::default())
    }
}

impl Pair {
    pub fn new(settings: Settings) -> Pair {
        let mut random = Random::new(settings.seed);
        Pair {
            now: 0,
            nodes: [A, B].map(|index| Node::new(index, settings.config, random.next())),
            links: [A, B].map(|_| Link::new(settings.mbps, settings.delay_ns)),
            ledger: Ledger::default(),
            random,
            steps: 0,
            trace: None,
        }
    }

    /// A pair with active protection from A to B, after its handshake.
    pub fn protected(settings: Settings, copies: u8) -> Pair {
        let mut pair = Pair::new(settings);
        pair.protect(A, Copies::Fixed(copies));
        pair.run_until(settings.config.handshake_max.0 * 4, |pair| pair.is_active(A));
        pair
    }

    /// Keeps the last events from now on.
    pub fn enable_trace(&mut self) {
        self.trace = Some(Trace::default());
    }

    pub fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.actions.push(format!("{:>12} {}", self.now, line()));
        }
    }

    fn note_arrival(&mut self, end: usize, wire: &Wire) {
        if let Some(Trace { arrivals, .. }) = &mut self.trace {
            if arrivals.len() == TRACE_MAX {
                arrivals.pop_front();
            }
            arrivals.push_back(format!("{:>12} -> {end} {}", self.now, brief(wire)));
        }
    }

    pub fn trace(&self) -> String {
        let mut out = String::new();
        for line in self.trace.iter().flat_map(|trace| trace.actions.iter().chain(&trace.arrivals)) {
            let _ = writeln!(out, "{line}");
        }
        out
    }

    pub fn protect(&mut self, end: usize, copies: Copies) {
        let protection = Protection { copies };
        self.note(|| format!("{end} protect {copies:?}"));
        let node = &mut self.nodes[end];
        node.protection = Some(protection);
        let now = node.local(self.now);
        node.end.protect(now, protection);
        self.service(end);
    }

    pub fn unprotect(&mut self, end: usize) {
        self.note(|| format!("{end} unprotect"));
        let node = &mut self.nodes[end];
        node.protection = None;
        let now = node.local(self.now);
        node.end.unprotect(now);
        self.service(end);
    }

    pub fn crash(&mut self, end: usize) {
        self.note(|| format!("{end} restarts"));
        let seed = self.random.next();
        self.nodes[end].starved_until = self.now;
        self.service(end);
        self.nodes[end].crash(self.now, seed, &mut self.ledger);
        self.service(end);
    }

    /// Does not run `end` for `span_ns`. With `kernel`, the kernel forwards meanwhile, and the driver says so
    /// afterwards.
    pub fn starve(&mut self, end: usize, span_ns: u64, kernel: bool) {
        self.note(|| format!("{end} is not run for {span_ns} ns, kernel {kernel}"));
        self.service(end);
        self.nodes[end].starved_until = self.now + span_ns;
        self.nodes[end].kernel = kernel;
    }

    pub fn offer(&mut self, end: usize, mode: Mode, count: u64, bytes: u32) -> Vec<FrameId> {
        let frames: Vec<_> = (0..count).map(|_| self.ledger.offer(end, mode, bytes)).collect();
        for &frame in &frames {
            self.nodes[end].queues.push(Waiting { frame, bytes, mode });
        }
        self.service(end);
        frames
    }

    pub fn stats(&self, end: usize) -> Stats {
        self.nodes[end].end.stats()
    }

    pub fn is_active(&self, end: usize) -> bool {
        self.nodes[end].end.status().transmit == TransmitState::Active
    }

    pub fn is_dormant(&self, end: usize) -> bool {
        self.nodes[end].end.status().transmit == TransmitState::Dormant
    }

    pub fn run_for(&mut self, span_ns: u64) {
        let until = self.now + span_ns;
        while self.step(until) {}
        self.now = until;
    }

    /// Runs until `done`, and panics if that takes longer than `limit_ns`.
    pub fn run_until(&mut self, limit_ns: u64, mut done: impl FnMut(&Pair) -> bool) {
        let until = self.now + limit_ns;
        while !done(self) {
            if !self.step(until) {
                panic!("not done after {limit_ns} ns: {}", self.describe());
            }
        }
    }

    /// Whether every frame offered has been delivered or is excused, and every buffer is empty.
    pub fn is_idle(&self) -> bool {
        self.ledger.undelivered == 0
            && !self.links.iter().any(Link::carries_data)
            && self.nodes.iter().all(|node| {
                let stats = node.end.stats();
                node.queued() == 0
                    && node.source.as_ref().is_none_or(|source| source.remaining == 0)
                    && node.end.status().outstanding_frames == 0
                    && stats.rx_buffer.frames == 0
                    && stats.missing_frames == 0
                    && node.tx.live() + node.rx.live() == 0
            })
    }

    pub fn run_until_idle(&mut self, limit_ns: u64) {
        self.run_until(limit_ns, Pair::is_idle);
    }

    /// Every frame from `end` arrived; none was excused.
    pub fn assert_all_delivered(&self, end: usize) {
        for (index, record) in self.ledger.frames.iter().enumerate() {
            assert!(record.from != end || record.delivered_at.is_some(), "frame {index}: {record:?}");
        }
    }

    /// Exact accounts, for runs in which no session ended by a fault.
    pub fn assert_accounts(&self) {
        for end in [A, B] {
            let lost = self.ledger.count(end, LossCause::GivenUp);
            let stats = self.stats(1 - end);
            assert_eq!(lost, stats.recovery_timeouts + stats.withdrawn_frames, "effective loss from {end}");
            for record in
                self.ledger.frames.iter().filter(|record| record.loss_cause == Some(LossCause::GivenUp))
            {
                assert_eq!(record.transmissions, record.corrupted, "a copy arrived: {record:?}");
            }
            assert_eq!(self.ledger.count(end, LossCause::Abandoned), 0);
        }
    }

    pub fn describe(&self) -> String {
        let ends = self.nodes.each_ref().map(|node| {
            format!(
                "\n{:?}\n  queued {} starved until {} next {:?}\n  {:?}",
                node.end.status(),
                node.queued(),
                node.starved_until,
                node.end.next_timeout().map(|at| at.0 as i128 - node.clock_offset as i128),
                node.end.stats()
            )
        });
        format!("at {}, {} undelivered{}{}", self.now, self.ledger.undelivered, ends[0], ends[1])
    }

    pub fn service(&mut self, end: usize) {
        let node = &mut self.nodes[end];
        if node.starved_until > self.now {
            return;
        }
        if std::mem::take(&mut node.kernel) {
            let now = node.local(self.now);
            node.end.handle_stall(now);
        }
        node.service(self.now, &mut self.links[end], &mut self.ledger, &mut self.random);
    }

    /// Handles the next event. `false` if there is none before `until`.
    pub fn step(&mut self, until: u64) -> bool {
        let arrival = |end: usize| self.links[1 - end].next_arrival().unwrap_or(u64::MAX);
        let wake = |end: usize| self.nodes[end].wake_at(self.now, &self.links[end]);
        let events = [arrival(A), arrival(B), wake(A), wake(B)];
        let (event, &at) = events.iter().enumerate().min_by_key(|(_, at)| **at).expect("four events");
        if at > until {
            return false;
        }
        self.steps += 1;
        self.now = self.now.max(at);
        let end = event % 2;
        if event < 2 {
            let wire = self.links[1 - end].pop_arrival(self.now).expect("due");
            self.note_arrival(end, &wire);
            self.nodes[end].arrive(self.now, wire, &mut self.ledger);
        } else {
            self.nodes[end].offer_due(self.now, &mut self.ledger, &mut self.random);
            if self.nodes[end].kernel && self.nodes[end].starved_until > self.now {
                let link = &mut self.links[end];
                self.nodes[end].kernel_send(self.now, link, &mut self.ledger, &mut self.random);
            }
        }
        self.service(end);
        true
    }
}

fn brief(wire: &Wire) -> String {
    match wire {
        Wire::Control(control) => {
            let text = format!("{control:?}");
            // Unused places of the list of holes are left out.
            text.replace("SequenceRange { first: SequenceNumber(0), length: 0 }, ", "")
                .replace("SequenceRange { first: SequenceNumber(0), length: 0 }", "..")
        }
        other => format!("{other:?}"),
    }
}
