//! One end: a session over two links, and its driver in the order of calls that the protocol asks for.

use super::config::Setting;
use super::tally::Tally;
use super::wire::{Item, Wire};
use crate::link::config::of_protocol;
use crate::link::frame::FCS_BYTES;
use crate::link::slots::Slots;
use crate::random::Random;
use crate::scenario::ParameterError;
use crate::time::Time;
use linkmend_protocol::paths::{Path, Paths};
use linkmend_protocol::schedule::{self, ClassQueues, Next, PortRoom, QueueLimits, Round, Waiting};
use linkmend_protocol::wire::{CONTROL_FRAME_MAX, HEADER_GROWTH_MAX, emit_control};
use linkmend_protocol::{
    Admission, Control, Copies, FrameHandle, Instant, LinkEnd, Mode, Protection, ReceiveState, Reception,
    Transmit, TransmitState,
};

/// Shortest time after which an end is run again that had nothing to do although something was due.
const AGAIN: Time = Time::from_nanos(10);

/// Frames that come at regular times.
#[derive(Debug)]
pub(super) struct Source {
    interval: Time,
    pub(super) next_at: Time,
    pub(super) produced: u64,
    pub(super) frames: u64,
}

/// A link end over two links, with its frames and its driver.
#[derive(Debug)]
pub(super) struct End {
    pub(super) end: LinkEnd,
    pub(super) paths: Paths,
    pub(super) source: Source,
    /// What it has delivered.
    pub(super) tally: Tally,
    queues: ClassQueues<u64>,
    tx: Slots<u64>,
    rx: Slots<u64>,
    bytes: u32,
    mode: Mode,
    /// Most bytes that waited in its queue, and were kept in the Tx buffer while both links were up, and while one was down.
    pub(super) queue_bytes_max: u64,
    pub(super) steady_bytes_max: u64,
    pub(super) failed_bytes_max: u64,
    /// The most that it kept of what came out of order.
    pub(super) rx_bytes_max: u64,
    /// Frames that came on a path that the peer had left.
    pub(super) late_frames: u64,
}

impl End {
    pub(super) fn new(setting: &Setting<'_>, index: usize) -> Result<End, ParameterError> {
        let link = &setting.link;
        let mut random = Random::new(setting.config.seed, &format!("end {index}"));
        let mut end = LinkEnd::new(setting.protocol(), random.next_u64()).map_err(of_protocol)?;
        let paths = Paths::new(setting.paths(), random.next_u64() as u32).map_err(of_protocol)?;
        let (load, reverse) = (setting.config.load, setting.config.reverse_load);
        let load = if index == 0 { load } else { reverse };
        if let Some(copies) = link.copies().filter(|_| load > 0.0) {
            end.protect(Instant(0), Protection { copies: Copies::Fixed(copies) });
        }
        let interval = if load > 0.0 { setting.interval(load) } else { Time::NEVER };
        Ok(End {
            end,
            paths,
            source: Source {
                interval,
                next_at: Time::NEVER,
                produced: 0,
                frames: setting.lasts().0 / interval.0,
            },
            tally: Tally::default(),
            queues: ClassQueues::new(QueueLimits::UNLIMITED),
            tx: Slots::new(),
            rx: Slots::new(),
            bytes: link.frame_bytes,
            mode: link.protection.map_or(Mode::Ordered, |protection| protection.mode),
            queue_bytes_max: 0,
            steady_bytes_max: 0,
            failed_bytes_max: 0,
            rx_bytes_max: 0,
            late_frames: 0,
        })
    }

    /// Whether it is ready for traffic: its session is open, if it is to have one, and the peer is heard on both links.
    pub(super) fn is_ready(&self) -> bool {
        let status = self.end.status();
        let is_open = !status.protection_requested || status.transmit == TransmitState::Active;
        is_open && self.paths.peer_watches() && Path::ALL.iter().all(|&path| self.paths.is_heard(path))
    }

    /// Whether nothing waits or is unacknowledged.
    pub(super) fn is_idle(&self) -> bool {
        self.queues.is_empty() && self.end.outstanding() == 0 && self.source.produced == self.source.frames
    }

    /// Begins with the traffic, if there is any.
    pub(super) fn start(&mut self, now: Time) {
        self.source.next_at = if self.source.frames > 0 { now } else { Time::NEVER };
    }

    /// The next frame of the traffic comes.
    pub(super) fn generate(&mut self, now: Time) {
        let source = &mut self.source;
        self.queues.push(Waiting { frame: source.produced, bytes: self.bytes, mode: self.mode });
        source.produced += 1;
        source.next_at = if source.produced < source.frames { now + source.interval } else { Time::NEVER };
    }

    /// Takes what arrives on a path.
    pub(super) fn arrive(&mut self, now: Time, path: Path, item: Item) {
        let at = now.instant();
        self.paths.heard(at, path);
        match item {
            Item::Plain { number } => self.tally.deliver(now, number),
            Item::Control(control) => {
                if let Control::Probe(probe) = &*control {
                    self.paths.handle_probe(at, path, probe);
                    self.end.handle_control(at, &control);
                } else if self.paths.takes(path) {
                    self.end.handle_control(at, &control);
                } else {
                    self.late_frames += 1;
                }
            }
            Item::Data { .. } if !self.paths.takes(path) => self.late_frames += 1,
            Item::Data { header, number } => {
                let slot = self.rx.next();
                match self.end.handle_data(at, &header, FrameHandle(slot), self.bytes) {
                    Reception::Deliver => self.tally.deliver(now, number),
                    Reception::Buffered => _ = self.rx.put(number),
                    Reception::Drop => {}
                }
            }
        }
    }

