//! An end of ours and an end of theirs, or two of ours, with a link between them, in ticks of 100 ns. A link carries
//! one frame a tick, as bytes.

use super::frame;
use super::random::Random;
use super::{receiver, sender};
use linkmend_protocol::wire::{self, LinkFrame};
use linkmend_protocol::{
    Admission, Config, Copies, Event, Format, FrameHandle, Instant, LinkEnd, Mode, Priority, Protection,
    Reception, Tick, Ticks, Transmit, TransmitState,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

pub const TICK_NS: u64 = 100;

/// A host's IPv4 frame with a number in it.
pub fn plain(id: u32) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00][..], &id.to_be_bytes(), &[0x45; 42]].concat()
}

pub fn id(plain: &[u8]) -> u32 {
    u32::from_be_bytes(plain[14..18].try_into().expect("four bytes"))
}

pub fn config() -> Config {
    let mut config = Config {
        format: Format::Linkguardian,
        window_frames: 4096,
        ack_gap: Ticks(200),
        ack_interval: Tick::Nanosecond.micros(5),
        dummy_delay: Ticks(300),
        dummy_interval_min: Tick::Nanosecond.micros(20),
        dummy_interval_max: Tick::Nanosecond.millis(1),
        recovery_timeout: Tick::Nanosecond.micros(100),
        keepalive: Tick::Nanosecond.micros(500),
        peer_timeout: Tick::Nanosecond.millis(2),
        session_expiry: Tick::Nanosecond.millis(20),
        handshake_min: Tick::Nanosecond.micros(50),
        handshake_max: Tick::Nanosecond.millis(1),
        ..Config::new(Tick::Nanosecond)
    };
    config.fallback.enabled = false;
    config
}

pub struct LinkmendEnd {
    pub end: LinkEnd,
    pub mode: Mode,
    pub delivered: Vec<u32>,
    pub events: Vec<Event>,
    buffers: BTreeMap<u32, Vec<u8>>,
    next_handle: u32,
    /// The kernel forwards in its place.
    pub stopped: bool,
}

impl LinkmendEnd {
    pub fn new(config: Config, mode: Mode) -> LinkmendEnd {
        LinkmendEnd {
            end: LinkEnd::new(config, 1).expect("valid"),
            mode,
            delivered: Vec::new(),
            events: Vec::new(),
            buffers: BTreeMap::new(),
            next_handle: 0,
            stopped: false,
        }
    }

    pub fn protect(&mut self, tick: u64, copies: u8) {
        self.end.protect(at(tick), Protection { copies: Copies::Fixed(copies) });
    }

    pub fn is_active(&self) -> bool {
        self.end.status().transmit == TransmitState::Active
    }

    fn keep(&mut self, bytes: Vec<u8>) -> FrameHandle {
        self.next_handle += 1;
        self.buffers.insert(self.next_handle, bytes);
        FrameHandle(self.next_handle)
    }

    fn deliver(&mut self, plain: &[u8]) {
        self.delivered.push(id(plain));
    }

    pub fn take(&mut self, tick: u64, bytes: &[u8]) {
        if self.stopped {
            match wire::parse(bytes) {
                LinkFrame::Data { header, .. } if !header.retransmitted => {
                    self.deliver(&frame::unwrapped(bytes))
                }
                LinkFrame::Foreign if frame::read_priority_pause(bytes).is_none() => self.deliver(bytes),
                _ => {}
            }
            return;
        }
        if let Some(control) = wire::parse_priority_pause(bytes) {
            self.end.handle_control(at(tick), &control);
            return;
        }
        match wire::parse(bytes) {
            LinkFrame::Control(control) => _ = self.end.handle_control(at(tick), &control),
            LinkFrame::Data { header, .. } => {
                let handle = self.keep(frame::unwrapped(bytes));
                match self.end.handle_data(at(tick), &header, handle, bytes.len() as u32) {
                    Reception::Buffered => {}
                    reception => {
                        let plain = self.buffers.remove(&handle.0).expect("kept");
                        if reception == Reception::Deliver {
                            self.deliver(&plain);
                        }
                    }
                }
            }
            LinkFrame::Acknowledging { ack, .. } => {
                self.end.handle_ack(at(tick), ack);
                self.deliver(&frame::unwrapped(bytes));
            }
            LinkFrame::Foreign => self.deliver(bytes),
            other => panic!("{other:?} from {bytes:?}"),
        }
    }

