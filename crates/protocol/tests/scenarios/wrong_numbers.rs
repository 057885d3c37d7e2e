//! A data frame with a wrong number and a good check sequence, as a broken device or an attacker makes it.

use crate::common::{A, B, FrameId, Loss, LossCause, MICRO, MILLI, Pair, Settings, Wire, pair::quick_config};
use linkmend_protocol::{
    Admission, Config, Control, Copies, DataHeader, FrameHandle, Instant, LinkEnd, Mode, Priority,
    Protection, Reception, SequenceNumber, Tick, Transmit, TransmitState,
};
use std::collections::{BTreeSet, VecDeque};

/// Frames sent before the wrong one.
const BEFORE: u32 = 100;
/// Marks the wrong frame's handle.
const WRONG: u32 = u32::MAX;
/// The delay of the line below, in its steps.
const DELAY: u64 = 4;

/// Two link ends and a line between them that loses nothing; a step takes a microsecond. The first sends.
struct Line {
    ends: [LinkEnd; 2],
    step: u64,
    wires: [VecDeque<(u64, InFlight)>; 2],
    mode: Mode,
    sent: u32,
    next: Option<SequenceNumber>,
    deliveries: BTreeSet<u32>,
}

enum InFlight {
    Data(u32, DataHeader),
    Control(Box<Control>),
}

impl Line {
    fn new(mode: Mode, configs: [Config; 2]) -> Line {
        let end = |index: usize| LinkEnd::new(configs[index], index as u64).expect("valid");
        let mut line = Line {
            ends: [end(A), end(B)],
            step: 1,
            wires: Default::default(),
            mode,
            sent: 0,
            next: None,
            deliveries: BTreeSet::new(),
        };
        line.ends[A].protect(Instant(1), Protection { copies: Copies::Fixed(1) });
        line.steps(100, false);
        assert_eq!(line.ends[A].status().transmit, TransmitState::Active);
        line
    }

    fn now(&self) -> Instant {
        Instant(self.step * MICRO)
    }

    fn steps(&mut self, count: u64, sending: bool) {
        for _ in 0..count {
            self.step += 1;
            for to in [A, B] {
                while self.wires[1 - to].front().is_some_and(|(at, _)| *at <= self.step) {
                    let (_, arrived) = self.wires[1 - to].pop_front().expect("seen");
                    self.arrive(to, arrived);
                }
            }
            for from in [A, B] {
                self.service(from, sending && from == A);
            }
        }
    }

    fn arrive(&mut self, to: usize, arrived: InFlight) {
        let now = self.now();
        match arrived {
            InFlight::Control(control) => _ = self.ends[to].handle_control(now, &control),
            InFlight::Data(frame, header) => {
                let reception = self.ends[to].handle_data(now, &header, FrameHandle(frame), 500);
                if reception == Reception::Deliver {
                    self.delivered(frame);
                }
            }
        }
        while let Some(FrameHandle(frame)) = self.ends[to].poll_deliver() {
            self.delivered(frame);
        }
    }

    fn delivered(&mut self, frame: u32) {
        let new = self.deliveries.insert(frame);
        assert!(new || frame == WRONG, "{frame} delivered twice");
    }

    fn service(&mut self, from: usize, sending: bool) {
        let (now, at) = (self.now(), self.step + DELAY);
        self.ends[from].handle_timeout(now);
        while let Some(transmit) = self.ends[from].poll_transmit(now, Priority::High) {
            self.wires[from].push_back((at, on_line(transmit)));
        }
        if sending && let Some(header) = self.ends[from].send(now, self.mode, FrameHandle(self.sent), 500) {
            self.next = Some(header.sequence.plus(1));
            self.wires[from].push_back((at, InFlight::Data(self.sent, header)));
            self.sent += 1;
        } else if let Some(transmit) = self.ends[from].poll_transmit(now, Priority::Low) {
            self.wires[from].push_back((at, on_line(transmit)));
        }
        while self.ends[from].poll_release().is_some() {}
    }

    /// A frame arrives whose number is `ahead` beyond the next one that the sender will send.
    fn wrong_frame(&mut self, ahead: u64, retransmitted: bool) {
        let sequence = self.next.expect("frames were sent").plus(ahead);
        let header = DataHeader { sequence, mode: self.mode, retransmitted, ack: None };
        self.arrive(B, InFlight::Data(WRONG, header));
    }
}

fn on_line(transmit: Transmit) -> InFlight {
    match transmit {
        Transmit::Control(control) => InFlight::Control(Box::new(control)),
        Transmit::Retransmission { frame, header } => InFlight::Data(frame.0, header),
    }
}

