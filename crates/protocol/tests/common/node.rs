//! One link end with its frames, its clock and its driver, in the documented order of calls.

use super::ledger::{FrameId, Ledger, LossCause, Path, Record};
use super::link::{Link, Wire};
use super::random::Random;
use super::slab::Slab;
use linkmend_protocol::schedule::{
    self, ClassQueues, Next, NormalFrames, PortRoom, QueueLimits, Round, Waiting,
};
use linkmend_protocol::{
    Admission, Config, Control, DataHeader, Event, FrameHandle, Instant, LinkEnd, Mode, Protection,
    Reception, Stats, Transmit, wire,
};
use std::collections::VecDeque;

/// Offers frames to a node at random times.
#[derive(Debug, Clone)]
pub struct Source {
    pub next_at: u64,
    /// Longest gap between two bursts.
    pub gap_max_ns: u64,
    pub burst_max: u64,
    pub bytes_max: u64,
    /// Share of frames for the ordered lane.
    pub ordered: f64,
    pub remaining: u64,
}

pub struct Node {
    pub index: usize,
    pub end: LinkEnd,
    /// The driver's clock minus the true time.
    pub clock_offset: u64,
    pub tx: Slab,
    pub rx: Slab,
    pub queues: ClassQueues<FrameId>,
    pub protection: Option<Protection>,
    pub source: Option<Source>,
    /// The node is not run until then. What arrives waits, or is handled by the kernel.
    pub starved_until: u64,
    pub kernel: bool,
    /// The node waits for a frame until then, whatever its clock shows meanwhile.
    pub asleep_until: u64,
    pub inbox: VecDeque<Wire>,
    /// How far the port's ring may run ahead of the link.
    pub ring_ns: u64,
    /// The time that the inner port takes for one buffered frame; with 0 it takes all at once.
    pub delivery_gap_ns: u64,
    delivery_at: u64,
    /// Frames of this length that cannot be protected take up the rest of the port.
    pub filler_bytes: Option<u32>,
    /// Counters of incarnations before a crash, as far as the ledger needs them.
    pub past: PastStats,
    pub events: Vec<Event>,
    pub check_wire: bool,
    /// Keeps what is sent, for a driver that sends it on a second path, too.
    pub sent: Option<Vec<Wire>>,
    /// Frames that wait in front of the link end for the other path.
    pub held: u64,
    /// Most copies in one round so far.
    round_max: u8,
    duplicates_seen: u64,
    /// How often the end asked to be run at once and then had nothing to do.
    spins: u32,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct PastStats {
    /// Given up by the clock, or because the sender no longer held them.
    pub given_up: u64,
    pub exhausted_frames: u64,
    pub abandoned_frames: u64,
    pub sessions_opened: u64,
}

impl Node {
    pub fn new(index: usize, config: Config, seed: u64) -> Node {
        Node {
            index,
            end: LinkEnd::new(config, seed).expect("valid configuration"),
            clock_offset: 1_000_000_000_000,
            tx: Slab::default(),
            rx: Slab::default(),
            queues: ClassQueues::new(QueueLimits::UNLIMITED),
            protection: None,
            source: None,
            starved_until: 0,
            kernel: false,
            asleep_until: 0,
            inbox: VecDeque::new(),
            ring_ns: 0,
            delivery_gap_ns: 0,
            delivery_at: 0,
            filler_bytes: None,
            past: PastStats::default(),
            events: Vec::new(),
            check_wire: true,
            sent: None,
            held: 0,
            round_max: 0,
            duplicates_seen: 0,
            spins: 0,
        }
    }

    pub fn local(&self, now: u64) -> Instant {
        Instant(now + self.clock_offset)
    }

    /// When this node has something to do by itself.
    pub fn wake_at(&self, now: u64, link: &Link) -> u64 {
        let own = self.own_wake_at(now, link).max(self.starved_until);
        own.min(self.source.as_ref().filter(|source| source.remaining > 0).map_or(u64::MAX, |s| s.next_at))
    }

    fn own_wake_at(&self, now: u64, link: &Link) -> u64 {
        if self.starved_until > now || !self.inbox.is_empty() {
            return self.starved_until;
        }
        if self.asleep_until > now {
            return self.asleep_until;
        }
        let port_free = link.busy_until.saturating_sub(self.ring_ns);
        let due = self.end.next_timeout().map_or(u64::MAX, |at| at.0.saturating_sub(self.clock_offset));
        let sending = schedule::has_next(&self.end, &self.queues);
        let delivery = if self.end.next_delivery().is_some() { self.delivery_at } else { u64::MAX };
        (if sending || self.filler_bytes.is_some() { port_free } else { due.max(port_free) }).min(delivery)
    }

