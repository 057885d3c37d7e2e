//! What limits must not do: cut off a transfer that makes progress, hold a frame forever, or keep an old value after a
//! change.

use crate::common::{A, B, Loss, MICRO, MILLI, Pair, Settings, pair::quick_config};
use linkmend_protocol::{
    Admission, CloseReason, Config, Control, Copies, Event, Format, FrameHandle, Instant, Level, LinkEnd,
    Mode, Priority, Protection, Reception, Tick, Transmit, TransmitState,
};

fn closed_by_timeout(pair: &Pair) -> bool {
    let timeout = |event: &Event| {
        matches!(
            event,
            Event::SessionClosed { reason: CloseReason::DrainTimeout | CloseReason::PeerLost, .. }
        )
    };
    pair.nodes[A].events.iter().any(timeout)
}

/// The end of a session must not have a fixed time limit such as 80 ms: at 20 Mb/s behind a ring of 150 ms it would
/// abandon 248 frames.
#[test]
fn the_end_of_a_session_on_a_slow_link_with_a_full_ring_loses_nothing() {
    let mut config = Config::new(Tick::Nanosecond);
    config.fallback.enabled = false;
    for (mbps, ring_ms) in [(1_000, 2), (100, 100), (20, 150), (5, 500)] {
        let mut pair = Pair::protected(Settings { config, mbps, delay_ns: 10 * MICRO, seed: 5 }, 1);
        pair.nodes[A].ring_ns = ring_ms * MILLI;
        let mut random = crate::common::Random::new(7);
        pair.links[A].loss = Loss::script(move |wire| !wire.is_control() && random.chance(0.02));
        pair.offer(A, Mode::Ordered, 2_000, 1_500);
        pair.run_for(20 * MILLI);
        pair.unprotect(A);
        pair.run_until(20_000 * MILLI, |pair| pair.is_dormant(A));
        assert!(!closed_by_timeout(&pair), "{mbps} Mb/s: {:?}", pair.nodes[A].events);
        assert_eq!(pair.stats(A).abandoned_frames, 0, "{mbps} Mb/s");
        assert_eq!(pair.stats(B).given_up_frames(), 0, "{mbps} Mb/s");
    }
}

#[test]
fn the_end_of_a_session_without_progress_is_cut_off() {
    let mut pair = Pair::protected(Settings::default(), 1);
    pair.nodes[A].ring_ns = MILLI;
    pair.links[A].loss = Loss::Iid(1.0);
    pair.offer(A, Mode::Ordered, 20, 500);
    pair.unprotect(A);
    pair.run_until(20 * MILLI, |pair| pair.is_dormant(A));
    assert!(closed_by_timeout(&pair));
    assert_eq!(pair.stats(A).abandoned_frames, 20);
}

#[test]
fn reconfigured_limits_of_the_fallback_and_the_loss_window_hold_at_once() {
    let mut config = quick_config();
    config.fallback.enabled = true;
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 3);
    config.fallback.ordered_loss_max = 0.001;
    config.loss_window_frames = 500;
    pair.nodes[A].end.reconfigure(config).expect("valid");
    pair.links[A].loss = Loss::Iid(0.02);
    pair.offer(A, Mode::Ordered, 3_000, 200);
    pair.run_until_idle(50 * MILLI);
    let status = pair.nodes[A].end.status();
    assert_eq!(status.level, Level::NonBlocking);
    assert!(status.measured_loss.is_some_and(|loss| (0.005..0.1).contains(&loss)), "{status:?}");
    // Switched off, it leaves nothing behind.
    config.fallback.enabled = false;
    pair.nodes[A].end.reconfigure(config).expect("valid");
    assert_eq!(pair.nodes[A].end.status().level, Level::Full);
    pair.offer(A, Mode::Ordered, 3_000, 200);
    pair.run_until_idle(50 * MILLI);
    pair.assert_all_delivered(A);
    assert_eq!(pair.nodes[A].end.status().level, Level::Full);
}

#[test]
fn a_fallback_that_is_switched_off_while_dormant_opens_a_session() {
    let mut config = quick_config();
    config.fallback.enabled = true;
    config.loss_window_frames = 100;
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 3);
    pair.links[A].loss = Loss::Iid(0.6);
    for _ in 0..50 {
        pair.offer(A, Mode::Ordered, 100, 200);
        pair.run_for(MILLI);
    }
    pair.run_until(200 * MILLI, |pair| pair.nodes[A].end.status().level == Level::Dormant);
    pair.links[A].loss = Loss::None;
    pair.run_until(200 * MILLI, |pair| pair.is_dormant(A));
    config.fallback.enabled = false;
    pair.nodes[A].end.reconfigure(config).expect("valid");
    pair.service(A);
    pair.run_until(50 * MILLI, |pair| pair.is_active(A));
}