/// The cost of a wrong number: frames lost among those sent before and after it, with `idle` steps between them.
fn lost_to(mode: Mode, configs: [Config; 2], ahead: u64, idle: u64) -> (u64, String) {
    let mut line = Line::new(mode, configs);
    line.steps(u64::from(BEFORE), true);
    if idle > 0 {
        line.steps(50, false);
    }
    line.wrong_frame(ahead, ahead.is_multiple_of(3));
    line.steps(idle, false);
    line.steps(10_000, true);
    line.steps(40_000, false);
    let stats = line.ends[A].stats();
    let what = format!("{mode}, {ahead} ahead, {idle} us idle: {stats:?} {:?}", line.ends[B].stats());
    assert_eq!((stats.sessions_opened, stats.peers_lost, stats.abandoned_frames), (1, 0, 0), "{what}");
    assert!(line.sent > 9_000, "the lane went on: {} frames, {what}", line.sent);
    assert_eq!(line.ends[A].outstanding(), 0, "{what}");
    let delivered = line.deliveries.iter().filter(|&&frame| frame != WRONG).count() as u64;
    (u64::from(line.sent) - delivered, what)
}

/// Numbers below and above what is believed at once, 512 of a window of 8,192, and the whole window.
const AHEAD: [u64; 12] = [0, 1, 2, 5, 40, 200, 500, 512, 600, 3_000, 5_000, 8_000];

fn configs() -> Vec<Config> {
    let config = Config { window_frames: 8192, window_bytes: 16 << 20, ..quick_config() };
    vec![config, Config { max_rounds: 1, ..config }, Config { give_up_by_clock: true, ..config }]
}

/// A number 5,000 ahead must not end the session with thousands of frames abandoned, and neither must one 5 ahead when
/// nothing more is sent.
#[test]
fn a_wrong_number_costs_at_most_the_frame_whose_number_it_is() {
    for config in configs() {
        for mode in Mode::ALL {
            for ahead in AHEAD {
                for idle in [0, 100, 5_000] {
                    let (lost, what) = lost_to(mode, [config; 2], ahead, idle);
                    assert!(lost <= 1, "{lost} frames lost: {what}");
                }
            }
        }
    }
}

/// The sender's window is full, so it has no numbers to skip.
#[test]
fn a_wrong_number_beyond_a_full_window_ends_no_session() {
    let small = Config { window_frames: 64, ..quick_config() };
    let large = Config { window_frames: 8192, window_bytes: 16 << 20, ..quick_config() };
    for mode in Mode::ALL {
        for ahead in [0, 1, 30, 400] {
            let mut line = Line::new(mode, [small, large]);
            line.steps(200, true);
            // The first of a window is lost, and all reports of it until the window is full.
            line.steps(20, false);
            let first = line.sent;
            for _ in 0..80 {
                line.steps(1, true);
                line.wires[A]
                    .retain(|(_, wire)| !matches!(wire, InFlight::Data(frame, _) if *frame == first));
                line.wires[B].clear();
            }
            assert_eq!(line.ends[A].outstanding(), 64);
            line.wrong_frame(ahead, false);
            line.steps(10_000, true);
            line.steps(5_000, false);
            let stats = line.ends[A].stats();
            assert_eq!((stats.sessions_opened, stats.peers_lost, stats.abandoned_frames), (1, 0, 0));
            let delivered = line.deliveries.iter().filter(|&&frame| frame != WRONG).count() as u32;
            assert!(delivered + 1 >= line.sent, "{mode}, {ahead} ahead: {delivered} of {}", line.sent);
            assert_eq!(line.ends[A].outstanding(), 0, "{mode}, {ahead} ahead");
        }
    }
}

/// The sender cannot skip so many numbers, and has no frames for them. It must not be asked for them for as long as it
/// is idle.
#[test]
fn an_idle_link_becomes_quiet_after_a_wrong_number_beyond_the_senders_window() {
    let small = Config { window_frames: 64, ..quick_config() };
    let large = Config { window_frames: 8192, window_bytes: 16 << 20, ..quick_config() };
    let kinds = [(32, false), (1, false), (32, true)];
    for (mode, (max_rounds, give_up_by_clock)) in
        Mode::ALL.into_iter().flat_map(|mode| kinds.map(|kind| (mode, kind)))
    {
        let large = Config { max_rounds, give_up_by_clock, ..large };
        for ahead in [0, 60, 70, 400, 511] {
            let mut line = Line::new(mode, [small, large]);
            line.steps(u64::from(BEFORE), true);
            line.steps(50, false);
            line.wrong_frame(ahead, false);
            // A receiver that goes by its clock alone waits for it.
            let alone = max_rounds == 1 && mode == Mode::Ordered;
            if alone {
                // Its sender's next frames do not wait: they take the numbers.
                line.steps(20, false);
                assert_eq!(line.ends[A].admission(mode, 500), Admission::Protected, "{ahead} ahead");
            }
            line.steps(if alone { quick_config().recovery_timeout.0 / MICRO + 50 } else { 50 }, false);
            let state = (line.ends[A].outstanding(), line.ends[B].missing());
            assert_eq!(state, (0, 0), "{mode}, {ahead} ahead, rounds {max_rounds}, clock {give_up_by_clock}");
            let before = line.sent;
            line.steps(1_000, true);
            line.steps(1_000, false);
            let delivered =
                line.deliveries.iter().filter(|&&frame| frame != WRONG && frame >= before).count();
            assert_eq!(delivered as u32, line.sent - before, "{mode}, {ahead} ahead");
        }
    }
}