    pub fn offer_due(&mut self, now: u64, ledger: &mut Ledger, random: &mut Random) {
        let Some(source) = &mut self.source else { return };
        if source.remaining == 0 || now < source.next_at {
            return;
        }
        source.next_at = now + 1 + random.below(source.gap_max_ns);
        for _ in 0..random.between(1, source.burst_max).min(source.remaining) {
            source.remaining -= 1;
            let mode = if random.chance(source.ordered) { Mode::Ordered } else { Mode::NonBlocking };
            let bytes = random.between(60, source.bytes_max) as u32;
            let frame = ledger.offer(self.index, mode, bytes);
            self.queues.push(Waiting { frame, bytes, mode });
        }
    }

    /// Takes one frame from the link, or keeps it while the node is not run.
    pub fn arrive(&mut self, now: u64, wire: Wire, ledger: &mut Ledger) {
        if now >= self.starved_until {
            self.handle(now, wire, ledger);
        } else if self.kernel {
            // The kernel strips originals and passes them on; copies and control frames end here.
            match wire {
                Wire::Data { frame, header, .. } if !header.retransmitted => {
                    ledger.delivered(now, frame, Path::Orphan);
                }
                Wire::Plain { frame, .. } => ledger.delivered(now, frame, Path::Plain),
                _ => {}
            }
        } else {
            self.inbox.push_back(wire);
        }
    }

    fn handle(&mut self, now: u64, wire: Wire, ledger: &mut Ledger) {
        let local = self.local(now);
        match wire {
            Wire::Plain { frame, .. } => ledger.delivered(now, frame, Path::Plain),
            Wire::Control(control) => {
                if self.check_wire {
                    check_control(&control);
                }
                self.end.handle_control(local, &control);
            }
            Wire::Data { frame, header, bytes } => {
                let handle = self.rx.insert(frame);
                self.take(now, handle, &header, bytes, ledger);
            }
        }
    }

    /// Gives the link end a frame of the Rx slab.
    pub fn take(
        &mut self,
        now: u64,
        handle: FrameHandle,
        header: &DataHeader,
        bytes: u32,
        ledger: &mut Ledger,
    ) {
        let frame = self.rx.frame(handle);
        let in_session = self.end.status().receive == linkmend_protocol::ReceiveState::Active;
        match self.end.handle_data(self.local(now), header, handle, bytes) {
            Reception::Buffered => {
                assert!(in_session);
                ledger.buffered(frame);
            }
            Reception::Deliver => {
                self.rx.remove(handle);
                let path = if in_session { Path::Session } else { Path::Orphan };
                ledger.delivered(now, frame, path);
            }
            Reception::Drop => {
                self.rx.remove(handle);
                let stats = self.end.stats();
                if stats.duplicates_dropped != self.duplicates_seen {
                    self.duplicates_seen = stats.duplicates_dropped;
                    ledger.dropped_as_duplicate(frame);
                } else {
                    ledger.refused(frame);
                }
            }
        }
    }

    /// Runs the driver once. The caller has handled arrivals and starvation.
    pub fn service(&mut self, now: u64, link: &mut Link, ledger: &mut Ledger, random: &mut Random) {
        self.before_sending(now, ledger);
        let sent = self.transmit(now, link, ledger, random);
        let idle = !sent && link.busy_until <= now + self.ring_ns;
        self.after_sending(now, idle, ledger);
    }

    /// What the driver does before it sends.
    pub fn before_sending(&mut self, now: u64, ledger: &mut Ledger) {
        while let Some(wire) = self.inbox.pop_front() {
            self.handle(now, wire, ledger);
        }
        self.asleep_until = 0;
        let local = self.local(now);
        if self.end.next_timeout().is_some_and(|at| at <= local) {
            self.end.handle_timeout(local);
        }
        while now >= self.delivery_at
            && let Some(handle) = self.end.poll_deliver()
        {
            ledger.delivered(now, self.rx.remove(handle), Path::Session);
            self.delivery_at = now + self.delivery_gap_ns;
        }
    }

