//! The receiving end: restores, asks, delivers in order and in time, measures and plans.

use crate::arrival_clock::ArrivalClock;
use crate::arrivals::Arrivals;
use crate::code::{Code, GROUP_MAX, PARITY_MAX};
use crate::feedback::{Feedback, Header, MISSING_SPAN, ParityFrame, STAMP_NS, unwrapped};
use crate::losses::Losses;
use crate::measure::LossMeter;
use crate::planner::{Limits, Path, Plan, REQUESTS, plan, round_ns};
use std::collections::{BTreeMap, VecDeque};

/// Most numbers between the next frame to deliver and the newest. A frame beyond begins anew.
pub const WINDOW: u64 = 8_192;
/// Most messages that wait to be sent.
const FEEDBACK_MAX: usize = 1_024;
/// Time between two plans. Each is sent, in case the last one was lost.
const PLAN_EVERY_NS: u64 = 100_000_000;

/// What a receiver needs to know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReceiverConfig {
    pub limits: Limits,
    pub round_trip_ns: u64,
    /// The losses and the frames per second to begin with.
    pub losses: Losses,
    pub frame_rate: f64,
    /// The losses count as if they had been measured on so many frames.
    pub prior_frames: f64,
    /// A plan that is not changed by what is measured.
    pub fixed: Option<Plan>,
}

/// What a receiver has counted. `delivered`, `given_up` and `late` are disjoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    pub delivered: u64,
    /// Delivered frames that parity has restored.
    pub restored: u64,
    /// Frames that had not arrived by their deadline.
    pub given_up: u64,
    /// Frames that have arrived, and could be delivered only after their deadline.
    pub late: u64,
    /// Frames that arrived after they had been given up.
    pub arrived_later: u64,
    pub duplicates: u64,
    pub requests: u64,
}

/// A frame to deliver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered<F> {
    pub number: u64,
    pub frame: F,
}

/// A frame that has not arrived.
#[derive(Debug, Clone, Copy)]
struct Missing {
    due_ns: u64,
    asked_ns: Option<u64>,
}

/// The receiver of a class. See the [order of calls](crate#the-order-of-calls).
#[derive(Debug)]
pub struct Receiver<C: Code> {
    config: ReceiverConfig,
    code: C,
    arrivals: Arrivals<C>,
    /// The next number to deliver.
    next: u64,
    missing: BTreeMap<u64, Missing>,
    /// Frames before this one belong to groups that are complete, or were sent after all of their parity.
    askable_before: u64,
    ask_at_ns: Option<u64>,
    clock: ArrivalClock,
    meter: LossMeter,
    plan: Plan,
    planned_ns: u64,
    planned_end: u64,
    frame_rate: f64,
    feedback: VecDeque<Feedback>,
    counters: ReceiverCounters,
}

impl<C: Code> Receiver<C> {
    /// A receiver of a sender that has sent nothing.
    pub fn new(config: ReceiverConfig, code: C) -> Receiver<C> {
        let ReceiverConfig { limits, round_trip_ns, losses, frame_rate, prior_frames, fixed } = config;
        let first = || plan(&Path { losses, round_trip_ns, frame_rate }, &limits);
        Receiver {
            code,
            arrivals: Arrivals::new(),
            next: 0,
            missing: BTreeMap::new(),
            askable_before: 0,
            ask_at_ns: None,
            clock: ArrivalClock::default(),
            meter: LossMeter::new(losses, prior_frames),
            plan: fixed.unwrap_or_else(first),
            planned_ns: 0,
            planned_end: 0,
            frame_rate,
            feedback: VecDeque::new(),
            counters: ReceiverCounters::default(),
            config,
        }
    }

    /// Begins at this number, before anything has arrived, and tells the sender the plan. Frames before it are not waited for.
    pub fn begin_at(&mut self, number: u32) {
        self.restart(u64::from(number));
        self.counters = ReceiverCounters::default();
        self.tell_plan();
    }

    /// Changes the round trip that is planned with.
    pub fn set_round_trip(&mut self, round_trip_ns: u64) {
        self.config.round_trip_ns = round_trip_ns;
    }

    /// The plan in use.
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// What it has counted.
    pub fn counters(&self) -> ReceiverCounters {
        self.counters
    }

