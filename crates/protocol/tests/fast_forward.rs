//! Jumping over undisturbed traffic equals driving it: whatever happens to two link ends afterwards (losses, copies,
//! timeouts, the dummies at the end) is the same, frame by frame and to the last count.

use linkmend_protocol::{
    Admission, Config, Control, Copies, DataHeader, FallbackConfig, Format, FrameHandle, Instant, LinkEnd,
    Mode, Nanos, PerMode, Priority, Protection, Reception, SteadyState, Transmit, Undisturbed,
};
use proptest::prelude::*;
use std::collections::VecDeque;

/// Timers that must stay out of the way, and from where on they do.
const NEVER: Nanos = Nanos(1 << 60);
const OUT_OF_REACH: Nanos = Nanos(1 << 50);
/// Which buffer a frame lies in does not matter here.
const HANDLE: FrameHandle = FrameHandle(7);
/// Steps in which a cycle must be found. The longest lasts as long as the window takes to come round.
const CYCLE_STEPS_MAX: usize = 4_000;

#[derive(Debug, Clone)]
struct Setting {
    mode: Mode,
    window_frames: u32,
    bytes: u32,
    /// Time between two frames, and steps that a frame is under way.
    interval: u64,
    delay: u64,
    /// The receiver's port is idle in one of so many steps.
    ack_every: u64,
    seed: u64,
    /// Frames lost before the jump, and after it, by number.
    lost_before: Vec<u64>,
    lost_after: Vec<u64>,
    /// Cycles to jump over.
    cycles: u64,
}

impl Setting {
    fn config(&self) -> Config {
        let round_trip = Nanos(2 * self.delay * self.interval);
        Config {
            format: Format::Compact,
            window_frames: self.window_frames,
            recovery_timeout: round_trip * 3 + Nanos(1),
            max_rounds: 1,
            ack_gap: Nanos::ZERO,
            ack_interval: NEVER,
            dummy_delay: Nanos::ZERO,
            dummy_copies: 1,
            dummy_interval_min: round_trip * 2 + Nanos(1),
            dummy_interval_max: NEVER,
            keepalive: NEVER,
            peer_timeout: NEVER * 4,
            session_expiry: NEVER * 4,
            hello_interval: NEVER,
            fallback: FallbackConfig { enabled: false, ..FallbackConfig::default() },
            ..Config::default()
        }
    }
}

/// Everything that anybody outside could see.
#[derive(Debug, Clone, PartialEq)]
enum Seen {
    Sent(Instant, DataHeader),
    Said(Instant, Box<Control>),
    Received(Instant, Reception),
    Delivered(Instant),
    Released(Instant),
}

/// The steady states of both ends, what is on the wires (arrival and number), and the step of the receiver's port.
type Moment = (SteadyState, SteadyState, Vec<(u64, u64)>, u64);

struct Pair {
    setting: Setting,
    now: u64,
    step: u64,
    sender: LinkEnd,
    receiver: LinkEnd,
    /// With the steps in which they arrive.
    data: VecDeque<(u64, DataHeader)>,
    announcements: VecDeque<(u64, Control)>,
    answers: VecDeque<(u64, Control)>,
    sent: u64,
    received: u64,
    acks: u64,
    lost: Vec<u64>,
    seen: Vec<Seen>,
}

impl Pair {
    fn new(setting: &Setting) -> Pair {
        let end = |seed| LinkEnd::new(setting.config(), seed).expect("valid parameters");
        let mut pair = Pair {
            setting: setting.clone(),
            now: 0,
            step: 0,
            sender: end(setting.seed),
            receiver: end(!setting.seed),
            data: VecDeque::new(),
            announcements: VecDeque::new(),
            answers: VecDeque::new(),
            sent: 0,
            received: 0,
            acks: 0,
            lost: setting.lost_before.clone(),
            seen: Vec::new(),
        };
        pair.sender.protect(Instant(0), Protection { copies: Copies::Fixed(1) });
        while pair.sender.admission(setting.mode, setting.bytes) != Admission::Protected {
            pair.step(false);
        }
        pair
    }

    fn at(&self) -> Instant {
        Instant(self.now)
    }