    pub fn send(&mut self, tick: u64, normal: &mut VecDeque<Vec<u8>>) -> Option<Vec<u8>> {
        if self.stopped {
            return normal.pop_front();
        }
        let now = at(tick);
        if self.end.next_timeout().is_some_and(|due| due <= now) {
            self.end.handle_timeout(now);
        }
        while let Some(handle) = self.end.poll_deliver() {
            let plain = self.buffers.remove(&handle.0).expect("buffered");
            self.deliver(&plain);
        }
        let sent = self.put(Priority::High, now).or_else(|| self.send_normal(now, normal));
        let sent = sent.or_else(|| self.put(Priority::Low, now));
        while let Some(handle) = self.end.poll_release() {
            assert!(self.buffers.remove(&handle.0).is_some(), "released twice");
        }
        while let Some(event) = self.end.poll_event() {
            self.events.push(event);
        }
        sent
    }

    fn put(&mut self, priority: Priority, now: Instant) -> Option<Vec<u8>> {
        Some(match self.end.poll_transmit(now, priority)? {
            Transmit::Control(control) => {
                let mut out = [0; wire::CONTROL_FRAME_MAX];
                let length = wire::emit_control(&control, [2, 0, 0, 0, 0, 9], &mut out);
                assert!(!control.has_magic(), "theirs does not know {control:?}");
                out[..length].to_vec()
            }
            Transmit::Retransmission { frame, header } => wrap(&header, &self.buffers[&frame.0]),
        })
    }

    fn send_normal(&mut self, now: Instant, normal: &mut VecDeque<Vec<u8>>) -> Option<Vec<u8>> {
        let length = normal.front()?.len() as u32;
        match self.end.admission(self.mode, length) {
            Admission::Held => None,
            Admission::Unprotected => {
                let plain = normal.pop_front()?;
                assert_eq!(self.end.send(now, self.mode, FrameHandle(0), length), None);
                Some(match self.end.poll_piggyback(now) {
                    Some(ack) => {
                        let wrapped = wire::encapsulate_ack(Format::Linkguardian, ack, &plain).expect("IPv4");
                        [&plain[..12], wrapped.bytes(), &plain[14..]].concat()
                    }
                    None => plain,
                })
            }
            Admission::Protected => {
                let plain = normal.pop_front()?;
                let handle = self.keep(plain.clone());
                let header = self.end.send(now, self.mode, handle, length).expect("admitted");
                Some(wrap(&header, &plain))
            }
        }
    }

    pub fn is_idle(&self) -> bool {
        let stats = self.end.stats();
        self.end.status().outstanding_frames == 0 && stats.missing_frames == 0 && stats.rx_buffer.frames == 0
    }
}

fn wrap(header: &linkmend_protocol::DataHeader, plain: &[u8]) -> Vec<u8> {
    let inserted = wire::encapsulate(Format::Linkguardian, header, plain).expect("IPv4");
    [&plain[..12], inserted.bytes(), &plain[14..]].concat()
}

pub fn at(tick: u64) -> Instant {
    Instant(1_000_000 + tick * TICK_NS)
}

pub enum End {
    Linkmend(Box<LinkmendEnd>),
    TheirSender(Box<sender::Sender>, Vec<u32>),
    TheirReceiver(Box<receiver::Receiver>),
    /// A switch without the protocol: it forwards what it is given.
    Plain(Vec<Vec<u8>>),
}

impl End {
    pub fn ours(&mut self) -> &mut LinkmendEnd {
        match self {
            End::Linkmend(ours) => ours,
            _ => panic!("not ours"),
        }
    }

    pub fn delivered(&self) -> Vec<u32> {
        match self {
            End::Linkmend(ours) => ours.delivered.clone(),
            End::TheirSender(_, delivered) => delivered.clone(),
            End::TheirReceiver(receiver) => receiver.delivered.iter().map(|plain| id(plain)).collect(),
            End::Plain(frames) => frames.iter().map(|plain| id(plain)).collect(),
        }
    }

