//! A frame's whole life cycle at both link ends: sent, received, acknowledged, released. It has no payload and no I/O.
//! The benchmark runs it for long, tests run it briefly.

use linkmend_protocol::{
    Admission, Config, Control, Copies, DataHeader, FrameHandle, Instant, LinkEnd, Mode, Priority,
    Protection, Reception, Tick, Transmit,
};

/// Frames between two checks of the clock and the queues, as a driver takes them from its rings.
pub const BATCH: u64 = 32;
/// A frame every 100 ns: 10 million a second.
const FRAME_NS: u64 = 100;
const BYTES: u32 = 1_000;

/// Two link ends without a link between them: whatever one sends reaches the other at once.
pub struct FrameLifecycle {
    sender: LinkEnd,
    receiver: LinkEnd,
    mode: Mode,
    now: u64,
    /// A frame is lost when a counter of 32 bits wraps: one in `2^32 / loss_step`.
    loss_step: u32,
    loss_phase: u32,
    handle: u32,
    pub delivered: u64,
    pub released: u64,
}

impl FrameLifecycle {
    pub fn new(mode: Mode, loss: f64) -> FrameLifecycle {
        let mut config = Config::new(Tick::Nanosecond);
        config.fallback.enabled = false;
        let [sender, receiver] = [1, 2].map(|seed| LinkEnd::new(config, seed).expect("the default is valid"));
        let mut life = FrameLifecycle {
            sender,
            receiver,
            mode,
            now: 1,
            loss_step: (loss * f64::from(u32::MAX)) as u32,
            loss_phase: 0,
            handle: 0,
            delivered: 0,
            released: 0,
        };
        life.sender.protect(Instant(1), Protection { copies: Copies::Fixed(1) });
        while life.sender.admission(mode, BYTES) != Admission::Protected {
            life.now += 1_000_000;
            life.exchange();
        }
        life
    }

    /// Sends `frames` in batches.
    pub fn run(&mut self, frames: u64) {
        for _ in 0..frames / BATCH {
            self.now += BATCH * FRAME_NS;
            for _ in 0..BATCH {
                self.send();
            }
            self.exchange();
        }
    }

    /// Runs until everything sent is acknowledged.
    pub fn finish(&mut self) {
        while self.sender.status().outstanding_frames > 0 {
            self.now += 10_000;
            self.exchange();
        }
    }

    #[inline]
    fn send(&mut self) {
        if self.sender.admission(self.mode, BYTES) != Admission::Protected {
            return;
        }
        self.handle = self.handle.wrapping_add(1);
        let now = Instant(self.now);
        if let Some(header) = self.sender.send(now, self.mode, FrameHandle(self.handle), BYTES) {
            let (phase, lost) = self.loss_phase.overflowing_add(self.loss_step);
            self.loss_phase = phase;
            if !lost {
                self.receive(&header, FrameHandle(self.handle));
            }
        }
    }

    #[inline]
    fn receive(&mut self, header: &DataHeader, frame: FrameHandle) {
        let reception = self.receiver.handle_data(Instant(self.now), header, frame, BYTES);
        self.delivered += u64::from(reception == Reception::Deliver);
    }

    /// The documented order of calls, first at the receiver, then at the sender.
    fn exchange(&mut self) {
        let now = Instant(self.now);
        if self.receiver.next_timeout().is_some_and(|at| at <= now) {
            self.receiver.handle_timeout(now);
        }
        self.deliver();
        for priority in [Priority::High, Priority::Low] {
            while let Some(transmit) = self.receiver.poll_transmit(now, priority) {
                if let Transmit::Control(control) = transmit {
                    self.sender.handle_control(now, &control);
                }
            }
        }
        if self.sender.next_timeout().is_some_and(|at| at <= now) {
            self.sender.handle_timeout(now);
        }
        for priority in [Priority::High, Priority::Low] {
            while let Some(transmit) = self.sender.poll_transmit(now, priority) {
                match transmit {
                    Transmit::Control(control) => self.control(&control),
                    Transmit::Retransmission { frame, header } => self.receive(&header, frame),
                }
            }
        }
        self.deliver();
        while self.sender.poll_release().is_some() {
            self.released += 1;
        }
        while self.sender.poll_event().is_some() || self.receiver.poll_event().is_some() {}
    }

    fn control(&mut self, control: &Control) {
        self.receiver.handle_control(Instant(self.now), control);
    }

    fn deliver(&mut self) {
        while self.receiver.poll_deliver().is_some() {
            self.delivered += 1;
        }
    }
}
