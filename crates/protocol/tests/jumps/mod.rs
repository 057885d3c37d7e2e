//! Two link ends and the wires between them, driven in steps of one frame, which can also jump ahead.

pub mod setting;

use crate::random::Random;
use linkmend_protocol::{
    Admission, Control, Copies, DataHeader, Event, FrameHandle, Instant, LinkEnd, Mode, PerMode, Priority,
    Protection, Reception, SteadyState, Ticks, Transmit, Undisturbed,
};
use setting::{NEVER, OUT_OF_REACH, Setting};
use std::collections::VecDeque;

/// Set in the handles of frames that are first sent after the jump; those of earlier frames keep their value, and name
/// frames that are further on.
const AFTER_JUMP: u32 = 1 << 31;

/// Timeouts waited for on a dead link: every wait of the protocol doubles.
const DEAD_STEPS: u64 = 250;

/// Everything that an observer could see, with the end that shows it. Frames are named by how many came before them.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation {
    Sent(DataHeader, u64),
    ControlSent(Box<Control>),
    Received(u64, Reception),
    Delivered(u64),
    Released(u64),
    Event(Event),
    Due(Option<Instant>),
}

#[derive(Debug, Clone)]
enum OnWire {
    Data(DataHeader, u64),
    Control(Box<Control>),
}

/// What an end has done.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    sent: u64,
    sent_bytes: u64,
    received: u64,
    received_bytes: u64,
    acks: u64,
}

/// The differences between one step and another, apart from clocks and counts.
#[derive(Debug, PartialEq)]
pub struct Moment {
    /// For the ports: how many steps or frames remain until each recurs.
    phases: [[u64; 3]; 2],
    /// Copies and control frames but ACKs, and losses: none of them may happen in a cycle.
    disturbances: u64,
    ends: [SteadyState; 2],
    /// Steps until it arrives, whether it is an ACK, its number and its frame, both from the next of the sender.
    wires: [Vec<(u64, bool, u16, u64)>; 2],
    /// How far the receivers are behind the senders. A frame that was lost and is not missed yet shows only here,
    /// because it is not on the wire.
    behind: [u64; 2],
}

pub struct Node {
    pub end: LinkEnd,
    pub counts: Counts,
    /// One beyond the last frame that arrived from the peer.
    reached: u64,
    /// What is in flight to the peer, with the step in which it arrives.
    wire: VecDeque<(u64, OnWire)>,
    /// How far the jump moved the frames of this end.
    moved: Option<u64>,
}

impl Node {
    fn new(setting: &Setting, seed: u64) -> Node {
        Node {
            end: LinkEnd::new(setting.config, seed).expect("valid parameters"),
            counts: Counts::default(),
            reached: 0,
            wire: VecDeque::new(),
            moved: None,
        }
    }

    fn handle(&self, id: u64) -> FrameHandle {
        FrameHandle(id as u32 | if self.moved.is_some() { AFTER_JUMP } else { 0 })
    }

    fn id(&self, handle: FrameHandle) -> u64 {
        let before = handle.0 & AFTER_JUMP == 0;
        u64::from(handle.0 & !AFTER_JUMP) + self.moved.filter(|_| before).unwrap_or(0)
    }
}

pub struct Pair {
    pub setting: Setting,
    pub now: u64,
    pub step: u64,
    pub nodes: [Node; 2],
    pub disturbances: u64,
    /// Whether there are frames to send, and how many of all frames are lost.
    pub busy: bool,
    pub loss: f64,
    interval: u64,
    delay: u64,
    random: Random,
    pub seen: Vec<(Instant, usize, Observation)>,
}

impl Pair {
    /// A pair with open sessions, after a time with losses.
    pub fn new(setting: &Setting) -> Pair {
        let mut pair = Pair {
            setting: setting.clone(),
            now: 0,
            step: 0,
            nodes: [Node::new(setting, setting.seed), Node::new(setting, !setting.seed)],
            disturbances: 0,
            busy: false,
            loss: 0.0,
            interval: setting.interval,
            delay: setting.delay,
            random: Random::new(setting.seed),
            seen: Vec::new(),
        };
        for (node, port) in pair.nodes.iter_mut().zip(&setting.ports) {
            if port.frame_every > 0 {
                node.end.protect(Instant(0), Protection { copies: Copies::Fixed(port.copies) });
            }
        }
        let sends = |end: &usize| setting.ports[*end].frame_every > 0;
        while (0..2).filter(sends).any(|end| pair.admission(end) != Admission::Protected) {
            pair.step();
        }
        (pair.busy, pair.loss) = (true, setting.loss);
        pair.steps(setting.stormy_steps);
        pair.loss = 0.0;
        pair
    }

    pub fn steps(&mut self, steps: u64) {
        for _ in 0..steps {
            self.step();
        }
    }