    fn take(&mut self, tick: u64, bytes: &[u8]) {
        match self {
            End::Linkmend(ours) => ours.take(tick, bytes),
            End::TheirSender(sender, delivered) => {
                if let Some(plain) = sender.take(bytes) {
                    delivered.push(id(&plain));
                } else if bytes[12..14] == [0x08, 0x00] {
                    delivered.push(id(bytes));
                }
            }
            End::TheirReceiver(receiver) => {
                if !receiver.take(bytes) && bytes[12..14] == [0x08, 0x00] {
                    receiver.delivered.push(bytes.to_vec());
                }
            }
            End::Plain(frames) => {
                if bytes[12..14] == [0x08, 0x00] {
                    frames.push(bytes.to_vec());
                }
            }
        }
    }

    fn send(&mut self, tick: u64, normal: &mut VecDeque<Vec<u8>>) -> Option<Vec<u8>> {
        match self {
            End::Linkmend(ours) => ours.send(tick, normal),
            End::TheirSender(sender, _) => {
                sender.tick();
                sender.send(normal)
            }
            End::TheirReceiver(receiver) => {
                receiver.tick();
                receiver.send(normal)
            }
            End::Plain(_) => normal.pop_front(),
        }
    }

    fn is_idle(&self) -> bool {
        match self {
            End::Linkmend(ours) => ours.is_idle(),
            End::TheirSender(sender, _) => sender.holds() == 0,
            End::TheirReceiver(receiver) => receiver.holds() == 0,
            End::Plain(_) => true,
        }
    }
}

/// Which frames are corrupted, in the order of sending.
pub type Loss = Box<dyn FnMut(&[u8]) -> bool>;

pub struct World {
    pub tick: u64,
    pub ends: [End; 2],
    pub normal: [VecDeque<Vec<u8>>; 2],
    /// By sending end.
    pub loss: [Loss; 2],
    links: [VecDeque<(u64, Vec<u8>)>; 2],
    /// From one end of the link to the other.
    pub delay_ticks: u64,
}

impl World {
    pub fn new(first: End, second: End) -> World {
        World {
            tick: 0,
            ends: [first, second],
            normal: Default::default(),
            loss: [Box::new(|_| false), Box::new(|_| false)],
            links: Default::default(),
            delay_ticks: 10,
        }
    }

    pub fn offer(&mut self, end: usize, ids: std::ops::Range<u32>) {
        self.normal[end].extend(ids.map(plain));
    }

    pub fn step(&mut self) {
        self.tick += 1;
        for end in [0, 1] {
            while self.links[1 - end].front().is_some_and(|(due, _)| *due <= self.tick) {
                let (_, bytes) = self.links[1 - end].pop_front().expect("due");
                self.ends[end].take(self.tick, &bytes);
            }
            if let Some(bytes) = self.ends[end].send(self.tick, &mut self.normal[end])
                && !(self.loss[end])(&bytes)
            {
                self.links[end].push_back((self.tick + self.delay_ticks, bytes));
            }
        }
    }

    pub fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.step();
        }
    }

    pub fn run_until(&mut self, ticks: u64, mut done: impl FnMut(&mut World) -> bool) {
        let until = self.tick + ticks;
        while !done(self) {
            assert!(self.tick < until, "not done after {ticks} ticks");
            self.step();
        }
    }

    /// Runs until every queue, buffer and link is empty.
    pub fn run_until_idle(&mut self, ticks: u64) {
        self.run_until(ticks, |world| {
            world.normal.iter().all(VecDeque::is_empty)
                && world.links.iter().all(VecDeque::is_empty)
                && world.ends.iter().all(End::is_idle)
        });
    }
}

/// The host's number of a data frame that is, or is not, a copy.
pub fn is_data(bytes: &[u8], copy: bool) -> Option<u32> {
    let header = frame::read(bytes)?;
    let data = header.kind == frame::Kind::Data && !header.dummy && header.copy == copy;
    data.then(|| id(&frame::unwrapped(bytes)))
}

/// How many transmissions of each frame have been corrupted.
pub type Fates = Rc<RefCell<BTreeMap<u32, u8>>>;

/// Corrupts everything that `end` sends with probability `rate`, and records what happened to frames.
pub fn fates(world: &mut World, end: usize, seed: u64, rate: f64) -> Fates {
    let fates = Fates::default();
    let noted = Rc::clone(&fates);
    let mut random = Random::new(seed);
    world.loss[end] = Box::new(move |bytes| {
        let lost = random.chance(rate);
        if lost && let Some(id) = is_data(bytes, false).or_else(|| is_data(bytes, true)) {
            *noted.borrow_mut().entry(id).or_default() += 1;
        }
        lost
    });
    fates
}