    /// Handles a frame that has arrived.
    pub fn handle_frame(&mut self, now_ns: u64, header: Header, frame: C::Frame) {
        let Some(number) = unwrapped(header.number, self.arrivals.end()) else { return };
        if number < self.arrivals.begin() {
            self.counters.duplicates += 1;
            return;
        }
        if number >= self.next + WINDOW {
            self.restart(number);
        }
        if !header.is_copy {
            self.clock.observe(now_ns, header.stamp);
        }
        let end = self.arrivals.end();
        if number >= end {
            let due_ns = self.due_ns(now_ns, header.stamp);
            self.extend(number, due_ns);
            self.arrivals.extend(number + 1);
            self.meter.count(number - end, 1);
        } else if !header.is_copy && self.arrivals.frame(number).is_none() {
            self.meter.uncount();
        }
        if self.arrivals.store(number, header.stamp, frame) {
            self.found(number);
        } else {
            self.counters.duplicates += 1;
        }
        let first = number.saturating_sub(u64::from(header.place));
        self.askable_before = self.askable_before.max(first);
        self.restore();
        self.ask(now_ns);
        self.plan_anew(now_ns);
    }

    /// Handles a parity frame that has arrived.
    pub fn handle_parity(&mut self, now_ns: u64, parity: ParityFrame<C::Parity>) {
        let frames = usize::from(parity.frames);
        let is_usable = (1..=GROUP_MAX).contains(&frames)
            && parity.index < parity.count
            && usize::from(parity.count) <= PARITY_MAX;
        let Some(first) = unwrapped(parity.first, self.arrivals.end()).filter(|_| is_usable) else { return };
        let group_end = first + frames as u64;
        if first < self.arrivals.begin() || group_end > self.next + WINDOW {
            return;
        }
        let end = self.arrivals.end();
        if group_end > end {
            self.meter.count(group_end - end, 0);
            self.extend(group_end, now_ns.saturating_add(self.slack_ns()));
        }
        let is_last = parity.index + 1 == parity.count;
        if !self.arrivals.add_parity(first, parity) {
            return;
        }
        if is_last {
            self.askable_before = self.askable_before.max(group_end);
        }
        self.restore();
        self.ask(now_ns);
    }