    /// Advances by one frame.
    fn step(&mut self) {
        self.now += self.interval;
        self.step += 1;
        let now = Instant(self.now);
        for node in &mut self.nodes {
            if node.end.next_timeout().is_some_and(|at| at <= now) {
                node.end.handle_timeout(now);
            }
        }
        (0..2).for_each(|end| self.arrivals(end));
        for end in 0..2 {
            if let Some(on_wire) = self.serve_port(end) {
                self.put_on_wire(end, on_wire);
            }
            while let Some(event) = self.nodes[end].end.poll_event() {
                self.see(end, Observation::Event(event));
            }
            let due = self.nodes[end].end.next_timeout();
            self.see(end, Observation::Due(due));
        }
    }

    fn see(&mut self, end: usize, seen: Observation) {
        self.seen.push((Instant(self.now), end, seen));
    }

    fn admission(&self, end: usize) -> Admission {
        let port = &self.setting.ports[end];
        self.nodes[end].end.admission(port.mode, port.bytes(self.nodes[end].counts.sent))
    }

    /// Sends urgent frames first, then a normal frame, then dummies and ACKs.
    fn serve_port(&mut self, end: usize) -> Option<OnWire> {
        let (now, port) = (Instant(self.now), self.setting.ports[end]);
        if let Some(transmit) = self.nodes[end].end.poll_transmit(now, Priority::High) {
            self.disturbances += 1;
            return Some(match transmit {
                Transmit::Control(control) => OnWire::Control(Box::new(control)),
                Transmit::Retransmission { frame, header } => OnWire::Data(header, self.nodes[end].id(frame)),
            });
        }
        let waits = self.busy && port.frame_every > 0 && self.step.is_multiple_of(port.frame_every);
        if waits && self.admission(end) == Admission::Protected {
            let node = &mut self.nodes[end];
            let id = node.counts.sent;
            let (handle, bytes) = (node.handle(id), port.bytes(id));
            let header = node.end.send(now, port.mode, handle, bytes).expect("admitted");
            node.counts.sent += 1;
            node.counts.sent_bytes += u64::from(bytes);
            return Some(OnWire::Data(header, id));
        }
        if self.busy && (port.idle_every == 0 || !self.step.is_multiple_of(port.idle_every)) {
            return None;
        }
        let Transmit::Control(control) = self.nodes[end].end.poll_transmit(now, Priority::Low)? else {
            panic!("a copy where dummies and ACKs go");
        };
        let plain = matches!(control, Control::CompactAck { .. });
        self.nodes[end].counts.acks += u64::from(plain);
        self.disturbances += u64::from(!plain);
        Some(OnWire::Control(Box::new(control)))
    }

    fn put_on_wire(&mut self, end: usize, on_wire: OnWire) {
        self.see(
            end,
            match &on_wire {
                OnWire::Data(header, id) => Observation::Sent(*header, *id),
                OnWire::Control(control) => Observation::ControlSent(control.clone()),
            },
        );
        if self.random.chance(self.loss) {
            self.disturbances += 1;
        } else {
            self.nodes[end].wire.push_back((self.step + self.delay, on_wire));
        }
    }

    /// Handles what reaches `end` in this step.
    fn arrivals(&mut self, end: usize) {
        let (now, step, peer) = (Instant(self.now), self.step, 1 - end);
        while let Some((_, on_wire)) = self.nodes[peer].wire.pop_front_if(|(at, _)| *at <= step) {
            match on_wire {
                OnWire::Control(control) => _ = self.nodes[end].end.handle_control(now, &control),
                OnWire::Data(header, id) => {
                    let (handle, bytes) = (self.nodes[peer].handle(id), self.setting.ports[peer].bytes(id));
                    let node = &mut self.nodes[end];
                    let reception = node.end.handle_data(now, &header, handle, bytes);
                    node.counts.received += 1;
                    node.counts.received_bytes += u64::from(bytes);
                    node.reached = node.reached.max(id + 1);
                    self.see(end, Observation::Received(id, reception));
                }
            }
            while let Some(handle) = self.nodes[end].end.poll_deliver() {
                let id = self.nodes[peer].id(handle);
                self.see(end, Observation::Delivered(id));
            }
            while let Some(handle) = self.nodes[end].end.poll_release() {
                let id = self.nodes[end].id(handle);
                self.see(end, Observation::Released(id));
            }
        }
    }

    /// `None` while something is disturbed.
    pub fn moment(&self) -> Option<Moment> {
        let steady = |end: usize| self.nodes[end].end.steady_state(Instant(self.now), OUT_OF_REACH);
        let phases = |end: usize| {
            let (port, sent) = (&self.setting.ports[end], self.nodes[end].counts.sent);
            [self.step % port.frame_every.max(1), self.step % port.idle_every.max(1), sent % port.sizes]
        };
        let behind = |end: usize| self.nodes[1 - end].counts.sent - self.nodes[end].reached;
        Some(Moment {
            phases: [phases(0), phases(1)],
            disturbances: self.disturbances,
            ends: [steady(0)?, steady(1)?],
            wires: [self.wire(0)?, self.wire(1)?],
            behind: [behind(0), behind(1)],
        })
    }