    /// What it does then; `idle` if it has found nothing to send and a port that takes something.
    pub fn after_sending(&mut self, now: u64, idle: bool, ledger: &mut Ledger) {
        let local = self.local(now);
        let mut released = Vec::new();
        while let Some(handle) = self.end.poll_release() {
            released.push(self.tx.remove(handle));
        }
        ledger.exhausted[self.index] = self.past.exhausted_frames + self.end.stats().exhausted_frames;
        // What a session abandons is released last.
        let mut acknowledged = released.len();
        while let Some(event) = self.end.poll_event() {
            if let Event::SessionClosed { abandoned, .. } = event {
                acknowledged -= abandoned as usize;
            }
            self.events.push(event);
        }
        for (index, frame) in released.into_iter().enumerate() {
            ledger.released(frame, index >= acknowledged);
        }
        let asks_again = self.end.next_timeout().is_some_and(|at| at <= local);
        self.spins = if idle && asks_again { self.spins + 1 } else { 0 };
        assert!(self.spins < 3, "asks to be run at once and has nothing to do: {:?}", self.end.status());
        self.check(ledger);
    }

    /// Sessions opened so far.
    pub fn epoch(&self) -> u64 {
        self.past.sessions_opened + self.end.stats().sessions_opened
    }

    /// Fills the port's ring by strict priority. `true` if anything was sent.
    fn transmit(&mut self, now: u64, link: &mut Link, ledger: &mut Ledger, random: &mut Random) -> bool {
        let local = self.local(now);
        let epoch = self.epoch();
        let mut any = false;
        let mut round = Round::new(local);
        while link.busy_until <= now + self.ring_ns {
            // With a filler the port is never idle.
            let filler = self.filler_bytes.filter(|_| self.queued() == 0);
            let room = if filler.is_some() { PortRoom::Urgent } else { PortRoom::All };
            match (round.next(&mut self.end, &mut self.queues, room), filler) {
                (Some(Next::Urgent(transmit) | Next::Idle(transmit)), _) => {
                    self.put(now, transmit, link, ledger, random);
                }
                (Some(Next::Normal(waiting, admission)), _) => {
                    self.send_normal(now, waiting, admission, epoch, link, ledger, random);
                }
                (None, Some(bytes)) => link.fill(now, bytes),
                (None, None) => break,
            }
            any = true;
        }
        any
    }

    pub fn put(
        &mut self,
        now: u64,
        transmit: Transmit,
        link: &mut Link,
        ledger: &mut Ledger,
        random: &mut Random,
    ) {
        match transmit {
            Transmit::Control(control) => {
                self.put_wire(now, Wire::Control(Box::new(control)), link, random);
            }
            Transmit::Retransmission { frame: handle, header } => {
                let frame = self.tx.frame(handle);
                self.round_max = self.round_max.max(self.end.status().copies);
                ledger.copied(frame, &header, self.round_max);
                let Record { bytes, ack, .. } = *ledger.record(frame);
                let header = DataHeader { ack, ..header };
                let corrupted = self.put_wire(now, Wire::Data { frame, header, bytes }, link, random);
                ledger.transmitted(frame, corrupted);
            }
        }
    }

    /// Puts a frame on the link; returns whether it was corrupted.
    fn put_wire(&mut self, now: u64, wire: Wire, link: &mut Link, random: &mut Random) -> bool {
        if let Some(sent) = &mut self.sent {
            sent.push(wire.clone());
        }
        link.send(now, wire, random)
    }

    #[allow(clippy::too_many_arguments, reason = "what a step of the swarm works on")]
    pub fn send_normal(
        &mut self,
        now: u64,
        waiting: Waiting<FrameId>,
        admission: Admission,
        epoch: u64,
        link: &mut Link,
        ledger: &mut Ledger,
        random: &mut Random,
    ) -> Option<DataHeader> {
        let Waiting { frame, bytes, mode } = waiting;
        let handle = self.tx.insert(frame);
        let header = self.end.send(self.local(now), mode, handle, bytes);
        assert_eq!(header.is_some(), admission == Admission::Protected);
        ledger.sent(frame, header.as_ref(), epoch);
        let wire = match header {
            Some(header) => {
                if self.check_wire {
                    check_header(self.end.config().format, &header);
                }
                Wire::Data { frame, header, bytes }
            }
            None => {
                self.tx.remove(handle);
                Wire::Plain { frame, bytes }
            }
        };
        let corrupted = self.put_wire(now, wire, link, random);
        ledger.transmitted(frame, corrupted);
        header
    }