#[test]
fn thousands_of_wrong_numbers_end_no_session() {
    for mode in Mode::ALL {
        let mut line = Line::new(mode, [Config { window_frames: 8192, ..quick_config() }; 2]);
        line.steps(u64::from(BEFORE), true);
        line.steps(50, false);
        let mut random = crate::common::Random::new(3);
        for _ in 0..2_000 {
            let header = DataHeader {
                sequence: SequenceNumber::from_absolute(random.below(1 << 17)),
                mode,
                retransmitted: random.chance(0.5),
                ack: None,
            };
            let now = line.now();
            line.ends[B].handle_data(now, &header, FrameHandle(WRONG), 500);
        }
        while line.ends[B].poll_deliver().is_some() {}
        line.steps(2_000, false);
        line.deliveries.clear();
        let before = line.sent;
        line.steps(2_000, true);
        line.steps(5_000, false);
        let stats = line.ends[A].stats();
        assert_eq!((stats.sessions_opened, stats.peers_lost), (1, 0), "{mode}");
        assert_eq!(line.deliveries.len() as u32, line.sent - before, "{mode}: what follows arrives");
    }
}

/// A window of 8,192, in which a single frame is believed up to 512 ahead.
fn long_hole(mode: Mode, length: u64, after: u64, dummies_lost: u32) -> (u64, Pair) {
    let config = Config {
        window_frames: 8192,
        window_bytes: 64 << 20,
        rx_buffer_bytes: 64 << 20,
        peer_timeout: Tick::Nanosecond.millis(20),
        ..quick_config()
    };
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    let (mut originals, mut dummies) = (0, dummies_lost);
    pair.links[A].loss = Loss::script(move |wire: &Wire| {
        originals += u64::from(wire.is_original());
        let lost_dummy = wire.is_dummy() && originals > 10 && dummies > 0;
        dummies -= u32::from(lost_dummy);
        wire.is_original() && (11..11 + length).contains(&originals) || lost_dummy
    });
    pair.offer(A, mode, 10 + length + after, 1_000);
    pair.run_until(50 * MILLI, |pair| pair.nodes[A].queued() == 0);
    let last_sent = pair.links[A].busy_until;
    pair.run_until_idle(50 * MILLI);
    pair.assert_all_delivered(A);
    pair.assert_accounts();
    let last = pair.ledger.frames.iter().filter_map(|record| record.delivered_at).max();
    (last.expect("delivered") - last_sent, pair)
}

/// A hole longer than that is known one frame later, or with the dummy behind the last frame; the frame that revealed
/// it is retransmitted with the others.
#[test]
fn a_long_hole_is_recovered_as_soon_as_a_second_frame_or_a_dummy_confirms_it() {
    // Frames of 1,000 bytes take 816 ns; a crossing takes 2 us.
    let frame = 816;
    for mode in Mode::ALL {
        for (length, more) in [(500, 0), (600, 1), (5_000, 1)] {
            for after in [1, 2, 30] {
                let (took, pair) = long_hole(mode, length, after, 0);
                let copies = length + more;
                let notification = 3 * 2 * MICRO + quick_config().dummy_delay.0 + 2 * MICRO;
                assert_eq!(pair.stats(A).retransmitted_copies, copies, "{mode}, {length} + {after}");
                assert!(took < notification + (copies + 1) * frame, "{mode}, {length} + {after}: {took} ns");
            }
        }
        // The first burst of dummies is lost, too: the next comes after the least interval.
        let (took, _) = long_hole(mode, 600, 1, 2);
        assert!(took < 30 * MICRO + 602 * frame, "{mode}: {took} ns");
    }
}

/// In a burst of losses the confirming frame may be lost as well.
#[test]
fn two_frames_confirm_each_other_despite_losses_between_them() {
    for between in [0, 1, 5, 15] {
        let config = Config { window_frames: 4096, window_bytes: 64 << 20, ..quick_config() };
        let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
        let hole = 10..1_000;
        let rest = 1_001..1_001 + between;
        pair.links[A].loss =
            Loss::originals(move |position| hole.contains(&position) || rest.contains(&position));
        pair.offer(A, Mode::Ordered, 1_100, 1_000);
        pair.run_until(10 * MILLI, |pair| pair.stats(B).lost_frames > 0);
        assert_eq!(pair.stats(B).lost_frames, 991 + between, "{between} between");
        assert_eq!(pair.stats(B).received_frames, 12);
        pair.run_until_idle(20 * MILLI);
        pair.assert_all_delivered(A);
        assert_eq!(pair.ledger.count(A, LossCause::GivenUp), 0);
        assert!(pair.ledger.record(FrameId(1_000)).delivered_at.is_some());
    }
}