    /// One frame later; `busy` when there is a frame to send.
    fn step(&mut self, busy: bool) {
        self.now += self.setting.interval;
        self.step += 1;
        let now = self.at();
        for end in [&mut self.sender, &mut self.receiver] {
            if end.next_timeout().is_some_and(|at| at <= now) {
                end.handle_timeout(now);
            }
        }
        self.arrivals();
        let arrives = self.step + self.setting.delay;
        let (mode, bytes) = (self.setting.mode, self.setting.bytes);
        if let Some(transmit) = self.sender.poll_transmit(now, Priority::High) {
            match transmit {
                Transmit::Control(control) => self.announcements.push_back((arrives, control)),
                Transmit::Retransmission { header, .. } => {
                    self.seen.push(Seen::Sent(now, header));
                    self.data.push_back((arrives, header));
                }
            }
        } else if busy && self.sender.admission(mode, bytes) == Admission::Protected {
            let header = self.sender.send(now, mode, HANDLE, bytes).expect("admitted");
            self.seen.push(Seen::Sent(now, header));
            if !self.lost.contains(&self.sent) {
                self.data.push_back((arrives, header));
            }
            self.sent += 1;
        } else if !busy
            && let Some(Transmit::Control(control)) = self.sender.poll_transmit(now, Priority::Low)
        {
            self.seen.push(Seen::Said(now, Box::new(control)));
            self.announcements.push_back((arrives, control));
        }
        let idle = self.step.is_multiple_of(self.setting.ack_every);
        let low = if idle { self.receiver.poll_transmit(now, Priority::Low) } else { None };
        self.acks += u64::from(low.is_some());
        for transmit in self.receiver.poll_transmit(now, Priority::High).into_iter().chain(low) {
            let Transmit::Control(control) = transmit else { panic!("the receiver sends no data") };
            self.seen.push(Seen::Said(now, Box::new(control)));
            self.answers.push_back((arrives, control));
        }
    }

    fn arrivals(&mut self) {
        let (now, step) = (self.at(), self.step);
        let due = |at: u64| at <= step;
        while let Some((_, control)) = self.answers.pop_front_if(|(at, _)| due(*at)) {
            self.sender.handle_control(now, &control);
        }
        while self.sender.poll_release().is_some() {
            self.seen.push(Seen::Released(now));
        }
        while let Some((_, control)) = self.announcements.pop_front_if(|(at, _)| due(*at)) {
            self.receiver.handle_control(now, &control);
        }
        while let Some((_, header)) = self.data.pop_front_if(|(at, _)| due(*at)) {
            let reception = self.receiver.handle_data(now, &header, HANDLE, self.setting.bytes);
            self.received += 1;
            self.seen.push(Seen::Received(now, reception));
        }
        while self.receiver.poll_deliver().is_some() {
            self.seen.push(Seen::Delivered(now));
        }
    }

    /// What tells this step from another, apart from clocks and counts; `None` while something is disturbed.
    fn moment(&self) -> Option<Moment> {
        if !self.announcements.is_empty() {
            return None;
        }
        let sender = self.sender.steady_state(OUT_OF_REACH)?;
        let receiver = self.receiver.steady_state(OUT_OF_REACH)?;
        let base = |number: u16| u64::from(number.wrapping_sub(self.sent as u16));
        let mut wires: Vec<(u64, u64)> =
            self.data.iter().map(|(at, header)| (at - self.step, base(header.sequence.number()))).collect();
        for (at, answer) in &self.answers {
            let Control::CompactAck { next } = answer else { return None };
            wires.push((at - self.step, base(next.number())));
        }
        Some((sender, receiver, wires, self.step % self.setting.ack_every))
    }

    /// Adds what happened since the counts in `before` another `cycles` times, without driving it.
    fn jump(&mut self, before: [u64; 5], cycles: u64) {
        let [step, now, sent, received, acks] = before;
        let (steps, elapsed) = ((self.step - step) * cycles, (self.now - now) * cycles);
        let (sent, received) = ((self.sent - sent) * cycles, (self.received - received) * cycles);
        let acks = (self.acks - acks) * cycles;
        let bytes = u64::from(self.setting.bytes);
        let lane =
            |frames: u64| PerMode(Mode::ALL.map(|mode| if mode == self.setting.mode { frames } else { 0 }));
        let quiet = Undisturbed { elapsed: Nanos(elapsed), ..Undisturbed::default() };
        self.sender.fast_forward(&Undisturbed { sent: lane(sent), sent_bytes: sent * bytes, ..quiet });
        self.receiver.fast_forward(&Undisturbed {
            received: lane(received),
            received_bytes: received * bytes,
            acks_sent: acks,
            ..quiet
        });
        for (at, header) in &mut self.data {
            *at += steps;
            header.sequence = header.sequence.plus(sent);
        }
        for (at, answer) in &mut self.answers {
            *at += steps;
            if let Control::CompactAck { next } = answer {
                *next = next.plus(sent);
            }
        }
        self.step += steps;
        self.now += elapsed;
        self.sent += sent;
        self.received += received;
        self.acks += acks;
    }