    /// Asks again for what has not arrived.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        if self.ask_at_ns.is_some_and(|at| at <= now_ns) {
            self.ask(now_ns);
        }
    }

    /// When [`Self::handle_timeout`] or [`Self::poll_deliver`] has something to do.
    pub fn next_timeout(&self) -> Option<u64> {
        let due = self.missing.get(&self.next).map(|missing| missing.due_ns);
        [due, self.ask_at_ns].into_iter().flatten().min()
    }

    /// The next frame in order. Gives up those whose deadline has come.
    pub fn poll_deliver(&mut self, now_ns: u64) -> Option<Delivered<C::Frame>> {
        while self.next < self.arrivals.end() {
            let number = self.next;
            let Some((stamp, frame)) = self.arrivals.frame(number) else {
                if self.missing.get(&number).is_some_and(|missing| missing.due_ns > now_ns) {
                    return None;
                }
                self.missing.remove(&number);
                self.counters.given_up += 1;
                self.next += 1;
                continue;
            };
            let is_late = self.clock.age_ns(now_ns, *stamp) > self.slack_ns() + STAMP_NS;
            let delivered = (!is_late).then(|| Delivered { number, frame: frame.clone() });
            self.next += 1;
            self.arrivals.forget_before(self.next);
            if is_late {
                self.counters.late += 1;
                continue;
            }
            self.counters.delivered += 1;
            return delivered;
        }
        None
    }

    /// Whether it has delivered or given up the frame with this number.
    pub fn has_moved_past(&self, number: u32) -> bool {
        unwrapped(number, self.arrivals.end()).is_none_or(|number| number < self.next)
    }

    /// The next message to the sender.
    pub fn poll_feedback(&mut self) -> Option<Feedback> {
        self.feedback.pop_front()
    }

    /// Whether nothing waits to be delivered.
    pub fn is_idle(&self) -> bool {
        self.next >= self.arrivals.end()
    }

    fn slack_ns(&self) -> u64 {
        self.config.limits.slack_ns(self.config.round_trip_ns)
    }

    /// The deadline of a frame with this stamp.
    fn due_ns(&self, now_ns: u64, stamp: u16) -> u64 {
        (now_ns + self.slack_ns()).saturating_sub(self.clock.age_ns(now_ns, stamp))
    }

    /// Frames before `end` have been sent, at the latest when one was that is due at `due_ns`.
    fn extend(&mut self, end: u64, due_ns: u64) {
        let missing = Missing { due_ns, asked_ns: None };
        self.missing.extend((self.arrivals.end()..end).map(|number| (number, missing)));
        self.arrivals.extend(end);
    }

    /// A frame has arrived or was restored.
    fn found(&mut self, number: u64) {
        self.missing.remove(&number);
        self.counters.arrived_later += u64::from(number < self.next);
    }

    fn restart(&mut self, number: u64) {
        self.counters.given_up += number.saturating_sub(self.next);
        self.missing.clear();
        self.arrivals.restart(number);
        self.next = number;
        self.askable_before = number;
    }

    fn restore(&mut self) {
        while let Some(restored) = self.arrivals.restore(&mut self.code) {
            for number in restored {
                self.counters.restored += u64::from(number >= self.next);
                self.found(number);
            }
        }
    }

    /// Asks for frames that parity will not restore, and that can still arrive in time. Of a group with parity, it asks for as
    /// many as it lacks: any will do.
    fn ask(&mut self, now_ns: u64) {
        self.ask_at_ns = None;
        if self.plan.rounds == 0 {
            return;
        }
        let (round_trip_ns, round_ns) = (self.config.round_trip_ns, round_ns(self.config.round_trip_ns));
        let last_copies = self.plan.copies.max(1);
        let (mut group_first, mut lacking) = (u64::MAX, 0);
        let mut ask_at_ns = u64::MAX;
        let mut requests: Vec<(u64, u8)> = Vec::new();
        for (&number, missing) in self.missing.range_mut(self.next..self.askable_before.max(self.next)) {
            if let Some(group) = self.arrivals.group_of(number) {
                if group.first != group_first {
                    group_first = group.first;
                    lacking = self.arrivals.missing_in(group).saturating_sub(group.parity());
                }
                if lacking == 0 {
                    continue;
                }
                lacking -= 1;
            }
            let due_again = missing.asked_ns.map_or(0, |at| at + round_ns);
            if due_again <= now_ns && now_ns + round_trip_ns <= missing.due_ns {
                let is_last = now_ns + round_ns + round_trip_ns > missing.due_ns;
                requests.push((number, if is_last { last_copies } else { 1 }));
                missing.asked_ns = Some(now_ns);
                ask_at_ns = ask_at_ns.min(now_ns + round_ns);
            } else if due_again > now_ns && due_again + round_trip_ns <= missing.due_ns {
                ask_at_ns = ask_at_ns.min(due_again);
            }
        }
        self.ask_at_ns = (ask_at_ns < u64::MAX).then_some(ask_at_ns);
        self.counters.requests += requests.len() as u64;
        self.request(&requests);
    }

    fn request(&mut self, requests: &[(u64, u8)]) {
        let mut rest = requests;
        while let Some(&(first, copies)) = rest.first() {
            let together = |(number, of): &&(u64, u8)| *of == copies && number - first < MISSING_SPAN;
            let count = rest.iter().take_while(together).count();
            let others = rest[1..count].iter().fold(0, |bits, (number, _)| bits | 1 << (number - first));
            for _ in 0..REQUESTS {
                if self.feedback.len() < FEEDBACK_MAX {
                    self.feedback.push_back(Feedback::Missing { first: first as u32, others, copies });
                }
            }
            rest = &rest[count..];
        }
    }

    /// Plans with what was measured.
    fn plan_anew(&mut self, now_ns: u64) {
        let elapsed_ns = now_ns.saturating_sub(self.planned_ns);
        if self.config.fixed.is_some() || elapsed_ns < PLAN_EVERY_NS {
            return;
        }
        if self.planned_ns > 0 {
            let frames = self.arrivals.end().saturating_sub(self.planned_end);
            self.frame_rate += (frames as f64 * 1e9 / elapsed_ns as f64 - self.frame_rate) / 4.0;
        }
        (self.planned_ns, self.planned_end) = (now_ns, self.arrivals.end());
        let losses = self.meter.losses();
        let path = Path { losses, round_trip_ns: self.config.round_trip_ns, frame_rate: self.frame_rate };
        self.plan = plan(&path, &self.config.limits);
        self.tell_plan();
    }

    /// Tells the sender the plan.
    fn tell_plan(&mut self) {
        let age = (self.plan.age_ns / STAMP_NS).min(u64::from(u16::MAX)) as u16;
        let feedback = Feedback::Group { frames: self.plan.group, parity: self.plan.parity, age };
        if self.feedback.len() < FEEDBACK_MAX {
            self.feedback.push_back(feedback);
        }
    }
}