    /// Runs the driver once; `wires` leave this end, by path.
    pub(super) fn service(&mut self, now: Time, wires: &mut [Wire; 2]) {
        let at = now.instant();
        self.follow_paths(at, now, wires);
        if self.end.next_timeout().is_some_and(|due| due <= at) {
            self.end.handle_timeout(at);
        }
        while let Some(FrameHandle(slot)) = self.end.poll_deliver() {
            let number = self.rx.free(slot);
            self.tally.deliver(now, number);
        }
        self.transmit(now, &mut wires[self.paths.active() as usize]);
        while let Some(FrameHandle(slot)) = self.end.poll_release() {
            self.tx.free(slot);
        }
        while self.end.poll_event().is_some() {}
    }

    /// Changes the path if it is time to, and sends probes.
    fn follow_paths(&mut self, at: Instant, now: Time, wires: &mut [Wire; 2]) {
        let status = self.end.status();
        let dormant = status.transmit == TransmitState::Dormant && status.receive == ReceiveState::Listening;
        let paths = &mut self.paths;
        paths.set_dormant(at, dormant);
        paths.set_measured_loss(at, self.end.path_loss());
        self.end.set_clean_other(paths.has_clean_other());
        if paths.next_timeout() <= at {
            paths.handle_timeout(at);
        }
        while paths.poll_change().is_some() {
            paths.note_resent(self.end.change_path(at));
        }
        for path in Path::ALL {
            while let Some(probe) = paths.poll_probe(at, path) {
                let full_bytes = if probe.is_full { self.bytes + HEADER_GROWTH_MAX as u32 } else { 0 };
                send_control(now, &mut wires[path as usize], Control::Probe(probe), full_bytes);
            }
        }
    }

    /// Lets the port of the path in use send what it can.
    fn transmit(&mut self, now: Time, wire: &mut Wire) {
        let at = now.instant();
        let mut round = Round::new(at);
        while wire.free_at <= now {
            match round.next(&mut self.end, &mut self.queues, PortRoom::All) {
                Some(Next::Urgent(transmit) | Next::Idle(transmit)) => self.put(now, wire, transmit),
                Some(Next::Normal(waiting, admission)) => self.send_normal(now, wire, &waiting, admission),
                None => break,
            }
        }
    }

    fn put(&mut self, now: Time, wire: &mut Wire, transmit: Transmit) {
        match transmit {
            Transmit::Control(control) => send_control(now, wire, control, 0),
            Transmit::Retransmission { frame: FrameHandle(slot), header } => {
                let number = *self.tx.get(slot);
                wire.send(now, self.bytes + HEADER_GROWTH_MAX as u32, Item::Data { header, number });
            }
        }
    }

    fn send_normal(&mut self, now: Time, wire: &mut Wire, waiting: &Waiting<u64>, admission: Admission) {
        let number = waiting.frame;
        let slot = self.tx.put(number);
        match self.end.send(now.instant(), waiting.mode, FrameHandle(slot), waiting.bytes) {
            Some(header) => {
                debug_assert_eq!(admission, Admission::Protected, "as admitted");
                wire.send(now, self.bytes + HEADER_GROWTH_MAX as u32, Item::Data { header, number });
            }
            None => {
                self.tx.free(slot);
                wire.send(now, self.bytes, Item::Plain { number });
            }
        }
    }

    /// When it must be run again, if nothing arrives.
    pub(super) fn wakes_at(&self, now: Time, wires: &[Wire; 2]) -> Time {
        let free_at = wires[self.paths.active() as usize].free_at;
        let due = self.end.next_timeout().map_or(Time::NEVER, |at| Time(at.0));
        let own = if schedule::has_next(&self.end, &self.queues) { free_at } else { due.max(free_at) };
        own.min(Time(self.paths.next_timeout().0)).max(now + AGAIN)
    }

    /// Takes note of the buffers, and of whether a link is down from now on.
    pub(super) fn note_buffers(&mut self, was_down: bool) {
        let stats = self.end.stats();
        let bytes = Mode::ALL.into_iter().map(|mode| stats.tx_buffer[mode].max).max().unwrap_or(0);
        let max = if was_down { &mut self.failed_bytes_max } else { &mut self.steady_bytes_max };
        *max = bytes.max(*max);
        self.queue_bytes_max = self.queue_bytes_max.max(self.queues.bytes_max(self.mode));
        self.rx_bytes_max = self.rx_bytes_max.max(stats.rx_buffer.max);
        self.end.reset_buffer_extremes();
    }
}

/// Sends a control frame, padded to `bytes_min`.
fn send_control(now: Time, wire: &mut Wire, control: Control, bytes_min: u32) {
    let bytes = emit_control(&control, [0; 6], &mut [0; CONTROL_FRAME_MAX]) as u32 + FCS_BYTES;
    wire.send(now, bytes.max(bytes_min), Item::Control(Box::new(control)));
}