    fn counts(&self) -> [u64; 5] {
        [self.step, self.now, self.sent, self.received, self.acks]
    }

    /// Traffic with losses, its end, and the silence after it.
    fn aftermath(&mut self) {
        self.seen.clear();
        self.lost = self.setting.lost_after.iter().map(|id| self.sent + id).collect();
        for _ in 0..300 {
            self.step(true);
        }
        let silence = 20 * self.setting.delay + 100;
        for _ in 0..silence {
            self.step(false);
        }
        assert_eq!(self.sender.outstanding(), 0, "everything is settled: {:?}", self.setting);
    }
}

/// Drives until the same moment comes back; the counts of its first coming.
fn find_cycle(pair: &mut Pair) -> [u64; 5] {
    for _ in 0..2 * pair.setting.delay + 600 {
        pair.step(true);
    }
    pair.lost.clear();
    let mut moments = Vec::new();
    for _ in 0..CYCLE_STEPS_MAX {
        if let Some(moment) = pair.moment() {
            if let Some((_, counts)) = moments.iter().find(|(before, _)| *before == moment) {
                return *counts;
            }
            moments.push((moment, pair.counts()));
        }
        pair.step(true);
    }
    panic!("no moment comes back in {CYCLE_STEPS_MAX} steps: {:?}", pair.setting);
}

fn setting() -> impl Strategy<Value = Setting> {
    let numbers = (64u32..9000, 1u64..2000, 1u64..40, 1u64..5, any::<u64>(), 1u64..400);
    let lost = || prop::collection::vec(0u64..300, 0..12);
    (prop::sample::select(&Mode::ALL[..]), 4u32..12, numbers, lost(), lost()).prop_map(
        |(mode, window, (bytes, interval, delay, ack_every, seed, cycles), lost_before, lost_after)| {
            Setting {
                mode,
                window_frames: 1 << window,
                bytes,
                interval,
                delay,
                ack_every,
                seed,
                lost_before,
                lost_after,
                cycles,
            }
        },
    )
}

fn jumping_equals_driving(setting: &Setting) {
    let (mut driven, mut jumped) = (Pair::new(setting), Pair::new(setting));
    let before = find_cycle(&mut driven);
    assert_eq!(find_cycle(&mut jumped), before, "two twins");
    let steps = (driven.step - before[0]) * setting.cycles;
    jumped.jump(before, setting.cycles);
    for _ in 0..steps {
        driven.step(true);
    }
    assert_eq!(driven.counts(), jumped.counts(), "{setting:?}");
    assert_eq!(driven.moment(), jumped.moment(), "{setting:?}");
    assert_eq!(driven.sender.stats(), jumped.sender.stats(), "{setting:?}");
    assert_eq!(driven.receiver.stats(), jumped.receiver.stats(), "{setting:?}");
    driven.aftermath();
    jumped.aftermath();
    assert_eq!(driven.seen, jumped.seen, "{setting:?}");
    assert_eq!(driven.sender.stats(), jumped.sender.stats(), "{setting:?}");
    assert_eq!(driven.receiver.stats(), jumped.receiver.stats(), "{setting:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_jump_equals_the_traffic_it_replaces(setting in setting()) {
        jumping_equals_driving(&setting);
    }
}

/// Numbers of 16 bits and their era wrap several times within the jump.
#[test]
fn a_jump_over_several_eras_equals_the_traffic_it_replaces() {
    for mode in Mode::ALL {
        jumping_equals_driving(&Setting {
            mode,
            window_frames: 256,
            bytes: 1_000,
            interval: 100,
            delay: 20,
            ack_every: 1,
            seed: 5,
            lost_before: vec![10, 11, 40],
            lost_after: vec![0, 7, 8, 299],
            cycles: 300_001,
        });
    }
}

#[test]
fn nothing_is_steady_while_anything_is_missing() {
    let setting = Setting {
        mode: Mode::Ordered,
        window_frames: 256,
        bytes: 1_000,
        interval: 100,
        delay: 10,
        ack_every: 1,
        seed: 6,
        lost_before: Vec::new(),
        lost_after: Vec::new(),
        cycles: 1,
    };
    let mut pair = Pair::new(&setting);
    find_cycle(&mut pair);
    pair.lost = vec![pair.sent];
    // The gap shows when the next frame arrives, and is closed a round trip later.
    let unsteady = (0..100).filter(|_| {
        pair.step(true);
        pair.moment().is_none()
    });
    let unsteady = unsteady.count();
    assert!((20..60).contains(&unsteady), "{unsteady} steps");
    assert_eq!(pair.receiver.stats().recovered_frames, 1);
}