    /// Passes the host's frames as they are, as the kernel does while the node is not run.
    pub fn kernel_send(&mut self, now: u64, link: &mut Link, ledger: &mut Ledger, random: &mut Random) {
        for mode in Mode::ALL {
            while let Some(Waiting { frame, bytes, .. }) = self.queues.pop(mode) {
                ledger.sent(frame, None, 0);
                let corrupted = link.send(now, Wire::Plain { frame, bytes }, random);
                ledger.transmitted(frame, corrupted);
            }
        }
    }

    /// The end loses its whole state and begins again.
    pub fn crash(&mut self, now: u64, seed: u64, ledger: &mut Ledger) {
        let stats = self.end.stats();
        self.past.given_up += stats.recovery_timeouts + stats.withdrawn_frames;
        self.past.exhausted_frames += stats.exhausted_frames;
        self.past.abandoned_frames += stats.abandoned_frames;
        self.past.sessions_opened += stats.sessions_opened;
        self.end = LinkEnd::new(*self.end.config(), seed).expect("was valid");
        self.duplicates_seen = 0;
        for frame in self.tx.drain() {
            ledger.loss_cause(frame, LossCause::Crash);
        }
        for frame in self.rx.drain() {
            ledger.record(frame).buffered = false;
            ledger.loss_cause(frame, LossCause::Crash);
        }
        if let Some(protection) = self.protection {
            self.end.protect(self.local(now), protection);
        }
    }

    /// Bounds and identities that hold after every step.
    pub fn check(&self, ledger: &Ledger) {
        let stats = self.end.stats();
        let config = self.end.config();
        check_identities(&stats);
        assert!(stats.rx_buffer.max <= config.rx_buffer_bytes, "Rx buffer above its bound: {stats:?}");
        for mode in Mode::ALL {
            assert!(stats.tx_buffer[mode].max <= config.window_bytes, "Tx buffer above its bound: {stats:?}");
            assert!(stats.tx_buffer[mode].frames <= u64::from(config.window_frames), "window exceeded");
        }
        assert!(self.end.status().outstanding_frames <= 2 * u64::from(config.window_frames));
        assert_eq!(self.tx.live(), stats.tx_buffer.0.iter().map(|buffer| buffer.frames).sum::<u64>());
        assert_eq!(self.rx.live(), stats.rx_buffer.frames + self.held);
        let from = 1 - self.index;
        let counted = stats.recovery_timeouts + stats.withdrawn_frames + self.past.given_up;
        assert!(
            ledger.given_up[from] <= counted + ledger.exhausted[from],
            "{} frames were given up, {counted} counted: {stats:?}",
            ledger.given_up[from],
        );
        assert!(ledger.abandoned[self.index] <= stats.abandoned_frames + self.past.abandoned_frames);
    }

    pub fn queued(&self) -> usize {
        Mode::ALL.into_iter().map(|mode| self.queues.frames(mode)).sum()
    }
}

/// The identities between counters, as the documentation of [`Stats`] states them.
pub fn check_identities(stats: &Stats) {
    assert_eq!(
        stats.lost_frames + stats.rx_buffer_overflows,
        stats.recovered_frames + stats.given_up_frames() + stats.missing_frames,
        "what was missing: {stats:?}"
    );
    assert_eq!(
        stats.received_frames,
        stats.delivered_frames
            + stats.rx_buffer.frames
            + stats.duplicates_dropped
            + stats.rx_buffer_overflows
            + stats.overflowed_copies
            + stats.out_of_window_frames,
        "what was received: {stats:?}"
    );
    assert_eq!(stats.hole_length.sum(), stats.lost_frames);
    assert_eq!(stats.recovery_latency.count(), stats.recovered_frames);
}

fn check_control(control: &Control) {
    let mut out = [0xff; wire::CONTROL_FRAME_MAX];
    let length = wire::emit_control(control, [2, 0, 0, 0, 0, 1], &mut out);
    assert_eq!(wire::parse(&out[..length]), wire::LinkFrame::Control(*control));
}

fn check_header(format: linkmend_protocol::Format, header: &linkmend_protocol::DataHeader) {
    let mut frame = [0; 60];
    frame[12] = 8;
    let encapsulation = wire::encapsulate(format, header, &frame).expect("IPv4");
    let rest = &frame[12 + usize::from(encapsulation.removes)..];
    let wrapped = [&frame[..12], encapsulation.bytes(), rest].concat();
    match wire::parse(&wrapped) {
        wire::LinkFrame::Data { header: parsed, .. } => assert_eq!(parsed, *header),
        other => panic!("{header:?} parsed as {other:?}"),
    }
}