    fn wire(&self, end: usize) -> Option<Vec<(u64, bool, u16, u64)>> {
        let (sent, peer_sent) = (self.nodes[end].counts.sent, self.nodes[1 - end].counts.sent);
        let relative = |(at, on_wire): &(u64, OnWire)| {
            let left = at - self.step;
            match on_wire {
                OnWire::Data(header, _) if header.retransmitted => None,
                OnWire::Data(header, id) => {
                    Some((left, false, header.sequence.number().wrapping_sub(sent as u16), sent - id))
                }
                OnWire::Control(control) => {
                    let Control::CompactAck { next } = **control else { return None };
                    Some((left, true, next.number().wrapping_sub(peer_sent as u16), 0))
                }
            }
        };
        self.nodes[end].wire.iter().map(relative).collect()
    }

    /// Adds what happened since `before` another `cycles` times, without driving the ends.
    pub fn jump(&mut self, before: &Place, cycles: u64) {
        let (steps, elapsed) = ((self.step - before.step) * cycles, (self.now - before.now) * cycles);
        let gains: [Counts; 2] = core::array::from_fn(|end| {
            let (now, was) = (self.nodes[end].counts, before.counts[end]);
            Counts {
                sent: (now.sent - was.sent) * cycles,
                sent_bytes: (now.sent_bytes - was.sent_bytes) * cycles,
                received: (now.received - was.received) * cycles,
                received_bytes: (now.received_bytes - was.received_bytes) * cycles,
                acks: (now.acks - was.acks) * cycles,
            }
        });
        for end in 0..2 {
            let lane = |of: usize, frames: u64| {
                let in_use = self.setting.ports[of].mode;
                PerMode(Mode::ALL.map(|mode| if mode == in_use { frames } else { 0 }))
            };
            let (gain, peer_sent) = (gains[end], gains[1 - end].sent);
            let node = &mut self.nodes[end];
            node.end.fast_forward(&Undisturbed {
                elapsed: Ticks(elapsed),
                sent: lane(end, gain.sent),
                sent_bytes: gain.sent_bytes,
                received: lane(1 - end, gain.received),
                received_bytes: gain.received_bytes,
                acks_sent: gain.acks,
            });
            for (at, on_wire) in &mut node.wire {
                *at += steps;
                match on_wire {
                    OnWire::Data(header, id) => {
                        header.sequence = header.sequence.plus(gain.sent);
                        *id += gain.sent;
                    }
                    OnWire::Control(control) => {
                        let Control::CompactAck { next } = &mut **control else { panic!("not steady") };
                        *next = next.plus(peer_sent);
                    }
                }
            }
            node.moved = Some(gain.sent);
            node.reached += peer_sent;
            node.counts.sent += gain.sent;
            node.counts.sent_bytes += gain.sent_bytes;
            node.counts.received += gain.received;
            node.counts.received_bytes += gain.received_bytes;
            node.counts.acks += gain.acks;
        }
        self.step += steps;
        self.now += elapsed;
    }

    pub fn place(&self) -> Place {
        Place { step: self.step, now: self.now, counts: [self.nodes[0].counts, self.nodes[1].counts] }
    }

    /// Traffic with losses, its end, and the silence after it: until keepalives are due, and until the sessions expire.
    pub fn aftermath(&mut self) {
        self.seen.clear();
        self.random = Random::new(!self.setting.seed);
        if self.setting.seed % 4 == 3 {
            return self.dead_link();
        }
        self.loss = self.setting.loss.max(0.01);
        self.steps(300);
        self.busy = false;
        self.steps(20 * self.delay + 100);
        self.loss = 0.0;
        (self.interval, self.delay) = (OUT_OF_REACH.0 / 8, 1);
        self.steps(60);
        self.loss = 1.0;
        self.steps(60);
    }
}

impl Pair {
    /// Nothing arrives: goes from timeout to timeout, until even the hellos are due.
    fn dead_link(&mut self) {
        (self.busy, self.loss) = (false, 1.0);
        self.steps(self.delay);
        for _ in 0..DEAD_STEPS {
            let due = self.nodes.iter().filter_map(|node| node.end.next_timeout()).min();
            if due.is_some_and(|at| at.0 > 2 * NEVER.0) {
                break;
            }
            self.interval = due.map_or(0, |at| at.0.saturating_sub(self.now)).max(self.setting.interval);
            self.steps(1);
        }
    }
}

/// Where a pair stands in its run.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    pub step: u64,
    pub now: u64,
    pub counts: [Counts; 2],
}