/// The receiver must not count the time that its clock jumped over as waiting, which would give the frame up.
#[test]
fn a_clock_that_jumps_forward_gives_up_no_frame_whose_copy_is_on_the_way() {
    for max_rounds in [1, 255] {
        let config = Config { max_rounds, ..quick_config() };
        let mut pair = Pair::protected(Settings { config, delay_ns: 50 * MICRO, ..Settings::default() }, 1);
        pair.links[A].loss = Loss::originals(|position| position == 4);
        pair.offer(A, Mode::Ordered, 20, 500);
        pair.run_for(70 * MICRO);
        assert_eq!(pair.stats(B).missing_frames, 1);
        pair.nodes[B].clock_offset += 1_000 * MILLI;
        pair.service(B);
        pair.run_until_idle(20 * MILLI);
        pair.assert_all_delivered(A);
    }
}

/// Two link ends driven by hand, in an active session from the first to the second.
struct ManualPair {
    ends: [LinkEnd; 2],
    now: Instant,
}

impl ManualPair {
    fn active(config: Config) -> ManualPair {
        let end = |seed| LinkEnd::new(config, seed).expect("valid");
        let mut pair = ManualPair { ends: [end(1), end(2)], now: Instant(1) };
        pair.ends[A].protect(pair.now, Protection { copies: Copies::Fixed(2) });
        for _ in 0..10 {
            pair.talk();
        }
        assert_eq!(pair.ends[A].status().transmit, TransmitState::Active);
        pair
    }

    /// A microsecond later, exchanges control frames of both priorities.
    fn talk(&mut self) {
        self.now = self.now + Tick::Nanosecond.micros(1);
        for from in [A, B] {
            for priority in [Priority::High, Priority::Low] {
                while let Some(control) = self.control(from, priority) {
                    self.ends[1 - from].handle_control(self.now, &control);
                }
            }
        }
    }

    fn control(&mut self, from: usize, priority: Priority) -> Option<Control> {
        match priority {
            Priority::High => self.ends[from].poll_urgent(self.now),
            Priority::Low => match self.ends[from].poll_transmit(self.now, priority) {
                Some(Transmit::Control(control)) => Some(control),
                _ => None,
            },
        }
    }

    /// Sends a frame, which arrives or is lost.
    fn send(&mut self, mode: Mode, frame: u32, bytes: u32, lost: bool) -> Reception {
        let header = self.ends[A].send(self.now, mode, FrameHandle(frame), bytes).expect("admitted");
        if lost {
            return Reception::Drop;
        }
        self.ends[B].handle_data(self.now, &header, FrameHandle(frame), bytes)
    }
}

fn copied(transmit: Option<Transmit>) -> Option<u32> {
    match transmit {
        Some(Transmit::Retransmission { frame, .. }) => Some(frame.0),
        _ => None,
    }
}

/// A frame longer than `window_bytes` must still find room, or it holds up everything behind it.
#[test]
fn a_frame_longer_than_the_tx_buffer_goes_alone() {
    let long = 65_554;
    for mode in Mode::ALL {
        let mut pair = ManualPair::active(Config { window_bytes: 64 * 1024, ..quick_config() });
        pair.send(mode, 0, 100, false);
        assert_eq!(pair.ends[A].admission(mode, long), Admission::Held, "behind another");
        pair.talk();
        pair.talk();
        assert_eq!(pair.ends[A].admission(mode, long), Admission::Protected, "alone");
        pair.send(mode, 1, long, true);
        assert_eq!(pair.ends[A].admission(mode, 100), Admission::Held, "nothing beside it");
        pair.talk();
        let Some(Transmit::Retransmission { header, .. }) = pair.ends[A].poll_retransmission() else {
            panic!("its loss was not reported")
        };
        assert_eq!(pair.ends[B].handle_data(pair.now, &header, FrameHandle(1), long), Reception::Deliver);
        pair.talk();
        pair.talk();
        assert_eq!(pair.ends[A].admission(mode, 100), Admission::Protected);
    }
}

/// A driver that reaches frames only when their circulation brings them back may reach one between the copies of
/// another. The number of copies of both must still be right.
#[test]
fn the_copies_of_two_frames_may_interleave() {
    let mut pair = ManualPair::active(quick_config());
    for frame in 0..6 {
        pair.send(Mode::Ordered, frame, 100, frame == 1 || frame == 3);
    }
    pair.talk();
    let a = &mut pair.ends[A];
    assert_eq!(copied(a.poll_retransmission_of(FrameHandle(1))), Some(1));
    assert_eq!(copied(a.poll_retransmission_of(FrameHandle(3))), Some(3));
    assert_eq!(copied(a.poll_retransmission_of(FrameHandle(1))), Some(1));
    assert_eq!(copied(a.poll_retransmission_of(FrameHandle(1))), None, "both copies are out");
    assert_eq!(copied(a.poll_retransmission()), Some(3));
    assert_eq!(copied(a.poll_retransmission()), None);
}

/// The buffers have been made for the one, and both ends have agreed on the other.
#[test]
fn the_window_and_the_format_keep_their_values_while_running() {
    let mut end = LinkEnd::new(quick_config(), 1).expect("valid");
    let other = Config { window_frames: 16, format: Format::Compact, max_rounds: 3, ..quick_config() };
    end.reconfigure(other).expect("valid");
    let Config { window_frames, format, max_rounds, .. } = *end.config();
    assert_eq!((window_frames, format, max_rounds), (quick_config().window_frames, Format::Transparent, 3));
}
